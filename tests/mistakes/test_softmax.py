"""Weights of each wrong softmax, worked by hand."""

from math import e, log, sqrt

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

# exponentials [[1, 3], [2, 1]], so the right weights are [[1/4, 3/4], [2/3, 1/3]]
PROBLEM = Problem(given={"masked": [[0.0, log(3)], [log(2), 0.0]]}, value=[[1.0], [0.0]])
MASKED = Problem(
    given={"scaled": [[0.0, 5.0], [0.0, log(3)]]}, value=[[1.0], [0.0]], mask=[[True, False], [True, True]]
)


def pair(ratio: float) -> list[float]:
    """Two weights, the second `ratio` times the first."""
    return [1 / (1 + ratio), ratio / (1 + ratio)]


WEIGHTS = [
    # mistake  weights  source
    ("softmax-missing",  [[0, log(3)], [log(2), 0]],  "by hand"),
    ("softmax-not-exponentiated",  [[0, 1], [1, 0]],  "by hand: 0/ln 3, ln 3/ln 3"),
    ("softmax-shifted-not-exponentiated", [[1, 0], [0, 1]],  "by hand: (0 − ln 3)/(0 − ln 3)"),
    ("softmax-squared",  [[0, 1], [1, 0]],  "by hand"),
    ("softmax-sigmoid",  [[1 / 2, 3 / 4], [2 / 3, 1 / 2]],  "by hand: 3/(3 + 1)"),
    ("softmax-hard",  [[0, 1], [1, 0]],  "by hand"),
    ("softmax-log",  [[log(1 / 4), log(3 / 4)], [log(2 / 3), log(1 / 3)]], "by hand"),
    ("softmin",  [[3 / 4, 1 / 4], [1 / 3, 2 / 3]],  "by hand"),
    ("softmax-twice",  [pair(e ** 0.5), pair(e ** (-1 / 3))],  "by hand: 3/4 − 1/4, 1/3 − 2/3"),
    ("softmax-base-two",  [pair(2 ** log(3)), pair(2 ** -log(2))],  "by hand"),
    ("softmax-base-ten",  [pair(10 ** log(3)), pair(10 ** -log(2))],  "by hand"),
    ("softmax-over-queries",  [[1 / 3, 3 / 4], [2 / 3, 1 / 4]],  "by hand: columns 3 and 4"),
    ("softmax-over-table",  [[1 / 7, 3 / 7], [2 / 7, 1 / 7]],  "by hand: 7 in all"),
    ("softmax-not-normalised",  [[1, 3], [2, 1]],  "by hand"),
    ("softmax-shifted-not-normalised",  [[1 / 3, 1], [1, 1 / 2]],  "by hand"),
    ("softmax-divided-by-the-largest",  [[1 / 3, 1], [1, 1 / 2]],  "by hand"),
    ("softmax-divided-by-count",  [[1 / 2, 3 / 2], [1, 1 / 2]],  "by hand"),
    ("softmax-l2",  [[1 / sqrt(10), 3 / sqrt(10)], [2 / sqrt(5), 1 / sqrt(5)]], "by hand"),
    ("softmax-odds",  [[1 / 3, 3], [2, 1 / 2]],  "by hand"),
    ("softmax-sum-without-last-key",  [[1, 3], [1, 1 / 2]],  "by hand"),
    ("softmax-sum-without-first-key",  [[1 / 3, 1], [2, 1]],  "by hand"),
    ("softmax-sum-without-diagonal",  [[1 / 3, 1], [1, 1 / 2]],  "by hand"),
    ("softmax-sum-over-queries",  [[1 / 4, 2 / 3], [3 / 4, 1 / 3]],  "by hand: columns 4/3, 3/2"),
    ("softmax-sum-over-table",  [[2 / 17, 6 / 17], [6 / 17, 3 / 17]],  "by hand: 17/6 in all"),
    ("weights-normalised-over-queries",  [[3 / 11, 9 / 13], [8 / 11, 4 / 13]],  "by hand: 11/12, 13/12"),
    ("row-max-over-queries",  [[1 / 3, 2 / 3], [3 / 4, 1 / 4]],  "by hand: [[1/2, 1], [1, 1/3]]"),
    ("row-max-divided",  [pair(e), pair(1 / e)],  "by hand: s/m is 0 and 1"),
    ("row-max-added",  [[1 / 4, 3 / 4], [2 / 3, 1 / 3]],  "it cancels"),
    ("softmax-without-max",  [[1 / 4, 3 / 4], [2 / 3, 1 / 3]],  "it cancels"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "weights", "source"), WEIGHTS)
def test_the_weights_are(mistake: str, weights: list[list[float]], source: str) -> None:
    assert made(PROBLEM, "weights", mistake) == pytest.approx(np.array(weights)), source


FAMILIES = [
    # mistake                 θ      first row                 source
    ("softmax-another-base",  4.0,   pair(4 ** log(3)),        "by hand"),
    ("softmax-epsilon",       0.5,   [2 / 11, 6 / 11],         "by hand: (1/3, 1) over 4/3 + 1/2"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "row", "source"), FAMILIES)
def test_a_number_in_the_rule(mistake: str, theta: float, row: list[float], source: str) -> None:
    assert made(PROBLEM, "weights", mistake, theta=theta)[0] == pytest.approx(row), source


def test_a_second_softmax_gives_a_masked_key_weight_again_unless_it_is_masked_again() -> None:
    assert made(MASKED, "weights", "softmax-twice")[0] == pytest.approx(pair(1 / e))
    assert made(MASKED, "weights", "softmax-twice-masked")[0] == pytest.approx([1, 0])


def test_the_softmax_over_the_batch_of_one_is_one_everywhere() -> None:
    problem = Problem(given={"masked": [[[[0.3, -2.0]]]]}, value=[[[[1.0], [2.0]]]])
    assert made(problem, "weights", "softmax-over-batch").tolist() == [[[[1.0, 1.0]]]]


def test_the_softmax_over_two_heads_shares_each_entry_between_them() -> None:
    problem = Problem(given={"masked": [[[0.0]], [[log(3)]]]}, value=[[[1.0]], [[2.0]]])
    assert made(problem, "weights", "softmax-over-heads")[:, 0, 0] == pytest.approx([1 / 4, 3 / 4])


def test_without_the_maximum_float32_overflows_beyond_88() -> None:
    scores = [[100.0, 0.0], [1.0, 1.0]]
    problem = Problem(given={"masked": scores}, value=[[1.0], [0.0]], dtype="float32")
    weights = made(problem, "weights", "softmax-without-max")
    assert np.isnan(weights[0, 0])
    assert weights[0, 1] == 0
    assert weights[1] == pytest.approx([0.5, 0.5])


def test_without_the_maximum_scores_far_below_zero_all_vanish() -> None:
    problem = Problem(given={"masked": [[-800.0, -800.0]]}, value=[[1.0], [0.0]])
    assert np.isnan(made(problem, "weights", "softmax-without-max")).all()


def test_one_maximum_for_the_whole_table_loses_a_row_far_below_it() -> None:
    problem = Problem(given={"masked": [[1000.0, 0.0], [0.0, 0.0]]}, value=[[1.0], [0.0]])
    weights = made(problem, "weights", "row-max-of-table")
    assert weights[0].tolist() == [1.0, 0.0]
    assert np.isnan(weights[1]).all()


def test_softmax_of_the_output() -> None:
    problem = Problem(given={"scaled": [[1.0, 0.0]]}, value=[[0.0, log(3)], [5.0, 5.0]])
    assert made(problem, "output", "softmax-after-blend")[0] == pytest.approx([1 / 4, 3 / 4])
