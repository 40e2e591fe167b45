"""Online softmax in blocks. Replace the line that raises, save, and let `headwork watch` check it."""

import numpy as np


def online_attention(query, key, value, block):
    """Attention that reads `block` keys at a time.

    query    (queries, d_k)
    key      (keys, d_k)
    value    (keys, d_v)
    block    how many keys at a time; the last block may be shorter
    returns  (queries, d_v)
    """
    # Kept for each query, from block to block:
    #   row_max  the largest scaled score so far, −∞ at first
    #   row_sum  Σ e^(s − row_max) so far
    #   total    Σ e^(s − row_max) · value so far
    # 1. for each block: its scaled scores, and the new maximum
    # 2. bring row_sum and total to the new maximum, then add the block
    # 3. at the end: total / row_sum
    raise NotImplementedError("begin with a loop: for at in range(0, len(key), block)")
