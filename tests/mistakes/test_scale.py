"""Scaled scores of each wrong scale, worked by hand."""

from math import log, sqrt

import numpy as np
import pytest
from made import made

from headwork.mistakes.scale import names_of
from headwork.problem import Problem

# d_k = 4, Tk = 3, Tq = 2, d_v = 5: one score is 4, so the right scaled score is 4 / √4 = 2
KEYS = {"key": [[2.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4], "value": [[0.0] * 5] * 3}
PLAIN = Problem(query=[[2.0, 0.0, 0.0, 0.0], [0.0] * 4], **KEYS)
GIVEN = Problem(query=[[2.0, 0.0, 0.0, 0.0], [0.0] * 4], **KEYS, scale=0.3)

FOUR_SCALED = [
    # mistake                            problem  4 becomes      source
    ("scale-missing",                    PLAIN, 4.0,             "by hand"),
    ("scale-d-k-instead-of-sqrt",        PLAIN, 4 / 4,           "by hand"),
    ("scale-twice",                      PLAIN, 4 / 2 / 2,       "by hand"),
    ("scale-inverted",                   PLAIN, 4 * 2,           "by hand"),
    ("scale-times-d-k",                  PLAIN, 4 * 4,           "by hand"),
    ("scale-d-k-squared",                PLAIN, 4 / 16,          "by hand"),
    ("scale-fourth-root",                PLAIN, 4 / sqrt(2),     "by hand: the fourth root of 4 is √2"),
    ("scale-log-d-k",                    PLAIN, 4 / log(4),      "by hand"),
    ("scale-half-head",                  PLAIN, 4 / sqrt(2),     "by hand"),
    ("scale-zero",                       PLAIN, 0.0,             "by hand"),
    ("scale-by-key-count",               PLAIN, 4 / sqrt(3),     "by hand: Tk = 3"),
    ("scale-by-key-count-unrooted",      PLAIN, 4 / 3,           "by hand: Tk = 3"),
    ("scale-by-query-count",             PLAIN, 4 / sqrt(2),     "by hand: Tq = 2"),
    ("scale-by-value-width",             PLAIN, 4 / sqrt(5),     "by hand: d_v = 5"),
    ("scale-given-ignored",              GIVEN, 2.0,             "by hand"),
    ("scale-given-twice",                GIVEN, 4 * 0.09,        "by hand"),
    ("scale-given-and-default",          GIVEN, 4 * 0.3 / 2,     "by hand"),
    ("scale-inverted",                   GIVEN, 4 / 0.3,         "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "scaled", "source"), FOUR_SCALED)
def test_a_score_of_four_becomes(mistake: str, problem: Problem, scaled: float, source: str) -> None:
    assert made(problem, "scaled", mistake)[0, 0] == pytest.approx(scaled, rel=1e-12), source


def test_dividing_by_any_number_is_one_family() -> None:
    assert made(PLAIN, "scaled", "scale-by-another-number", theta=5.0)[0, 0] == pytest.approx(0.8)


def test_two_heads_of_two_features_are_four_wide() -> None:
    query = [[2.0, 0.0, 2.0, 0.0]]
    problem = Problem(query=query, key=query, value=query, heads=2)
    assert made(problem, "scaled", "scale-d-model")[:, 0, 0] == pytest.approx([4 / 2, 4 / 2])  # √(2·2) = 2


def test_a_bias_added_before_the_scale_is_scaled_too() -> None:
    problem = Problem(query=[[2.0, 0.0, 0.0, 0.0]], **KEYS, mask=[[0.5, 1.0, 0.0]])
    assert made(problem, "masked", "scale-after-bias")[0] == pytest.approx([2 + 0.25, 0.5, 0])


def test_a_query_scaled_before_its_bias_keeps_the_bias_whole() -> None:
    one = [[1.0, 0.0, 0.0, 0.0]]
    eye = np.eye(4)
    problem = Problem(
        x=[[2.0, 0.0, 0.0, 0.0]], x_key=one, w_query=eye, w_key=eye, b_query=[1.0, 0.0, 0.0, 0.0]
    )
    # (2/2 + 1) · 1 = 2, where the right one is (2 + 1)/2
    assert made(problem, "scaled", "scale-before-projection-bias")[0, 0] == pytest.approx(2.0)


NAMES = [
    # divisor      what it is in PLAIN: d_k = 4, Tk = 3, Tq = 2, H = 1, d_v = 5
    (4.0,          ("d_k", "d_model")),
    (3.0,          ("Tk",)),
    (sqrt(5),      ("√d_v",)),
    (16.0,         ("d_k²", "d_model²")),
    (20.0,         ("d_k·d_v", "d_model·d_v")),
    (7.0,          ()),
]  # fmt: skip


@pytest.mark.parametrize(("divisor", "names"), NAMES)
def test_a_divisor_is_named_by_the_sizes_of_the_problem(divisor: float, names: tuple[str, ...]) -> None:
    assert names_of(PLAIN, divisor) == names
