"""Attention over parts of the keys, and how partial results are put together by their logsumexp."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .softmax import blend, exponentials, logsumexp, row_max, row_sum, weights

PARTS = -4  # the axis of the parts stands before H, behind any batch axes


def attend_parts(masked: Array, value: Array, allowed: Array, chunks: tuple[int, ...]) -> tuple[Array, Array]:
    """Output (…, P, H, Tq, Dv) and logsumexp (…, P, H, Tq, 1) of each part of the keys on its own."""
    allowed = np.broadcast_to(allowed, np.broadcast_shapes(allowed.shape, masked.shape))
    outputs, sums = [], []
    start = 0
    for length in chunks:
        part = slice(start, start + length)
        scores = masked[..., part]
        top = row_max(scores)
        exps = exponentials(scores, top)
        total = row_sum(exps)
        outputs.append(blend(weights(exps, total), value[..., part, :], allowed[..., part]))
        sums.append(logsumexp(top, total))
        start += length
    return np.stack(outputs, axis=PARTS), np.stack(sums, axis=PARTS)


def merge_parts(outputs: Array, logsumexps: Array, whole: Array | None = None) -> Array:
    """Σ_p exp(lse_p − lse) · output_p over the parts, lse = ln Σ_p exp(lse_p), natural.

    whole  the logsumexp of the whole row where it holds more than the parts do (a sink)
    Special cases: parts that see nothing have lse −inf and no share; all of them: 0.
    Source: Dao et al. 2022 (FlashAttention), section 3.1.
    """
    if whole is None:
        top = np.max(logsumexps, axis=PARTS, keepdims=True)
        whole = logsumexp(top, np.sum(exponentials(logsumexps, top), axis=PARTS, keepdims=True))
    else:
        whole = np.expand_dims(whole, PARTS)
    return np.asarray(np.sum(exponentials(logsumexps, whole) * outputs, axis=PARTS))
