"""Online softmax in blocks."""

import numpy as np


def online_attention(query, key, value, block):
    """Attention that reads `block` keys at a time.

    query    (…, queries, d_k)
    key      (…, keys, d_k)
    value    (…, keys, d_v)
    block    how many keys at a time; the last block may be shorter
    returns  (…, queries, d_v)
    """
    rows = query.shape[:-1]
    row_max, row_sum = np.full((*rows, 1), -np.inf), np.zeros((*rows, 1))
    total = np.zeros((*rows, value.shape[-1]))
    for at in range(0, key.shape[-2], block):
        k, v = key[..., at : at + block, :], value[..., at : at + block, :]
        scaled = query @ k.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
        new_max = np.maximum(row_max, scaled.max(axis=-1, keepdims=True))
        shrink = np.exp(row_max - new_max)
        exponentials = np.exp(scaled - new_max)
        row_sum = row_sum * shrink + exponentials.sum(axis=-1, keepdims=True)
        total = total * shrink + exponentials @ v
        row_max = new_max
    return total / row_sum
