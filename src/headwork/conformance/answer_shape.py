"""A rule's numbers, or rows of its score matrix, in the shape of the answer that they are held against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Array
from ..diagnosis.reach import FINAL
from ..diagnosis.target import Target
from ..mechanism.heads import merge


def in_its_shape(fields: Mapping[str, Array], target: Target) -> Array | None:
    """The step's numbers in the shape of the answer, None where they have another one."""
    array, shape = fields.get(FINAL.get(target.step, target.step)), target.values.shape
    if array is None:
        return None
    if array.size == target.values.size:
        return array.astype(np.float64).reshape(shape)
    return np.broadcast_to(array, shape).astype(np.float64) if _spreads(array, shape) else None


def rows_in_its_shape(rows: Array, target: Target) -> Array | None:
    """Rows of the score matrix, (…, H, Tq, 1), as entries of the answer; None where they are those of
    another problem."""
    problem, shape = target.problem, target.values.shape
    if target.step == "output" and problem.packed and rows.shape == (*problem.matrix_shape[:-1], 1):
        rows = merge(np.broadcast_to(rows, (*rows.shape[:-1], problem.Dv or 1)))
    return np.broadcast_to(rows, shape) if _spreads(rows, shape) else None


def _spreads(array: Array, shape: tuple[int, ...]) -> bool:
    """Whether axes of one entry alone keep it from that shape."""
    return array.ndim == len(shape) and all(a in (1, n) for a, n in zip(array.shape, shape, strict=True))
