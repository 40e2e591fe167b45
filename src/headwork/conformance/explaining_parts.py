"""A mistake in putting parts of the keys together, as flash and split-key kernels do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..diagnosis.consequences import consequences_of
from ..diagnosis.plan import RIGHT, Hypothesis
from ..diagnosis.search import applicable
from .cases import Cases
from .comparing import Asked
from .explaining_one import nearest
from .grouping import grouped
from .left_open import MOST_CUT, cut_in_parts
from .rules import Found, Rule, named

MOST_FIRST = 2  # cases of few keys on which rules for parts are looked for
FEWEST_CUT = 2  # cases of so few keys that a rule for parts must explain, if there are


def explain_in_parts(cases: Cases) -> Found | None:
    """A mistake that needs the keys in parts, where nobody knows how they are cut.

    Where few keys are, every way to cut them is tried; the others are taken along.
    """
    # a wrong factor of exponentials makes numbers of saturated rows that no two ways to add up agree on
    small = sorted(filter(_can_be_cut, cases.telling), key=lambda asked: asked.error or 0.0)
    tries = (_in_parts(cases, first, small) for first in small[:MOST_FIRST])
    return next(filter(None, tries), None)


def _in_parts(cases: Cases, first: Asked, small: Sequence[Asked]) -> Found | None:
    """The same, where the rule gives what came back on the first of the cases with few keys."""
    rules, tried = _rules_in_parts(cases, first)
    best = cases.best(rules)
    if best is None or not _stands(best, cases, small):
        return None
    explained = cases.explained(best)
    mine = replace(cases, failing=explained, passing=[])
    groups = named(grouped(mine, [rule for rule in rules if mine.hold(rule)], tried))
    return Found(groups, tuple(explained)) if groups else None


def _stands(rule: Rule, cases: Cases, small: Sequence[Asked]) -> bool:
    """Whether it explains enough cases of few keys: wrong ones, or where there is but one the right ones."""
    if sum(cases.holds(rule, asked) for asked in small) < min(FEWEST_CUT, len(small)):
        return False
    return len(small) >= FEWEST_CUT or cases.hold(rule, filter(_can_be_cut, cases.passing))


def _rules_in_parts(cases: Cases, first: Asked) -> tuple[list[Rule], int]:
    """The rules for parts that come near to the answer on this case, and how many were tried."""
    plain, tried = applicable(first.exact, first.case.step), 0
    found: dict[Hypothesis, None] = {}
    for problem in cut_in_parts(first.exact):
        sets = tuple((m,) for m in applicable(problem, first.case.step) if m not in plain)
        target = replace(cases.target(first), problem=problem)
        worked = consequences_of(problem, first.case.step, (RIGHT, *sets))
        found |= dict.fromkeys(nearest(target, worked))
        tried += len(sets)
    return [Rule(hypothesis, in_parts=True) for hypothesis in found], tried


def _can_be_cut(asked: Asked) -> bool:
    """Whether every way to cut its keys can be tried."""
    return 1 < asked.exact.Tk <= MOST_CUT and not asked.meant
