"""The backward pass of attention. Replace the line that raises, save, and let `headwork watch` check it."""

import numpy as np


def attention_backward(query, key, value, d_output):
    """The gradients of softmax(query keyᵀ / √d_k) value.

    query     (queries, d_k)
    key       (keys, d_k)
    value     (keys, d_v)
    d_output  (queries, d_v), the gradient of the output
    returns   (d_query, d_key, d_value), each of the shape of what it is the gradient of
    """
    # 1. forward again: the weights, (queries, keys)
    # 2. d_value and d_weights, from output = weights @ value
    # 3. through the softmax of each row
    # 4. d_query and d_key, from scaled = query @ key.T / √d_k
    raise NotImplementedError("begin with the weights, as in attention")
