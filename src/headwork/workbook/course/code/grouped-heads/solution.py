"""Grouped heads."""

import numpy as np


def grouped_attention(query, key, value):
    """Attention in which neighbouring query heads share a key/value head.

    query    (…, H, queries, d_k)
    key      (…, Hkv, keys, d_k), H a multiple of Hkv
    value    (…, Hkv, keys, d_v)
    returns  (…, H, queries, d_v)
    """
    group = query.shape[-3] // key.shape[-3]
    key, value = np.repeat(key, group, axis=-3), np.repeat(value, group, axis=-3)
    scaled = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    exponentials = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ value
