"""Partial results by hand, and how logsumexp puts them together."""

import numpy as np

from headwork import trace
from headwork.mechanism.merging import merge_parts

LN2, LN3 = np.log(2), np.log(3)
CLOSE = {"rtol": 1e-14, "atol": 1e-14}


def test_two_parts_by_hand():
    # scores 0, ln 3 | ln 2, ln 2 with values 4, 8 | 1, 3
    work = trace(
        [[1.0]], [[0.0], [LN3], [LN2], [LN2]], [[4.0], [8.0], [1.0], [3.0]], scale=1.0, chunks=[2, 2]
    )
    # part 1: weights 1/4, 3/4, sum 4; part 2: weights 1/2, 1/2, sum 4
    np.testing.assert_allclose(work.part_output, [[[7]], [[2]]], **CLOSE)
    np.testing.assert_allclose(work.part_logsumexp, [[np.log(4)], [np.log(4)]], **CLOSE)
    np.testing.assert_allclose(work.output, [[4.5]], **CLOSE)
    np.testing.assert_allclose(work.logsumexp, [np.log(8)], **CLOSE)


def test_a_part_that_sees_nothing_has_no_share():
    work = trace([[0.0]], [[0.0]] * 3, [[1.0], [2.0], [np.nan]], mask=[[True, True, False]], chunks=[2, 1])
    assert work.part_logsumexp[1, 0] == -np.inf
    assert work.part_output[1, 0] == 0
    np.testing.assert_allclose(work.output, [[1.5]], **CLOSE)


def test_parts_that_see_nothing_at_all_give_zero():
    work = trace([[0.0]], [[0.0]] * 2, [[1.0], [2.0]], lengths=0, chunks=[1, 1])
    assert work.output.tolist() == [[0]]


def test_a_sink_counts_once_in_the_whole_and_not_in_the_parts():
    work = trace([[0.0]], [[0.0]] * 2, [[3.0], [6.0]], sink=0.0, chunks=[1, 1])
    np.testing.assert_allclose(work.part_output, [[[3]], [[6]]], **CLOSE)
    np.testing.assert_allclose(work.output, [[3.0]], **CLOSE)  # (3 + 6) / (1 + 1 + 1)


def test_merging_results_from_elsewhere_needs_their_logsumexps_only():
    outputs, sums = np.array([7.0, 2.0]).reshape(2, 1, 1, 1), np.log([4.0, 12.0]).reshape(2, 1, 1, 1)
    np.testing.assert_allclose(merge_parts(outputs, sums), [[[(7 * 4 + 2 * 12) / 16]]], **CLOSE)
    far = merge_parts(outputs, sums + 5000)  # no overflow on the way
    np.testing.assert_allclose(far, [[[3.25]]], rtol=1e-11)
