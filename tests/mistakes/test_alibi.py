"""The distance penalty of each wrong rule, worked by hand."""

from math import log

import numpy as np
import pytest
from made import made

from headwork.mistakes.alibi import slopes
from headwork.problem import Problem


def square(**options: object) -> Problem:
    """Three tokens with scores 0."""
    zeros = [[0.0]] * 3
    return Problem(query=zeros, key=zeros, value=zeros, **{"alibi": 0.5, **options})


CACHED = Problem(query=[[0.0]], key=[[0.0]] * 3, value=[[0.0]] * 3, alibi=0.5)  # the query stands at 2

PENALTIES = [
    # mistake                      θ     problem             first row          last row           source
    ("alibi-sign",                 None, square(),           [0, 0.5, 1],       [1, 0.5, 0],       "by hand"),
    ("alibi-ignored",              None, square(),           [0, 0, 0],         [0, 0, 0],         "by hand"),
    ("alibi-signed",               None, square(),           [0, 0.5, 1],       [-1, -0.5, 0],     "by hand"),
    ("alibi-by-key-index",         None, square(),           [0, 0.5, 1],       [0, 0.5, 1],       "by hand"),
    ("alibi-future-not-penalised", None, square(),           [0, 0, 0],         [-1, -0.5, 0],     "by hand"),
    ("alibi-distance-squared",     None, square(),           [0, -0.5, -2],     [-2, -0.5, 0],     "by hand"),
    ("alibi-query-one-ahead",      None, square(),           [-0.5, 0, -0.5],   [-1.5, -1, -0.5],  "by hand"),
    ("alibi-offset-ignored",       None, CACHED,             [0, -0.5, -1],     [0, -0.5, -1],     "by hand"),
    ("alibi-another-slope",        3.0,  square(),           [0, -1.5, -3],     [-3, -1.5, 0],     "by hand"),
    ("alibi-scaled-too", None, square(scale=0.25), [0, -0.125, -0.25], [-0.25, -0.125, 0], "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "problem", "first", "last", "source"), PENALTIES)
def test_the_penalties_are(
    mistake: str, theta: float | None, problem: Problem, first: list[float], last: list[float], source: str
) -> None:
    biased = made(problem, "biased", mistake, theta=theta)
    assert biased[0] == pytest.approx(np.array(first, dtype=float)), source
    assert biased[-1] == pytest.approx(np.array(last, dtype=float)), source


def heads(H: int, Hkv: int | None = None) -> Problem:
    """Two keys, one query at the second: the penalty of the first key is minus the slope."""
    keys = np.zeros((Hkv or H, 2, 1))
    return Problem(query=np.zeros((H, 1, 1)), key=keys, value=keys, alibi=True)


SLOPES = [
    # mistake                         θ     H  Hkv   slopes                               source
    ("alibi-slopes-reversed",         None, 4, None, [2**-8, 2**-6, 2**-4, 2**-2],        "by hand"),
    ("alibi-slopes-from-zero",        None, 4, None, [1, 2**-2, 2**-4, 2**-6],            "by hand"),
    ("alibi-slopes-not-interleaved",  None, 3, None, [2**(-8 / 3), 2**(-16 / 3), 2**-8],  "by hand"),
    ("alibi-slopes-halved",           None, 4, None, [2**-1, 2**-2, 2**-3, 2**-4],        "by hand"),
    ("alibi-another-exponent",        4.0,  4, None, [2**-1, 2**-2, 2**-3, 2**-4],        "by hand"),
    ("alibi-one-slope",               None, 4, None, [2**-2] * 4,                         "by hand"),
    ("alibi-slopes-restart",          None, 4, None, [2**-2, 2**-4, 2**-2, 2**-4],        "by hand"),
    ("alibi-slope-per-kv-head",       None, 4, 2,    [2**-2, 2**-2, 2**-4, 2**-4],        "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "H", "Hkv", "expected", "source"), SLOPES)
def test_the_slopes_are(
    mistake: str, theta: float | None, H: int, Hkv: int | None, expected: list[float], source: str
) -> None:
    biased = made(heads(H, Hkv), "biased", mistake, theta=theta)
    assert -biased[:, 0, 0] == pytest.approx(np.array(expected, dtype=float)), source


def test_three_heads_fill_up_with_a_slope_of_four() -> None:
    assert slopes(heads(3)).ravel().tolist() == [2**-4, 2**-8, 2**-2]  # the authors' code for 3 heads


def test_the_penalty_on_the_weights() -> None:
    weights = made(square(), "weights", "alibi-after-softmax")
    assert weights[0] == pytest.approx(np.array([1 / 3, 1 / 3 - 0.5, 1 / 3 - 1]))  # by hand


def test_a_masked_key_gets_no_penalty_on_its_weight() -> None:
    weights = made(square(causal=True), "weights", "alibi-after-softmax")
    assert weights[0].tolist() == [1, 0, 0]  # by hand: its own key is at distance 0


def test_the_penalty_as_a_factor() -> None:
    problem = Problem(query=[[1.0]], key=[[log(3)], [4.0]], value=[[0.0]] * 2, alibi=0.5, scale=1.0)
    biased = made(problem, "biased", "alibi-multiplied")
    assert biased == pytest.approx(np.array([[-0.5 * log(3), 0]]))  # by hand: distances 1 and 0


def test_float_masks_stay_beside_a_wrong_penalty() -> None:
    problem = square(mask=[[0.25, 0.0, -np.inf]] * 3)
    assert made(problem, "masked", "alibi-sign")[0].tolist() == [0.25, 0.5, -np.inf]  # by hand
