"""Spread, saturation, entropy, gradients and cost: by hand, by finite differences, and against torch."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from headwork import Problem, trace
from headwork.errors import OptionError, ShapeError
from headwork.mechanism import analysis

SEEDS = st.integers(0, 2**32 - 1)


def weights_of(scaled):
    return trace(Problem(given={"scaled": [scaled]})).weights[0]


# --- how far scores spread ------------------------------------------------------------------------

VARIANCES = [
    # d_k, options, right by hand
    (64, {}, 64),
    (64, {"scale": 1 / 8}, 1),
    (64, {"scale": 1 / 64}, 1 / 64),  # divided by d_k: 0.015625, standard deviation 0.125
    (4, {"scale": 0.5}, 1),
    (16, {"query_variance": 4.0, "key_variance": 0.25}, 16),
    (1, {"query_variance": 0.0}, 0),
]


@pytest.mark.parametrize(("head_dim", "options", "right"), VARIANCES)
def test_the_variance_of_a_score(head_dim, options, right):
    assert analysis.score_variance(head_dim, **options) == right


@pytest.mark.parametrize("head_dim", [1, 4, 64])
@pytest.mark.parametrize("scaled", [False, True])
def test_drawn_scores_spread_as_the_formula_says(head_dim, scaled):
    scale, draws = (head_dim**-0.5 if scaled else 1.0), 20_000
    right = analysis.score_variance(head_dim, scale=scale)
    error = np.sqrt(2 * (1 + 3 / head_dim) / draws)  # one standard deviation, of four that are allowed
    drawn = analysis.simulate_score_variance(head_dim, draws=draws, scale=scale, seed=1)
    assert abs(drawn / right - 1) < 4 * error
    assert drawn == analysis.simulate_score_variance(head_dim, draws=draws, scale=scale, seed=1)
    assert drawn != analysis.simulate_score_variance(head_dim, draws=draws, scale=scale, seed=2)


def test_sizes_without_sense_are_refused():
    with pytest.raises(OptionError, match="head_dim = 0"):
        analysis.score_variance(0)
    with pytest.raises(OptionError, match="variance is not negative"):
        analysis.score_variance(4, key_variance=-1.0)
    with pytest.raises(OptionError, match="draws = 1"):
        analysis.simulate_score_variance(4, draws=1)


# --- how sharp the rows are -----------------------------------------------------------------------

SATURATIONS = [
    # scaled scores, σ(1 − σ), decimals: the exercises, by calculator
    ([1, 0, 2], 0.2227, 4),
    ([8.0, 7.5], 0.2350, 4),
    ([1.0, 0.9375], 0.2498, 4),
    ([0, 0], 0.25, 15),
    ([0, 0, 0, 0], 3 / 16, 15),
    ([3], 0.0, 15),
    ([-np.inf, -np.inf], 0.0, 15),
]


@pytest.mark.parametrize(("scaled", "right", "decimals"), SATURATIONS)
def test_the_slope_at_the_largest_weight(scaled, right, decimals):
    assert abs(analysis.saturation(weights_of(scaled)) - right) <= 0.5001 * 10.0**-decimals


def test_the_slope_from_weights_that_were_rounded_to_three_digits():
    assert abs(analysis.saturation(np.array([0.245, 0.090, 0.665])) - 0.2228) < 0.00005


def test_five_times_larger_scores_leave_almost_no_slope():
    assert 0.0066 < analysis.saturation(weights_of([5, 0, 10])) < 0.0067


ENTROPIES = [
    # weights, in nats by hand, as a fraction of ln n
    ([0.25] * 4, np.log(4), 1),
    ([1, 0, 0], 0, 0),
    ([0.5, 0.5, 0], np.log(2), np.log(2) / np.log(3)),
    ([0.25, 0.75], np.log(4) - 0.75 * np.log(3), (np.log(4) - 0.75 * np.log(3)) / np.log(2)),
    ([0, 0], 0, 0),
    ([1], 0, 0),
]


@pytest.mark.parametrize(("weights", "nats", "fraction"), ENTROPIES)
def test_the_entropy_of_a_row(weights, nats, fraction):
    np.testing.assert_allclose(analysis.entropy(np.array(weights, float)), nats, rtol=1e-15)
    np.testing.assert_allclose(
        analysis.entropy(np.array(weights, float), normalised=True), fraction, rtol=1e-15
    )


def test_rows_of_every_head_and_batch_element_at_once():
    weights = trace(*np.random.default_rng(0).standard_normal((3, 2, 3, 4, 5))).weights
    for function in (analysis.largest_weight, analysis.saturation, analysis.entropy):
        assert function(weights).shape == (2, 3, 4)
        assert function(weights)[1, 2, 3] == function(weights[1, 2, 3])


# --- the backward pass ----------------------------------------------------------------------------


def test_the_jacobian_of_a_row_by_hand():
    # p = [1/4 3/4]: 1/4·3/4 = 3/16
    np.testing.assert_allclose(
        analysis.softmax_jacobian(np.array([0.25, 0.75])), np.array([[3, -3], [-3, 3]]) / 16, rtol=1e-15
    )


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5))
def test_the_jacobian_is_the_slope_of_the_weights(scaled):
    step = 1e-6
    jacobian = analysis.softmax_jacobian(weights_of(scaled))
    for k in range(len(scaled)):
        up, down = (
            weights_of([s + sign * step * (j == k) for j, s in enumerate(scaled)]) for sign in (1, -1)
        )
        np.testing.assert_allclose(jacobian[:, k], (up - down) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(jacobian.sum(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(jacobian, jacobian.T, atol=1e-15)


def test_the_backward_pass_of_a_row_by_hand():
    # p = [1/4 3/4] from scores 0, ln 3 (scale 1); dL/dz = [1 0]: dL/dp = V·dz = [4 8], p·dp = 7
    query, key, value = (
        np.array([1.0, 0.0]),
        np.array([[0.0, 0.0], [np.log(3), 0.0]]),
        np.array([[4.0, 1.0], [8.0, 1.0]]),
    )
    work = trace(query[None], key, value, scale=1.0)
    sent = analysis.row_gradient(query, key, value, work.weights[0], np.array([1.0, 0.0]), scale=1.0)
    right = {
        "weights": [4, 8],
        "scaled": [-3 / 4, 3 / 4],  # 1/4·(4 − 7), 3/4·(8 − 7)
        "scores": [-3 / 4, 3 / 4],
        "query": [3 / 4 * np.log(3), 0],
        "key": [[-3 / 4, 0], [3 / 4, 0]],
        "value": [[1 / 4, 0], [3 / 4, 0]],
    }
    assert list(sent.to_dict()) == list(right)
    for name, expected in right.items():
        np.testing.assert_allclose(sent.to_dict()[name], expected, rtol=1e-14, atol=1e-14, err_msg=name)


def drawn_row(seed):
    rng = np.random.default_rng(seed)
    Tk, D, Dv = rng.integers(1, 5, 3)
    return (
        rng.standard_normal(D),
        rng.standard_normal((Tk, D)),
        rng.standard_normal((Tk, Dv)),
        rng.standard_normal(Dv),
    )


@given(SEEDS)
def test_gradients_are_the_slopes_of_the_loss(seed):
    query, key, value, dz = drawn_row(seed)
    arrays = {"query": query, "key": key, "value": value}

    def loss(**changed):
        x = arrays | changed
        return float(trace(x["query"][None], x["key"], x["value"]).output[0] @ dz)

    sent = analysis.row_gradient(query, key, value, trace(query[None], key, value).weights[0], dz)
    step = 1e-5
    for name, array in arrays.items():
        for index in np.ndindex(*array.shape):
            moved = [array.copy(), array.copy()]
            moved[0][index] += step
            moved[1][index] -= step
            slope = (loss(**{name: moved[0]}) - loss(**{name: moved[1]})) / (2 * step)
            np.testing.assert_allclose(getattr(sent, name)[index], slope, atol=1e-8)


@given(SEEDS, st.booleans())
def test_gradients_agree_with_torch(seed, masked):
    torch = pytest.importorskip("torch")
    query, key, value, dz = drawn_row(seed)
    q, k, v = (torch.tensor(x, requires_grad=True) for x in (query, key, value))
    scores = k @ q
    scaled = scores / len(query) ** 0.5
    keep = torch.tensor(np.arange(len(key)) < max(1, len(key) - masked))
    p = torch.softmax(scaled.masked_fill(~keep, -torch.inf), dim=0)
    for step in (scores, scaled, p):
        step.retain_grad()
    ((p @ v) @ torch.tensor(dz)).backward()
    sent = analysis.row_gradient(query, key, value, p.detach().numpy(), dz)
    theirs = {"weights": p, "scaled": scaled, "scores": scores, "query": q, "key": k, "value": v}
    for name, tensor in theirs.items():
        np.testing.assert_allclose(
            getattr(sent, name), tensor.grad.numpy(), rtol=1e-12, atol=1e-13, err_msg=name
        )


def test_a_row_that_may_see_nothing_sends_nothing_back():
    sent = analysis.row_gradient(np.ones(2), np.ones((3, 2)), np.ones((3, 1)), np.zeros(3), np.ones(1))
    assert not any(getattr(sent, name).any() for name in ("scaled", "scores", "query", "key", "value"))


@pytest.mark.parametrize("odd", range(5))
def test_shapes_that_do_not_fit_are_refused(odd):
    arrays = [np.ones(2), np.ones((3, 2)), np.ones((3, 1)), np.ones(3), np.ones(1)]
    arrays[odd] = np.ones(7)
    with pytest.raises(ShapeError, match=r"\(7,\).*were expected"):
        analysis.row_gradient(*arrays)


# --- cost -----------------------------------------------------------------------------------------


def test_a_doubled_context_quadruples_the_score_matrix():
    assert analysis.cost(1000, 1000, 64).entries == 10**6
    assert analysis.cost(2000, 2000, 64).entries == 4 * 10**6


def test_the_cost_of_a_small_case_by_hand():
    # 2 queries, 3 keys, D = 4, Dv = 5, 2 heads on 1 key/value head, batch 1, float64:
    # query 2·2·4 = 16, key 3·4 = 12, value 3·5 = 15 → 43 read; output 2·2·5 = 20; scores 2·2·3 = 12
    kept = analysis.cost(2, 3, 4, Dv=5, H=2, Hkv=1, itemsize=8)
    assert kept.to_dict() == {
        "entries": 12,
        "multiply_adds": 12 * 9,
        "exponentials": 12,
        "input_bytes": 43 * 8,
        "output_bytes": 20 * 8,
        "kept_bytes": (43 + 20 + 12) * 8,
        "moved_bytes": (43 + 20 + 4 * 12) * 8,  # scores written and read, weights written and read
    }
    blocked = analysis.cost(2, 3, 4, Dv=5, H=2, Hkv=1, itemsize=8, keep_scores=False)
    assert blocked.kept_bytes == blocked.moved_bytes == 63 * 8
    assert blocked.multiply_adds == kept.multiply_adds


def test_without_the_score_matrix_memory_grows_with_the_length_and_not_its_square():
    short, long = (analysis.cost(n, n, 64, keep_scores=False) for n in (1000, 2000))
    assert long.kept_bytes == 2 * short.kept_bytes
    assert long.multiply_adds == 4 * short.multiply_adds


@pytest.mark.parametrize("sizes", [(-1, 1, 1), (1, -1, 1), (1, 1, 0)])
def test_negative_sizes_are_refused(sizes):
    with pytest.raises(OptionError, match="sizes are whole numbers"):
        analysis.cost(*sizes)
