"""Attention with a mask. Replace the line that raises, save, and let `headwork watch` check it."""

import numpy as np


def masked_attention(query, key, value, mask):
    """Attention in which query i sees key j where mask[i, j] is True.

    query    (queries, d_k)
    key      (keys, d_k)
    value    (keys, d_v)
    mask     (queries, keys), or (1, keys) for all queries alike; True = may attend
    returns  (queries, d_v); a row that may see nothing is zeros
    """
    # 1. scaled scores, as in attention
    # 2. −∞ where the mask is False
    # 3. softmax along each row; a row of −∞ has no sum to divide by
    # 4. blend the values
    raise NotImplementedError("begin with the scaled scores, then np.where(mask, scaled, -np.inf)")
