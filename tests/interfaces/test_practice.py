"""Practice as a learner meets it: a real process, keys or a pipe, and a file that outlives it."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from headwork.interfaces.cli import main
from headwork.workbook.course import exercises
from headwork.workbook.progress import Progress
from headwork.workbook.standing import standing

HEADWORK = [sys.executable, "-c", "import sys; from headwork.interfaces.cli import main; sys.exit(main())"]

GUESS, CODE = "1", "skip"  # any option is kept; code is written elsewhere
# A wrong and a right answer to every question, the right ones worked by hand (see test_judging).
ANSWERS = {
    "scores": [("2 0 2; 0 2 0; 0 4 0", "2 0 4; 0 2 0; 0 4 0"), ("1", "3"), ("3", "2"), "reading"],
    "asymmetry": [GUESS, ("0", "4"), ("4", "0"), "why"],
    "scaling": [
        ("4", "2"),
        ("0.5 0 1; 0 0.5 0; 0 1 0", "1 0 2; 0 1 0; 0 2 0"),
        ("2", "4"),
        ("2", "1"),
        "why",
    ],
    "softmax": [
        ("1 0 2", "2.718 1 7.389"),
        ("3", "11.107"),
        ("0.333 0.333 0.333", "0.245 0.090 0.665"),
        ("3", "1"),
        ("2", "7.39"),
    ],
    "blend": [("0.910 0.665", "0.910 0.755")],
    "all-rows": [
        ("4.718 4.718", "4.718; 9.389"),
        ("1 0 0; 0 1 0", "0.212 0.576 0.212; 0.107 0.787 0.107"),
        ("0 0; 0 0", "0.424 0.788; 0.214 0.894"),
        "why",
    ],
    "saturation": [
        GUESS,
        ("15", "22175"),
        ("0 0 1", "0.0067 0.00005 0.9933"),
        ("0.335", "0.2228"),
        ("0.9933", "0.0067"),
        "why",
    ],
    "causal": [
        GUESS,
        ("1 0 2; 0 1 0; 0 2 0", "1 -inf -inf; 0 1 -inf; 0 2 0"),
        ("0 0 1; 1 0 0; 0 1 0", "1 0 0; 0.269 0.731 0; 0.107 0.787 0.107"),
        ("0 1; 1 0", "1 0; 0.269 0.731"),
        "why",
    ],
    "code-attention": [CODE, ("b", "a")],
    "code-causal": [CODE, GUESS, ("1000", "1,000,000"), ("2*10^6", "4000000"), ("2", "4")],
    "level-1.1": [("5x3", "(3, 5)"), ("a", "b"), ("2", "1")],
    "level-1.2": [("dividing by", "the softmax"), ("a b", "1 3 5")],
    "level-1.3": [("100", "10"), ("1", "c")],
    "level-2.1": [("4 4", "4 0"), ("1 0", "2 0")],
    "level-2.2": [GUESS, ("2 0", "7.389 1"), ("2", "8.389"), ("1 0", "0.881 0.119")],
    "level-2.3": [("5 5", "8.81 1.19"), ("b", "a")],
    "level-3.1": [("64", "0"), ("8", "64"), ("8", "1"), ("1 2 3 4", "a b c")],
    "level-3.2": [
        GUESS,
        ("0.5161", "0.6225"),
        ("0.6225", "0.2350"),
        ("0.0078", "1/16"),
        ("0.4844", "0.5156"),
        ("0.2658", "0.2498"),
        ("a", "b"),
    ],
    "level-4.1": [
        ("1 2 0", "1 2 -inf"),
        ("11.107", "10.107"),
        ("0.017 0.047 0.936", "0.269 0.731 0"),
        GUESS,
        ("0", "0.090"),
        "why",
    ],
    "level-4.2": [("1 0; 1 0; 2 0", "1 0; 1 1; 1 -1"), ("a", "d"), "why"],
    "level-5.1": [("1", "1/64"), ("1/64", "1/8"), ("0.731", "0.531"), ("a", "b"), "why"],
    "level-5.2": [("64", "16"), ("8", "4"), ("1/4", "1"), ("256", "64"), "why"],
    "level-5.3": [
        ("4 0", "2.8284 0"),
        ("16.918", "17.918"),
        ("0.8808 0.1192", "0.9442 0.0558"),
        ("0.5 0.5", "0.9442 0.0558"),
        "meaning",
    ],
    "self-test": [("2", "3"), ("5", "3")],
}
WRITTEN = ["In my words.", "", "y", "n"]  # an explanation, its end, and two points compared


def lines(name: str) -> Iterator[str]:
    for answer in ANSWERS[name]:
        if answer in (GUESS, CODE):
            yield answer
        else:
            yield from WRITTEN if isinstance(answer, str) else answer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "progress.sqlite3"


@pytest.fixture
def environment(file: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    if "PYTHONPATH" in kept:  # processes begin in a folder of their own
        kept["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, kept["PYTHONPATH"].split(os.pathsep)))
    return kept | {"HEADWORK_PROGRESS": str(file)}


@pytest.fixture
def headwork(file, monkeypatch, capsys):
    """The command line in this process: fast, and enough where no process has to end."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str, typed: str = "", **changes: str) -> Run:
        monkeypatch.setenv("HEADWORK_PROGRESS", str(file))
        for name, value in changes.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8"))
        status = main(arguments)
        return Run(status, *capsys.readouterr())

    return run


class Run(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def done(file: Path) -> list[str]:
    with Progress(file) as progress:
        acts = progress.acts()
    return [exercise.id for exercise in exercises() if standing(exercise, acts).state == "done"]


def process(environment: dict[str, str], *arguments: str, typed: bytes = b"") -> subprocess.Popen[bytes]:
    """A process of its own, that has been typed to and goes on waiting."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    folder = Path(environment["HEADWORK_PROGRESS"]).parent  # where practice writes what is to be filled in
    started = subprocess.Popen([*HEADWORK, *arguments], **pipes, env=environment, cwd=folder)
    started.stdin.write(typed)
    started.stdin.flush()
    return started


def wait_for(started: subprocess.Popen[bytes], text: str) -> None:
    seen = b""
    while text.encode() not in seen:
        piece = started.stdout.read1()
        assert piece, f"it ended without {text!r}: {seen.decode()}"
        seen += piece


def test_a_learner_works_every_exercise_first_wrong_and_then_right(environment, file):
    typed = [line for name in ANSWERS for line in lines(name)]
    started = process(environment, "practice", typed="\n".join([*typed, ""]).encode())
    out, errors = started.communicate(timeout=300)  # hundreds of answers, on a machine that may be busy
    assert (started.returncode, errors) == (0, b"")
    assert done(file) == [name for name in ANSWERS if CODE not in ANSWERS[name]]
    wrong = sum(not isinstance(answer, str) for each in ANSWERS.values() for answer in each)
    with Progress(file) as progress:
        verdicts = [act.verdict for act in progress.acts() if act.kind == "answer"]
    assert (verdicts.count("right"), verdicts.count("not right")) == (wrong, wrong)
    text = out.decode()
    parts = 2 + 5  # the third part of the first set has code in it
    assert text.count(": recap") == len(done(file)) + parts
    assert "From recognising a shape to saying what a whole calculation means" in " ".join(text.split())
    assert not [line for line in text.splitlines() if len(line) > 80]
    assert "\x1b" not in text


def test_killed_in_the_middle_it_goes_on_with_nothing_lost(headwork, environment, file):
    started = process(environment, "practice", "softmax", typed=b"1 2 3\n2.718 1 7.389\n11.107\n")
    wait_for(started, "✓ 11.107")
    started.kill()
    started.communicate()
    with Progress(file) as progress:
        answers = [(act.text, act.verdict) for act in progress.acts() if act.kind == "answer"]
    assert answers == [("1 2 3", "not right"), ("2.718 1 7.389", "right"), ("11.107", "right")]
    run = headwork("practice", typed="0.245 0.090 0.665\n")
    assert "Question 3 of 5" in run.stdout
    assert "✓ 0.245" in run.stdout


@pytest.fixture
def interruptible():
    """Ctrl-C reaches what a test starts, also where the tests run in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_everything_and_leaves_quietly(environment, file):
    started = process(environment, "practice", "asymmetry", typed=b"1\n4\n0\nHalf a thought\n")
    wait_for(started, "Half a thought\n> ")
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=30)
    assert (started.returncode, errors) == (130, b"")
    with Progress(file) as progress:
        assert progress.acts()[-1].text == "Half a thought"


def test_bytes_that_are_no_text_end_nothing(environment):
    started = process(
        environment | {"PYTHONIOENCODING": "ascii"},
        "practice",
        "softmax",
        typed=b"\xff\xfe 1 2\n2.718 1 7.389\n\xe2\x82",
    )
    out, errors = started.communicate(timeout=60)
    assert (started.returncode, errors) == (0, b"")
    assert "Question 2 of 5" in out.decode()


def test_the_end_of_input_is_a_polite_end(headwork):
    run = headwork("practice")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.rstrip().endswith("Your answers are kept, and headwork practice goes on from here.")


@pytest.mark.parametrize("width", [40, 80])
def test_the_list_fits(headwork, width):
    lines = headwork("list", COLUMNS=str(width)).stdout.splitlines()
    assert any("code-attention" in line for line in lines)
    assert max(map(len, lines)) <= width


def test_plain_has_nothing_that_only_eyes_can_read(headwork):
    run = headwork("practice", "softmax", "--plain", typed="2.718 1 8\nhint\nlist\nquit\n")
    assert "query 1: 2.718 right, 1 right, 8 not right" in run.stdout
    assert "S/sqrt d_k. query 1: 1 0 2" in run.stdout
    assert "4, softmax, Softmax: begun, 0 of 5 questions, you are here" in run.stdout
    assert not set("✓✗↳◐○→─│√₁ᵢᵀ\x1b") & set(run.stdout)


def test_a_wrong_answer_gets_a_hint_then_on_request_everything_then_a_reminder(headwork):
    wrong = "0.5 0 1; 0 0.5 0; 0 1 0"
    run = headwork("practice", "scaling", typed=f"2\n{wrong}\nwhy\n{wrong}\n7\n7\n")
    first, rest = run.stdout.split("> why")
    hint = "Look again at this step: scale the scores. Start with row 1, column 1."
    assert hint in flat(first)
    assert "instead of √d_k" not in first
    why, again = rest.split("> 0.5 0 1")
    assert "s₁₁ = 2 / √4 = 1. With this mistake it is 0.5, as yours is." in flat(why)
    assert "As a formula: S/d_k instead of S / √d_k." in flat(why)
    assert "headwork explain scale-d-k-instead-of-sqrt says more." in flat(why)
    assert "You have given these numbers before. why says what gives them." in flat(again)
    assert hint not in flat(again)


def test_a_number_given_again_is_said_to_be_one(headwork):
    run = headwork("practice", "scaling", typed="4\n4.0\n")
    assert run.stdout.count("You have given this answer before. hint goes a step further.") == 1


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("plain", [[], ["--plain"]])
def test_everything_fits_into_40_columns(headwork, plain):
    typed = "2\n0.5 0 1; 0 0.5 0; 0 1 0\nwhy\nshow\nlist\ncard\n"
    run = headwork("practice", "scaling", *plain, typed=typed, COLUMNS="40")
    said = [line for line in run.stdout.splitlines() if not line.startswith("> ")]  # what was typed
    drawn = [line for line in said if "q₁" in line or "s₁" in line or line[:1] in "kv"]
    assert not [line for line in said if len(line) > 40 and line not in drawn and not plain]


def test_json_is_one_event_a_line(headwork):
    run = headwork("practice", "softmax", "--json", typed="2.718 1 8\n")
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert [event["event"] for event in events] == ["card", "note", "exercise", "question", "mark", "note"]
    mark = next(event for event in events if event["event"] == "mark")
    assert (mark["verdict"], mark["marks"], mark["out_of"]) == ("not right", 2, 3)
    assert mark["explanation"]["wrong"] == [[0, 2]]
    assert mark["again"] is False


def test_hints_count_on_between_commands(headwork):
    assert "Hint 1 of 4" in headwork("hint", "scores").stdout
    assert "Hint 2 of 4" in headwork("hint", "sco").stdout
    assert json.loads(headwork("hint", "scores", "--json").stdout)["title"] == "Hint 3 of 4"


def test_list_makes_no_file(headwork, file):
    run = headwork("list")
    assert run.returncode == 0
    assert run.stdout.count("○ not yet") == len(exercises())
    assert not file.exists()
    assert json.loads(headwork("list", "--json").stdout)["sets"][0]["exercises"][0]["state"] == "not yet"


@pytest.mark.parametrize("name", ["99", "code-causl", "scroes", "scores@x", "s"])
def test_an_exercise_that_cannot_be_had_is_an_error_that_helps(headwork, name, file):
    run = headwork("practice", name)
    assert run.returncode == 2
    assert run.stderr.startswith("headwork: ")
    assert "Traceback" not in run.stderr
    assert not file.exists()


# --- kinds of question ------------------------------------------------------------------------------


def test_options_have_a_number_and_a_letter_and_either_will_do(headwork):
    run = headwork("practice", "self-test", typed="2\nA\nalong each\nquit\n")
    assert "  2 b)  over the whole matrix at once" in run.stdout
    assert "✗ b: not right. That lets all queries share one attention." in flat(run.stdout)
    assert "✗ a: not right. That shares out each key" in flat(run.stdout)
    assert "✓ c: right. One query spends its whole attention over the keys." in flat(run.stdout)


def test_a_screen_reader_hears_options_as_sentences(headwork):
    run = headwork("practice", "self-test", "--plain", typed="2\nquit\n")
    assert "2 or b: over the whole matrix at once" in run.stdout
    assert "b: not right. That lets all queries share one attention." in flat(run.stdout)
    assert not set("✓✗·₁ᵢ") & set(run.stdout)


def test_rows_of_what_is_made_up_have_names_that_can_be_heard(headwork):
    run = headwork("practice", "level-4.2", "--plain", typed="1 0\n1 1\n2 1\nquit\n")
    assert "k[1] (2 of 3): 1 1" in run.stdout
    assert "[0.330 0.670]" in run.stdout


def test_choices_and_guesses_are_data(headwork):
    run = headwork("practice", "level-2.2", "--json", typed="none\n")
    events = {event["event"]: event for event in map(json.loads, run.stdout.splitlines())}
    question = next(e for e in map(json.loads, run.stdout.splitlines()) if e["event"] == "question")
    assert question["options"] == ["none", "some, and less than half", "half"]
    assert (question["guess"], question["several"]) == (True, False)
    assert (events["mark"]["verdict"], events["mark"]["answer"]) == ("guess", "none")


HOSTILE = [
    "9" * 1_000_000,
    "3x" * 100_000,
    "1 " * 100_000,
    "(" * 10_000,
    "½ ⅓ 🙂",
    "\0",
    ";;;",
    "‽‽‽",
    "{scores}",
]


@pytest.mark.parametrize("name", ["level-1.1", "level-1.2", "level-4.2", "self-test"])
def test_whatever_is_typed_costs_nothing_and_is_not_repeated_in_full(headwork, name):
    run = headwork("practice", name, "--json", typed="\n".join([*HOSTILE, ""]))
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0
    assert not any(event["event"] == "mark" for event in events)
    told = [event["text"] for event in events if event["event"] == "unreadable"]
    assert len(told) == len(HOSTILE)
    assert max(map(len, told)) < 400


# --- the file ---------------------------------------------------------------------------------------


def test_progress_goes_out_and_comes_back_without_doubles(headwork, file, tmp_path):
    headwork("practice", "blend", typed="0.910 0.755\n")
    out = tmp_path / "export.json"
    assert headwork("progress", "--export", str(out)).returncode == 0
    exported = headwork("progress", "--export", "-").stdout
    assert exported == out.read_text(encoding="utf-8")
    assert "Added: 0 acts" in headwork("progress", "--import", str(out)).stdout
    assert headwork("progress", "--reset", "--yes").returncode == 0
    assert done(file) == []
    assert "Here already: 0" in headwork("progress", "--import", "-", typed=exported).stdout
    assert done(file) == ["blend"]


def test_a_bad_import_changes_nothing(headwork, file, tmp_path):
    headwork("practice", "blend", typed="0.910 0.755\n")
    record = json.loads(headwork("progress", "--export", "-").stdout)
    record["acts"].append(record["acts"][0] | {"id": "00000000-0000-0000-0000-000000000000", "kind": "cheat"})
    (tmp_path / "bad.json").write_text(json.dumps(record))
    headwork("progress", "--reset", "--yes")
    run = headwork("progress", "--import", str(tmp_path / "bad.json"))
    assert run.returncode == 2
    assert "kind is 'cheat'" in run.stderr
    assert done(file) == []


def test_reset_asks_and_no_means_no(headwork, file):
    headwork("practice", "blend", typed="0.910 0.755\n")
    assert "Forgotten: 0" in headwork("progress", "--reset", typed="no\n").stdout
    asked = headwork("progress", "--reset", "--json", typed="no\n")
    assert json.loads(asked.stdout) == {"forgotten": 0}  # what is asked is no data
    assert "Type yes" in asked.stderr
    assert headwork("progress", "--reset").returncode == 2  # nobody there to answer
    assert done(file) == ["blend"]
    assert headwork("progress", "--reset", typed="yes\n").returncode == 0
    assert done(file) == []


def test_progress_says_where_it_is_kept_and_what_comes_next(headwork, file):
    headwork("practice", "blend", typed="0.910 0.755\n")
    said = headwork("progress").stdout
    assert str(file) in said
    assert f"Exercises done: 1 of {len(exercises())}" in said
    assert "Next: 6. Every row, question 1 of 4" in said
    assert json.loads(headwork("progress", "--json").stdout)["next"] == {
        "exercise": "all-rows",
        "question": "sums",
    }


def test_a_damaged_file_is_an_error_and_stays_as_it_is(headwork, file):
    file.write_text("my notes " * 1000)
    for verb in (["practice"], ["list"], ["progress"], ["progress", "--reset", "--yes"]):
        run = headwork(*verb)
        assert run.returncode == 2
        assert f"{file}: it is damaged" in run.stderr
    assert file.read_text() == "my notes " * 1000


@pytest.fixture
def read_only(file, monkeypatch, headwork):
    """A progress file that may not be written, also where root, who may write everything, runs the tests."""
    headwork("practice", "blend", typed="0.910 0.755\n")
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and may(path, mode, **more))
    return file.read_bytes()


def test_what_can_only_be_read_is_read_and_said_to_be_so(headwork, file, read_only):
    for arguments, says in (
        (["list"], "✓ done"),
        (["progress"], f"Exercises done: 1 of {len(exercises())}"),
        (["progress", "--export", "-"], "0.910 0.755"),
    ):
        run = headwork(*arguments)
        assert (run.returncode, run.stderr) == (0, "")
        assert says in run.stdout
        assert (
            "can be read but not written, so nothing in it can change" in flat(run.stdout) or "-" in arguments
        )
    assert "can be read" in json.loads(headwork("list", "--json").stdout)["warning"]
    assert "can be read" in json.loads(headwork("progress", "--json").stdout)["warning"]
    run = headwork("progress", "--reset", "--yes")
    assert run.returncode == 2
    assert "nothing in it can change" in run.stderr
    assert file.read_bytes() == read_only
    assert [each.name for each in file.parent.iterdir() if each.name.startswith("progress")] == [file.name]


def test_a_file_that_was_named_has_to_work(headwork, tmp_path):
    (tmp_path / "file").write_text("")
    run = headwork("practice", "--progress", str(tmp_path / "file" / "progress"))
    assert run.returncode == 2
    assert "Name another file" in run.stderr


def test_where_nobody_named_a_file_and_none_can_be_written_practice_goes_on_with_a_warning(
    headwork, tmp_path
):
    (tmp_path / "data").write_text("a file where a folder should be")
    run = headwork(
        "practice",
        "blend",
        typed="0.910 0.755\n",
        HEADWORK_PROGRESS="",
        XDG_DATA_HOME=str(tmp_path / "data"),
        HOME=str(tmp_path),
    )
    assert run.returncode == 0
    assert "Nothing of this will be kept." in " ".join(run.stdout.split())
    assert "✓ 0.910" in run.stdout
    assert "Nothing was kept" in run.stdout
