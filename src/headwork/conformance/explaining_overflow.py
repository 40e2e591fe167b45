"""Cases that came out as NaN or ∞: the numbers name one mistake, and a maximum not subtracted beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .cases import Cases
from .explaining_one import singles
from .rules import Found, Group, Rule, named


def explain_finite(cases: Cases) -> Found | None:
    """One mistake that explains every case that came out as numbers, where others came out as NaN or ∞."""
    finite = cases.finite
    if not finite or len(finite) == len(cases.failing):
        return None
    groups = named(singles(replace(cases, failing=finite)))
    return Found(groups, tuple(cases.explained(groups[0].rules[0]))) if groups else None


def explain_overflow(cases: Cases, known: Sequence[Rule]) -> Found | None:
    """What was found before, where no case is left that came out as numbers: beside it, exponentials
    overflow.

    Every number that did come back is what the rule gives, and NaN, ∞ or 0 stands only where some score is
    beyond the range of exponentials.
    """
    rules = [replace(rule, overflows=True) for rule in known if not (rule.in_parts or rule.by_chance)]
    best = None if cases.finite else cases.best(rules)
    if best is None:
        return None
    explained = cases.explained(best)
    if not explained or not cases.hold(best, cases.passing):
        return None
    bits = replace(cases, failing=explained).bits - math.log2(len(rules))
    return Found((Group((best,), bits),), tuple(explained))
