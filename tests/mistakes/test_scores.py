"""Scores of each wrong rule, worked by hand."""

from math import sqrt

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

# Q Kᵀ = [[17, 23], [39, 53]]
PROBLEM = Problem(
    query=[[1.0, 2.0], [3.0, 4.0]], key=[[5.0, 6.0], [7.0, 8.0]], value=[[1.0, -1.0], [0.0, 2.0]]
)
MINUS = Problem(query=[[1.0, -2.0], [3.0, 4.0]], key=[[5.0, 6.0], [7.0, 8.0]])  # [[-7, -9], [39, 53]]

SCORES = [
    # mistake  problem  scores  source
    ("scores-transposed",  PROBLEM, [[17, 39], [23, 53]],  "by hand"),
    ("scores-key-not-transposed",  PROBLEM, [[19, 22], [43, 50]],  "by hand"),
    ("scores-query-for-key",  PROBLEM, [[5, 11], [11, 25]],  "by hand"),
    ("scores-key-for-query",  PROBLEM, [[61, 83], [83, 113]],  "by hand"),
    ("scores-value-for-key",  PROBLEM, [[-1, 4], [-1, 8]],  "by hand"),
    ("scores-entrywise",  PROBLEM, [[5, 12], [21, 32]],  "by hand"),
    ("scores-features-against-features", PROBLEM, [[26, 30], [38, 44]],  "by hand"),
    ("scores-sums-multiplied",  PROBLEM, [[33, 45], [77, 105]],  "by hand: sums 3, 7 and 11, 15"),
    ("scores-added",  PROBLEM, [[14, 18], [18, 22]],  "by hand: sums 3, 7 and 11, 15"),
    ("scores-last-feature-dropped",  PROBLEM, [[5, 7], [15, 21]],  "by hand"),
    ("scores-first-feature-dropped",  PROBLEM, [[12, 16], [24, 32]],  "by hand"),
    ("scores-negated",  PROBLEM, [[-17, -23], [-39, -53]],  "by hand"),
    ("scores-absolute",  MINUS,  [[7, 9], [39, 53]],  "by hand"),
    ("scores-clipped-at-zero",  MINUS,  [[0, 0], [39, 53]],  "by hand"),
    ("scores-squared",  MINUS,  [[49, 81], [1521, 2809]],  "by hand"),
    ("scores-squared-distance",  PROBLEM, [[-32, -72], [-8, -32]],  "by hand"),
    ("scores-distance",  PROBLEM, [[-sqrt(32), -sqrt(72)], [-sqrt(8), -sqrt(32)]], "by hand"),
    ("scores-of-first-query",  PROBLEM, [[17, 23], [17, 23]],  "by hand"),
    ("scores-of-last-query",  PROBLEM, [[39, 53], [39, 53]],  "by hand"),
    ("scores-keys-reversed",  PROBLEM, [[23, 17], [53, 39]],  "by hand"),
    ("scores-cosine",  PROBLEM,
     [[17 / sqrt(5 * 61), 23 / sqrt(5 * 113)], [39 / sqrt(25 * 61), 53 / sqrt(25 * 113)]],
     "by hand: ‖q‖² 5, 25; ‖k‖² 61, 113"),
    ("scores-query-normalised",  PROBLEM,
     [[17 / sqrt(5), 23 / sqrt(5)], [39 / 5, 53 / 5]],  "by hand"),
    ("scores-key-normalised",  PROBLEM,
     [[17 / sqrt(61), 23 / sqrt(113)], [39 / sqrt(61), 53 / sqrt(113)]],  "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "scores", "source"), SCORES)
def test_the_scores_are(mistake: str, problem: Problem, scores: list[list[float]], source: str) -> None:
    assert made(problem, "scores", mistake) == pytest.approx(np.array(scores, dtype=float)), source


def test_without_splitting_every_head_gets_the_sum_over_all_features() -> None:
    problem = Problem(query=[[1.0, 2.0]], key=[[3.0, 4.0]], value=[[0.0, 0.0]], heads=2)  # per head: 3 and 8
    assert made(problem, "scores", "scores-over-all-features")[:, 0, 0].tolist() == [11.0, 11.0]
    assert made(problem, "scores", "scores-averaged-over-heads")[:, 0, 0].tolist() == [5.5, 5.5]


def test_a_row_of_zeros_has_no_direction_and_stays_zero() -> None:
    problem = Problem(query=[[0.0, 0.0], [1.0, 0.0]], key=[[2.0, 0.0], [0.0, 1.0]])
    assert made(problem, "scores", "scores-cosine").tolist() == [[0.0, 0.0], [1.0, 0.0]]
