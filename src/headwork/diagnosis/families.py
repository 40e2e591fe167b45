"""Rules with a free number (any factor, base, fill): solve for the number that gives somebody's answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Array
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .reach import FINAL
from .target import Target

STARTS = 3  # the nearest values of the grid, from which the search refines
ROUNDS = 8  # Gauss–Newton halves the distance at the very least; 8 rounds reach float64 from a grid of 80
WIDER = (
    4.0  # times the right result's tolerance: what a start may miss the answer by where the rule hardly moves
)
FAR = 1e100  # a symbol where a number was expected: farther than any number is, and its square is finite
NUDGE = 1e-6  # relative step of the numeric derivative


@dataclass(frozen=True)
class Solution:
    """A number θ that gives the answer, how far it could be off, and what it gives."""

    theta: float
    error: float
    values: Array


def solve(target: Target, family: Mistake) -> tuple[Solution, ...]:
    """The number with which the rule gives the answer: none, or one."""
    parameter = family.parameter
    assert parameter is not None
    grid, values = grid_values(target.problem, target.step, family)
    starts = _starts(target, grid, values, parameter.whole)
    if starts.size and not parameter.whole:
        starts = np.concatenate([_refined(target, family, starts), starts])
    for theta in starts[np.argsort(_misfits(target, family, starts))][:1] if starts.size else ():
        found = _checked(target, family, float(theta))
        right = parameter.right(target.problem)
        if found is not None and not (right is not None and abs(found.theta - right) <= found.error):
            return (found,)
    return ()


@lru_cache(maxsize=256)
def grid_values(problem: Problem, step: str, family: Mistake) -> tuple[Array, Array]:
    """The numbers that are tried first, in order, and the field under each: they do not depend on the answer."""
    assert family.parameter is not None
    grid = np.unique(np.array(family.parameter.values(problem), dtype=np.float64))
    return grid, _field(problem, step, family, grid) if grid.size else np.zeros((0, 1))


def _starts(target: Target, grid: Array, values: Array, whole: bool) -> Array:
    """Grid values from which the answer is in reach: nearer, in every entry, than the neighbouring grid values are."""
    if grid.size == 0 or values.shape[1:] != target.values.shape:
        return grid[:0]
    with np.errstate(all="ignore"):  # symbols where numbers are due: not in reach, or equal
        apart = np.abs(values - target.values)
        reach = np.zeros_like(apart)
        if not whole:
            between = np.abs(np.diff(values, axis=0))
            reach[1:] += between
            reach[:-1] += between
        near = apart <= target.tolerance * WIDER + np.where(np.isnan(reach), 0, reach)
        same = near | (values == target.values) | (np.isnan(values) & np.isnan(target.values)) | ~target.given
    in_reach = np.flatnonzero(same.reshape(len(grid), -1).all(axis=-1))
    misfit = np.abs(_residuals(target, values[in_reach])).max(axis=-1, initial=0.0)
    return grid[in_reach[np.argsort(misfit)[:STARTS]]]


def _field(problem: Problem, step: str, family: Mistake, theta: Array) -> Array:
    """The field under each θ, shape (θ, *field)."""
    lead = theta.reshape(-1, *(1,) * (len(problem.batch) + 3))
    values = run_wrong(problem, (family,), lead)[FINAL.get(step, step)]
    return np.broadcast_to(values, (theta.size, *values.shape[1:]))


def _values(target: Target, family: Mistake, theta: Array) -> Array:
    return _field(target.problem, target.step, family, theta)


def _residuals(target: Target, values: Array) -> Array:
    """Distances in tolerances, shape (θ, entries); symbols that agree are 0 apart, that do not, far."""
    with np.errstate(all="ignore"):
        apart = (values - target.values) / target.tolerance
        same = (values == target.values) | (np.isnan(values) & np.isnan(target.values)) | ~target.given
    return np.where(same, 0, np.where(np.isfinite(apart), apart, FAR)).reshape(
        len(values), target.values.size
    )


def _misfits(target: Target, family: Mistake, theta: Array) -> Array:
    return np.abs(_residuals(target, _values(target, family, theta))).max(axis=-1)


def _refined(target: Target, family: Mistake, theta: Array) -> Array:
    """Gauss–Newton in one variable, all starts at once."""
    for _ in range(ROUNDS):
        here = _residuals(target, _values(target, family, theta))
        slope = (_residuals(target, _values(target, family, theta * (1 + NUDGE))) - here) / (theta * NUDGE)[
            :, None
        ]
        square = (slope * slope).sum(axis=-1)
        step = np.where(square > 0, (slope * here).sum(axis=-1) / np.where(square > 0, square, 1), 0)
        theta = theta - np.clip(step, -0.5 * np.abs(theta), 0.5 * np.abs(theta))
    return theta


def _checked(target: Target, family: Mistake, theta: float) -> Solution | None:
    """The solution, if every entry agrees within the tolerance of what it gives."""
    fields = run_wrong(target.problem, (family,), theta)
    values = fields[FINAL.get(target.step, target.step)]
    if values.shape != target.values.shape or not target.matches(
        values, target.slack(target.problem, fields)
    ):
        return None
    if family.parameter is not None and family.parameter.whole:
        return Solution(theta, 0.0, values)
    slope = np.abs(
        _residuals(target, values[None])
        - _residuals(target, _values(target, family, np.array([theta * (1 + NUDGE)])))
    )
    steepest = slope.max() / abs(theta * NUDGE) if theta else 0.0
    return Solution(theta, float(1 / steepest) if steepest > 0 else float("inf"), values)
