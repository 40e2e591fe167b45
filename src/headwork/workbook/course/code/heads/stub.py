"""Several heads. Replace the line that raises, save, and let `headwork watch` check it."""

import numpy as np


def multi_head_attention(query, key, value, heads):
    """Attention in several heads, each on its own columns.

    query    (queries, heads · d_k), head 1 in the first columns
    key      (keys, heads · d_k)
    value    (keys, heads · d_v)
    heads    how many
    returns  (queries, heads · d_v)
    """
    # 1. split: (tokens, heads · width) to (heads, tokens, width)
    # 2. attention in each head, scaled by the root of its own width
    # 3. merge: (heads, queries, d_v) to (queries, heads · d_v)
    raise NotImplementedError("begin with the split: query.reshape(queries, heads, width).swapaxes(0, 1)")
