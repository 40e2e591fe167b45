"""Causal attention."""

import numpy as np


def causal_attention(query, key, value):
    """Attention in which query i sees keys 1 to i; the last query meets the last key.

    query    (queries, d_k)
    key      (keys, d_k)
    value    (keys, d_v)
    returns  (queries, d_v)
    """
    scaled = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    queries, keys = scaled.shape[-2:]
    may_attend = np.tril(np.ones((queries, keys), dtype=bool), keys - queries)
    masked = np.where(may_attend, scaled, -np.inf)
    exponentials = np.exp(masked - masked.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ value
