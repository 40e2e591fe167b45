"""Two mistakes that nobody thought of before, or one that is made in arithmetic of fewer bits."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..diagnosis.consequences import Consequences
from ..diagnosis.cutting import rows_of, telling_rows
from ..diagnosis.plan import Hypothesis, compatible
from ..diagnosis.search import (
    PAIRS,
    SINGLES,
    applicable,
    known_consequences,
    narrow_ones,
    too_many,
)
from ..diagnosis.target import Target
from .cases import Cases
from .comparing import Asked
from .explaining_one import few_rows, nearest
from .grouping import grouped
from .rules import Group, Rule, named

# of the answer's distance from the right numbers: how near a rule has to be that narrow arithmetic blurs
NEAR = 0.2
MOST_BLURRED = 3  # mistakes that come nearest, each made in every arithmetic of fewer bits


def explain_with_two(cases: Cases) -> tuple[Group, ...]:
    """Two mistakes, or one in arithmetic of fewer bits, that hold on every case."""
    first = cases.most_telling
    if first is None or first.meant:
        return ()
    return named(_pairs(cases, first)) or named(_blurred(cases, first))


def _pairs(cases: Cases, first: Asked) -> tuple[Group, ...]:
    target = _few_entries(cases.target(first), len(applicable(first.exact, first.case.step)))
    if target is None:
        return ()
    worked = known_consequences(target.problem, target.step, PAIRS)
    rules = [Rule(hypothesis) for hypothesis in nearest(target, worked, PAIRS)]
    return grouped(cases, [rule for rule in rules if cases.hold(rule)], worked.tried(PAIRS))


def _few_entries(target: Target, count: int) -> Target | None:
    """The answer, or some of its rows: no more entries than can be worked out for all pairs of so many."""
    if too_many(count, PAIRS, target.values.size):
        target = rows_of(target, telling_rows(target))
    return None if too_many(count, PAIRS, target.values.size) else target


def _blurred(cases: Cases, first: Asked) -> tuple[Group, ...]:
    target = few_rows(cases.target(first))
    singles = known_consequences(target.problem, target.step, SINGLES)
    ways = [way for way in narrow_ones(first.problem, first.case.step) if way.parameter is None]
    near = _nearer_than_right(target, singles)
    both = [(*hypothesis, way) for hypothesis in near for way in ways]
    held = [rule for rule in map(Rule, filter(compatible, both)) if cases.hold(rule)]
    return grouped(cases, held, len(singles.hypotheses) * len(ways))


def _nearer_than_right(target: Target, worked: Consequences) -> list[Hypothesis]:
    """The mistakes that are nearest to the answer, and much nearer than the right numbers."""
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(_distances(worked.values, target), nan=np.inf)[worked.node]
        off = _distances(target.right[None], target)[0]
    order = np.argsort(apart, kind="stable")[:MOST_BLURRED]
    near = (worked.hypotheses[index] for index in order if apart[index] < NEAR * off)
    return [hypothesis for hypothesis in near if hypothesis]


def _distances(values: Array, target: Target) -> Array:
    """The root of the mean square of how far each of the values is from the answer."""
    apart = np.where(target.given, values - target.values, 0.0).reshape(len(values), -1)
    return np.asarray(np.sqrt(np.mean(apart**2, axis=-1)))
