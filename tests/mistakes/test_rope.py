"""Queries and keys turned wrongly, worked by hand."""

from math import cos, sin

import numpy as np
import pytest
from made import made

from headwork.problem import Problem


def turned_key(row: list[float], mistake: str, theta: float | None = None, **rope: object) -> np.ndarray:
    """What becomes of this key at position 1, the second of two."""
    D = len(row)
    problem = Problem(
        query=[[1.0] * D] * 2, key=[[0.0] * D, row], value=[[0.0] * D] * 2, rope={"base": 100.0, **rope}
    )
    return np.asarray(made(problem, "key_rotated", mistake, theta=theta)[1])


ONE_PAIR = [
    # mistake                  key (0, 1) becomes             source
    ("rope-backwards",         [sin(1), cos(1)],              "by hand: angle −1"),
    ("rope-key-backwards",     [sin(1), cos(1)],              "by hand: angle −1"),
    ("rope-minus-forgotten",   [sin(1), cos(1)],              "by hand"),
    ("rope-sin-and-cos-swapped", [-cos(1), sin(1)],           "by hand"),
    ("rope-overwritten",       [-sin(1), cos(1) - sin(1)**2], "by hand: x₁ is −sin 1 already"),
    ("rope-not-applied",       [0, 1],                        "by hand"),
    ("rope-query-only",        [0, 1],                        "by hand"),
    ("rope-key-only",          [-sin(1), cos(1)],             "by hand: the key is right"),
    ("rope-twice",             [-sin(2), cos(2)],             "by hand"),
    ("rope-key-twice",         [-sin(2), cos(2)],             "by hand"),
    ("rope-from-one",          [-sin(2), cos(2)],             "by hand: position 2"),
    ("rope-from-the-end",      [0, 1],                        "by hand: position 0"),
    ("rope-exponent-from-one", [-sin(0.01), cos(0.01)],       "by hand: 100^(−2/2)"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "key", "source"), ONE_PAIR)
def test_one_pair_turns_to(mistake: str, key: list[float], source: str) -> None:
    assert turned_key([0.0, 1.0], mistake) == pytest.approx(np.array(key)), source


SPEEDS = [
    # mistake                     θ     angle of the second pair  source
    ("rope-exponent-without-two", None, 100**-0.25,  "by hand: 100^(−1/4) = 0.316"),
    ("rope-exponent-doubled",     None, 0.01,        "by hand: 100^(−4/4)"),
    ("rope-exponent-from-one",    None, 0.01,        "by hand: 100^(−4/4)"),
    ("rope-exponent-sign",        None, 10.0,        "by hand: 100^(2/4)"),
    ("rope-one-frequency",        None, 1.0,         "by hand"),
    ("rope-frequencies-reversed", None, 1.0,         "by hand: the first pair's"),
    ("rope-base-ignored",         None, 0.01,        "by hand: 10000^(−2/4)"),
    ("rope-another-base",         16.0, 0.25,        "by hand: 16^(−2/4)"),
    ("rope-positions-scaled",     2.0,  0.05,        "by hand: 0.1/2"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "angle", "source"), SPEEDS)
def test_the_second_of_two_pairs_turns_by(
    mistake: str, theta: float | None, angle: float, source: str
) -> None:
    expected = np.array([0, cos(angle), 0, sin(angle)])  # halves: features 2 and 4 are the pair
    assert turned_key([0.0, 1.0, 0.0, 0.0], mistake, theta) == pytest.approx(expected), source


PAIRINGS = [
    # mistake                           key (0, 1, 0, 0) becomes        source
    ("rope-angles-and-pairs-mixed",     [0, cos(1), 0, sin(0.1)],       "by hand: angles 1 1 0.1 0.1"),
    ("rope-neighbours-with-half-angles", [-sin(1), cos(0.1), 0, 0],     "by hand: angles 1 0.1 1 0.1"),
    ("rope-pairing",                    [-sin(1), cos(1), 0, 0],        "by hand: neighbours"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "key", "source"), PAIRINGS)
def test_features_pair_up(mistake: str, key: list[float], source: str) -> None:
    assert turned_key([0.0, 1.0, 0.0, 0.0], mistake) == pytest.approx(np.array(key)), source


PARTS = [
    # mistake                       key                       turned                            source
    ("rope-whole-head",             [0, 1, 0, 0],             [0, cos(0.1), 0, sin(0.1)],       "by hand"),
    ("rope-last-features",          [1, 0, 0, 1],             [1, 0, -sin(1), cos(1)],          "by hand"),
    ("rope-pairs-across-the-head",  [1, 0, 0, 0],             [cos(1), 0, sin(1), 0],           "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "key", "turned", "source"), PARTS)
def test_where_only_two_of_four_features_turn(
    mistake: str, key: list[float], turned: list[float], source: str
) -> None:
    assert turned_key([float(x) for x in key], mistake, dim=2) == pytest.approx(np.array(turned)), source


def test_the_exponent_divided_by_the_heads_width() -> None:
    # by hand: dim 4 of 8, second pair (2, 4): 100^(−2/8)
    angle = 100**-0.25
    key = turned_key([0.0, 1.0] + [0.0] * 6, "rope-exponent-by-head-width", dim=4)
    assert key[[1, 3]] == pytest.approx(np.array([cos(angle), sin(angle)]))


# one query (0, 1) at position 2, keys (0, 1) at 0, 1, 2
CACHED = Problem(query=[[0.0, 1.0]], key=[[0.0, 1.0]] * 3, value=[[0.0]] * 3, rope=True)

POSITIONS = [
    # mistake                       θ     query's position  source
    ("rope-query-offset-ignored",   None, 0,                "by hand"),
    ("rope-cache-forgotten",        None, 0,                "by hand"),
    ("rope-query-one-ahead",        None, 3,                "by hand"),
    ("rope-query-one-behind",       None, 1,                "by hand"),
    ("rope-query-shifted",          5.0,  7,                "by hand"),
    ("rope-query-backwards",        None, -2,               "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "place", "source"), POSITIONS)
def test_the_query_stands_at(mistake: str, theta: float | None, place: int, source: str) -> None:
    query = made(CACHED, "query_rotated", mistake, theta=theta)
    assert query == pytest.approx(np.array([[-sin(place), cos(place)]])), source


def test_a_forgotten_cache_restarts_the_new_key() -> None:
    keys = made(CACHED, "key_rotated", "rope-cache-forgotten")
    places = np.array([0, 1, 0])  # by hand: the third key is new
    assert keys == pytest.approx(np.stack([-np.sin(places), np.cos(places)], axis=1))


def test_the_heads_number_for_a_position() -> None:
    problem = Problem(query=np.ones((2, 1, 2)), key=np.ones((2, 2, 2)), value=np.ones((2, 2, 1)), rope=True)
    keys = made(problem, "key_rotated", "rope-along-heads")
    turned = [cos(1) - sin(1), sin(1) + cos(1)]  # by hand: head 2 has number 1
    assert keys == pytest.approx(np.array([[[1, 1], [1, 1]], [turned, turned]]))


def test_values_are_turned_too() -> None:
    problem = Problem(query=[[0.0, 0.0]], key=[[0.0, 0.0]] * 2, value=[[0.0, 0.0], [0.0, 2.0]], rope=True)
    assert made(problem, "output", "rope-value-too") == pytest.approx(
        np.array([[-sin(1), cos(1)]])
    )  # by hand


def test_before_the_split_the_second_head_has_later_frequencies() -> None:
    # by hand: neighbours of 4 features, base 100: the second head's pair turns by 0.1
    problem = Problem(
        query=[[0.0] * 4] * 2,
        key=[[0.0] * 4, [0.0, 1.0, 0.0, 1.0]],
        value=[[0.0] * 4] * 2,
        heads=2,
        rope={"base": 100.0, "pairing": "interleaved"},
    )
    keys = made(problem, "key_rotated", "rope-before-split")[:, 1]
    assert keys == pytest.approx(np.array([[-sin(1), cos(1)], [-sin(0.1), cos(0.1)]]))
