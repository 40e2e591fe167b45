"""Parts of what is to be explained: some rows of it, one head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.fields import canonical_axes
from ..mechanism.sampling import batch_index, sample
from .freedom import by_head
from .parts import is_by_head
from .target import Target

WORST, SPREAD = 2, 2  # rows that are tried: those farthest off, and some at equal distances


def cut(target: Target, where: Any) -> Target:
    """The numbers at that index, judged by the right result's tolerance; the problem stays as it is."""
    names = ("values", "given", "right", "tolerance")
    parts = {name: np.broadcast_to(getattr(target, name), target.values.shape)[where] for name in names}
    return replace(target, slack=lambda *_: parts["tolerance"], **parts)


def rows_of(target: Target, rows: Array) -> Target:
    """The same target with a few rows of problem and answer."""
    return replace(cut(target, (..., rows, slice(None))), problem=sample(target.problem, rows))


def telling_rows(target: Target) -> Array:
    """The rows that are farthest off, and some others."""
    off = how_far(target)
    axes = tuple(axis for axis in range(off.ndim) if axis != off.ndim - 2)
    worst = np.argsort(-off.max(axis=axes))[:WORST]
    even = np.linspace(0, target.problem.Tq - 1, SPREAD, dtype=np.int64)
    return np.unique(np.concatenate([worst, even]))


def how_far(target: Target) -> Array:
    """How far each given entry is off; a symbol where a number is due is as far off as can be."""
    with np.errstate(invalid="ignore"):  # inf − inf: the same symbol is not off
        off = np.abs(target.values - target.right)
    if np.isfinite(off).all():
        return np.where(target.given, off, 0)
    same = target.same(target.right, target.tolerance) | ~target.given
    return np.where(same, 0, np.nan_to_num(off, nan=np.inf, posinf=np.inf))


def is_apart(target: Target) -> bool:
    """Whether the numbers of each head stand apart, and depend on nothing of somebody's own."""
    problem, step = target.problem, target.step
    if not is_by_head(step) or problem.known is not None:
        return False
    joined = by_head(target, target.values) is not target.values
    return joined or "H" in canonical_axes(problem, step)


def head_index(
    target: Target, batch: tuple[int, ...] | None, head: int, rows: Any = slice(None)
) -> tuple[Any, ...]:
    """Where numbers per head hold one head, as `one_head` has them; an axis of parts may stand before it."""
    return (*batch_index(target.problem, batch), ..., slice(head, head + 1), rows, slice(None))


def heads_of(target: Target) -> Target:
    """The numbers per head, (…, H, Tq, width)."""
    shape = target.values.shape
    tolerance = by_head(target, np.broadcast_to(target.tolerance, shape))
    return replace(
        target,
        values=by_head(target, target.values),
        given=by_head(target, np.broadcast_to(target.given, shape)),
        right=by_head(target, np.broadcast_to(target.right, shape)),
        tolerance=tolerance,
        slack=lambda *_: tolerance,
    )
