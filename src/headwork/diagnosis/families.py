"""Rules with a free number (any factor, base, fill): solve for the number that gives somebody's answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..arrays import Array
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .consequences import under_numbers
from .reach import FINAL
from .remembering import remembered
from .right import right_fields
from .target import Target

ROOM = 1_000_000  # entries of the score matrices that are worked out together
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
SETTLED = 1e-9  # relative step that leads nowhere: a rule that is linear in its number is there after one
NUDGE = 1e-6  # relative step of the numeric derivative


@dataclass(frozen=True)
class Solution:
    """A number θ that gives the answer, how far it could be off, and what it gives."""

    theta: float
    error: float
    values: Array


@dataclass(frozen=True, eq=False)
class Grids:
    """The numbers that are tried first, whatever the answer is: for each of n, its rule and what it gives.

    rule    (n,): which rule, as an index; theta: (n,), ascending within a rule; values: (n, *field)
    joined  (n,): whether the number may lie between this one and the next
    """

    rule: Array
    theta: Array
    values: Array
    joined: Array

    @cached_property
    def reach(self) -> Array:
        """(n, entries): how far it is to the row before and to the one behind together, 0 for symbols."""
        values = self.values.reshape(len(self.rule), -1)
        reach = np.zeros_like(values)
        with np.errstate(invalid="ignore"):  # inf − inf
            between = np.where(self.joined[:-1, None], np.abs(np.diff(values, axis=0)), 0)
        reach[1:] += between
        reach[:-1] += between
        return np.where(np.isnan(reach), 0, reach)


def solve(
    target: Target, rules: tuple[Mistake, ...], says_something: Callable[[], bool] = lambda: True
) -> tuple[tuple[Mistake, Solution], ...]:
    """The rules that give the answer, each with the number with which it does.

    says_something  whether a number that may be anything would: else none is looked for
    """
    made = grids(target.problem, target.step, rules)
    rows = _in_reach(target, made) if made.rule.size else made.rule
    found = []
    for index in np.unique(made.rule[rows]):
        parameter = rules[index].parameter
        if not (parameter and parameter.whole) and not says_something():
            continue
        mine = rows[made.rule[rows] == index]
        solution = _solution(target, rules[index], made.theta[mine], made.values[mine])
        if solution is not None:
            found.append((rules[index], solution))
    return tuple(found)


@remembered(lambda made: made.values.nbytes)
def grids(problem: Problem, step: str, rules: tuple[Mistake, ...]) -> Grids:
    """The grids of all rules; what one gives in another shape explains nothing, and is NaN throughout."""
    parameters = [rule.parameter for rule in rules if rule.parameter is not None]
    numbers = [_ascending(tuple(each.values(problem))) for each in parameters]
    rule = np.repeat(np.arange(len(rules)), [len(each) for each in numbers])
    theta = np.concatenate([np.zeros(0), *numbers])
    chosen = [rules[index] for index in rule.tolist()]
    room = max(ROOM // math.prod(problem.matrix_shape), 1)
    parts = [slice(start, start + room) for start in range(0, max(len(rule), 1), room)]
    values = [under_numbers(problem, step, tuple(chosen[part]), theta[part]) for part in parts]
    whole = np.array([each.whole for each in parameters], dtype=bool)
    joined = (np.diff(rule, append=-1) == 0) & ~whole[rule]
    return Grids(rule, theta, np.concatenate(values).astype(np.float64, copy=False), joined)


@lru_cache(maxsize=1024)
def _ascending(numbers: tuple[float, ...]) -> Array:
    return np.unique(np.array(numbers, dtype=np.float64))


def _in_reach(target: Target, made: Grids) -> Array:
    """The rows of the grids from which the answer is in reach: nearer, in every entry, than their neighbours.

    Most rules are ruled out by the entry that is farthest from the right one.
    """
    at = target.telling
    likely = np.zeros(made.rule[-1] + 1, dtype=bool)
    likely[made.rule[_near(target, made, slice(None), slice(at, at + 1))[:, 0]]] = True
    rows = np.flatnonzero(likely[made.rule])
    near = _near(target, made, rows, slice(None)) | ~target.given.ravel()
    return rows[near.all(axis=-1)]


def _near(target: Target, made: Grids, rows: Array | slice, entries: slice) -> Array:
    """(rows, entries): whether the answer is no farther than the row before and the one behind together."""
    values = made.values.reshape(len(made.rule), -1)[rows, entries]
    answer = target.values.ravel()[entries]
    tolerance = np.broadcast_to(target.tolerance, target.values.shape).ravel()[entries]
    with np.errstate(invalid="ignore"):  # symbols where numbers are due: not in reach, or equal
        near = np.abs(values - answer) <= tolerance * WIDER + made.reach[rows, entries]
    return np.asarray(near | (values == answer) | (np.isnan(values) & np.isnan(answer)))


def _solution(target: Target, family: Mistake, theta: Array, values: Array) -> Solution | None:
    """The number with which the rule gives the answer, from some in reach and what they give."""
    assert family.parameter is not None
    misfits = _misfits(_residuals(target, values))
    nearest = np.argsort(misfits)[:STARTS]
    starts, misfits = theta[nearest], misfits[nearest]
    refined = starts[:0] if family.parameter.whole else _refined(target, family, starts)
    if refined.size:
        starts = np.concatenate([refined, starts])
        misfits = np.concatenate([_misfits(_residuals(target, _values(target, family, refined))), misfits])
    return _checked(target, family, float(starts[np.argmin(misfits)])) if misfits.min() <= WIDER else None


def _values(target: Target, family: Mistake, theta: Array) -> Array:
    return under_numbers(target.problem, target.step, (family,) * len(theta), theta)


def _residuals(target: Target, values: Array) -> Array:
    """Distances in tolerances, shape (θ, entries); symbols that agree are 0 apart, that do not, far."""
    with np.errstate(all="ignore"):
        apart = (values - target.values) / target.tolerance
        same = (values == target.values) | (np.isnan(values) & np.isnan(target.values)) | ~target.given
    return np.where(same, 0, np.where(np.isfinite(apart), apart, FAR)).reshape(
        len(values), target.values.size
    )


def _misfits(residuals: Array) -> Array:
    return np.asarray(np.abs(residuals).max(axis=-1, initial=0.0))


def _refined(target: Target, family: Mistake, theta: Array) -> Array:
    """Gauss–Newton in one variable, all starts at once; none where it comes no nearer."""
    first = np.inf
    for turn in range(ROUNDS):
        here, slope = _with_slope(target, family, theta)
        misfit = float(_misfits(here).min())
        first = misfit if turn == 0 else first
        is_far = misfit > max(NEAR, first / NEARER)
        if turn == TRIED and is_far:
            return theta[:0]
        with np.errstate(all="ignore"):  # a symbol where a number is due: no step leads there
            step = (slope * here).sum(axis=-1) / (slope * slope).sum(axis=-1)
        step = np.where(np.isfinite(step), step, 0.0)
        if is_far and (np.abs(step) <= SETTLED * np.abs(theta)).all():
            return theta[:0]
        theta = theta - np.clip(step, -0.5 * np.abs(theta), 0.5 * np.abs(theta))
    return theta


def _with_slope(target: Target, family: Mistake, theta: Array) -> tuple[Array, Array]:
    """The residuals at each θ, and how fast each of them changes with θ: both (θ, entries)."""
    both = _values(target, family, np.concatenate([theta, theta * (1 + NUDGE)]))
    here, there = _residuals(target, both).reshape(2, len(theta), -1)
    with np.errstate(all="ignore"):  # θ = 0 has no relative step
        return here, np.asarray((there - here) / (theta * NUDGE)[:, None])


def _checked(target: Target, family: Mistake, theta: float) -> Solution | None:
    """The solution, if every entry agrees within the tolerance of what it gives, and θ is not right."""
    assert family.parameter is not None
    fields = run_wrong(target.problem, (family,), theta, right_fields(target.problem))
    values = fields[FINAL.get(target.step, target.step)]
    if values.shape != target.values.shape or not target.matches(values, WIDER * target.tolerance):
        return None
    error = 0.0 if family.parameter.whole else _error(target, family, theta)
    right = family.parameter.right(target.problem)
    if right is not None and abs(theta - right) <= error:
        return None
    if not target.matches(values, target.slack(target.problem, fields)):
        return None
    return Solution(theta, error, values)


def _error(target: Target, family: Mistake, theta: float) -> float:
    """How far θ may be off before an entry leaves its tolerance; a θ that changes nothing is free."""
    steepest = np.abs(_with_slope(target, family, np.array([theta]))[1]).max()
    return 1 / float(steepest) if steepest > 0 else float("inf")
