"""Attention for one sequence. Replace the line that raises, save, and let `headwork watch` check it."""

import numpy as np


def attention(query, key, value):
    """softmax(query keyᵀ / √d_k) value

    query    (queries, d_k)
    key      (keys, d_k)
    value    (keys, d_v)
    returns  (queries, d_v)
    """
    # 1. scores: every query meets every key in a dot product, (queries, keys)
    # 2. scale by the root of d_k
    # 3. softmax along each row
    # 4. blend the values by the weights
    raise NotImplementedError("begin with the scores: query @ key.T")
