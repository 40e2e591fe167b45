"""Softmax by hand: large scores, rows that see nothing, sinks, and numbers that are not finite."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from headwork import Problem, trace
from headwork.mechanism.softmax import blend

INF, NAN = np.inf, np.nan
LN3 = np.log(3)
CLOSE = {"rtol": 1e-12, "atol": 1e-15}  # 1e3 + ln 3 has lost three digits before it comes here

WEIGHTS = [
    # name, masked scores, sink, weights, logsumexp,  source
    ("equal scores", [0, 0], None, [1/2, 1/2], np.log(2)),  # symmetry
    ("one is three times likelier", [0, LN3], None, [1/4, 3/4], np.log(4)),  # by hand
    ("the same, far up", [1e3, 1e3 + LN3], None, [1/4, 3/4], 1e3 + np.log(4)),  # shift
    ("the same, far down", [-1e3, -1e3 + LN3], None, [1/4, 3/4], -1e3 + np.log(4)),  # shift
    ("a gap that underflows", [0, 1000], None, [0, 1], 1000),  # exp(-1000) is 0
    ("one key allowed", [7, -INF], None, [1, 0], 7),  # by hand
    ("no key allowed", [-INF, -INF], None, [0, 0], -INF),  # convention
    ("softmax plus one", [0, LN3], 0.0, [1/5, 3/5], np.log(5)),  # 1 + 1 + 3
    ("a sink of ln 4", [0, LN3], np.log(4), [1/8, 3/8], np.log(8)),  # 1 + 3 + 4
    ("a sink of -inf is none", [0, LN3], -INF, [1/4, 3/4], np.log(4)),  # adds nothing
    ("nothing but the sink", [-INF, -INF], 0.5, [0, 0], 0.5),  # the sink
    ("a sink far above", [0, 0], 800.0, [0, 0], 800),  # exp(-800)
    ("no key, and a sink of -inf", [-INF, -INF], -INF, [0, 0], -INF),  # both conventions
    ("plus infinity", [0, INF], None, [NAN, NAN], NAN),  # inf - inf
    ("NaN", [0, NAN], None, [NAN, NAN], NAN),  # IEEE 754
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "masked", "sink", "weights", "lse"), WEIGHTS, ids=[row[0] for row in WEIGHTS]
)
def test_weights_and_logsumexp(name, masked, sink, weights, lse):
    work = trace(Problem(given={"masked": [masked]}, sink=sink, value=[[1.0], [2.0]]))
    np.testing.assert_allclose(work.weights, [weights], **CLOSE)
    np.testing.assert_allclose(work.logsumexp, [lse], **CLOSE)
    np.testing.assert_allclose(work.output, [[weights[0] + 2 * weights[1]]], **CLOSE)


def test_a_sink_is_per_head_and_not_scaled_or_capped():
    work = trace(
        np.zeros((2, 1, 4)), np.zeros((2, 1, 4)), np.ones((2, 1, 1)), sink=[LN3, 0.0], softcap=0.1, scale=9.0
    )
    np.testing.assert_allclose(work.weights[:, 0, 0], [1 / 4, 1 / 2], **CLOSE)
    np.testing.assert_allclose(work.output[:, 0, 0], [1 / 4, 1 / 2], **CLOSE)
    np.testing.assert_allclose(work.row_max[:, 0], [LN3, 0.0], **CLOSE)


@pytest.mark.parametrize(
    "options", [{"lengths": 0}, {"mask": [[False, False]]}, {"causal": True, "offset": -1}]
)
def test_a_row_that_may_see_nothing_gives_zeros_whatever_stands_there(options):
    work = trace([[NAN]], [[INF], [NAN]], [[NAN, 1.0], [INF, 2.0]], **options)
    assert work.weights.tolist() == [[0, 0]]
    assert work.output.tolist() == [[0, 0]]
    assert work.logsumexp.tolist() == [-INF]


def test_an_infinite_value_is_blended_as_ieee_says_where_it_may_be_seen():
    work = trace([[0.0]] * 3, [[0.0]] * 2, [[INF], [-INF]], mask=[[True, False], [False, True], [True, True]])
    np.testing.assert_array_equal(work.output, [[INF], [-INF], [NAN]])


A_WEIGHT = st.sampled_from([0.0, -0.0, 0.5, -2.0, NAN])
A_VALUE = st.sampled_from([0.0, -0.0, 0.5, -2.0, INF, -INF, NAN])


@given(
    weight=arrays(np.float64, (2, 3, 4), elements=A_WEIGHT),
    value=arrays(np.float64, st.sampled_from([(4, 2), (1, 4, 2), (2, 4, 2)]), elements=A_VALUE),
    allowed=arrays(np.bool_, st.sampled_from([(3, 4), (1, 4), (2, 3, 4)])),
)
def test_what_is_not_finite_adds_up_key_by_key_as_ieee_says(weight, value, allowed):
    """The oracle adds one product after the other; what may not be seen and is not finite counts as 0."""
    value, allowed = np.broadcast_to(value, (2, 4, 2)), np.broadcast_to(allowed, (2, 3, 4))
    expected = np.zeros((2, 3, 2))
    with np.errstate(invalid="ignore"):
        for h, i, d, j in np.ndindex(2, 3, 2, 4):
            w, v = weight[h, i, j], value[h, j, d]
            hidden = not np.isfinite(v) and not allowed[h, i, j]
            expected[h, i, d] += w * (0.0 if hidden else v)
        np.testing.assert_array_equal(blend(weight, value, allowed), expected)


def test_overflow_in_the_scores_is_shown_and_not_warned_about():
    work = trace([[3e38]], [[3e38]], [[1.0]], dtype="float32")
    assert work.scores.tolist() == [[INF]]
    assert np.isnan(work.weights).all()
