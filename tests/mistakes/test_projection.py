"""Queries, keys, values and outputs of each wrong projection, worked by hand."""

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

X = [[1.0, 2.0], [3.0, 4.0]]
W = {
    "w_query": [[1.0, 0.0], [0.0, 2.0]],  # X W_Q = [[1, 4], [3, 8]]
    "w_key": [[0.0, 1.0], [1.0, 0.0]],  # X W_K = [[2, 1], [4, 3]]
    "w_value": [[1.0, 1.0], [0.0, 1.0]],  # X W_V = [[1, 3], [3, 7]]
}
WITH_WQ, WITH_WK, WITH_WV = [[1, 4], [3, 8]], [[2, 1], [4, 3]], [[1, 3], [3, 7]]
PLAIN = Problem(x=X, **W)
BIASED = Problem(x=X, **W, b_query=[1.0, 0.0], b_key=[0.0, -1.0], b_value=[2.0, 3.0])

PROJECTED = [
    # mistake                        problem  field    rows                 source
    ("v-projected-with-wk",          PLAIN,   "value", WITH_WK,             "by hand"),
    ("v-projected-with-wq",          PLAIN,   "value", WITH_WQ,             "by hand"),
    ("k-projected-with-wq",          PLAIN,   "key",   WITH_WQ,             "by hand"),
    ("k-projected-with-wv",          PLAIN,   "key",   WITH_WV,             "by hand"),
    ("q-projected-with-wk",          PLAIN,   "query", WITH_WK,             "by hand"),
    ("q-projected-with-wv",          PLAIN,   "query", WITH_WV,             "by hand"),
    ("w-q-and-w-k-swapped",          PLAIN,   "scores", [[6, 14], [16, 36]], "by hand: Sᵀ"),
    ("w-k-and-w-v-swapped",          PLAIN,   "key",   WITH_WV,             "by hand"),
    ("w-k-and-w-v-swapped",          PLAIN,   "value", WITH_WK,             "by hand"),
    ("w-q-and-w-v-swapped",          PLAIN,   "value", WITH_WQ,             "by hand"),
    ("qkv-read-as-kvq",              PLAIN,   "key",   WITH_WQ,             "by hand"),
    ("qkv-read-as-kvq",              PLAIN,   "value", WITH_WK,             "by hand"),
    ("qkv-read-as-kvq",              PLAIN,   "query", WITH_WV,             "by hand"),
    ("qkv-read-as-vqk",              PLAIN,   "value", WITH_WQ,             "by hand"),
    ("all-projected-with-wq",        PLAIN,   "value", WITH_WQ,             "by hand"),
    ("all-projected-with-wv",        PLAIN,   "query", WITH_WV,             "by hand"),
    ("projections-transposed", PLAIN, "value", [[3, 2], [7, 4]], "by hand: W_Vᵀ = [[1, 0], [1, 1]]"),
    ("w-v-transposed",               PLAIN,   "value", [[3, 2], [7, 4]],    "by hand"),
    ("w-v-transposed",               PLAIN,   "key",   WITH_WK,             "by hand: the key is right"),
    ("projection-left-out",          PLAIN,   "query", X,                   "by hand"),
    ("value-not-projected",          PLAIN,   "value", X,                   "by hand"),
    ("key-not-projected",            PLAIN,   "key",   X,                   "by hand"),
    ("query-not-projected",          PLAIN,   "query", X,                   "by hand"),
    ("projection-biases-forgotten",  BIASED,  "value", WITH_WV,             "by hand"),
    ("b-q-forgotten",                BIASED,  "query", WITH_WQ,             "by hand"),
    ("b-k-forgotten",                BIASED,  "key",   WITH_WK,             "by hand"),
    ("b-v-forgotten",                BIASED,  "value", WITH_WV,             "by hand"),
    ("projection-biases-twice",      BIASED,  "value", [[5, 9], [7, 13]],   "by hand: + 2·[2, 3]"),
    ("b-k-used-for-v",               BIASED,  "value", [[1, 2], [3, 6]],    "by hand: + [0, −1]"),
    ("b-q-and-b-k-swapped",          BIASED,  "query", [[1, 3], [3, 7]],    "by hand: + [0, −1]"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "field", "rows", "source"), PROJECTED)
def test_the_projections_are(
    mistake: str, problem: Problem, field: str, rows: list[list[float]], source: str
) -> None:
    assert made(problem, field, mistake) == pytest.approx(np.array(rows, dtype=float)), source


# one layer gives q₁ q₂ | k₁ k₂ | v₁ v₂ = 1 2 | 3 4 | 5 6
FUSED = Problem(x=[[1.0]], w_query=[[1.0, 2.0]], w_key=[[3.0, 4.0]], w_value=[[5.0, 6.0]], heads=2)

PACKINGS = [
    # mistake                      query   key     value   source
    ("fused-qkv-read-per-head",    [1, 4], [2, 5], [3, 6], "by hand: 1 2 3 | 4 5 6"),
    ("fused-qkv-read-in-blocks",   [1, 3], [5, 2], [4, 6], "by hand: 1 3 5 2 4 6 in thirds"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "query", "key", "value", "source"), PACKINGS)
def test_a_packed_layer_is_cut_at(
    mistake: str, query: list[float], key: list[float], value: list[float], source: str
) -> None:
    for field, row in (("query", query), ("key", key), ("value", value)):
        assert made(FUSED, field, mistake).tolist() == [row], source


def test_cross_attention_with_its_own_tokens_only() -> None:
    one = [[1.0]]
    problem = Problem(x=[[2.0], [4.0]], x_key=[[5.0]], w_query=one, w_key=[[0.0]], w_value=one)
    assert made(problem, "output", "x-key-ignored").tolist() == [
        [3.0],
        [3.0],
    ]  # by hand: uniform over 2 and 4


# from x = 1 and x_key = 5, all matrices 1: one key, so the output is the value
CROSS = Problem(x=[[1.0]], x_key=[[5.0]], w_query=[[1.0]], w_key=[[1.0]], w_value=[[1.0]])

CROSSED = [
    # mistake                 query  key  value  source
    ("query-from-x-key",      5,     5,   5,     "by hand"),
    ("x-and-x-key-swapped",   5,     1,   1,     "by hand"),
    ("value-from-x",          1,     5,   1,     "by hand"),
    ("key-from-x",            1,     1,   5,     "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "query", "key", "value", "source"), CROSSED)
def test_cross_attention_takes(mistake: str, query: float, key: float, value: float, source: str) -> None:
    for field, number in (("query", query), ("key", key), ("value", value)):
        assert made(CROSS, field, mistake).tolist() == [[number]], source


# one key: the joined heads are [1, 2]; [1, 2] W_O = [7, 10]
OUT = Problem(
    query=[[0.0, 0.0]],
    key=[[0.0, 0.0]],
    value=[[1.0, 2.0]],
    w_output=[[1.0, 2.0], [3.0, 4.0]],
    b_output=[1.0, -1.0],
)

OUTPUTS = [
    # mistake                     θ     output    source
    ("output-projection-left-out", None, [1, 2],   "by hand"),
    ("w-o-transposed",             None, [6, 10],  "by hand: [5, 11] + b"),
    ("output-projected-twice",     None, [36, 51], "by hand: [8, 9] W_O = [35, 52], + b"),
    ("b-o-forgotten",              None, [7, 10],  "by hand"),
    ("b-o-several-times",          3.0,  [10, 7],  "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "output", "source"), OUTPUTS)
def test_the_output_is(mistake: str, theta: float | None, output: list[float], source: str) -> None:
    assert made(OUT, "output", mistake, theta=theta).tolist() == [output], source
