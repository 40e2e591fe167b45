"""Several heads."""

import numpy as np


def multi_head_attention(query, key, value, heads):
    """Attention in several heads, each on its own columns.

    query    (queries, heads · d_k), head 1 in the first columns
    key      (keys, heads · d_k)
    value    (keys, heads · d_v)
    heads    how many
    returns  (queries, heads · d_v)
    """
    q, k, v = (split(x, heads) for x in (query, key, value))
    scaled = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    exponentials = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return merged(weights @ v)


def split(x, heads):
    """(…, tokens, heads · width) to (…, heads, tokens, width)"""
    *batch, tokens, width = x.shape
    return x.reshape(*batch, tokens, heads, width // heads).swapaxes(-2, -3)


def merged(x):
    """(…, heads, tokens, width) to (…, tokens, heads · width)"""
    x = x.swapaxes(-2, -3)
    return x.reshape(*x.shape[:-2], -1)
