"""PyTorch functions and modules are checked as they are: gradients, half precision, packed heads."""

from __future__ import annotations

from typing import Any

import pytest
from zoo import entries

from headwork import check

torch = pytest.importorskip("torch")


def sdpa(query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal)


class Forgetful(torch.autograd.Function):
    """Attention whose backward pass leaves the scale out."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any) -> Any:
        weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:  # type: ignore[override]
        query, key, value, weights = ctx.saved_tensors
        d_weights = cotangent @ value.mT
        d_scores = weights * (d_weights - (weights * d_weights).sum(-1, keepdim=True))
        return d_scores @ key, d_scores.mT @ query, weights.mT @ cotangent


def test_torch_is_right_and_its_causal_mask_is_a_convention() -> None:
    result = check(sdpa, dtypes=("float32", "float16"))
    assert result.is_right, result.sentence
    assert result.of("causal").verdict == "convention"
    assert result.of("gradients").verdict == "right"
    assert result.of("dtypes").verdict == "right"


def test_a_wrong_gradient_is_named_where_the_output_is_right() -> None:
    result = check(
        lambda query, key, value: Forgetful.apply(query, key, value), layout="BHTD", dtypes=("float64",)
    )
    assert result.of("basic").verdict == "right"
    assert result.of("gradients").verdict == "wrong"
    assert [rule.id for rule in result.of("gradients").gradients] == ["gradient-scale-missing"]
    assert "left the scale out of the gradients" in result.sentence


def test_gradients_of_a_wrong_output_are_not_accused_by_themselves() -> None:
    def unscaled(query: Any, key: Any, value: Any) -> Any:
        return torch.softmax(query @ key.mT, -1) @ value

    gradients = check(unscaled, layout="BHTD", dtypes=("float64",)).of("gradients")
    assert (gradients.follows, gradients.gradients) == ("basic", ())


@pytest.mark.parametrize("name", ["softcap_not_handed_on", "lengths_not_used", "mantissas_of_ten_bits"])
def test_programs_of_the_zoo_are_named(name: str) -> None:
    entry = next(entry for entry in entries.wrong("wrong_torch.py") if entry.name == name)
    result = check(entry.function, layout=entry.layouts[0], dtypes=("float32",))
    found = {
        id for report in result.features for each in report.explanations for ids in each.ids for id in ids
    }
    found |= {report.arithmetic.id for report in result.features if report.arithmetic is not None}
    assert entry.mistake in found
