"""The command line from outside: what it prints where, with which status, and how fast it answers."""

import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import headwork
from headwork.errors import FileError
from headwork.interfaces import cli, guard, show
from headwork.interfaces.guard import guarded


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Status, output and messages of `headwork` with these arguments, in this process."""
    status = cli.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "headwork", *arguments]


def environment(**changes: str) -> dict[str, str]:
    """This process's environment with the package found where it is found here, and no colour settings."""
    source = os.path.dirname(os.path.dirname(headwork.__file__))
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "LC_ALL", "LANG", "PYTHONIOENCODING")
    }
    return kept | {"PYTHONPATH": source, "COLUMNS": "80"} | changes


# ---------------------------------------------------------------- what it does

VERBS = list(cli.headwork.commands)


def test_the_verbs_are_listed_in_the_order_in_which_they_are_needed(capsys):
    _, out, _ = run(capsys, "--help")
    assert [line.split()[0] for line in out.split("Commands:\n")[1].splitlines()] == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_what_it_does_in_80_columns_and_can_print_data(capsys, verb):
    status, out, err = run(capsys, verb, "--help")
    assert (status, err) == (0, "")
    assert "--json" in out
    assert max(map(len, out.splitlines())) <= 80
    assert (
        cli.headwork.commands[verb].help in "\n".join(line.strip() for line in out.splitlines())
        or len(out) > 200
    )


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_verb_does_fits_into_the_list_of_verbs(verb):
    assert "..." not in cli.headwork.commands[verb].get_short_help_str(limit=80 - 12)


def test_the_version(capsys):
    assert run(capsys, "--version") == (0, f"headwork {headwork.__version__}\n", "")


def test_without_a_verb_and_without_a_terminal_it_says_how_it_is_used(capsys):
    status, out, _ = run(capsys)
    assert status == 0
    assert out.startswith("Usage: headwork")


def test_without_a_verb_on_a_terminal_the_workbook_opens(monkeypatch):
    begun = []
    monkeypatch.setattr(
        "headwork.interfaces.web.serving.run_open", lambda **options: begun.append(options) or 0
    )
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert cli.main([]) == 0
    assert begun == [
        {"host": "127.0.0.1", "port": 0, "browser": True, "progress": None, "json": False, "workers": 1}
    ]


def test_show_from_an_exercise_a_file_and_standard_input(capsys, tmp_path, monkeypatch):
    _, from_exercise, _ = run(capsys, "show", "scores", "--step", "scores")
    record = json.loads(run(capsys, "show", "scores", "--json")[1])["problem"]
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(record))
    assert run(capsys, "show", str(path), "--step", "scores") == (0, from_exercise, "")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(record).encode())))
    assert run(capsys, "show", "-", "--step", "scores") == (0, from_exercise, "")


def test_show_takes_a_step_an_entry_and_digits(capsys):
    status, out, _ = run(capsys, "show", "softmax", "--step", "weights", "--entry", "1,2", "--digits", "5")
    assert status == 0
    assert "w₁₂ = 0.13534 / 1.50321 = 0.09003" in out  # e⁰ / (e + 1 + e²) = 1 / 11.10734


def test_data_is_valid_json(capsys):
    for arguments in (
        ["show", "causal"],
        ["list"],
        ["mark", "scores", "2 0 4; 0 2 0; 0 4 0", "--step", "scores"],
    ):
        _, out, _ = run(capsys, *arguments, "--json")
        json.loads(out, parse_constant=pytest.fail)


def test_marks_decide_the_exit_status(capsys):
    assert run(capsys, "mark", "scores", "2 0 4; 0 2 0; 0 4 0", "--step", "scores")[0] == 0
    assert run(capsys, "mark", "scores", "2 0 4; 0 2 0; 0 5 0", "--step", "scores")[0] == 1


def test_an_answer_may_begin_with_a_minus(capsys):
    status, out, err = run(capsys, "mark", "scores", "-2 0 4; 0 2 0; 0 4 0", "--step", "scores")
    assert (status, err) == (1, "")
    assert "✗ -2" in out.replace("−", "-")


def test_data_has_every_head_so_none_is_chosen(capsys):
    status, out, err = run(capsys, "show", "scores", "--json", "--head", "1")
    assert (status, out) == (2, "")
    assert "--json has every head and batch element" in err


# ---------------------------------------------------------------- what the documents say

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [README, *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))]
EXAMPLES = re.findall(
    r"^( *)```console\n *\$ headwork (.*)\n((?:.*\n)*?) *```$", "\n".join(DOCUMENTS), re.MULTILINE
)
FILES = dict(re.findall(r"^ *\$ cat (\S+)\n((?:.*\n)*?) *```$", "\n".join(DOCUMENTS), re.MULTILINE))
USES = re.findall(
    r"^    headwork ((?:[a-z]+ )(?:\S| (?! ))+)", "\n".join(DOCUMENTS), re.MULTILINE
)  # without output


def test_no_example_is_left_out():
    assert sum(text.count("$ headwork ") for text in DOCUMENTS) == len(EXAMPLES)


@pytest.mark.parametrize("line", USES)
def test_what_a_document_says_to_type_can_be_typed(line):
    verb, *arguments = shlex.split(line)
    cli.headwork.commands[verb].make_context(verb, arguments)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented(verb):
    assert f"\n## {verb}\n" in PAGE
    assert f"headwork {verb}" in README


@pytest.mark.parametrize(("margin", "line", "output"), EXAMPLES, ids=[example[1] for example in EXAMPLES])
def test_an_example_prints_what_the_document_says(capsys, monkeypatch, tmp_path, margin, line, output):
    """`...` stands for anything: where the file is, or the rest of a long answer."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HEADWORK_PROGRESS", str(tmp_path / "progress.sqlite3"))  # nobody's own
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(textwrap.dedent(content))
    _, out, err = run(capsys, *shlex.split(line))
    assert err == ""
    assert re.fullmatch(
        ".*".join(map(re.escape, output.strip("\n").split("..."))), out.strip("\n"), re.DOTALL
    )


# ---------------------------------------------------------------- what goes wrong

MESSAGES = [
    # arguments                                     message
    (["shwo"], "no such command 'shwo'. Did you mean 'show'?\nheadwork --help says what there is."),
    (["show", "scores", "--stpe", "x"], "such option '--stpe'. Did you mean '--step'?\nheadwork show --help"),
    (["show"], "missing argument 'PROBLEM'."),
    (["show", "scores", "--digits", "99"], "invalid value for '--digits': 99 is not in the range"),
    (["show", "scores", "--digits", "-3"], "invalid value for '--digits': -3 is not in the range"),
    (["show", "scores", "--digits", "two"], "'two' is not a valid whole number"),
    (["show", "scores", "--entry", "0,1"], "--entry is '0,1'; places counted from 1 were expected, such as"),
    (["show", "scores", "--entry", "first"], "--entry is 'first'; places counted from 1 were expected"),
    (["show", "scores", "--entry", "9,9"], "scores has no entry 9,9, counted from 1: its size is 3 × 3."),
    (["show", "scores", "--head", "2"], "there is no head 2; counted from 1, the problem has 1."),
    (["show", "scores", "--step", "wieghts"], "Did you mean weights?"),
    (["show", "scoers"], "The nearest: scores."),
    (["show", "nowhere.json"], "there is no file nowhere.json."),
    (["show", "scores", "--with-mistake", "scale-misssing"], "Did you mean scale-missing"),
    (["show", "scores", "--with-mistake", "rope-twice"], "this problem has no place for rope-twice"),
    (["show", "scores", "--with-mistake", "softmin", "--entry", "1,1"], "leave out --entry, --head and --batch"),
    (["mark", "scores", "2", "0", "4", "--step", "scores"], 'Put them in quotes: "2 0 4; 0 2 0; 0 4 0".'),
    (["diagnose", "scores", *"20402"], "the numbers came as several words"),
    (["list", *["x"] * 500], "got unexpected extra arguments (x x x"),
    (["mark", "scores", "1", "--step", "scores", "--row", "9" * 5000], "places counted from 1 were expected"),
    (["mark", "scores", "1 2 3", "--step", "scores", "--row", "4"], "it has no 4th query. Places count from 1 on the"),
    (["mark", "scores", "1", "--step", "scores", "--entry", "2"], "entry of scores takes 2 numbers, [query, key]; 1 came"),
    (["fresh", "scores", "--size", "Tq=99999999"], "at most 100,000 are drawn"),
    (["fresh", "scores", "--size", "D=" + "9" * 5000], "--size D has 5000 digits"),
    (["fresh", "scores", "--size", "Tq=three"], "sizes such as Tq=3,Tk=5,D=4 were expected"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), MESSAGES, ids=[" ".join(row[0]) for row in MESSAGES])
def test_what_is_wrong_is_said_once_with_status_2(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("headwork: ")
    assert message in err
    assert "Traceback" not in err
    assert len(err) < 1000


# problems and answers that somebody may hand in by accident or on purpose
ODD_FILES = {
    "empty.json": b"", "half.json": b"{", "list.json": b"[1, 2]", "null.json": b"null", "deep.json": b"[" * 100_000,
    "digits.json": b'{"query": [[' + b"9" * 5000 + b"]]}", "bytes.json": bytes(range(256)),
    "none.json": b'{"query": [[]], "key": [[]], "value": [[]]}', "zip.npz": b"PK\x03\x04no archive",
    "short.npy": b"\x93NUMPY\x01\x00", "claims.safetensors": b"\xff" * 20,
    "nan.json": b'{"query": [[NaN, 1]], "key": [[1, 1], [Infinity, 0]], "value": [[1], [2]]}',
    "seen.json": b'{"query": [[1]], "key": [[1], [2]], "value": [[1], [2]], "mask": [[false, false]]}',
    "late.json": b'{"given": {"weights": [[0.5, 0.5]]}, "value": [[1], [2]]}',
    "far.json": b'{"query": [[1e308]], "key": [[1e308], [-1e308]], "value": [[1], [2]]}',
}  # fmt: skip
ODD_WORDS = ["", "   ", "scores", "4", "-1", "{}", "[[1]]", "nan", "1e999", "9" * 5000, "1 " * 3000, "½ ² １", "🙂",
             "1/0", "2^2^2^2^2", '{"scores": []}', '{"step": 3}', '{"weights": {"row": 0, "values": null}}']  # fmt: skip
VERBS_ON_WORDS = [
    ["show", "X"], ["show", "X", "--json"], ["show", "scores", "--step", "X"], ["show", "scores", "--entry", "X"],
    ["mark", "X", "1"], ["mark", "scores", "X"], ["mark", "scores", "X", "--step", "scores", "--why"],
    ["mark", "scores", "1", "--step", "scores", "--row", "X"], ["diagnose", "X", "1"], ["diagnose", "scores", "X"],
    ["diagnose", "scores", "X", "--step", "weights", "--json"], ["diagnose", "scores", "1", "--step", "X"],
    ["explain", "X"], ["mistakes", "X"], ["fresh", "scores", "--size", "X"], ["fresh", "scores", "--seed", "X"],
    ["practice", "X"], ["hint", "X"], ["progress", "--import", "X"], ["blindspots", "scores", "--require", "X"],
    ["new", "X"], ["course", "check", "X"], ["list", "--course", "X"], ["fresh", "X", "--seed", "7"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", VERBS_ON_WORDS, ids=" ".join)
def test_whatever_is_handed_in_there_is_an_answer_or_one_message_and_no_fault(
    capsys, monkeypatch, tmp_path, arguments
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADWORK_PROGRESS", str(tmp_path / "progress.sqlite3"))
    for name, content in ODD_FILES.items():
        Path(name).write_bytes(content)
    for word in [*ODD_FILES, *ODD_WORDS]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00why\n")))
        status, out, err = run(capsys, *[word if each == "X" else each for each in arguments])
        assert status in (0, 1, 2), (word[:60], err)
        assert (err != "") == (status == 2), word[:60]
        assert err == "" or (err.startswith("headwork: ") and len(err) < 1500), word[:60]
        if "--json" in arguments and status != 2:
            json.loads(out, parse_constant=pytest.fail)


FAILURES = [
    # raised                                status  said
    (FileError("no such thing."), 2, "headwork: no such thing.\n"),
    (MemoryError(), 2, "headwork: this machine has not enough memory"),
    (KeyboardInterrupt(), 130, ""),
    (
        ZeroDivisionError("1 / 0"),
        70,
        "a fault in Headwork itself, not in what you gave it (ZeroDivisionError: 1 / 0)",
    ),
]


@pytest.mark.parametrize(("raised", "status", "said"), FAILURES)
def test_each_kind_of_failure_has_its_status_and_no_traceback(capsys, raised, status, said):
    def fail() -> int:
        raise raised

    assert guarded(fail) == status
    err = capsys.readouterr().err
    assert said in err if said else err == ""
    assert "Traceback" not in err


def test_a_fault_of_our_own_shows_its_traceback_when_asked(capsys, monkeypatch):
    monkeypatch.setenv("HEADWORK_TRACEBACK", "1")
    monkeypatch.setattr(show, "trace", lambda problem: 1 / 0)
    status, _, err = run(capsys, "show", "scores")
    assert status == guard.FAULT
    assert "Traceback" in err
    assert "Please report it" in err


# ---------------------------------------------------------------- as a process of its own


def test_a_reader_that_has_seen_enough_is_no_failure():
    with subprocess.Popen(
        command("show", "scores"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


PAGES = [
    "list",
    "show scores --json",
    "practice",
    "mistakes",
    "mark scores '2 0 5; 0 2 0; 0 4 0' --step scores --why",
]


@pytest.mark.parametrize("verb", PAGES)
def test_head_ends_any_of_them_quietly(verb, tmp_path):
    line = f"{shlex.join(command(*shlex.split(verb)))} </dev/null | head -1"
    settings = environment(HEADWORK_PROGRESS=str(tmp_path / "progress.sqlite3"))
    done = subprocess.run(["sh", "-c", line], capture_output=True, env=settings)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("verb", ["list", "show scores", "practice"])
def test_closed_streams_are_no_fault(verb, tmp_path):
    line = f"{shlex.join(command(*verb.split()))} <&- >&-"
    settings = environment(HEADWORK_PROGRESS=str(tmp_path / "progress.sqlite3"))
    done = subprocess.run(["sh", "-c", line], capture_output=True, env=settings)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_full_disk_is_told_once():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("show", "scores"), stdout=full, stderr=subprocess.PIPE, env=environment()
        )
    assert done.returncode == 2
    assert done.stderr.decode() == "headwork: the output cannot be written: No space left on device.\n"


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}],
)
def test_signs_are_written_whatever_the_locale(locale):
    done = subprocess.run(
        command("show", "scores", "--step", "scaled"),
        capture_output=True,
        env=environment(**locale),
        check=True,
    )
    assert "s₁₃ = 4 / √4 = 2" in done.stdout.decode("utf-8")
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("changes", "is_bold"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_bold_type_is_for_terminals_that_want_it(changes, is_bold):
    leader, follower = pty.openpty()
    settings = environment(**{"TERM": "xterm", **changes})
    subprocess.run(
        command("show", "scores", "--step", "scaled", "--entry", "1,1"),
        stdout=follower,
        env=settings,
        check=True,
    )
    os.close(follower)
    assert (b"\x1b[1m" in os.read(leader, 10_000)) is is_bold
    os.close(leader)


@pytest.mark.parametrize(("verb", "light"), [("--help", {"numpy", "sqlite3"}), ("list", {"numpy"})])
def test_help_and_the_list_load_nothing_that_takes_long(verb, light, tmp_path):
    script = (
        f"import sys, headwork.interfaces.cli as cli; cli.main(['{verb}']); sys.exit(' '.join(sys.modules))"
    )
    settings = environment(HEADWORK_PROGRESS=str(tmp_path / "progress.sqlite3"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=settings)
    assert {"rich", "safetensors", "ml_dtypes", *light} & set(done.stderr.split()) == set()
