"""Softmax as people work it by hand: row maximum, exponentials, row sum, weights; then the blend.

All take extra leading axes. Row quantities keep a last axis of length 1. Overflow, inf − inf and ln 0
give inf, NaN and −inf, as IEEE says; `tracing.run` turns NumPy's warnings about them off.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array

LONG = 256  # keys, from which on a product is better done in one


def row_max(masked: Array, sink: Array | None = None) -> Array:
    """The largest score of each row, the sink included; −inf where a row may see nothing."""
    top: Array = np.max(masked, axis=-1, keepdims=True)
    return top if sink is None else np.maximum(top, sink)


def exponentials(masked: Array, top: Array) -> Array:
    """exp(s − m). A row that may see nothing has m = −inf, and −inf − −inf is NaN: m counts as 0 there."""
    shifted: Array = np.asarray(masked - np.where(top == -np.inf, 0, top))
    return np.asarray(np.exp(shifted, out=shifted))


def row_sum(exps: Array, sink: Array | None = None, top: Array | None = None) -> Array:
    """Σ_j exp(s_j − m), plus exp(sink − m) where there is a sink."""
    total: Array = np.sum(exps, axis=-1, keepdims=True)
    return total if sink is None or top is None else total + exponentials(sink, top)


def weights(exps: Array, total: Array) -> Array:
    """exp(s_j − m) / Σ; a row that may see nothing (sum 0) has weights 0, not 0/0."""
    return exps / np.where(total == 0, 1, total)


def logsumexp(top: Array, total: Array) -> Array:
    """m + ln Σ, natural; −inf where a row may see nothing.  Source: Dao 2023, section 3.1."""
    return np.where(top == -np.inf, 0, top) + np.log(total)


def blend(weight: Array, value: Array, allowed: Array) -> Array:
    """Σ_j w_ij v_j. A forbidden key is left out, even if its value is NaN or infinite: 0 · NaN is NaN."""
    finite = np.isfinite(value)
    if finite.all():
        return _product(weight, value)
    output: Array = weight @ np.where(finite, value, 0)
    keys = np.flatnonzero((~finite).any(axis=(*range(value.ndim - 2), -1)))
    seen = np.broadcast_to(allowed, np.broadcast_shapes(allowed.shape, weight.shape))[..., keys]
    odd = _sum_of_odd(weight[..., keys], value[..., keys, :], seen)
    return np.asarray(output + odd.astype(output.dtype))


def _sum_of_odd(weight: Array, value: Array, seen: Array) -> Array:
    """Σ_j w_ij v_j over the values that are infinite or NaN and may be seen: 0, ±∞ or NaN."""
    above, below = seen & (weight > 0), seen & (weight < 0)
    neither = seen & ~(above | below)  # 0 · ∞ is NaN
    up, down = value == np.inf, value == -np.inf
    rises = _meet(above, up) | _meet(below, down)
    falls = _meet(above, down) | _meet(below, up)
    lost = _meet(seen, np.isnan(value)) | _meet(neither, up | down) | (rises & falls)
    return np.select([lost, rises, falls], [np.nan, np.inf, -np.inf], 0.0)


def _meet(queries: Array, keys: Array) -> Array:
    """Whether any key is marked both for a query, (…, Tq, Tk), and in a column, (…, Tk, Dv)."""
    found: Array = queries.astype(np.float32) @ keys.astype(np.float32) > 0
    return found


def _product(weight: Array, value: Array) -> Array:
    """weight @ value; where many long rows share one value, as one product: BLAS then reads it once."""
    Tk, Dv = value.shape[-2:]
    if Tk < LONG or value.ndim > weight.ndim or value.size != Tk * Dv:
        return weight @ value
    return (weight.reshape(-1, Tk) @ value.reshape(Tk, Dv)).reshape(*weight.shape[:-1], Dv)
