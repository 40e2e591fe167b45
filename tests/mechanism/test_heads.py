"""Heads by hand: packed arrays split and joined, key/value heads shared, projections."""

import numpy as np
import pytest

from headwork import trace
from headwork.mechanism import heads


def test_head_h_takes_the_columns_from_h_times_width():
    x = np.arange(12).reshape(2, 6)  # two tokens, three heads of width 2
    assert heads.split(x, 3).tolist() == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]


@pytest.mark.parametrize(("lead", "H"), [((), 1), ((), 3), ((2,), 2), ((2, 3), 6)])
def test_merge_undoes_split(lead, H):
    x = np.arange(np.prod([*lead, 4, 12])).reshape(*lead, 4, 12)
    assert heads.split(x, H).shape == (*lead, H, 4, 12 // H)
    np.testing.assert_array_equal(heads.merge(heads.split(x, H)), x)


def test_neighbouring_query_heads_share_a_key_value_head():
    # six query heads, two key/value heads: ⌊h·2/6⌋ = 0 0 0 1 1 1
    value = np.array([[[10.0]], [[20.0]]])
    work = trace(np.zeros((6, 1, 1)), np.zeros((2, 1, 1)), value)
    assert work.output.ravel().tolist() == [10, 10, 10, 20, 20, 20]


def test_each_packed_head_has_its_own_divisor_and_weights():
    # 64 wide in 4 heads: width 16 each, so the divisor is 4, not 8
    work = trace(np.ones((1, 64)), np.ones((2, 64)), np.ones((2, 64)), heads=4)
    assert (work.scores == 16).all()
    assert (work.scaled == 4).all()
    assert work.weights.shape == (4, 1, 2)


def test_two_heads_by_hand():
    # head 1 sees q·k = 1, 0 and head 2 sees 0, ln 3 (d_k = 1 each)
    ln3 = np.log(3)
    work = trace([[1.0, ln3]], [[0.0, 0.0], [0.0, 1.0]], [[4.0, 4.0], [8.0, 8.0]], heads=2)
    np.testing.assert_allclose(work.weights[:, 0], [[1 / 2, 1 / 2], [1 / 4, 3 / 4]])
    np.testing.assert_allclose(work.output, [[6, 7]])


def test_projections_and_their_biases_by_hand():
    work = trace(
        None,
        x=[[1.0, 2.0]],
        w_query=[[1.0, 0.0], [0.0, 1.0]],
        b_query=[10.0, 20.0],  # q = [11 22]
        w_key=[[2.0, 0.0], [0.0, 3.0]],  # k = [2 6]
        w_value=[[1.0], [1.0]],
        b_value=[0.5],  # v = [3.5]
        w_output=[[2.0, -1.0]],
        b_output=[1.0, 0.0],  # z = 3.5·[2 −1] + [1 0]
    )
    assert work.query.tolist() == [[11, 22]]
    assert work.key.tolist() == [[2, 6]]
    assert work.scores.tolist() == [[154]]
    assert work.merged.tolist() == [[3.5]]
    assert work.output.tolist() == [[8, -3.5]]


def test_cross_attention_projects_keys_and_values_from_their_own_embeddings():
    one = [[1.0]]
    work = trace(None, x=[[1.0], [2.0]], x_key=[[3.0], [4.0], [5.0]], w_query=one, w_key=one, w_value=one)
    assert work.scores.tolist() == [[3, 4, 5], [6, 8, 10]]


def test_an_output_projection_joins_heads_also_where_the_arrays_are_not_packed():
    work = trace(
        np.zeros((2, 1, 1)), np.zeros((2, 1, 1)), np.array([[[3.0]], [[5.0]]]), w_output=[[1.0], [10.0]]
    )
    assert work.merged.tolist() == [[3, 5]]
    assert work.output.tolist() == [[53]]
