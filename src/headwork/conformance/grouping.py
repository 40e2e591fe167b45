"""Rules that hold, as they are named: the plainest, and those that no case tells apart together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..diagnosis.search import SAME, cost
from .cases import Cases
from .rules import Group, Rule


def grouped(cases: Cases, rules: Sequence[Rule], tried: int) -> tuple[Group, ...]:
    """The rules with the fewest mistakes; those that give the same numbers everywhere are one group.

    tried  among how many rules these were looked for: the more, the likelier that one holds by chance
    """
    groups: list[list[Rule]] = []
    for rule in rules:
        group = next((group for group in groups if _alike(cases, group[0], rule)), None)
        if group is None:
            groups.append([rule])
        else:
            group.append(rule)
    least = min(map(_cost, groups), default=(0, 0))
    bits = cases.bits - math.log2(max(tried, 1))
    return tuple(Group(tuple(sorted(group, key=_oddity)), bits) for group in groups if _cost(group) == least)


def _cost(group: Sequence[Rule]) -> tuple[int, int]:
    return min(cost(rule.hypothesis) for rule in group)


def _alike(cases: Cases, one: Rule, other: Rule) -> bool:
    """Whether two rules give the same numbers on every case."""
    for asked in cases.every:
        first, second = cases.told(one, asked), cases.told(other, asked)
        if first is None or second is None:
            return False
        atol = 1e-12 + SAME * float(first[1].max(initial=0.0))
        if not np.isclose(first[0], second[0], rtol=1e-9, atol=atol, equal_nan=True).all():
            return False
    return True


def _oddity(rule: Rule) -> tuple[tuple[int, int], bool, int]:
    """What to name last: more mistakes, rules that nobody makes by hand, and those of many steps."""
    steps = sum(len(mistake.steps) for mistake in rule.hypothesis)
    return cost(rule.hypothesis), not all(m.typical for m in rule.hypothesis), steps
