"""Dropout that was left on: which weights it drops is chance, each time anew."""

from __future__ import annotations

from ..diagnosis.search import with_dropout
from .cases import Cases
from .left_open import shows_dropout
from .rules import Group, Rule

FIRST_LOOK = 3  # cases, most of which have to show it before the others are read


def dropped(cases: Cases) -> tuple[Group, ...]:
    """Dropout, with the rate that it drops weights at.

    It can be read off where few keys are, and has to be there in most of those cases.
    """
    readable = [asked for asked in cases.failing if shows_dropout(asked)]
    found = [with_dropout(cases.target(asked)) for asked in readable[:FIRST_LOOK]]
    if 2 * sum(map(bool, found)) <= FIRST_LOOK:
        return ()
    found += [with_dropout(cases.target(asked)) for asked in readable[FIRST_LOOK:]]
    known = [each[0] for each in found if each]
    if 2 * len(known) <= len(readable):
        return ()
    first = known[0]
    rule = Rule(first.readings[0], first.theta, by_chance=True)
    return (Group((rule,), sum(each.bits for each in known)),)
