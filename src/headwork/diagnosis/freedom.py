"""How many entries of a row are free: a row of weights sums to 1, a blend lies between the values."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .evidence import entry_bits, evidence, plain_bits
from .right import right_fields
from .target import Target

SUMS = 2.0  # times the tolerances of its entries: how near to 1 is the sum of a row that was meant to be 1
BLENDS = ("blended", "merged", "output")
FLAT = 1e-9  # of the largest spread: directions in which the values spread less are none
MOST_KEYS = 64  # more values than that span all of their columns, as far as evidence goes


def bits_of(target: Target, exact: bool = False) -> float:
    """The evidence that the answer carries, before what was tried is subtracted; more where it is exact."""
    tolerance = np.broadcast_to(target.tight, target.right.shape) if exact else target.tolerance
    arrays = (target.values, target.right, np.broadcast_to(tolerance, target.right.shape), target.given)
    values, right, room, given = (by_head(target, array) for array in arrays)
    return evidence(values, right, room, given, freedom(target), _is_joined(target))


def by_head(target: Target, array: Array) -> Array:
    """Rows as people see them; those of joined heads taken apart, (…, H, Tq, Dv): each is its own blend."""
    if not _is_joined(target):
        return array
    H = target.problem.H
    return np.moveaxis(array.reshape(*array.shape[:-1], H, -1), -2, -3)


def _is_joined(target: Target) -> bool:
    problem = target.problem
    return target.step in BLENDS[1:] and problem.merges and _is_blend(target)


def _is_blend(target: Target) -> bool:
    return target.step in BLENDS and (target.step != "output" or target.problem.w_output is None)


def freedom(target: Target) -> Array | None:
    """Degrees of freedom of each row, shape (…, rows), or None where every entry is free.

    A masked key counts: weights are free to fall on it, and right zeros say nothing anyway.
    """
    if target.step == "weights":
        sums = np.abs(_row_sums(target.values) - 1) <= SUMS * target.tolerance.sum(axis=-1)
        return np.where(sums, target.problem.Tk - 1, target.problem.Tk)
    return _in_the_hull(target) if _is_blend(target) else None


def _row_sums(values: Array) -> Array:
    return np.asarray(np.where(np.isfinite(values), values, 0).sum(axis=-1))


def _in_the_hull(target: Target) -> Array:
    """Of blends: a row between the values is free where they spread, any other row is free altogether.

    A sink takes a share of its own, so that 0 is one of the values.
    """
    rows, room = (by_head(target, np.asarray(each)) for each in (target.values, target.tolerance))
    value = np.nan_to_num(right_fields(target.problem)["value_repeated"].astype(np.float64))
    if value.shape[-2] > MOST_KEYS:
        return np.full(rows.shape[:-1], rows.shape[-1])
    start = np.zeros_like(value[..., :1, :]) if target.problem.sink is not None else value[..., :1, :]
    _, spread, directions = np.linalg.svd(value - start, full_matrices=False)
    spans = spread > FLAT * np.max(spread, axis=-1, keepdims=True, initial=1.0)
    directions = np.where(spans[..., None], directions, 0)
    off = np.where(np.isfinite(rows), rows - start, 0)
    outside = np.abs(off - off @ directions.swapaxes(-1, -2) @ directions)
    fits = outside <= SUMS * room.sum(axis=-1, keepdims=True)
    inside = fits.all(axis=-1) | ~by_head(target, target.given).all(axis=-1)
    return np.asarray(np.where(inside, spans.sum(axis=-1)[..., None], rows.shape[-1]))


def most_telling(target: Target) -> float:
    """The bits of the entry that says most: what a number solved for uses up."""
    bits = entry_bits(target.values, target.right, target.tolerance)
    bits = np.minimum(bits, plain_bits(target.values, target.tolerance))
    return float(np.max(np.where(target.given & np.isfinite(target.values), bits, 0), initial=0.0))
