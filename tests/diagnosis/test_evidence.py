"""How much an answer says, in bits, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headwork.diagnosis.evidence import NOISE, SYMBOL, entry_bits, evidence, length_bits

NAN, INF = math.nan, math.inf
RIGHT = np.array([[0.123, 0.456, 0.789]])
TOLERANCE = np.full((1, 3), 0.0005)


def bits(answer, right=RIGHT, tolerance=TOLERANCE, given=True, freedom=None) -> float:
    answer = np.array(answer, dtype=float)
    given = np.broadcast_to(np.array(given), answer.shape)
    return evidence(answer, right, tolerance, given, freedom)


def test_the_chance_of_gaussian_noise_of_any_size_is_at_most_the_bound():
    """P(answer within ±t of a number Δ away) ≤ 2t·max over σ of the density at Δ, reached at σ = Δ."""
    for delta in (0.01, 0.3, 7.0):
        sigma = np.geomspace(delta / 50, delta * 50, 4001)
        density = np.exp(-((delta / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))
        assert 2 * density.max() * delta == pytest.approx(NOISE, rel=1e-6)


def test_an_entry_is_worth_the_logarithm_of_its_distance_in_tolerances():
    distance = NOISE * 0.0005 * 2.0 ** np.array([3.0, 10.0])  # worth 3 and 10 bits, by the formula
    np.testing.assert_allclose(entry_bits(distance, np.zeros(2), np.full(2, 0.0005)), [3, 10])


LENGTHS = [
    # value  bits               source
    (0.0, 1, "zero is the plainest number"),
    (3.0, math.log2(10), "one digit"),
    (0.25, 2 * math.log2(10), "two digits"),
    (-0.731, 3 * math.log2(10), "three"),
    (1200.0, 2 * math.log2(10), "two: the zeros say nothing"),
]


@pytest.mark.parametrize(("value", "expected", "source"), LENGTHS)
def test_a_plain_value_is_worth_its_own_length(value, expected, source):
    assert length_bits(np.array([value]), np.array([0.5])).item() == pytest.approx(expected), source


def test_a_copy_of_another_right_entry_says_only_which_one():
    right = np.array([[0.731, 0.269], [0.134, 0.866]])
    copied = np.array([[0.269, 0.269], [0.134, 0.866]])
    assert length_bits(copied, right)[0, 0] == pytest.approx(2)  # one of four


CASES = [
    # name                            answer                     more                 bits          source
    ("right", [[0.123, 0.456, 0.789]], {}, 0, "agrees: says nothing"),
    ("nan in one entry", [[NAN, 0.456, 0.789]], {}, SYMBOL, "one symbol"),
    ("nan in all", [[NAN, NAN, NAN]], {}, SYMBOL, "still one symbol"),
    (
        "not given",
        [[0.9171, 0.456, 0.789]],
        {"given": [False, True, True]},
        0,
        "what is not given says nothing",
    ),
    ("−∞ where it belongs", [[-INF, 1, 2]], {"right": np.array([[-INF, 1, 2]])}, 0, "right"),
]


@pytest.mark.parametrize(("name", "answer", "more", "expected", "source"), CASES)
def test_what_says_nothing_and_what_says_one_thing(name, answer, more, expected, source):
    assert bits(answer, **more) == pytest.approx(expected), source


def test_of_a_row_only_the_free_entries_count_the_least_telling_ones():
    answer = [[0.1241, 0.4871, 0.3271]]
    each = [entry_bits(np.array(answer), RIGHT, TOLERANCE)[0, i] for i in range(3)]
    assert each[0] < each[1] < each[2]
    assert bits(answer, freedom=np.array([2])) == pytest.approx(each[0] + each[1])
    assert bits(answer, freedom=np.array([3])) == pytest.approx(sum(each))


@settings(max_examples=30)
@given(st.floats(-2, 2), st.floats(1e-6, 1e-2), st.floats(1, 100))
def test_the_finer_the_tolerance_the_more_an_entry_says(value, tolerance, coarser):
    fine, coarse = (
        bits([[value]], np.array([[0.5]]), np.array([[each]])) for each in (tolerance, tolerance * coarser)
    )
    assert fine >= coarse >= 0


@settings(max_examples=30)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=4), st.integers(0, 3))
def test_an_entry_that_is_left_out_never_adds_evidence(values, index):
    answer, right = np.array([values]), np.full((1, len(values)), 0.123)
    given_ = np.ones(len(values), dtype=bool)
    whole = bits(answer, right, np.full_like(right, 1e-4))
    given_[index % len(values)] = False
    assert bits(answer, right, np.full_like(right, 1e-4), given_) <= whole + 1e-9
