"""`headwork diagnose`: what is read, what is said, what the exit status is."""

import io
import json
import re
import sys

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.diagnosis.search import Finding
from headwork.interfaces.cli import main
from headwork.interfaces.diagnose_text import CERTAIN, evidence_words
from headwork.mistakes.lookup import mistake_named

# The three tokens of the course: Q, K and V of the exercises, d_k = 4. All numbers below are by hand.
SCORES = "2 0 4; 0 2 0; 0 4 0"
SCALED = "1 0 2; 0 1 0; 0 2 0"
DIVIDED_BY_4 = "0.5 0 1; 0 0.5 0; 0 1 0"


@pytest.fixture
def headwork(monkeypatch, capsys):
    """The command line in this process: status, standard output, standard error."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8"))
        return (main(arguments), *capsys.readouterr())

    return run


def flat(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------- verdicts

VERDICTS = [
    # step, answer, exit status, what is said
    ("scores", SCORES, 0, "This is right."),
    ("scaled", SCALED, 0, "This is right."),
    ("scaled", SCORES, 1, "scale-missing: left the scores unscaled."),
    ("scaled", DIVIDED_BY_4, 1, "divided by d_k instead of √d_k (d_k = 4, √d_k = 2)"),
    ("scores", "2 0 4; 0 0 0; 0 4 0", 1, "a hint, not a certainty"),
    ("weights", ".2 .1 .7; .2 .6 .2; .1 .8 .1", 1, "Right so far: give three digits"),
    (
        "scores",
        "7 1 3; 9 5 1; 8 3 6",
        1,
        "✗ not right: all 9 entries. These numbers are not right, and nothing in the catalogue gives them",
    ),
]


@pytest.mark.parametrize(("step", "answer", "status", "says"), VERDICTS)
def test_the_sentence_and_the_exit_status(headwork, step, answer, status, says):
    found, out, err = headwork("diagnose", "scores", answer, "--step", step)
    assert (found, err) == (status, "")
    assert says in flat(out)


def test_the_verdict_comes_first_then_the_entries_what_was_done_and_how_sure_that_is(headwork):
    _, out, _ = headwork("diagnose", "scores", SCORES, "--step", "scaled")
    texts = ("Perhaps a mistake", "✗ 2", "✗ not right: 4 of 9 entries.", "left the scores unscaled. Divide")
    texts += (
        "s₁₁ = 2 / √4 = 1. With this mistake it is 2, as yours is.",
        "As a formula: S instead of S/√d_k",
    )
    texts += ("How sure: ", "On this input these give the same numbers", "Judged at 3 digits")
    places = [flat(out).index(text) for text in texts]
    assert places == sorted(places)


HEADS = [
    # step, answer, the first line; output and logsumexp by hand from the course's table: e.g. 2.408 / ln 2
    ("output", "0.984 0.883; 0.212 0.894; 0.036 0.982", "A mistake: scale-missing."),
    ("scores", "2 0 4; 0 0 0; 0 4 0", "Perhaps a slip."),
    ("scores", "7 1 3; 9 5 1; 8 3 6", "Not right, and not explained."),
    ("logsumexp", "3.474 2.238 3.231", "Right, under another convention."),
    (
        "output",
        "0.914 0.754; 0.424 0.786; 0.213 0.897",
        "This is right but for rounding: it is what comes out",
    ),
]


@pytest.mark.parametrize(("step", "answer", "says"), HEADS)
def test_the_first_line_is_the_verdict(headwork, step, answer, says):
    _, out, _ = headwork("diagnose", "scores", answer, "--step", step)
    assert out.startswith(says)


def test_what_is_right_but_for_rounding_or_by_another_convention_differs_and_is_not_called_wrong(headwork):
    for step, answer in (("logsumexp", "3.474 2.238 3.231"), ("output", HEADS[-1][1])):
        _, out, _ = headwork("diagnose", "scores", answer, "--step", step)
        assert "≠ differs" in out
        assert "✗" not in out


def test_every_reading_has_its_id_and_how_to_mend_it(headwork):
    _, out, _ = headwork("diagnose", "scores", DIVIDED_BY_4, "--step", "scaled")
    for id in ("scale-d-k-instead-of-sqrt", "scale-twice", "scale-query-and-key"):
        assert re.search(rf"^  {id}: ", out, re.MULTILINE)
    assert out.count("To mend it:") == 3
    assert "headwork explain scale-d-k-instead-of-sqrt says more." in out


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_the_page_keeps_to_its_width(headwork, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    _, out, _ = headwork("diagnose", "scores", SCORES, "--step", "scaled")
    assert max(map(len, out.splitlines())) <= min(int(width), 100)


def test_plain_text_has_no_tables_and_no_signs(headwork):
    _, out, _ = headwork("diagnose", "scores", DIVIDED_BY_4, "--step", "scaled", "--plain")
    assert "query 1: 0.5 not right, 0, 1 not right" in out
    assert not re.search("[│✗√]", out)


def test_digits_decide_how_precisely_it_is_judged(headwork):
    one_digit = ".2 .1 .7; .2 .6 .2; .1 .8 .1"
    status, out, _ = headwork("diagnose", "scores", one_digit, "--step", "weights", "--digits", "1")
    assert (status, "as asked" in flat(out)) == (0, True)


# ---------------------------------------------------------------- answers in every form


@pytest.fixture
def problem(tmp_path):
    """Two queries, three keys, one head; d_k = 4."""
    arrays = {"query": [[1.0, 2, 0, 1], [0, 1, 1, 0]], "key": [[1, 0, 1, 2], [2, 1, 0, 1], [0, 2, 1, 1]],
              "value": [[1, 2], [3, 5], [8, 13]]}  # fmt: skip
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(arrays))
    return Problem(**arrays), str(path)


def unscaled(problem: Problem) -> np.ndarray:
    """The output without the scale, by the formula."""
    exps = np.exp(problem.query[0] @ problem.key[0].T)
    return exps / exps.sum(-1, keepdims=True) @ problem.value[0]


def forms(folder, step, values):
    """The same answer as files, text and standard input."""
    np.save(folder / "a.npy", values)
    np.savez(folder / "a.npz", **{step: values})
    (folder / "named.json").write_text(json.dumps({step: values.tolist()}))
    (folder / "one.json").write_text(json.dumps({"step": step, "values": values.tolist()}))
    yield from ((str(folder / name), "") for name in ("a.npy", "a.npz", "named.json", "one.json"))
    yield "-", json.dumps({step: values.tolist()})
    yield "; ".join(" ".join(f"{x:.9f}" for x in row) for row in values), ""


def test_every_form_of_an_answer_is_named(headwork, problem, tmp_path):
    worked, path = problem
    for answer, typed in forms(tmp_path, "output", unscaled(worked)):
        status, out, err = headwork("diagnose", path, answer, typed=typed)
        assert (status, err) == (1, ""), answer
        assert "scale-missing" in out, answer


def test_an_entry_of_a_large_array_is_told_in_words(headwork, tmp_path):
    rng = np.random.default_rng(5)
    arrays = {name: rng.normal(size=(2, 3, 16, 8)) for name in ("query", "key", "value")}
    np.savez(tmp_path / "p.npz", **arrays)
    values = trace(Problem(**arrays)).output.copy()
    values[1, 2, 3, 4] += 0.25
    np.save(tmp_path / "a.npy", values)
    status, out, _ = headwork("diagnose", str(tmp_path / "p.npz"), str(tmp_path / "a.npy"))
    assert status == 1
    assert "│" not in out
    assert "Not right: 1 of 768 entries: batch element 2, head 3, row 4, column 5." in flat(out)
    assert f"the right number is {values[1, 2, 3, 4] - 0.25:.6g}." in flat(out)


def test_row_quantities_have_their_entries_too(headwork, problem):
    worked, path = problem
    base_2 = trace(worked).logsumexp / np.log(2)
    status, out, _ = headwork("diagnose", path, " ".join(f"{x:.6f}" for x in base_2), "--step", "logsumexp")
    assert status == 1
    assert "Right, under another convention." in out
    assert "logsumexp-base-2" in out
    assert out.count("≠") == 3  # two entries, and what the sign means


def test_one_entry_is_consistent_at_most(headwork):
    status, out, _ = headwork("diagnose", "scores", "0.5", "--step", "scaled", "--entry", "1,1")
    assert status == 1
    assert "  ✗ not right.\n" in out
    assert out.startswith("Perhaps a mistake")


# ---------------------------------------------------------------- several steps

# divided by d_k; then e^0.5 = 1.649, e^1 = 2.718: 5.367 in row 1, 3.649 in row 2, 4.718 in row 3
STEPS = {
    "scores": SCORES,
    "scaled": DIVIDED_BY_4,
    "weights": "0.307 0.186 0.506; 0.274 0.452 0.274; 0.212 0.576 0.212",
}


def test_the_first_wrong_step_is_named_and_later_ones_inherit(headwork):
    status, out, _ = headwork("diagnose", "scores", "-", typed=json.dumps(STEPS))
    assert status == 1
    assert "scores: right" in out
    assert "weights: follows from your own numbers" in out
    assert "The first step that is not right: scaled scores." in flat(out)
    assert "Not wrong in itself, as it follows: weights." in flat(out)
    assert "scale-d-k-instead-of-sqrt" in out


def test_several_steps_that_are_right_are_right(headwork):
    status, out, _ = headwork(
        "diagnose", "scores", "-", typed=json.dumps({"scores": SCORES, "scaled": SCALED})
    )
    assert (status, out.startswith("This is right.")) == (0, True)


def test_as_data_it_is_the_record(headwork):
    status, out, _ = headwork("diagnose", "scores", DIVIDED_BY_4, "--step", "scaled", "--json")
    record = json.loads(out)
    assert status == 1
    assert record["verdict"] == "consistent"
    assert record["mistakes"][0]["readings"] == [["scale-d-k-instead-of-sqrt"]]
    assert record["wrong"] == [[0, 0], [0, 2], [1, 1], [2, 1]]  # from 0, as the answer is indexed
    assert record["hint"] == "Look again at this step: scale the scores. Start with row 1, column 1."
    assert record["example"]["index"] == [0, 0]
    assert (record["example"]["value"], record["example"]["wrong"]) == (1.0, 0.5)


# ---------------------------------------------------------------- bad input

BAD = [
    # arguments, what the message says
    (("scores", "1 2", "--step", "scores"), "scores is 3 × 3 here; I read 2 entries"),
    (("scores", "two", "--step", "scores"), "two"),
    (("scores", SCORES, "--step", "scroes"), "scores"),
    (("scores", "absent.npy", "--step", "scores"), "there is no file absent.npy"),
    (("nothing", SCORES, "--step", "scores"), "nothing"),
    (("scores", SCORES, "--step", "scores", "--entry", "0,1"), "counted from 1"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD)
def test_bad_input_is_one_message_and_exit_status_2(headwork, arguments, says):
    status, out, err = headwork("diagnose", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("headwork: ")
    assert says in err
    assert "Traceback" not in err


# ---------------------------------------------------------------- evidence

EVIDENCE = [
    # bits, what is said
    (0.4, "not at all; random errors look like this as often"),
    (1.2, "less than 1 of 2 cases (1 bit)."),
    (7.8, "less than 1 of 128 cases (7 bits). To be sure takes 1 of 8,192 (13 bits)."),
    (13.0, "less than 1 of 8,192 cases (13 bits)."),
    (24.6, "less than 1 of 2^24 cases (24 bits)."),
    (15562.0, f"less than 1 of 2^{CERTAIN} cases (15,562 bits)."),
]


@pytest.mark.parametrize(("bits", "says"), EVIDENCE)
def test_evidence_in_plain_words(bits, says):
    finding = Finding(((mistake_named("scale-missing"),),), np.zeros(1), bits)
    assert says in evidence_words(finding)
