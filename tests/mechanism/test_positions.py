"""RoPE and ALiBi by hand, and the order in which softcap, bias and mask act."""

import numpy as np
import pytest

from headwork import trace

CLOSE = {"rtol": 1e-14, "atol": 1e-14}
COS, SIN = np.cos, np.sin


def turned(row, pairing, position, base=10000.0, dim=None):
    """The row as query number `position` of a problem, turned."""
    rows = np.tile(np.asarray(row, float), (position + 1, 1))
    rope = {"base": base, "pairing": pairing} | ({"dim": dim} if dim else {})
    work = trace(rows, rows, rope=rope)
    np.testing.assert_allclose(work.query_rotated, work.key_rotated, **CLOSE)  # offset 0: both stand at i
    return work.query_rotated[position]


ROPE = [
    # row, pairing, position, base, right by hand
    ([1, 0], "half", 0, 1e4, [1, 0]),
    ([1, 0], "half", 1, 1e4, [COS(1), SIN(1)]),
    ([0, 1], "half", 2, 1e4, [-SIN(2), COS(2)]),
    ([3, 4], "half", 1, 1e4, [3 * COS(1) - 4 * SIN(1), 3 * SIN(1) + 4 * COS(1)]),
    # four features: pair 0 turns by p, pair 1 by p · 10000^(−1/2) = p/100
    ([1, 0, 0, 0], "half", 3, 1e4, [COS(3), 0, SIN(3), 0]),
    ([0, 1, 0, 0], "half", 3, 1e4, [0, COS(0.03), 0, SIN(0.03)]),
    ([1, 0, 0, 0], "interleaved", 3, 1e4, [COS(3), SIN(3), 0, 0]),
    ([0, 0, 1, 0], "interleaved", 3, 1e4, [0, 0, COS(0.03), SIN(0.03)]),
    ([0, 0, 0, 1], "interleaved", 3, 1e4, [0, 0, -SIN(0.03), COS(0.03)]),
    ([0, 1, 0, 0], "half", 3, 100.0, [0, COS(0.3), 0, SIN(0.3)]),
]


@pytest.mark.parametrize(("row", "pairing", "position", "base", "right"), ROPE)
def test_a_pair_turns_by_its_position_times_its_frequency(row, pairing, position, base, right):
    np.testing.assert_allclose(turned(row, pairing, position, base), right, **CLOSE)


def test_features_beyond_dim_stay_as_they_are():
    np.testing.assert_allclose(turned([1, 0, 5, 6], "half", 1, dim=2), [COS(1), SIN(1), 5, 6], **CLOSE)
    # pair 1 of the two in dim = 4 turns by p · 10000^(−2/4): dim counts, not D = 6
    row = turned([0, 1, 0, 0, 5, 6], "half", 3, dim=4)
    np.testing.assert_allclose(row, [0, COS(0.03), 0, SIN(0.03), 5, 6], **CLOSE)


def test_queries_turn_by_their_own_position_and_keys_by_theirs():
    work = trace([[1.0, 0.0]], [[1.0, 0.0]] * 3, rope=True, offset=5)
    np.testing.assert_allclose(work.query_rotated, [[COS(5), SIN(5)]], **CLOSE)
    np.testing.assert_allclose(work.scores, [[COS(5), COS(4), COS(3)]], **CLOSE)  # only p − j matters


def test_without_an_offset_the_last_query_stands_at_the_last_valid_key():
    arrays = np.ones((2, 1, 1, 2)) * [1.0, 0.0], np.ones((2, 1, 4, 2)) * [1.0, 0.0]
    work = trace(*arrays, rope=True, lengths=[2, 4])
    np.testing.assert_allclose(work.query_rotated[:, 0, 0], [[COS(1), SIN(1)], [COS(3), SIN(3)]], **CLOSE)


ALIBI = [
    # H, options, head, −bias by hand
    (1, {"alibi": 0.5}, 0, [[0, 0.5, 1.0], [0.5, 0, 0.5], [1.0, 0.5, 0]]),
    (8, {"alibi": True}, 0, [[0, 1 / 2, 1], [1 / 2, 0, 1 / 2], [1, 1 / 2, 0]]),
    (8, {"alibi": True}, 7, [[0, 1 / 256, 2 / 256], [1 / 256, 0, 1 / 256], [2 / 256, 1 / 256, 0]]),
    (2, {"alibi": [1.0, 3.0]}, 1, [[0, 3, 6], [3, 0, 3], [6, 3, 0]]),
    (1, {"alibi": 1.0, "offset": 2}, 0, [[2, 1, 0], [3, 2, 1], [4, 3, 2]]),
]


@pytest.mark.parametrize(("H", "options", "head", "right"), ALIBI)
def test_alibi_takes_off_a_slope_for_each_step_of_distance(H, options, head, right):
    work = trace(np.zeros((H, 3, 1)), np.zeros((H, 3, 1)), **options)
    np.testing.assert_allclose(work.masked[head], -np.array(right), **CLOSE)


def test_softcap_comes_before_bias_and_mask():
    work = trace(
        [[8.0]], [[1.0], [1.0], [0.0]], scale=1.0, softcap=2.0, alibi=0.5, offset=0, mask=[[0.0, 9.0, "-inf"]]
    )
    cap = 2 * np.tanh(4)
    np.testing.assert_allclose(work.capped, [[cap, cap, 0]], **CLOSE)
    np.testing.assert_allclose(work.masked, [[cap, cap - 0.5 + 9, -np.inf]], **CLOSE)
