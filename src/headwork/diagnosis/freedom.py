"""How many entries of a row are free: a row of weights sums to 1, a blend lies between the values."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .evidence import entry_bits, length_bits
from .target import Target

SUMS = 2.0  # times the tolerances of its entries: how near to 1 is the sum of a row that was meant to be 1


def freedom(target: Target) -> Array | None:
    """Degrees of freedom of each row, shape (…, rows), or None where every entry is free.

    A masked key counts: weights are free to fall on it, and right zeros say nothing anyway.
    """
    problem, values = target.problem, target.values
    if target.step == "weights":
        sums = np.abs(_row_sums(values) - 1) <= SUMS * target.tolerance.sum(axis=-1)
        return np.where(sums, problem.Tk - 1, problem.Tk)
    if target.step in ("blended", "merged") or (target.step == "output" and problem.w_output is None):
        joined = problem.H if problem.merges and target.step != "blended" else 1
        return np.full(values.shape[:-1], min(values.shape[-1], joined * (problem.Tk - 1)))
    return None


def _row_sums(values: Array) -> Array:
    return np.asarray(np.where(np.isfinite(values), values, 0).sum(axis=-1))


def most_telling(target: Target) -> float:
    """The bits of the entry that says most: what a number solved for uses up."""
    bits = entry_bits(target.values, target.right, target.tolerance)
    bits = np.minimum(bits, length_bits(target.values, target.right))
    return float(np.max(np.where(target.given & np.isfinite(target.values), bits, 0), initial=0.0))
