"""headwork watch: one check of each file, what its page says, and on every save in a real terminal."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headwork
from headwork.interfaces.cli import main
from headwork.workbook.tracks import track_named

ATTENTION, CAUSAL = track_named("attention"), track_named("causal")
UNSCALED = ATTENTION.solution.replace(" / np.sqrt(query.shape[-1])", "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWORK_PROGRESS", str(tmp_path / "progress.sqlite3"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headwork-code").mkdir()
    return tmp_path / "headwork-code"


def watched(capsys, *arguments):
    status = main(["watch", "--once", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_a_right_file_is_kept_and_ends_with_0(folder, capsys):
    (folder / "attention.py").write_text(ATTENTION.solution, encoding="utf-8")
    status, page, _ = watched(capsys)
    assert status == 0
    assert page.endswith("All 5 cases are right. Kept for 9. Attention in NumPy.\n")
    assert "✓ It takes several heads at once." in page
    main(["list", "--plain"])
    assert re.search(r"code-attention.*begun", capsys.readouterr().out)


def test_what_is_not_right_shows_the_case_the_numbers_and_the_mistake(folder, capsys):
    (folder / "attention.py").write_text(UNSCALED, encoding="utf-8")
    status, page, _ = watched(capsys)
    assert status == 1
    for line in (
        "  ✗ not right  the three tokens, worked by hand before",
        "    query = [2 0 0 0; 0 2 0 0; 0 2 2 0]",
        "  row 1 │  0.9100  0.7553",
        "  To mend it: Divide every score by √d_k before the softmax.",
        "  headwork explain scale-missing says more.",
        "0 of 5 cases are right.",
    ):
        assert line in page.splitlines()
    assert "It left the scores unscaled: these are exactly the numbers that gives, on every\ncase." in page


def test_plain_pages_have_no_tables_and_no_signs(folder, capsys):
    (folder / "attention.py").write_text(UNSCALED, encoding="utf-8")
    _, page, _ = watched(capsys, "--plain")
    assert not re.search("[│✗✓√]", page)
    assert "row 1: 0.9100, 0.7553" in page
    assert re.search(r"row 1: \S+ not right, \S+ not right", page)


def test_a_stub_says_where_to_begin(folder, capsys):
    (folder / "attention.py").write_text(ATTENTION.stub, encoding="utf-8")
    status, page, _ = watched(capsys)
    assert status == 1
    assert "Nothing is written yet: begin with the scores: query @ key.T" in page


def test_numbers_that_nothing_explains_come_with_the_right_steps(folder, capsys):
    (folder / "attention.py").write_text(
        ATTENTION.solution.replace("weights @ value", "weights @ value + 0.001"), encoding="utf-8"
    )
    _, page, _ = watched(capsys)
    assert "Nothing that is known explains these numbers." in page
    assert "A hint: Print the scores of the three tokens" in page
    assert "What is right here, for the weights:" in page


def test_data_has_every_file(folder, capsys):
    (folder / "attention.py").write_text(ATTENTION.solution, encoding="utf-8")
    (folder / "causal.py").write_text(CAUSAL.stub, encoding="utf-8")
    status, text, _ = watched(capsys, "--json")
    assert status == 1
    assert {each["track"]: each["right"] for each in json.loads(text)} == {"attention": True, "causal": False}


WRONG = [
    # arguments                  said                                                  source
    (["nowhere"], "nowhere is not there. headwork practice 9 writes the first one", "no folder"),
    (["."], "has none of the files that are looked for: softmax.py, attention.py", "an empty one"),
    (["../other place/mine.py"], "headwork check '../other place/mine.py' checks any attention", "elsewhere"),
    (["mine.py"], "mine.py defines none of the functions that the exercises ask for: softmax,", "another function"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said", "source"), WRONG)
def test_what_cannot_be_watched_is_said(folder, capsys, arguments, said, source):
    elsewhere = folder.parents[1] / "other place"
    elsewhere.mkdir(exist_ok=True)
    for path in (Path("mine.py"), elsewhere / "mine.py"):
        path.write_text("def kernel(q):\n    return q\n", encoding="utf-8")
    status, _, message = watched(capsys, *arguments)
    assert status == 2
    assert said in message


def test_json_while_watching_is_refused(folder, capsys):
    assert main(["watch", "--json"]) == 2
    assert "--json goes with --once" in capsys.readouterr().err


# ---------------------------------------------------------------- in a real terminal


def test_a_save_checks_again_and_q_ends(folder):
    file = folder / "attention.py"
    file.write_text(ATTENTION.stub, encoding="utf-8")
    process, leader = _started(folder)
    try:
        said = _read_until(leader, "q ends.")
        assert "Watching headwork-code/attention.py. Enter checks again" in said
        assert "Nothing is written yet" in said
        file.write_text(UNSCALED, encoding="utf-8")
        assert "It left the scores unscaled" in _read_until(leader, "q ends.")
        (folder / "causal.py").write_text(
            CAUSAL.solution, encoding="utf-8"
        )  # a file that was not there before
        assert "Kept for 10. Causal" in _read_until(leader, "q ends.")
        os.write(leader, b"\n")
        assert "Once more" in _read_until(leader, "q ends.")
        os.write(leader, b"q")
        assert process.wait(timeout=30) == 0
    finally:
        _end(process, leader)


def test_ctrl_c_ends_without_a_traceback(folder):
    (folder / "attention.py").write_text(ATTENTION.stub, encoding="utf-8")
    process, leader = _started(folder)
    try:
        _read_until(leader, "q ends.")
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert "Traceback" not in _rest(leader)
    finally:
        _end(process, leader)


def _started(folder):
    leader, follower = pty.openpty()
    source = str(Path(headwork.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "headwork", "watch"], stdin=follower, stdout=follower, stderr=follower,
        cwd=folder.parent, env=os.environ | {"PYTHONPATH": source, "TERM": "dumb"},
    )  # fmt: skip
    os.close(follower)
    return process, leader


def _read_until(leader, end, seconds=60):
    said, deadline = "", time.monotonic() + seconds
    while end not in said and time.monotonic() < deadline:
        said += os.read(leader, 10_000).decode("utf-8", "replace")
    return " ".join(said.split())


def _rest(leader):
    said = b""
    try:
        while part := os.read(leader, 10_000):
            said += part
    except OSError:  # the other end is closed
        pass
    return said.decode("utf-8", "replace")


def _end(process, leader):
    process.kill()
    process.wait()
    os.close(leader)
