"""Authors begin, check and try an exercise of their own; learners draw numbers: with the real commands."""

import io
import json
import os
import sys

import pytest

from headwork.interfaces.cli import main
from headwork.workbook.own import VARIABLE
from headwork.workbook.proofreading import TO_FILL_IN


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADWORK_PROGRESS", str(tmp_path / "progress.sqlite3"))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def written(capsys, tmp_path):
    """headwork new, and its words written."""
    assert run(capsys, "new", "two-readers")[0] == 0
    path = tmp_path / "headwork-course" / "two-readers.md"
    path.write_text(path.read_text(encoding="utf-8").replace(TO_FILL_IN, "Words"), encoding="utf-8")
    return path


def test_a_new_exercise_says_what_to_do_next(capsys, tmp_path):
    status, out, err = run(capsys, "new", "two-readers")
    assert (status, err) == (0, "")
    assert "headwork course check headwork-course" in out
    assert (tmp_path / "headwork-course" / "two-readers.md").exists()


def test_a_new_exercise_goes_where_it_is_told_to(capsys, tmp_path):
    status, out, _ = run(capsys, "new", "mine", "--course", "else where", "--json")
    assert status == 0
    assert json.loads(out) == {"written": os.path.join("else where", "mine.md")}
    assert (tmp_path / "else where" / "mine.md").exists()


def test_what_is_unwritten_is_listed_and_the_status_says_so(capsys):
    run(capsys, "new", "two-readers")
    status, out, err = run(capsys, "course", "check", "headwork-course")
    assert (status, err) == (1, "")
    assert "title: is still to be written" in out
    assert "0 of 1 exercise is ready." in out


def test_a_written_exercise_is_ready(capsys, written):
    assert run(capsys, "course", "check", "headwork-course") == (
        0,
        "✓ two-readers: ready. Its numbers can be drawn.\n1 of 1 exercise is ready.\n",
        "",
    )


def test_the_view_of_the_whole_catalogue_is_a_report(capsys, written):
    status, out, _ = run(capsys, "course", "check", "headwork-course", "--blind")
    assert status == 0
    assert "scale-by-value-width-unrooted: divided by d_v, the width of a value" in " ".join(out.split())


def test_a_check_as_data(capsys, written):
    status, out, _ = run(capsys, "course", "check", "headwork-course", "--json")
    record = json.loads(out)
    assert (status, record["ready"]) == (0, 1)
    assert record["exercises"][0]["id"] == "two-readers"


def test_an_own_exercise_is_practised_and_its_progress_kept(capsys, monkeypatch, written):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"2 0 1; 0 -1 1\n")))
    status, out, err = run(capsys, "practice", "two-readers", "--course", "headwork-course", "--plain")
    assert (status, err) == (0, "")
    assert "Question 2 of 4" in out
    _, out, _ = run(capsys, "list", "--course", "headwork-course", "--plain")
    assert "two-readers, Words: a few words: begun, 1 of 4 questions" in out
    assert "two-readers" not in run(capsys, "list", "--plain")[1]


def test_the_variable_does_as_the_option(capsys, monkeypatch, written):
    monkeypatch.setenv(VARIABLE, "headwork-course")
    assert run(capsys, "show", "two-readers@7", "--step", "weights")[0] == 0


def test_a_broken_file_beside_a_good_one_is_told_alone(capsys, written):
    (written.parent / "broken.md").write_text("+++\nnumber = 0\n+++\nText", encoding="utf-8")
    status, out, err = run(capsys, "course", "check", "headwork-course")
    assert (status, err) == (1, "")
    assert "broken.md: number is 0; a whole number of at least 1 was expected" in " ".join(out.split())
    assert "✓ two-readers: ready" in out


def test_an_empty_folder_is_told(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    status, out, err = run(capsys, "course", "check", "empty")
    assert (status, err) == (1, "")
    assert "has no exercises" in out


# --- drawn numbers ---------------------------------------------------------------------------------


def test_fresh_gives_the_numbers_that_practice_asks_about(capsys):
    status, out, _ = run(capsys, "fresh", "scores", "--seed", "7", "--json")
    record = json.loads(out)
    assert (status, record["exercise"], record["proven"]) == (0, "scores@7", True)
    shown = json.loads(run(capsys, "show", "scores@7", "--json")[1])
    assert record["problem"]["query"] == shown["problem"]["query"]


def test_drawn_numbers_are_marked_diagnosed_and_kept_under_their_id(capsys, monkeypatch):
    scores = json.loads(run(capsys, "show", "scores@7", "--json")[1])
    right = next(step["fields"]["scores"] for step in scores["steps"] if step["name"] == "scores")
    text = "; ".join(" ".join(f"{x:g}" for x in row) for row in right)
    assert run(capsys, "mark", "scores@7", text, "--step", "scores")[0] == 0
    negated = "; ".join(" ".join(f"{-x:g}" for x in row) for row in right)
    assert "scores-negated" in run(capsys, "diagnose", "scores@7", negated, "--step", "scores", "--json")[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    run(capsys, "practice", "1@7", "--plain")
    assert "scores@7: begun, 1 of 3 questions" in run(capsys, "list", "--plain")[1]
    fresh = json.loads(run(capsys, "list", "--json")[1])["fresh"]
    assert fresh == [{"id": "scores@7", "state": "begun", "done": 1, "questions": 3}]


def test_a_seed_behind_the_id_is_the_seed(capsys):
    _, said, _ = run(capsys, "fresh", "scores@7", "--json")
    assert json.loads(said) == json.loads(run(capsys, "fresh", "scores", "--seed", "7", "--json")[1])
    assert json.loads(said)["exercise"] == "scores@7"
    assert run(capsys, "fresh", "scores@7", "--seed", "7", "--json")[1] == said
    assert json.loads(run(capsys, "fresh", "scores", "--json")[1])["seed"] == 0


def test_a_file_that_is_not_called_as_its_exercise_is_told_once(capsys, written):
    written.rename(written.with_name("other.md"))
    status, out, _ = run(capsys, "course", "check", "headwork-course")
    assert status == 1
    assert "1 thing to mend." in out
    assert "call it two-readers.md, or give the exercise the id 'other'" in " ".join(out.split())
    status, _, err = run(capsys, "practice", "two-readers", "--course", "headwork-course")
    assert status == 2
    assert "other.md: id is 'two-readers', and its file is 'other.md'" in err


REFUSED = [
    # arguments                               what is said
    (["practice", "scores@x"], "is no seed"),
    (["fresh", "scores@x"], "is no seed"),
    (["fresh", "scores@"], "is no seed"),
    (["fresh", "scores@7", "--seed", "3"], "asks for seed 7, and --seed for 3"),
    (["fresh", "asymmetry@7"], "asymmetry has no numbers to draw"),
    *(
        ([verb, name, *more], "no exercise is named. Give its id or its number, such as scores or 3")
        for name in ("", " ", "@7")
        for verb, *more in (["practice"], ["hint"], ["show"], ["fresh"], ["mark", "1"], ["blindspots"])
    ),
    (["practice", "scores@-1"], "is no seed"),
    (["practice", "scores@"], "is no seed"),
    (["practice", "scores@9223372036854775809"], "a whole number from 0 to 9223372036854775808"),
    (["practice", "scores@" + "9" * 400], "is no seed"),
    (["practice", "asymmetry@7"], "asymmetry has no numbers to draw"),
    (["hint", "code-softmax@1"], "has no numbers to draw"),
    (["fresh", "scores", "--seed", "-1"], "seed"),
    (["new", "scores"], "the course has an exercise scores already"),
    (["new", "../up"], "small letters and digits"),
    (["new", "x", "--course", "/proc/nowhere"], "cannot write"),
    (["course", "check", "nowhere"], "there is no folder 'nowhere'"),
    (["course", "mend"], "check"),
    (["list", "--course", "nowhere"], "there is no folder 'nowhere'"),
    (["list", "--course", "9" * 5000], "there is no folder '9999"),
    (["list", "--course", "a\0b"], "no name has a zero byte"),
    (["new", "x", "--course", "9" * 5000], "cannot write"),
    (["list", "--course", "~nobody-at-all/x"], "there is no folder"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[" ".join(row[0])[:40] for row in REFUSED])
def test_bad_input_gets_one_message_and_status_2(capsys, arguments, said):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("headwork: ")
    assert said in err
    assert len(err) < 6000
