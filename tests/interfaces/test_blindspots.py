"""`headwork blindspots` and `headwork fresh`: what is printed, and the exit status."""

import json

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.interfaces.cli import main

THREE = {
    "query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    "key": [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    "value": [[1, 0], [0, 1], [1, 1]],
}


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(THREE), encoding="utf-8")
    return str(path)


@pytest.fixture
def tensors(tmp_path, rng):
    path = tmp_path / "case.npz"
    arrays = {
        name: rng.standard_normal((1, 2, 4, 3)).astype(np.float32) for name in ("query", "key", "value")
    }
    np.savez(path, **arrays)
    return str(path)


def out(capsys):
    return capsys.readouterr().out


# --- blindspots -----------------------------------------------------------------------------------


def test_what_an_exercise_cannot_show_is_listed_with_reason_and_an_input_that_can(problem, capsys):
    assert main(["blindspots", problem]) == 0
    text = out(capsys)
    assert text.startswith("This input cannot show ")
    assert "mistakes at the output, 3 decimals:" in text
    assert "scale-by-value-width-unrooted: divided by d_v" in text
    assert "d_v = 2, √d_k = 2" in text
    assert "Inputs that can" in text
    assert "Q = [" in text
    assert "Input A tells them apart." in text
    assert max(map(len, text.splitlines())) <= 80


def test_plain_text_has_no_sign_that_only_eyes_read(problem, capsys):
    assert main(["blindspots", problem, "--plain", "--pairs"]) == 0
    text = out(capsys)
    assert "d_v = 2, sqrt d_k = 2" in text
    assert not set("√−·…∞\x1b") & set(text)


def test_a_set_of_files_is_looked_at_together(problem, tensors, capsys):
    assert main(["blindspots", problem, tensors]) == 0
    assert "These 2 inputs together cannot show " in out(capsys)


def test_tensors_are_judged_in_their_own_arithmetic(tensors, capsys):
    assert main(["blindspots", tensors]) == 0
    assert "in their own arithmetic" in out(capsys)
    assert main(["blindspots", tensors, "--digits", "2"]) == 0
    assert "2 decimals" in out(capsys)


@pytest.mark.parametrize(
    ("required", "status"),
    [
        ("scale-missing", 0),
        ("scale-twice", 0),  # another reading of one that shows
        ("scale-missing,scale-by-value-width-unrooted", 1),
        ("scale-given-ignored", 1),  # no scale is given: no place for it
    ],
)
def test_a_required_mistake_that_is_invisible_exits_with_1(problem, required, status, capsys):
    assert main(["blindspots", problem, "--require", required]) == status
    assert ("Required, and not shown" in out(capsys)) == bool(status)


def test_the_record_holds_everything(problem, capsys):
    assert main(["blindspots", problem, "--json", "--require", "scale-whole-root", "--step", "weights"]) == 1
    record = json.loads(out(capsys))
    assert record["step"] == "weights"
    assert record["missing"] == ["scale-whole-root"]
    assert "scale-whole-root" in [each["id"] for each in record["invisible"]]
    near = record["nearby"][0]
    assert trace(Problem.from_dict(near["problem"])).weights.size


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["blindspots"], "Missing argument"),
        (["blindspots", "nowhere.json"], "there is no file nowhere.json"),
        (["blindspots", "PROBLEM", "--step", "wieghts"], "no numbers called 'wieghts'"),
        (["blindspots", "PROBLEM", "--require", "scale-mising"], "scale-missing"),
        (["blindspots", "PROBLEM", "--require", "scale-by-another-number"], "number of its own"),
        (["fresh", "PROBLEM", "--size", "Tk"], "Tq=3,Tk=5"),
        (["fresh", "PROBLEM", "--size", "Q=3"], "no size 'Q'"),
        (
            ["fresh", "PROBLEM", "--separate", "scale-twice,scale-query-and-key"],
            "the same numbers on every input",
        ),
        (["fresh", "PROBLEM", "--size", "Tq = 0"], "a size is at least 1"),
        (["fresh", "PROBLEM", "--size", "Tk=30000"], "a problem of that size has"),
        (["fresh", "PROBLEM", "--separate", "scale-by-another-number"], "number of its own"),
        (["fresh", "PROBLEM", "--output", "/nowhere/at/all.json"], "cannot write"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_with_2(arguments, says, problem, capsys):
    assert main([problem if argument == "PROBLEM" else argument for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert says.lower() in said.lower()
    assert "Traceback" not in said


# --- fresh ----------------------------------------------------------------------------------------


def test_fresh_numbers_are_printed_with_what_they_prove(problem, capsys):
    assert main(["fresh", problem, "--seed", "3", "--size", "Tq=2,Tk=5"]) == 0
    text = out(capsys)
    assert "Q = [" in text
    assert "From seed 3, " in text
    assert " mistakes show." in text
    assert "pairs of them are told apart." in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_same_seed_prints_the_same_and_another_does_not(problem, capsys):
    texts = []
    for seed in ("1", "1", "2"):
        main(["fresh", problem, "--seed", seed])
        texts.append(out(capsys))
    assert texts[0] == texts[1] != texts[2]


def test_fresh_numbers_are_written_as_a_problem(problem, tmp_path, capsys):
    file = tmp_path / "fresh.json"
    assert main(["fresh", problem, "--output", str(file), "--size", "D=5", "--json"]) == 0
    record = json.loads(out(capsys))
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written == record["problem"]
    assert Problem.from_dict(written).D == 5
    assert record["proven"] == (not record["hides"] and not record["together"])


def test_what_no_draw_tells_apart_is_said_and_exits_with_1(problem, capsys):
    # (softmax(S)/√d_k) V = (softmax(S) V)/√d_k
    assert main(["fresh", problem, "--separate", "scale-after-softmax,scale-output"]) == 1
    text = " ".join(out(capsys).split())
    assert (
        "scale-after-softmax and scale-output: by none of 64 draws; they differ at the step weights" in text
    )


def test_a_mistake_that_sizes_hide_is_said_and_exits_with_1(problem, capsys):
    assert main(["fresh", problem, "--separate", "scale-by-key-count", "--size", "Tk=4"]) == 1
    assert "Not shown, whatever was drawn: scale-by-key-count." in out(capsys)
