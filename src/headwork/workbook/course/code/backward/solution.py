"""The backward pass of attention."""

import numpy as np


def attention_backward(query, key, value, d_output):
    """The gradients of softmax(query keyᵀ / √d_k) value.

    query     (…, queries, d_k)
    key       (…, keys, d_k)
    value     (…, keys, d_v)
    d_output  (…, queries, d_v), the gradient of the output
    returns   (d_query, d_key, d_value), each of the shape of what it is the gradient of
    """
    scale = 1 / np.sqrt(query.shape[-1])
    scaled = query @ key.swapaxes(-1, -2) * scale
    exponentials = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)

    d_value = weights.swapaxes(-1, -2) @ d_output
    d_weights = d_output @ value.swapaxes(-1, -2)
    # the weights of a row sum to 1: what one gains, the others lose
    d_scaled = weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))
    d_query = d_scaled @ key * scale
    d_key = d_scaled.swapaxes(-1, -2) @ query * scale
    return d_query, d_key, d_value
