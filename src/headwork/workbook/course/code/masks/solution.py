"""Attention with a mask."""

import numpy as np


def masked_attention(query, key, value, mask):
    """Attention in which query i sees key j where mask[i, j] is True.

    query    (queries, d_k)
    key      (keys, d_k)
    value    (keys, d_v)
    mask     (queries, keys), or (1, keys) for all queries alike; True = may attend
    returns  (queries, d_v); a row that may see nothing is zeros
    """
    scaled = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    masked = np.where(mask, scaled, -np.inf)
    row_max = masked.max(axis=-1, keepdims=True)
    # −∞ − (−∞) is NaN: an empty row is shifted by 0, and all its exponentials are 0
    exponentials = np.exp(masked - np.where(np.isneginf(row_max), 0, row_max))
    row_sum = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(row_sum == 0, 1, row_sum)
    seen = np.broadcast_to(mask, scaled.shape).any(axis=-2)
    return weights @ np.where(seen[..., None], value, 0)
