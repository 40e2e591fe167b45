"""How much an answer says, in bits, by hand."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headwork.diagnosis.evidence import (
    NAMED,
    NOISE,
    SYMBOL,
    copies,
    digits_of,
    enough,
    entry_bits,
    evidence,
    plain_bits,
    ways_to_move,
)

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
    (0.27, 2 * math.log2(10), "two digits"),
    (-0.731, 3 * math.log2(10), "three"),
    (1200.0, 2 * math.log2(10), "two: the zeros say nothing"),
    (0.5, 2, "1/2: one bit, and log₂ of 1 · 2"),
    (-0.75, 1 + math.log2(12), "3/4"),
    (1 / 3, 1 + math.log2(3), "1/3"),
    (2 / 3 + 1e-5, 1 + math.log2(6), "2/3, as near as can be told"),
    (1 / 13, 17 * math.log2(10), "no simple fraction: all digits"),
]


@pytest.mark.parametrize(("value", "expected", "source"), LENGTHS)
def test_a_plain_value_is_worth_its_own_length(value, expected, source):
    assert plain_bits(np.array([value]), np.array([1e-4])).item() == pytest.approx(expected), source


def test_significant_digits_are_counted():
    assert digits_of(np.array([0.0, 3, 0.25, 1200, -0.0731, math.pi])).tolist() == [1, 1, 2, 2, 3, 17]


FOUR = np.array([[0.7311, 0.2689], [0.1342, 0.8658]])
FINE = np.full(FOUR.shape, 1e-6)


def test_a_copy_of_another_right_entry_says_only_which_one():
    copied = [[0.2689, 0.2689], [0.1342, 0.8658]]
    assert bits(copied, FOUR, FINE) == pytest.approx(2)  # one of four


def test_a_copy_that_was_rounded_is_a_copy():
    assert copies(np.array([0.269, 0.27]), FOUR, np.full(2, 5e-4)).tolist() == [True, False]


def test_a_value_that_stands_there_again_says_only_which_one():
    new, other = 0.12345, 0.98761
    one = entry_bits(np.array([[new, other]]), FOUR[:1], FINE[:1])
    cap = np.minimum(one, 5 * math.log2(10))
    assert bits([[new, new], [new, new]], FOUR, FINE) == pytest.approx(cap[0, 0])  # there is no other
    assert bits([[new, other], [new, other]], FOUR, FINE) == pytest.approx(
        cap.sum() + 2, abs=0.1
    )  # one of two


def test_zeros_throughout_say_next_to_nothing():
    assert bits(np.zeros((2, 2)), FOUR, FINE) == 1
    assert bits(np.full((2, 2), 1 / 3), FOUR, FINE) == pytest.approx(1 + math.log2(3))


TABLE = np.random.default_rng(5).random((4, 5))
SWAPPED = TABLE[[0, 3, 2, 1]]
HEADS = np.random.default_rng(6).random((3, 4, 5))
MOVED = [
    # what moved                       right   answer                        bits                   source
    ("two rows", TABLE, SWAPPED, math.log2(6) - 0.44, "six pairs; 2!/e of two orders leaves none in place"),
    ("two columns", TABLE, TABLE[:, [1, 0, 2, 3, 4]], math.log2(10) - 0.44, "ten pairs"),
    ("a row copied", TABLE, TABLE[[0, 0, 2, 3]], 2, "which of four rows"),
    ("two heads", HEADS, HEADS[[1, 0, 2]], math.log2(3) - 0.44, "three pairs"),
    ("rows of all heads", HEADS, HEADS[:, [0, 3, 2, 1]], math.log2(6) - 0.44, "the same two in each"),
    ("all rows", TABLE, TABLE[[1, 2, 3, 0]], math.log2(24 / math.e), "a quarter or so of all orders"),
]


@pytest.mark.parametrize(
    ("name", "right", "answer", "expected", "source"), MOVED, ids=[row[0] for row in MOVED]
)
def test_lines_that_changed_places_say_only_what_stands_where(name, right, answer, expected, source):
    tolerance = np.full(right.shape, 1e-9)
    assert bits(answer, right, tolerance) == pytest.approx(expected, abs=0.01), source
    odd = answer.copy()
    odd[tuple(np.argwhere(odd != right)[0])] += 0.1234567  # and one that is no right one: more than a move
    assert bits(odd, right, tolerance) > expected + 15


@pytest.mark.parametrize("count", [5, 6, 7])
def test_the_ways_to_move_are_counted(count):
    """By listing all orders: those that leave just the others in place."""
    orders = list(permutations(range(count)))
    for moved in range(4, count + 1):
        ways = sum(sum(i != j for i, j in enumerate(order)) == moved for order in orders)
        assert ways_to_move(count, moved, among_themselves=True) == pytest.approx(math.log2(ways), abs=0.05)


def test_three_tokens_need_less_evidence():
    assert (enough(3, 3), enough(1, 3), enough(3, 4), enough(8, 2)) == (10, 10, NAMED, NAMED)


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
