"""Grouped heads. Replace the line that raises, save, and let `headwork watch` check it."""

import numpy as np


def grouped_attention(query, key, value):
    """Attention in which neighbouring query heads share a key/value head.

    query    (H, queries, d_k)
    key      (Hkv, keys, d_k), H a multiple of Hkv
    value    (Hkv, keys, d_v)
    returns  (H, queries, d_v)
    """
    # 1. give each query head its key and value head: 1 1 2 2, not 1 2 1 2
    # 2. attention in every head
    raise NotImplementedError("begin with the group: query.shape[0] // key.shape[0] query heads share one")
