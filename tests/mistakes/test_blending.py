"""Outputs of each wrong blend, worked by hand."""

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

# right: [[7, 3], [6, 2]]
PROBLEM = Problem(given={"weights": [[1 / 4, 3 / 4], [1 / 2, 1 / 2]]}, value=[[4.0, 0.0], [8.0, 4.0]])

OUTPUTS = [
    # mistake                    output                       source
    ("weights-transposed",       [[5, 2], [7, 2]],            "by hand"),
    ("values-averaged",          [[6, 2], [6, 2]],            "by hand"),
    ("values-summed",            [[12, 4], [12, 4]],          "by hand"),
    ("blend-averaged",           [[3.5, 1.5], [3, 1]],        "by hand"),
    ("values-entrywise",         [[1, 0], [4, 2]],            "by hand"),
    ("own-value-only",           [[4, 0], [8, 4]],            "by hand"),
    ("values-reversed",          [[5, 1], [6, 2]],            "by hand"),
    ("blend-last-term-only",     [[6, 3], [4, 2]],            "by hand"),
    ("blend-first-term-only",    [[1, 0], [2, 0]],            "by hand"),
    ("blend-without-last-key",   [[1, 0], [2, 0]],            "by hand"),
    ("blend-without-first-key",  [[6, 3], [4, 2]],            "by hand"),
    ("value-added",              [[11, 3], [14, 6]],          "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "output", "source"), OUTPUTS)
def test_the_output_is(mistake: str, output: list[list[float]], source: str) -> None:
    assert made(PROBLEM, "output", mistake) == pytest.approx(np.array(output, dtype=float)), source


# scale 0: every weight is 1/2
HALVES = Problem(
    query=[[1.0, 0.0], [3.0, 2.0]], key=[[2.0, 4.0], [6.0, 0.0]], value=[[1.0, 1.0], [3.0, 5.0]], scale=0.0
)
INSTEAD = [
    # mistake            output of each row    source
    ("key-for-value",    [[4, 2], [4, 2]],     "by hand: mean of the keys"),
    ("query-for-value",  [[2, 1], [2, 1]],     "by hand: mean of the queries"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "output", "source"), INSTEAD)
def test_what_was_taken_for_the_values(mistake: str, output: list[list[float]], source: str) -> None:
    assert made(HALVES, "output", mistake) == pytest.approx(np.array(output, dtype=float)), source


def test_the_weights_meet_the_scores() -> None:
    problem = Problem(
        query=[[2.0, 0.0], [0.0, 4.0]], key=[[1.0, 0.0], [0.0, 1.0]], value=[[0.0, 0.0]] * 2, scale=0.0
    )
    assert made(problem, "output", "scores-blended").tolist() == [
        [1.0, 2.0],
        [1.0, 2.0],
    ]  # half of 2, 0 and of 0, 4


def test_heads_take_each_others_values() -> None:
    problem = Problem(given={"weights": [[[1.0]], [[1.0]], [[1.0]]]}, value=[[[1.0]], [[2.0]], [[3.0]]])
    assert made(problem, "output", "value-of-next-head").ravel().tolist() == [2.0, 3.0, 1.0]
    assert made(problem, "output", "value-of-first-head").ravel().tolist() == [1.0, 1.0, 1.0]


def test_batch_elements_take_the_first_ones_values() -> None:
    problem = Problem(given={"weights": [[[[1.0]]], [[[1.0]]]]}, value=[[[[1.0]]], [[[2.0]]]])
    assert made(problem, "output", "value-of-first-sample").ravel().tolist() == [1.0, 1.0]


def test_a_masked_nan_leaks() -> None:
    problem = Problem(given={"scaled": [[0.0, 0.0]]}, value=[[1.0], ["nan"]], mask=[[True, False]])
    assert np.isnan(made(problem, "output", "masked-value-leaks")).all()


def test_any_factor_on_the_output_is_one_family() -> None:
    assert made(PROBLEM, "output", "output-times-another-number", theta=2.0).tolist() == [
        [14.0, 6.0],
        [12.0, 4.0],
    ]
