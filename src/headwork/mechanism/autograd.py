"""torch tensors that require a gradient go through torch's own record, never silently around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ..errors import OptionError
from .calling import attention, attention_vjp


def differentiable_attention(
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    layout: str | None,
    threads: int | None,
    return_logsumexp: bool,
    options: Mapping[str, Any],
) -> Any:
    """Attention of tensors, with gradients for query, key and value.

    Raises OptionError where another argument requires one, or `out` is given.
    """
    for name, option in options.items():
        if getattr(option, "requires_grad", False):
            raise OptionError(
                f"{name} requires a gradient, and attention has gradients for query, key and value only. "
                f"Pass {name}.detach() if none is meant."
            )
    if out is not None:
        raise OptionError("out is for results without gradients; leave it out, or use torch.no_grad().")
    tensors = (
        each if isinstance(each, torch.Tensor) else torch.as_tensor(each) for each in (query, key, value)
    )
    output, logsumexp = _Attention.apply(*tensors, dict(options, layout=layout, threads=threads))
    return (output, logsumexp) if return_logsumexp else output


class _Attention(torch.autograd.Function):  # type: ignore[misc]  # torch is optional, so untyped here
    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, options: dict[str, Any]) -> Any:
        output, logsumexp = attention(query, key, value, **options, return_logsumexp=True)
        ctx.save_for_backward(query, key, value, output, logsumexp)
        ctx.options = options
        ctx.mark_non_differentiable(logsumexp)
        return output, logsumexp

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]  # as above
    def backward(ctx: Any, cotangent: Any, _: Any) -> Any:
        query, key, value, output, logsumexp = ctx.saved_tensors
        gradients = attention_vjp(
            query, key, value, cotangent, **ctx.options, output=output, logsumexp=logsumexp
        )
        return (*gradients, None)
