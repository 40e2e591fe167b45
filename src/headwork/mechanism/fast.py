"""headwork.attention and its gradients: the compiled function itself, or the same on the NumPy engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import ShapeError
from .engines import engine, usable_threads
from .foreign import give_back, read

if TYPE_CHECKING:
    from ._kernel import attention as attention, attention_vjp as attention_vjp
elif engine().engine_name() == "numpy":
    from .calling import attention, attention_vjp
else:
    attention, attention_vjp = engine().attention, engine().attention_vjp
    engine().set_default_threads(usable_threads())


def merge(outputs: Any, logsumexps: Any) -> tuple[Any, Any]:
    """One result from those over parts of the keys: Σ_p exp(lse_p − lse) · output_p, lse = ln Σ_p exp(lse_p).

    outputs     (P, …, T, Dv): what attention gave for each part of the keys
    logsumexps  (P, …, T): its logsumexp, natural

    Returns output (…, T, Dv) and logsumexp (…, T), as the same kind of array.
    Special cases: a part that sees nothing (−inf) has no share; where no part sees anything, 0 and −inf.
    A sink belongs to one part only, or it counts once for each.
    Raises ShapeError.
    Source: Dao et al. 2022 (FlashAttention), section 3.1.
    """
    back = give_back(outputs[0] if isinstance(outputs, list | tuple) else outputs)
    parts, sums = _stacked("outputs", outputs), _stacked("logsumexps", logsumexps)
    if parts.shape[:-1] != sums.shape:
        raise ShapeError(
            f"outputs have shape {parts.shape} and logsumexps {sums.shape}; "
            "each output row needs one logsumexp."
        )
    top = sums.max(axis=0)
    base = np.where(np.isneginf(top), 0, top)
    shares = np.exp(sums - base)
    total = shares.sum(axis=0)
    is_empty = total == 0
    output = (shares[..., None] * parts).sum(axis=0) / np.where(is_empty, 1, total)[..., None]
    logsumexp = np.where(is_empty, -np.inf, base + np.log(np.where(is_empty, 1, total)))
    return back(output.astype(parts.dtype, copy=False)), back(logsumexp.astype(sums.dtype, copy=False))


def _stacked(name: str, values: Any) -> Array:
    if isinstance(values, list | tuple) and any(hasattr(each, "shape") for each in values):
        arrays = [read(name, each) for each in values]
        if len({array.shape for array in arrays}) > 1:
            raise ShapeError(
                f"{name} have shapes {', '.join(str(a.shape) for a in arrays)}; all parts need the same."
            )
        return np.stack(arrays)
    return read(name, values)
