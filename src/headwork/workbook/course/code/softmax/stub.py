"""Softmax, row by row. Replace the line that raises, save, and let `headwork watch` check it."""

import numpy as np


def softmax(scores):
    """Weights: e^s / Σ e^s along each row, each row summing to 1.

    scores   (queries, keys)
    returns  (queries, keys)
    """
    # 1. Take the largest score of each row off: scores of 1000 must not overflow.
    # 2. np.exp of what is left.
    # 3. Divide each row by its sum.
    raise NotImplementedError("begin with the largest score of each row: scores.max(axis=-1, keepdims=True)")
