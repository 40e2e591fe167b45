"""Heads split, shared and joined wrongly, worked by hand."""

from math import log, sqrt

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

ROWS = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
PACKED = Problem(query=ROWS, key=ROWS, value=ROWS, heads=2)

SPLITS = [
    # mistake                    value of head 1     of head 2          source
    ("head-split-no-transpose",  [[1, 2], [3, 4]],   [[5, 6], [7, 8]],  "by hand"),
    ("head-split-reshaped-only", [[1, 2], [3, 4]],   [[5, 6], [7, 8]],  "by hand"),
    ("head-split-interleaved",   [[1, 3], [5, 7]],   [[2, 4], [6, 8]],  "by hand"),
    ("heads-interleaved",        [[1, 3], [5, 7]],   [[2, 4], [6, 8]],  "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "first", "second", "source"), SPLITS)
def test_the_heads_hold(
    mistake: str, first: list[list[float]], second: list[list[float]], source: str
) -> None:
    for field in ("query_heads", "key_heads", "value_heads"):
        assert made(PACKED, field, mistake).tolist() == [first, second], source


# one key: head 1 gives [1 2] and head 2 gives [3 4] to both queries
JOINED = Problem(query=[[0.0] * 4] * 2, key=[[0.0] * 4], value=[[1.0, 2.0, 3.0, 4.0]], heads=2)

JOINS = [
    # mistake                    θ     rows of the output             source
    ("head-merge-no-transpose",  None, [[1, 2, 1, 2], [3, 4, 3, 4]],  "by hand"),
    ("head-merge-interleaved",   None, [[1, 3, 2, 4], [1, 3, 2, 4]],  "by hand"),
    ("heads-interleaved",        None, [[1, 2, 3, 4], [1, 2, 3, 4]],  "by hand: out as it went in"),
    ("head-order-reversed",      None, [[3, 4, 1, 2], [3, 4, 1, 2]],  "by hand"),
    ("heads-averaged",           None, [[2, 3, 2, 3], [2, 3, 2, 3]],  "by hand"),
    ("heads-summed",             None, [[4, 6, 4, 6], [4, 6, 4, 6]],  "by hand"),
    ("one-head-for-all",         1.0,  [[1, 2, 1, 2], [1, 2, 1, 2]],  "by hand"),
    ("one-head-for-all",         2.0,  [[3, 4, 3, 4], [3, 4, 3, 4]],  "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "rows", "source"), JOINS)
def test_the_joined_heads_are(
    mistake: str, theta: float | None, rows: list[list[float]], source: str
) -> None:
    assert made(JOINED, "output", mistake, theta=theta).tolist() == rows, source


# over the full width the scores are a and 0 with a/√2 = ln 3: weights 3/4 and 1/4
ONE_SOFTMAX = Problem(
    query=[[1.0, 0.0]], key=[[sqrt(2) * log(3), 0.0], [0.0, 0.0]], value=[[4.0, 8.0], [0.0, 0.0]], heads=2
)


@pytest.mark.parametrize("mistake", ["heads-not-split", "head-count-and-width-swapped"])
def test_one_softmax_over_the_full_width(mistake: str) -> None:
    if mistake == "head-count-and-width-swapped":  # two heads of width 1 become one of width 2
        assert ONE_SOFTMAX.D == 1
    assert made(ONE_SOFTMAX, "output", mistake) == pytest.approx(np.array([[3.0, 6.0]]))  # by hand


# scores 0 everywhere: uniform weights; (H, T, 1)
UNIFORM = Problem(query=np.zeros((2, 2, 1)), key=np.zeros((2, 2, 1)), value=[[[1.0], [2.0]], [[3.0], [6.0]]])


def test_heads_that_attend_to_each_other_average_over_heads() -> None:
    output = made(UNIFORM, "output", "heads-and-tokens-swapped")
    assert output.tolist() == [[[2.0], [4.0]], [[2.0], [4.0]]]  # by hand: (1 + 3)/2, (2 + 6)/2


def test_a_causal_flag_then_hides_later_heads() -> None:
    problem = Problem(query=UNIFORM.query, key=UNIFORM.key, value=UNIFORM.value, causal=True)
    output = made(problem, "output", "heads-and-tokens-swapped")
    assert output.tolist() == [[[1.0], [2.0]], [[2.0], [4.0]]]  # by hand: head 1 sees itself only


def test_averaged_weights_are_the_same_in_every_head() -> None:
    # head 1 has weights 3/4, 1/4; head 2 has 1/2, 1/2
    problem = Problem(
        query=[[[1.0]], [[0.0]]], key=[[[log(3)], [0.0]], [[0.0], [0.0]]], value=np.ones((2, 2, 1)), scale=1.0
    )
    weights = made(problem, "weights", "weights-averaged-over-heads")
    assert weights == pytest.approx(np.array([[[5 / 8, 3 / 8]], [[5 / 8, 3 / 8]]]))  # by hand


def shared(H: int, Hkv: int) -> Problem:
    """One key: each query head's output is the value 1, 2, … of the key/value head that it uses."""
    values = np.arange(1.0, Hkv + 1)[:, None, None]
    return Problem(query=np.zeros((H, 1, 1)), key=np.zeros((Hkv, 1, 1)), value=values)


SHARES = [
    # mistake               H  Hkv  key/value head of each query head   source
    ("gqa-tile",            4, 2,   [1, 2, 1, 2],                       "by hand: h mod 2"),
    ("gqa-value-tiled",     4, 2,   [1, 2, 1, 2],                       "by hand: h mod 2"),
    ("gqa-key-tiled",       4, 2,   [1, 1, 2, 2],                       "by hand: values are right"),
    ("gqa-divides-by-hkv",  8, 4,   [1, 1, 1, 1, 2, 2, 2, 2],           "by hand: ⌊h/4⌋"),
    ("gqa-next-group",      4, 2,   [2, 2, 1, 1],                       "by hand"),
    ("gqa-reversed",        6, 3,   [3, 3, 2, 2, 1, 1],                 "by hand"),
    ("gqa-first-for-all",   4, 2,   [1, 1, 1, 1],                       "by hand"),
    ("gqa-mean-for-all",    4, 2,   [1.5, 1.5, 1.5, 1.5],               "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "H", "Hkv", "heads", "source"), SHARES)
def test_query_heads_share(mistake: str, H: int, Hkv: int, heads: list[float], source: str) -> None:
    assert made(shared(H, Hkv), "output", mistake).ravel().tolist() == heads, source
