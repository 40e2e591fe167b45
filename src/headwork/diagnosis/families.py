"""Rules with a free number (any factor, base, fill): solve for the number that gives somebody's answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .consequences import stacked
from .reach import FINAL
from .remembering import remembered
from .target import Target

STARTS = 3  # the nearest values of the grid, from which the search refines
ROUNDS = 8  # Gauss–Newton halves the distance at the very least; 8 rounds reach float64 from a grid of 80
WIDER = (
    4.0  # times the right result's tolerance: what a start may miss the answer by where the rule hardly moves
)
TRIED, NEAR, NEARER = (
    3,
    30.0,
    10.0,
)  # after 3 rounds within 30 tolerances, or 10 times nearer: or it is given up
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
    if not starts.size:
        return ()
    best = starts[np.argmin(_misfits(target, family, starts))]
    found = _checked(target, family, float(best))
    return () if found is None else (found,)


@remembered(lambda made: made[1].nbytes)
def grid_values(problem: Problem, step: str, family: Mistake) -> tuple[Array, Array]:
    """The numbers that are tried first, in order, and the field under each, whatever the answer is."""
    assert family.parameter is not None
    grid = np.unique(np.array(family.parameter.values(problem), dtype=np.float64))
    return grid, _field(problem, step, family, grid) if grid.size else np.zeros((0, 1))


def _starts(target: Target, grid: Array, values: Array, whole: bool) -> Array:
    """Grid values from which the answer is in reach: nearer, in every entry, than their neighbours are."""
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
    name = FINAL.get(step, step)
    return stacked(problem, name, run_wrong(problem, (family,), lead)[name], theta.size)


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
    return np.asarray(np.abs(_residuals(target, _values(target, family, theta))).max(axis=-1))


def _refined(target: Target, family: Mistake, theta: Array) -> Array:
    """Gauss–Newton in one variable, all starts at once; given up where it comes no nearer."""
    first = np.inf
    for turn in range(ROUNDS):
        here = _residuals(target, _values(target, family, theta))
        misfit = float(np.abs(here).max(axis=-1).min())
        first = misfit if turn == 0 else first
        if turn == TRIED and misfit > max(NEAR, first / NEARER):
            break
        slope = _slope(target, family, theta, here)
        with np.errstate(all="ignore"):  # a symbol where a number is due: no step leads there
            square = (slope * slope).sum(axis=-1)
            step = np.nan_to_num((slope * here).sum(axis=-1) / square, posinf=0.0, neginf=0.0)
        theta = theta - np.clip(step, -0.5 * np.abs(theta), 0.5 * np.abs(theta))
    return theta


def _slope(target: Target, family: Mistake, theta: Array, here: Array) -> Array:
    """How fast each residual changes with θ, shape (θ, entries); `here` are the residuals at θ."""
    there = _residuals(target, _values(target, family, theta * (1 + NUDGE)))
    with np.errstate(all="ignore"):  # θ = 0 has no relative step
        return np.asarray((there - here) / (theta * NUDGE)[:, None])


def _checked(target: Target, family: Mistake, theta: float) -> Solution | None:
    """The solution, if every entry agrees within the tolerance of what it gives, and θ is not right."""
    assert family.parameter is not None
    fields = run_wrong(target.problem, (family,), theta)
    values = fields[FINAL.get(target.step, target.step)]
    if values.shape != target.values.shape or not target.matches(values, WIDER * target.tolerance):
        return None
    error = 0.0 if family.parameter.whole else _error(target, family, theta, values)
    right = family.parameter.right(target.problem)
    if right is not None and abs(theta - right) <= error:
        return None
    if not target.matches(values, target.slack(target.problem, fields)):
        return None
    return Solution(theta, error, values)


def _error(target: Target, family: Mistake, theta: float, values: Array) -> float:
    """How far θ may be off before an entry leaves its tolerance; a θ that changes nothing is free."""
    steepest = np.abs(_slope(target, family, np.array([theta]), _residuals(target, values[None]))).max()
    return 1 / float(steepest) if steepest > 0 else float("inf")
