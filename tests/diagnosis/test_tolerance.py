"""Honest work is never refused, and nothing looser is let through."""

import numpy as np
import pytest
from learners import compare

from headwork import Problem, mark, trace
from headwork.diagnosis.rounding import error_bounds, half_unit, is_decimal
from headwork.diagnosis.terms import Terms, log_errors, mean_errors, share_errors
from headwork.diagnosis.tolerance import array_precision, decimal_places

HAND = {
    "query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    "key": [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
}
VALUE = [[1, 0], [0, 1], [1, 1]]


def bounds(digits: int = 3, **record) -> dict[str, np.ndarray]:
    """Tolerances in half units of the last digit."""
    problem = Problem(**record)
    errors = error_bounds(problem, trace(problem).fields, digits)
    return {name: error / half_unit(digits) for name, error in errors.items()}


@pytest.mark.parametrize("options", [{}, {"chunks": [1, 2]}, {"sink": 0.3}, {"causal": True, "alibi": 0.5}])
def test_the_bound_of_one_step_is_the_same_without_those_of_the_others(options):
    problem = Problem(**HAND, value=VALUE, **options)
    fields = trace(problem).fields
    for name, whole in error_bounds(problem, fields, 3).items():
        np.testing.assert_array_equal(error_bounds(problem, fields, 3, [name])[name], whole, err_msg=name)


# --- learners who round -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated():
    rng = np.random.default_rng(1)
    return [compare(rng) for _ in range(1500)]


def test_no_learner_who_rounds_all_or_some_results_is_refused_at_any_step(simulated):
    worst = {name: max(used.get(name, 0) for used, _ in simulated) for name in simulated[0][0]}
    assert max(worst.values()) <= 1 + 1e-9, worst


@pytest.mark.parametrize(
    "step", ["scaled", "exponentials", "row_sum", "weights", "logsumexp", "blended", "output"]
)
def test_some_learner_uses_most_of_the_tolerance_so_that_it_could_not_be_smaller(simulated, step):
    assert max(used.get(step, 0) for used, _ in simulated) > 0.85


def test_at_the_output_of_three_tokens_the_tolerance_is_3_to_6_half_units(rng):
    widths = []
    for _ in range(100):
        query, key, value = (
            rng.integers(low, high, (3, width)) for low, high, width in ((-2, 3, 4), (-2, 3, 4), (0, 2, 2))
        )
        widths.append(np.median(bounds(query=query, key=key, value=value)["output"]))
    # first order: 1 + Σ|v| + Σ|v − z|/Z, in the median 3.6 for such numbers
    assert 3 <= np.median(widths) <= 4.5


# --- by hand ----------------------------------------------------------------------------------------

EXACT = [
    # step       half units  source
    ("scores", 0, "whole numbers lose nothing by being written"),
    ("scaled", 0, "half of a whole number is a decimal"),
    ("row_max", 0, "the largest of them"),
]


@pytest.mark.parametrize(("step", "expected", "source"), EXACT)
def test_what_is_a_decimal_adds_nothing(step, expected, source):
    assert (bounds(**HAND, value=VALUE)[step] == expected).all(), source


def test_the_constant_1_732_adds_its_own_error():
    # 1/1.732 − 1/√3 = 1.693e-5 and 0.577 − 1/√3 = −3.503e-4: ten times the latter, and half a unit
    work = bounds(query=[[10, 0, 0]], key=[[1, 0, 0]], value=[[1]])
    assert work["scaled"].item() == pytest.approx((10 * 3.5027e-4 + 0.0005) / 0.0005, rel=1e-4)


def test_masked_entries_and_a_row_that_sees_one_key_are_exact():
    work = bounds(**HAND, value=VALUE, causal=True)
    assert (work["masked"] == 0).all()
    assert (work["weights"][..., 0, :] == 0).all()
    assert (work["output"][..., 0, :] == 0).all()


def test_scores_given_in_thirds_move_the_weights_by_2p_1_minus_p_halves():
    # first order: h + 2p(1−p)h for rounded scaled scores, and the exponentials' rounding on top of it
    problem = {"given": {"scores": [[1 / 3, -1 / 3]]}, "scale": 1.0, "value": [[1.0], [0.0]]}
    p = 1 / (1 + np.exp(-2 / 3))
    weight = bounds(digits=6, **problem)["weights"][..., 0].item()
    total = np.exp(1 / 3) + np.exp(-1 / 3)  # carried in full and summed, or shifted: e^0 = 1 and e^(−2/3)
    assert 1 <= weight <= 1 + 2 * p * (1 - p) + (1 + p) / min(total, 1 + np.exp(-2 / 3)) + 1e-3


def test_a_step_that_the_problem_starts_from_may_be_rounded_before_it_is_used():
    # 1/3 − 0.7777: 0.333 − 0.778 = −0.445, though the sum is −0.44437; and from 0.333, e^0.333 is 1.395
    problem = Problem(given={"scaled": [[1 / 3, 0.0]]}, mask=[[-0.7777, 0.0]])
    assert mark(problem, {"biased": "-0.445 0"}, 3).is_right
    assert not mark(problem, {"biased": "-0.446 0"}, 3).is_right
    plain = Problem(given={"scaled": [[1 / 3, 0.0]]})
    assert mark(plain, {"exponentials": "1.395 1"}, 3).is_right


def test_float_noise_does_not_decide_a_tie():
    # 1 + 9e-11 passes for 1.000, and half of 0.001 is dropped: 0.0005 and a little away
    problem = Problem(given={"scaled": [[1 + 9e-11]]}, mask=[[0.0005]])
    assert mark(problem, {"biased": "1.000"}, 3).is_right


def test_numbers_of_any_size_are_decimals_or_not():
    assert is_decimal(np.array([0.245, 22175.0, 1e9 + 0.001, 1200.0]), 3).all()
    assert not is_decimal(np.array([1 / 3, np.exp(1), 0.0005]), 3).any()
    assert is_decimal(np.array([1200.0]), -2).all()
    assert not is_decimal(np.array([1250.0]), -2).any()


# --- intervals: the worst case found by trying all corners -------------------------------------------


def corners(low: np.ndarray, high: np.ndarray):
    for bits in np.ndindex(*(2,) * low.size):
        yield np.where(bits, high, low)


def test_the_bounds_of_a_row_are_those_of_its_worst_corner(rng):
    for _ in range(50):
        exact = rng.random(4) + 0.2
        least, most = exact * 0.97, exact * 1.02
        half = np.full(4, 0.01)
        terms = Terms(exact[None], least[None], most[None], half[None])
        value = rng.normal(size=(4, 1))
        rounded = list(corners(least - half, most + half))
        share = max(np.abs(e / e.sum() - exact / exact.sum())[0] for e in rounded)
        carried = [
            np.r_[first, rest]
            for first in (least[0], most[0])
            for rest in corners((least - half)[1:], (most + half)[1:])
        ]
        share = max(
            share,
            *(abs(e[0] / (e.sum() + d) - exact[0] / exact.sum()) for e in carried for d in (-0.01, 0.01)),
        )
        assert share_errors(terms)[0, 0] == pytest.approx(share)
        log = max(abs(np.log(e.sum() / exact.sum())) for e in rounded)
        assert log_errors(terms).item() == pytest.approx(log)
        mean = max(abs((e @ value / e.sum() - exact @ value / exact.sum()).item()) for e in rounded)
        assert mean <= mean_errors(terms, value).item() <= mean + 0.05 * (1 + np.abs(value).max())


# --- arrays -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "dtype", "places"),
    [
        ([0.25, 0.5], "float64", 2),
        ([2.0, 0.0, 4.0], "float64", 0),
        ([0.123456, 0.5], "float64", 6),
        ([0.1234567, 0.5], "float64", None),
        ([0.245, 0.665], "float32", 3),
        ([1 / 3, 2 / 3], "float32", None),
        ([1 / 3, 2 / 3], "float16", None),  # though every float16 below 1 is a decimal of six places
        ([22.345678, 1 / 7], "float32", None),
    ],
)
def test_an_array_of_short_decimals_is_taken_as_rounded(values, dtype, places):
    assert decimal_places(np.array(values, dtype=dtype).astype(np.float64), dtype) == places


def test_what_was_assumed_is_said():
    assert "4 digits" in array_precision(np.array([0.1234]), "float64").why
    assert "float32" in array_precision(np.array([1 / 3]), "float32").why
    assert "whole numbers" in array_precision(np.array([2.0, 4.0]), "float64").why


def plain_attention(query, key, value):
    """Somebody else's attention: other order of sums, no maximum subtracted."""
    scores = np.einsum("id,jd->ij", query, key) * query.dtype.type(1 / np.sqrt(query.shape[1]))
    exps = np.exp(scores)
    return np.einsum("ij,jd->id", exps, value) / exps[:, ::-1].sum(axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_another_order_of_arithmetic_is_right_and_a_wrong_scale_is_not(rng, dtype):
    for _ in range(150):
        Tq, Tk, D = rng.integers(1, 6), rng.integers(2, 9), rng.integers(2, 17)
        query, key, value = (rng.normal(size=(n, D)).astype(dtype) for n in (Tq, Tk, Tk))
        problem = Problem(query=query, key=key, value=value)
        assert mark(problem, {"output": plain_attention(query, key, value)}).is_right
        assert not mark(
            problem, {"output": plain_attention(query * np.sqrt(D).astype(dtype), key, value)}
        ).is_right


SCORE_STEPS = ("scores", "scaled", "masked", "row_max", "logsumexp")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_in_another_order_are_right_also_where_large_products_cancel(rng, dtype):
    for _ in range(60):
        D = int(rng.integers(2, 33))
        query, key = (rng.normal(size=(3, D)) * 10 ** rng.uniform(-2, 3) for _ in range(2))
        query[0] = np.where(np.arange(D) < 2, [key[1, 1], -key[1, 0], *[0] * (D - 2)], 0)  # q₁ · k₂ = 0
        query, key = query.astype(dtype), key.astype(dtype)
        problem = Problem(query=query, key=key, causal=True)
        scores = (query[:, ::-1][:, :, None] * key[:, ::-1].T).sum(axis=1, dtype=dtype)
        scaled = scores * query.dtype.type(D**-0.5)
        masked = np.where(np.tri(3, dtype=bool), scaled, -np.inf)
        top = masked.max(axis=1)
        answers = {"scores": scores, "scaled": scaled, "masked": masked, "row_max": top}
        answers["logsumexp"] = top + np.log(np.exp(masked - top[:, None]).sum(axis=1, dtype=dtype))
        for step in SCORE_STEPS:
            assert mark(problem, {step: answers[step]}).is_right, step


def test_a_fill_of_minus_10_to_the_9_does_not_hide_what_stands_beside_it():
    """In float32 it is 64 from the next number; the scores beside it are known to a millionth."""
    query, key = (np.array(rows, dtype="float32") for rows in ([[1, 2], [0.5, -1]], [[0.25, 1], [2, -0.75]]))
    mask = np.array([[0, -1e9], [0, 0]], dtype="float32")
    problem = Problem(query=query, key=key, mask=mask)
    masked = query @ key.T / np.float32(np.sqrt(2)) + mask
    assert mark(problem, {"masked": masked}).is_right
    masked[0, 0] += np.float32(1e-4)
    assert not mark(problem, {"masked": masked}).is_right


def test_large_scores_are_judged_by_their_own_size():
    """Scores of 1000 in float32 are known to a thousandth, not to a tenth."""
    query, key = (
        np.array([[20 / 3] * 4] * 2, "float32"),
        np.array([[31, 33, 36, 39], [39, 36, 33, 32]], "float32"),
    )
    problem = Problem(query=query, key=key)
    scores = query @ key.T
    assert mark(problem, {"scores": scores + np.float32(2e-4)}).is_right
    assert not mark(problem, {"scores": scores + np.float32(2e-2)}).is_right


def test_a_large_table_rounded_at_the_end_is_judged_without_rounding_by_hand(rng):
    query, key, value = (rng.normal(size=(4, 64, 16)) for _ in range(3))
    problem = Problem(query=query, key=key, value=value)
    output = np.round(trace(problem).output, 4)
    assert mark(problem, {"output": output}).is_right
    output[1, 2, 3] = np.round(output[1, 2, 3] + 2e-4, 4)
    assert mark(problem, {"output": output}).out_of - mark(problem, {"output": output}).marks == 1


def test_a_bfloat16_near_1_is_no_whole_number():
    """127.5/128: a bfloat16 has a grain of 1/128 near 1, so the grain cannot say what is a decimal."""
    assert decimal_places(np.array([1.0, 0.99609375]), "bfloat16") is None
