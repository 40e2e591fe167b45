"""Gradients: right by finite differences and by PyTorch; wrong rules are seen and told apart."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.conformance.battery import draw_battery
from headwork.conformance.gradients import NAMES, gradients, reference, tolerances
from headwork.conformance.wrong_gradients import WRONG_GRADIENTS, explain_gradients
from headwork.mechanism.masks import allowed_keys, total_bias

STEP = 1e-6  # of the central differences: their error is about STEP², and rounding over STEP, 10⁻¹⁰
CLOSE = 1e-7


@cache
def battery(dtype="float64"):
    return draw_battery(lambda feature: True, (dtype,))


def of_gradients(dtype="float64"):
    return [case for case in battery(dtype) if case.step == "gradients"]


def some_cotangent(problem, seed=0):
    """Numbers for every output, as the problem's dtype holds them."""
    shape = (*problem.batch, problem.H, problem.Tq, problem.Dv)
    return np.random.RandomState(seed).uniform(-1.5, 1.5, shape).astype(problem.dtype).astype(np.float64)


def by_id(one):
    return one.id


# ---------------------------------------------------------------- right


def with_one_changed(problem, name, index, by):
    array = getattr(problem, name).copy()
    array[index] += by
    return Problem.from_dict(problem.to_dict() | {name: array})


@pytest.mark.parametrize("case", [c for c in of_gradients() if "far" not in c.id], ids=by_id)
def test_gradients_are_what_finite_differences_say(case):
    """Central differences of Σ cotangent · output, at a few entries of each array."""
    problem, rng = case.problem, np.random.RandomState(1)
    cotangent = some_cotangent(problem)
    found = gradients(problem, cotangent)
    for name in NAMES:
        for _ in range(6):
            index = tuple(rng.randint(size) for size in getattr(problem, name).shape)
            up, down = (
                float((cotangent * trace(with_one_changed(problem, name, index, by)).output).sum())
                for by in (STEP, -STEP)
            )
            assert found[name][index] == pytest.approx((up - down) / (2 * STEP), abs=CLOSE), (name, index)


def test_a_gradient_by_hand():
    """One query, two keys of equal score, values 1 and 3: dS = ½·½·(1 − 3, 3 − 1), scale 1."""
    problem = Problem(query=[[1.0]], key=[[2.0], [2.0]], value=[[1.0], [3.0]])
    found = gradients(problem, np.ones((1, 1, 1)))
    np.testing.assert_allclose(found["value"].ravel(), [0.5, 0.5])
    np.testing.assert_allclose(found["key"].ravel(), [-0.5, 0.5])
    np.testing.assert_allclose(found["query"].ravel(), [0.0])


def test_a_key_that_nobody_sees_and_a_query_that_sees_nothing_have_gradient_0():
    case = next(case for case in of_gradients() if case.id == "gradients/empty-row")
    assert not gradients(case.problem, some_cotangent(case.problem))["query"][..., 0, :].any()
    case = next(case for case in of_gradients() if case.id == "gradients/masked")
    hidden = ~np.broadcast_to(allowed_keys(case.problem), case.problem.matrix_shape).any(axis=(1, 2))
    found = gradients(case.problem, some_cotangent(case.problem))
    assert not found["key"].swapaxes(1, 2)[hidden].any()


def torch_gradients(torch, problem, cotangent):
    """By autograd, in the problem's dtype."""
    kind = getattr(torch, problem.dtype.name)
    query, key, value = (
        torch.tensor(getattr(problem, name).astype(np.float64)).to(kind).requires_grad_() for name in NAMES
    )
    group = problem.H // problem.Hkv
    scores = query @ key.repeat_interleave(group, dim=-3).mT * problem.factor
    if problem.softcap is not None:
        scores = problem.softcap * torch.tanh(scores / problem.softcap)
    scores = scores + torch.tensor(total_bias(problem).astype(np.float64)).to(kind)
    allowed = np.broadcast_to(allowed_keys(problem), problem.matrix_shape).copy()
    scores = scores.masked_fill(~torch.tensor(allowed), -torch.inf)
    if problem.sink is not None:
        sink = torch.tensor(problem.sink).to(kind)[:, None, None].expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, sink], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : problem.Tk]
    (weights @ value.repeat_interleave(group, dim=-3)).backward(torch.tensor(cotangent).to(kind))
    return {name: x.grad.double().numpy() for name, x in zip(NAMES, (query, key, value), strict=True)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torch_agrees_within_the_tolerance(dtype):
    torch = pytest.importorskip("torch")
    for case in (*battery(dtype)[::3], *of_gradients(dtype)):
        if case.lenient or case.problem.Tk > 70 or case.step not in ("output", "gradients"):
            continue
        cotangent = some_cotangent(case.problem)
        found, right = torch_gradients(torch, case.problem, cotangent), reference(case.problem, cotangent)
        slack = tolerances(case.problem, cotangent, dtype)
        for name in NAMES:
            assert np.abs(found[name] - right[name]).max() <= slack[name], (case.id, name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_torchs_own_attention_agrees_in_half_precision(dtype):
    torch = pytest.importorskip("torch")
    for case in of_gradients(dtype):
        if case.needs > {"gradients"} or "far" in case.id:
            continue
        problem, cotangent = case.problem, some_cotangent(case.problem)
        kind = getattr(torch, dtype)
        given = [
            torch.tensor(getattr(problem, name).astype(np.float64)).to(kind).requires_grad_()
            for name in NAMES
        ]
        output = torch.nn.functional.scaled_dot_product_attention(*given)
        output.backward(torch.tensor(cotangent).to(kind))
        right, slack = reference(problem, cotangent), tolerances(problem, cotangent, dtype)
        for name, tensor in zip(NAMES, given, strict=True):
            assert np.abs(tensor.grad.double().numpy() - right[name]).max() <= slack[name], (case.id, name)


# ---------------------------------------------------------------- wrong


def shows(rule, case, dtype):
    cotangent = some_cotangent(case.problem)
    right, slack = reference(case.problem, cotangent), tolerances(case.problem, cotangent, dtype)
    made = rule.gradients(case.problem, cotangent)
    return any(
        made[name].shape != right[name].shape
        or not (np.abs(made[name] - right[name]) <= 2 * slack[name]).all()
        for name in NAMES
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("rule", WRONG_GRADIENTS, ids=by_id)
def test_every_wrong_rule_shows(rule, dtype):
    cases = [case for case in of_gradients(dtype) if not case.lenient and rule.applies(case.problem)]
    assert any(shows(rule, case, dtype) for case in cases)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", WRONG_GRADIENTS, ids=by_id)
def test_a_wrong_rule_is_named(rule, dtype):
    """By the cases together: the rules that explain every one of them."""
    left = set(WRONG_GRADIENTS)
    for case in (case for case in of_gradients(dtype) if not case.lenient and rule.applies(case.problem)):
        cotangent = some_cotangent(case.problem)
        slack = tolerances(case.problem, cotangent, dtype)
        left &= set(
            explain_gradients(case.problem, cotangent, rule.gradients(case.problem, cotangent), slack)
        )
    assert left == {rule}


def test_right_gradients_are_explained_by_no_wrong_rule():
    for case in of_gradients():
        cotangent = some_cotangent(case.problem)
        slack = tolerances(case.problem, cotangent, "float64")
        assert explain_gradients(case.problem, cotangent, reference(case.problem, cotangent), slack) == ()


def test_every_wrong_rule_says_what_is_wrong_and_how_to_mend_it():
    assert len({rule.id for rule in WRONG_GRADIENTS}) == len(WRONG_GRADIENTS)
    for rule in WRONG_GRADIENTS:
        assert rule.id.startswith("gradient-")
        assert rule.why.endswith(".")
        assert rule.mend.endswith(".")
    assert not any(a.title == b.title for a, b in combinations(WRONG_GRADIENTS, 2))
