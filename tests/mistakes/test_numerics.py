"""Narrow arithmetic: roundings, overflow and saturation, worked by hand from the formats' bits."""

import numpy as np
import pytest
from made import BY_ID, made

from headwork.arrays import DTYPES
from headwork.mistakes import numerics
from headwork.mistakes.numerics import summed_in, to_fp8, to_int8, to_tf32
from headwork.problem import Problem

ROUNDED = [
    # to        number             becomes           source
    (to_tf32,   1 + 2.0**-10,      1 + 2.0**-10,     "10 bits of mantissa"),
    (to_tf32,   1 + 2.0**-12,      1.0,              "less than half a step"),
    (to_tf32,   1 + 3 * 2.0**-12,  1 + 2.0**-10,     "more than half a step"),
    (to_tf32,   -np.inf,           -np.inf,          "a symbol"),
    (to_fp8,    1.1,               1.125,            "3 bits: 1, 1.125, 1.25, …"),
    (to_fp8,    17.0,              16.0,             "3 bits: 16, 18, …; ties to even"),
    (numerics.rounded("bfloat16"), 257.0, 256.0,     "8 bits: 256, 258, …; ties to even"),
    (numerics.rounded("float16"),  2049.0, 2048.0,   "11 bits: 2048, 2050, …; ties to even"),
]  # fmt: skip


@pytest.mark.parametrize(("to", "number", "becomes", "source"), ROUNDED)
def test_a_number_is_rounded_to(to: object, number: float, becomes: float, source: str) -> None:
    assert callable(to)
    assert to(np.array([number])).tolist() == [becomes], source


def test_eight_bit_steps_of_a_row() -> None:
    assert to_int8(np.array([[254.0, 3.1], [0.0, 0.0]])).tolist() == [[254.0, 4.0], [0.0, 0.0]]  # steps of 2


SATURATED = [
    # dtype       terms   sum     source
    ("float16",   3000,   2048,   "from 2048 on, adding 1 changes nothing"),
    ("bfloat16",  300,    256,    "from 256 on, adding 1 changes nothing"),
    ("float32",   300,    300,    "exact up to 2²⁴"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "terms", "total", "source"), SATURATED)
def test_a_long_sum_of_ones(dtype: str, terms: int, total: float, source: str) -> None:
    assert float(summed_in(DTYPES[dtype], np.ones((1, terms)))[0, 0]) == total, source


def scored(query: list[float], key: list[float]) -> Problem:
    return Problem(query=[query], key=[key], value=[[0.0]])


SCORES = [
    # mistake                 query                key          score       source
    ("qk-accumulated-fp16",   [256.0, 1.0],        [256.0, 1.0], np.inf,    "65536 is beyond float16"),
    ("qk-accumulated-fp16",   [2048.0, 1.0, 1.0],  [1.0, 1.0, 1.0], 2048.0, "2048 + 1 + 1, term by term"),
    ("scores-float16",        [2048.0, 1.0],       [1.0, 1.0],  2048.0,     "2049 to 11 bits"),
    ("scores-bfloat16",       [256.0, 1.0],        [1.0, 1.0],  256.0,      "257 to 8 bits"),
    ("qk-bfloat16",           [257.0],             [1.0],       256.0,      "257 to 8 bits"),
    ("qk-float16",            [2049.0],            [1.0],       2048.0,     "2049 to 11 bits"),
    ("inputs-tf32",           [1 + 2.0**-12],      [1.0],       1.0,        "10 bits of mantissa"),
    ("kv-cache-int8",         [0.0, 1.0],          [254.0, 3.1], 4.0,       "steps of 2"),
    ("kv-cache-fp8",          [1.0],               [17.0],      16.0,       "3 bits of mantissa"),
    ("everything-float16",    [2049.0],            [1.0],       2048.0,     "11 bits"),
    ("everything-bfloat16",   [257.0],             [1.0],       256.0,      "8 bits"),
    ("everything-float32",    [2.0**24 + 1],       [1.0],       2.0**24,    "24 bits"),
    ("softmax-all-float16",   [2048.0, 1.0],       [1.0, 1.0],  2048.0,     "11 bits"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "query", "key", "score", "source"), SCORES)
def test_the_score_is(mistake: str, query: list[float], key: list[float], score: float, source: str) -> None:
    with np.errstate(over="ignore"):  # beyond float16 is the point
        assert made(scored(query, key), "scores", mistake).tolist() == [[score]], source


def test_two_infinite_scores_give_no_weights() -> None:
    problem = Problem(query=[[256.0]], key=[[256.0], [300.0]], value=[[0.0]] * 2)
    assert np.isnan(made(problem, "weights", "qk-accumulated-fp16")).all()  # ∞ − ∞


def test_a_long_row_sums_to_more_than_one() -> None:
    problem = Problem(query=[[0.0]], key=[[0.0]] * 512, value=[[1.0]] * 512)
    assert made(problem, "weights", "row-sum-bfloat16").sum() == pytest.approx(2.0)  # 512/256
    assert made(problem, "weights", "row-sum-float16").sum() == pytest.approx(1.0)


# scores ln 2 and 0: weights 2/3 and 1/3
THIRDS = Problem(query=[[1.0]], key=[[np.log(2)], [0.0]], value=[[3.0], [0.0]], scale=1.0)

EARLY = [
    # mistake                      decimals  field      numbers                source
    ("weights-rounded-early",      2.0,      "output",  [2.01],                "by hand: 3·0.67"),
    ("weights-cut-off",            2.0,      "weights", [0.66, 0.33],          "by hand"),
    ("exponentials-rounded-early", 0.0,      "weights", [2 / 3, 1 / 3],        "by hand: 2 and 1 are whole"),
    ("scores-rounded-early",       1.0,      "weights", [0.6682, 0.3318],      "by hand: e^0.7 = 2.0138"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "decimals", "field", "numbers", "source"), EARLY)
def test_rounded_too_early(
    mistake: str, decimals: float, field: str, numbers: list[float], source: str
) -> None:
    found = made(THIRDS, field, mistake, theta=decimals)
    assert found == pytest.approx(np.array([numbers]), abs=5e-5), source


def test_exponentials_to_one_decimal() -> None:
    problem = Problem(query=[[1.0]], key=[[0.5], [0.0]], scale=1.0)  # e^0.5 = 1.65 → 1.6
    weights = made(problem, "weights", "exponentials-rounded-early", theta=1.0)
    assert weights == pytest.approx(np.array([[1.6 / 2.6, 1 / 2.6]]))


def test_positions_beyond_256_share_an_angle_in_bfloat16() -> None:
    problem = Problem(query=[[1.0, 0.0]], key=[[1.0, 0.0]] * 258, value=[[0.0]] * 258, rope=True)
    keys = made(problem, "key_rotated", "rope-angles-bfloat16")
    assert keys[257].tolist() == keys[256].tolist()
    assert keys[257] == pytest.approx(np.array([np.cos(256), np.sin(256)]))


def test_only_overflow_is_a_mistake_the_rest_is_rounding() -> None:
    assert [m.id for m in numerics.MISTAKES if not m.narrow] == ["qk-accumulated-fp16"]
    assert BY_ID["weights-bfloat16"].narrow
