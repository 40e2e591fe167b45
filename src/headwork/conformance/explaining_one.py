"""One mistake more: the rules that come near to the answer of one case, and hold on all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..diagnosis.consequences import Consequences, consequences_of
from ..diagnosis.cutting import rows_of, telling_rows
from ..diagnosis.glance import Glance
from ..diagnosis.large import is_wide
from ..diagnosis.plan import RIGHT, Hypothesis, compatible
from ..diagnosis.search import SINGLES, applicable, known_consequences
from ..diagnosis.target import Target
from ..mistakes.mistake import Mistake
from ..problem import Problem
from .cases import SMALL, Cases
from .comparing import Asked
from .grouping import grouped
from .predicting import joined, made_here
from .rules import NO_MISTAKE, Group, Rule

LOOSE = 64.0  # times the right numbers' tolerance, for a first look: a rule's own numbers may be far larger
MOST_CANDIDATES = 48  # the nearest ones are looked at on every case


def singles(cases: Cases, base: Rule = NO_MISTAKE) -> tuple[Group, ...]:
    """One mistake beside the base."""
    first = first_unexplained(cases, base)
    if first is None:
        return ()
    held = [rule for rule in near_rules(cases, first, base) if cases.hold(rule)]
    return grouped(cases, held, len(mistakes_beside(first, base)))


def first_unexplained(cases: Cases, base: Rule) -> Asked | None:
    """The failing case that says most among those that the base does not explain."""
    if not base.hypothesis:
        return cases.most_telling
    return next((asked for asked in cases.telling if not cases.holds(base, asked)), None)


def mistakes_beside(asked: Asked, base: Rule) -> tuple[Mistake, ...]:
    """The mistakes that can be made on this case along with the base."""
    there = applicable(asked.exact, asked.case.step)
    return tuple(m for m in there if compatible((*base.hypothesis, m)))


def near_rules(cases: Cases, asked: Asked, base: Rule) -> list[Rule]:
    """The rules with one more mistake that come near to the answer on this case; kept.

    The nearest first, and behind them those that had to be tried one by one.
    """
    key = "near", cases.judged, base.key
    return asked.recall(key, lambda: list(_nearest_rules(cases, asked, base)))


def _nearest_rules(cases: Cases, asked: Asked, base: Rule) -> Iterator[Rule]:
    target, others = cases.target(asked), mistakes_beside(asked, base)
    alone: tuple[Mistake, ...] = ()
    if is_wide(target):  # all of them on every row would take minutes and gigabytes
        alone = _on_all_rows(target, others, (*asked.meant, *made_here(asked, base.hypothesis)))
        others = tuple(m for m in others if m not in alone and not is_mixing(m))
        target = few_rows(target)
    try:
        worked = _worked(asked, base, others, target.problem)
    except (ValueError, IndexError):  # shapes that do not go together: one by one, then
        worked = None
    if worked is not None:
        yield from (base + hypothesis[-1] for hypothesis in nearest(target, worked))
    elif math.prod(asked.exact.matrix_shape) <= SMALL:
        alone = others
    else:
        return
    yield from (rule for rule in map(base.__add__, alone) if cases.holds(rule, asked))


def _on_all_rows(
    target: Target, mistakes: Sequence[Mistake], beside: Sequence[Mistake]
) -> tuple[Mistake, ...]:
    """Those of them that a few rows do not show, by themselves or for what they are made beside.

    Where they are made alone, the row that is farthest off rules most of them out.
    """
    if any(map(is_mixing, beside)):
        return tuple(mistakes)
    mixing = tuple(filter(is_mixing, mistakes))
    if beside:
        return mixing
    glance = Glance(target, LOOSE * float(target.tolerance.max()))
    return tuple(filter(glance.mixes_to, mixing))


def few_rows(target: Target) -> Target:
    """The answer, or its telling rows where all rows are too many for every rule."""
    return rows_of(target, telling_rows(target)) if is_wide(target) else target


def is_mixing(mistake: Mistake) -> bool:
    """Whether it cannot be made on a few rows."""
    return mistake.mixes_queries or mistake.rewrite is not None


def _worked(asked: Asked, base: Rule, others: Sequence[Mistake], problem: Problem) -> Consequences | None:
    """What each of the others gives beside what can be made of the base; None where not worked out
    together."""
    if base.theta is not None:
        return None
    if not base.hypothesis and not asked.meant:
        return known_consequences(problem, asked.case.step, SINGLES)
    here = made_here(asked, base.hypothesis)
    sets = tuple(joined(asked.meant, (*here, mistake)) for mistake in others)
    return consequences_of(problem, asked.case.step, (RIGHT, *sets))


def nearest(target: Target, worked: Consequences, least: int = 1) -> list[Hypothesis]:
    """The hypotheses of at least so many mistakes that come near, the nearest first."""
    values = worked.values
    near = target.matches(values, LOOSE * target.tolerance)[worked.node] & (worked.size >= least)
    close = np.flatnonzero(near)
    order = np.argsort(target.misfit(values[worked.node[close]]), kind="stable")
    return [worked.hypotheses[index] for index in close[order[:MOST_CANDIDATES]]]
