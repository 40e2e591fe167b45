"""Rules that explain some of the cases, where none explains all: a function may have several faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .cases import ENOUGH, Cases
from .explaining_numbers import solved
from .explaining_one import mistakes_beside, near_rules
from .grouping import grouped
from .rules import NO_MISTAKE, Found, Rule, named

MOST_PARTS = 3  # rules of one case, and cases that say most, on which they are looked for
SOME = 0.125  # of the failing cases: on fewer, other rules agree with what was done by chance
FEW = 3  # cases: that many explained are enough, however many others fail


def explain_most(cases: Cases, known: Sequence[Rule] = ()) -> Found | None:
    """The rules that explain most of the cases, where none explains all.

    Half of the cases, all those that are finite, or fewer with numbers that leave no doubt; and every right
    one stays right.
    """
    bases = (NO_MISTAKE, *known)
    candidates = [rule for base in bases for rule in in_part(cases, base, 2 * MOST_PARTS)]
    candidates = candidates or _in_part_with_a_number(cases)
    best = cases.best(candidates)
    if best is None:
        return None
    explained = cases.explained(best)
    mine = replace(cases, failing=explained)
    if not _is_enough(mine, cases):
        return None
    held = [rule for rule in candidates if mine.hold(rule)]
    groups = named(grouped(mine, held, len(mistakes_beside(explained[0], NO_MISTAKE))))
    return Found(groups, tuple(explained)) if groups else None


def _is_enough(mine: Cases, cases: Cases) -> bool:
    """Whether so many are explained, or with so much evidence, that they have a fault of their own."""
    explained, failing = len(mine.failing), len(cases.failing)
    are_few = explained < min(failing / 2, len(cases.finite), FEW)
    return not are_few or (mine.bits >= ENOUGH and explained >= SOME * failing)


def in_part(cases: Cases, base: Rule = NO_MISTAKE, most: int = MOST_PARTS) -> list[Rule]:
    """Mistakes that explain some of the failing cases and spoil no right one, those first that explain most.

    most  of the cases that say most, on which they are looked for
    """
    rules: list[Rule] = []
    for asked in cases.telling[:most]:
        if any(cases.holds(rule, asked) for rule in rules):
            continue
        near = (rule for rule in near_rules(cases, asked, base) if cases.holds(rule, asked))
        rules += [rule for rule in near if cases.hold(rule, cases.passing)][:MOST_PARTS]
    return sorted(rules, key=lambda rule: -len(cases.explained(rule)))


def _in_part_with_a_number(cases: Cases) -> list[Rule]:
    """Rules with a number that explain some of the failing cases and spoil no right one."""
    found: list[Rule] = []
    for asked in cases.telling[:MOST_PARTS]:
        _, rules = solved(cases, asked, NO_MISTAKE)
        found += [rule for rule in rules if cases.holds(rule, asked) and cases.hold(rule, cases.passing)]
    return found
