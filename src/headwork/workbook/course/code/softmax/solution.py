"""Softmax, row by row."""

import numpy as np


def softmax(scores):
    """Weights: e^s / Σ e^s along each row.

    scores   (queries, keys)
    returns  (queries, keys)
    """
    row_max = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - row_max)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
