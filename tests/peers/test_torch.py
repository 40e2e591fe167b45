"""The trace agrees with torch's scaled_dot_product_attention over every option that torch has.

torch's conventions: is_causal is upper left; a boolean mask says True = may attend; a row that may attend
to nothing gives zeros; is_causal and attn_mask exclude each other.
Source: documentation of torch.nn.functional.scaled_dot_product_attention, torch 2.13.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from headwork import trace

torch = pytest.importorskip("torch")
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402  (after importorskip)

SEEDS = st.integers(0, 2**32 - 1)
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}


@st.composite
def cases(draw: st.DrawFn, dtype: str = "float64") -> dict[str, Any]:
    """query, key, value and what both sides call their options."""
    rng = np.random.default_rng(draw(SEEDS))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))  # with heads: 3-D to 5-D; without: 2-D
    Hkv, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    has_heads = bool(batch) or draw(st.booleans())
    Tq, Tk, D, Dv = (draw(st.integers(1, 6)) for _ in range(4))
    lead = [(*batch, H) if has_heads else () for H in (Hkv * group, Hkv, Hkv)]
    query, key, value = (
        swapped(2 * rng.standard_normal((*axes, width, T)) if draw(st.booleans()) else
                2 * rng.standard_normal((*axes, T, width)), T, width).astype(dtype)
        for axes, T, width in zip(lead, (Tq, Tk, Tk), (D, D, Dv), strict=True)
    )  # fmt: skip
    kind = draw(st.sampled_from(["none", "causal", "bool", "float"]))
    mask = None if kind in ("none", "causal") else a_mask(draw, rng, (*lead[0], Tq, Tk), kind, dtype)
    return {
        "arrays": (query, key, value),
        "mask": mask,
        "causal": kind == "causal",
        "scale": draw(st.none() | st.floats(-2, 2)),
        "grouped": has_heads and group > 1,
    }


def swapped(x: np.ndarray, T: int, width: int) -> np.ndarray:
    """(…, T, width), as a view that is not contiguous where x came the other way round."""
    return x if x.shape[-2:] == (T, width) else x.swapaxes(-1, -2)


def a_mask(
    draw: st.DrawFn, rng: np.random.Generator, shape: tuple[int, ...], kind: str, dtype: str
) -> np.ndarray:
    """A mask that broadcasts to `shape`: some axes 1, some leading axes gone; about a third of it masked."""
    axes = [1 if draw(st.booleans()) else size for size in shape]
    kept = axes[draw(st.integers(0, len(axes) - 2)) :]
    allowed = rng.random(kept) < 0.7
    if kind == "bool":
        return allowed
    return np.where(allowed, rng.standard_normal(kept), -np.inf).astype(dtype)


def ours(case: dict[str, Any]) -> Any:
    causal = "upper_left" if case["causal"] else False
    return trace(*case["arrays"], mask=case["mask"], causal=causal, scale=case["scale"])


def theirs(case: dict[str, Any]) -> np.ndarray:
    query, key, value = map(torch.from_numpy, case["arrays"])
    mask = None if case["mask"] is None else torch.from_numpy(case["mask"])
    options = {"is_causal": case["causal"], "scale": case["scale"], "enable_gqa": case["grouped"]}
    return scaled_dot_product_attention(query, key, value, attn_mask=mask, **options).numpy()


@given(cases())
def test_output_agrees_in_float64(case):
    output = ours(case).output
    assert output.dtype == np.float64
    np.testing.assert_allclose(output, theirs(case), rtol=1e-12, atol=1e-12)


@given(cases())
def test_weights_agree(case):
    """torch gives weights where the values are the identity."""
    query, key, _ = case["arrays"]
    identity = np.broadcast_to(np.eye(key.shape[-2]), (*key.shape[:-1], key.shape[-2])).copy()
    weights = theirs({**case, "arrays": (query, key, identity)})
    np.testing.assert_allclose(ours(case).weights, weights, rtol=1e-12, atol=1e-12)


@given(cases())
def test_logsumexp_is_that_of_the_masked_scores(case):
    work = ours(case)
    np.testing.assert_allclose(
        work.logsumexp, torch.logsumexp(torch.from_numpy(work.masked), dim=-1).numpy(), rtol=1e-13, atol=1e-12
    )


@given(st.sampled_from(["float32", "float16"]).flatmap(cases))
def test_narrow_arrays_keep_their_dtype_and_agree_within_it(case):
    dtype = case["arrays"][0].dtype.name
    output = ours(case).output
    assert output.dtype == dtype
    tolerance = 16 * EPS[dtype]  # values are of order 2; both sides round scores, weights and output
    np.testing.assert_allclose(output, theirs(case), rtol=tolerance, atol=tolerance)


@given(cases())
def test_tensors_are_read_as_arrays(case):
    output = ours({**case, "arrays": tuple(map(torch.from_numpy, case["arrays"]))}).output
    np.testing.assert_array_equal(output, ours(case).output)


def test_a_row_that_may_see_nothing_gives_zeros_on_both_sides():
    query, key, value = np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 5))
    mask = np.array([[False] * 4, [True] * 4])
    case = {"arrays": (query, key, value), "mask": mask, "causal": False, "scale": None, "grouped": False}
    for output in (ours(case).output, theirs(case)):
        np.testing.assert_allclose(output, [[0] * 5, [1] * 5])


def test_bfloat16_tensors_are_read():
    bfloat16 = torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16)
    assert trace(bfloat16, bfloat16, bfloat16).output.dtype.name == "bfloat16"


def test_a_tensor_that_needs_a_gradient_is_refused_with_a_way_out():
    tensor = torch.ones(1, 2, requires_grad=True)
    with pytest.raises(ValueError, match=r"query is a Tensor .*query\.detach\(\)\.cpu\(\)"):
        trace(tensor, tensor, tensor)
