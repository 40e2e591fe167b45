"""Attention for one sequence."""

import numpy as np


def attention(query, key, value):
    """softmax(query keyᵀ / √d_k) value

    query    (queries, d_k)
    key      (keys, d_k)
    value    (keys, d_v)
    returns  (queries, d_v)
    """
    scores = query @ key.swapaxes(-1, -2)
    scaled = scores / np.sqrt(query.shape[-1])
    exponentials = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ value
