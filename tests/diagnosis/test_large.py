"""Large problems: the same names as small ones, from a few rows, without keeping every step."""

import math
import tracemalloc

import numpy as np
import pytest
from made import BY_ID

from headwork import Problem, diagnose, trace
from headwork.diagnosis import large, looking
from headwork.diagnosis.cutting import rows_of, telling_rows
from headwork.diagnosis.large import is_large, is_wide
from headwork.diagnosis.looking import blocks
from headwork.diagnosis.remembering import MOST_BYTES, bytes_of, remembered
from headwork.diagnosis.search import applicable
from headwork.diagnosis.target import Target
from headwork.mechanism.fields import in_kind
from headwork.mistakes.wrong_run import can_be_made, run_wrong

SIZES = {"Tq": 24, "D": 4}


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(large, "LARGE", 100)
    monkeypatch.setattr(looking, "BLOCK", 200)  # several blocks


def draw(rng, heads: int = 2, tokens: int = 24, width: int = 4, **options) -> Problem:
    return Problem(
        **{n: rng.normal(size=(1, heads, tokens, width)) for n in ("query", "key", "value")}, **options
    )


def attend(problem: Problem, scale: float, axis: int = -1, causal: bool = False):
    """By other arithmetic than the package's: einsum, and one loop over the heads."""
    outputs = []
    for q, k, v in zip(problem.query[0], problem.key[0], problem.value[0], strict=True):
        scores = np.einsum("id,jd->ij", q, k) * scale
        exps = np.exp(scores) * (np.tri(*scores.shape) if causal else 1)
        outputs.append(exps / exps.sum(axis=axis, keepdims=True) @ v)
    return np.stack(outputs)[None]


WRONG = [
    # verdict, mistake                       answer                                              options
    ("mistake", "scale-d-k-instead-of-sqrt", lambda p: attend(p, 1 / 4), {}),
    ("mistake", "scale-missing", lambda p: attend(p, 1.0), {}),
    ("mistake", "causal-skipped", lambda p: attend(p, 1 / 2), {"causal": True}),
    ("mistake", "softmax-over-queries", lambda p: attend(p, 1 / 2, axis=0), {}),
    ("mistake", "scale-by-another-number", lambda p: attend(p, 1 / 3.3), {}),
    ("mistake", "output-times-another-number", lambda p: 1.3 * attend(p, 1 / 2), {}),
]


@pytest.mark.parametrize(("verdict", "mistake", "answer", "options"), WRONG, ids=[row[1] for row in WRONG])
def test_it_is_named_from_a_few_rows(everything_is_large, rng, verdict, mistake, answer, options):
    problem = draw(rng, **options)
    assert is_large(problem)
    found = diagnose(problem, answer(problem))
    assert (found.verdict, found.mistakes[0]) == (verdict, (mistake,))


@pytest.mark.parametrize("causal", [False, True])
def test_right_numbers_are_right(everything_is_large, rng, causal):
    problem = draw(rng, causal=causal)
    output = attend(problem, 1 / 2, causal=causal)
    for answer in (output, output.astype(np.float32), np.round(output, 3)):
        assert diagnose(problem, answer).verdict == "right"
    assert diagnose(problem, np.round(output, 2), digits=2).verdict == "right"


def test_one_wrong_row_is_found_though_it_explains_nothing(everything_is_large, rng):
    problem = draw(rng)
    answer = attend(problem, 1 / 2)
    answer[0, 1, 17] += 1
    found = diagnose(problem, answer)
    assert found.verdict == "unexplained"
    assert found.wrong == tuple((0, 1, 17, c) for c in range(4))
    assert found.sentence.startswith("These numbers are not right, and nothing in the catalogue gives them")


def test_a_mistake_on_some_rows_only_is_not_taken_for_one_on_all(everything_is_large, rng):
    problem = draw(rng)
    answer = attend(problem, 1 / 2)
    rows = [0, 3, 5, 23]  # all the rows that are looked at first, but not the others
    answer[0, :, rows] = attend(problem, 1 / 4)[0, :, rows]
    assert diagnose(problem, answer).verdict == "unexplained"


BAD = [
    (np.zeros((1, 2, 24, 3)), "output has shape (1, 2, 24, 4) here; the answer has shape (1, 2, 24, 3)."),
    (np.zeros((2, 24, 4)), "output has shape"),
    ([[["no"]]], "not a number"),
    (np.zeros((1, 2, 24, 4), dtype=complex), "complex"),
    (np.array([["a", None]], dtype=object), "not a number"),
]


@pytest.mark.parametrize(("answer", "said"), BAD)
def test_an_answer_that_does_not_fit_is_told_plainly(everything_is_large, rng, answer, said):
    found = diagnose(draw(rng), answer)
    assert found.verdict == "invalid"
    assert said in found.sentence


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_symbols_are_unexplained_or_explained_and_crash_nothing(everything_is_large, rng, value):
    problem = draw(rng)
    assert diagnose(problem, np.full((1, 2, 24, 4), value)).verdict in (
        "unexplained",
        "mistake",
        "consistent",
    )


def test_the_same_mistakes_are_named_as_on_the_small_path(monkeypatch, rng):
    """Every tenth mistake that this problem can show, whichever way it is looked for."""
    problem = draw(rng, tokens=8, causal=True)
    for mistake in applicable(problem, "output")[::10]:
        if not can_be_made(problem, mistake) or mistake.convention:
            continue
        answer = in_kind(problem, "output", run_wrong(problem, (mistake,))["output"])
        small = diagnose(problem, answer)
        with monkeypatch.context() as patch:
            patch.setattr(large, "LARGE", 10)
            there = diagnose(problem, answer)
        assert small.verdict == there.verdict, mistake.id
        assert set(there.mistakes) & set(small.mistakes) or small.verdict in ("right", "unexplained"), (
            mistake.id
        )


# ---------------------------------------------------------------- between small and large


def test_a_problem_too_wide_for_all_mistakes_on_all_rows_is_searched_by_rows(rng):
    problem = draw(rng, heads=8, tokens=96, width=4)
    assert not is_large(problem)
    assert len(applicable(problem, "output")) * math.prod(problem.matrix_shape) > large.MOST_ENTRIES
    found = diagnose(problem, attend(problem, 1 / 4))
    assert found.mistakes == (("scale-d-k-instead-of-sqrt",),)
    assert diagnose(problem, attend(problem, 1 / 2, axis=0)).mistakes[0] == ("softmax-over-queries",)
    assert diagnose(problem, attend(problem, 1 / 2)).verdict == "right"


def test_it_holds_little_more_than_the_problem_worked_out(rng):
    problem = draw(rng, heads=8, tokens=96, width=4)
    answer = attend(problem, 1 / 4)
    kept = sum(array.nbytes for array in trace(problem).fields.values())
    tracemalloc.start()
    diagnose(problem, answer)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * kept


# ---------------------------------------------------------------- its parts


def target(problem: Problem, values) -> Target:
    right = np.zeros(values.shape)
    spread = np.full(values.shape, 0.0005)
    return Target(problem, "output", values, np.ones(values.shape, bool), right, lambda *_: spread, spread)


def test_blocks_hold_every_row_once(monkeypatch, rng):
    monkeypatch.setattr(looking, "BLOCK", 200)
    found = list(blocks(draw(rng)))
    assert len(found) > 1
    assert np.concatenate(found).tolist() == list(range(24))


def test_the_rows_that_tell_most_are_those_farthest_off_and_the_ends(rng):
    values = np.zeros((1, 2, 24, 4))
    values[0, 1, 7, 2], values[0, 0, 11, 0] = 3, np.nan
    rows = telling_rows(target(draw(rng), values))
    assert {0, 7, 11, 23} == set(rows.tolist())


def test_rows_of_a_target_are_those_of_its_problem(rng):
    values = rng.normal(size=(1, 2, 24, 4))
    part = rows_of(target(draw(rng), values), np.array([3, 5]))
    assert np.array_equal(part.values, values[..., [3, 5], :])
    assert part.problem.matrix_shape == (1, 2, 2, 24)
    assert not is_wide(part)


def test_a_rule_for_each_query_needs_no_other_rows():
    assert not BY_ID["scale-missing"].mixes_queries
    assert BY_ID["softmax-over-queries"].mixes_queries


# ---------------------------------------------------------------- what is remembered


def test_results_are_worked_out_once_and_forgotten_by_size(rng):
    asked = []

    @remembered(lambda result: result)
    def size(problem: Problem, of: int) -> int:
        asked.append(of)
        return of

    problem = draw(rng)
    assert [size(problem, 5), size(problem, 5), size(problem, 7)] == [5, 5, 7]
    assert asked == [5, 7]
    size(problem, MOST_BYTES - 2 * bytes_of(problem))  # the others must go
    size(problem, 7)
    assert asked[-1] == 7
    size(problem, MOST_BYTES + 1)  # too large to keep
    size(problem, MOST_BYTES + 1)
    assert asked.count(MOST_BYTES + 1) == 2
