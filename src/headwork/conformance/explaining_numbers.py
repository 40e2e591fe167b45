"""A rule with a number in it: the number is read off the answer of one case, and has to hold on all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..diagnosis.families import solve
from ..diagnosis.plan import Hypothesis, compatible
from ..diagnosis.search import families
from ..mistakes.mistake import Mistake, Wrong
from .cases import MOST_TELLING, Cases
from .comparing import Asked
from .explaining_one import few_rows, first_unexplained, is_mixing
from .grouping import grouped
from .predicting import made_here
from .rules import NO_MISTAKE, Group, Rule


def with_a_number(cases: Cases, base: Rule = NO_MISTAKE) -> tuple[Group, ...]:
    """A rule with a number that the answers reveal, beside the base."""
    first = first_unexplained(cases, base)
    if first is None or base.theta is not None or not _has_numbers(cases, first):
        return ()
    tried, rules = solved(cases, first, base)
    return grouped(cases, [rule for rule in rules if cases.hold(rule)], tried * MOST_TELLING)


def _has_numbers(cases: Cases, asked: Asked) -> bool:
    """Whether a number can be read off what is not right: off NaN and ∞ none can."""
    return bool(np.isfinite(cases.target(asked).values[asked.off & cases.judged(asked)]).any())


def solved(cases: Cases, asked: Asked, base: Rule) -> tuple[int, list[Rule]]:
    """How many rules with a number were tried beside the base, and those that give what came back here;
    kept."""

    def work_out() -> tuple[int, list[Rule]]:
        there = families(asked.exact, asked.case.step)
        rules = [m for m in there if not m.narrow and compatible((*base.hypothesis, m))]
        return len(rules), list(_with_their_numbers(cases, asked, base, rules))

    return asked.recall(("solved", cases.judged, base.key), work_out)


def _with_their_numbers(cases: Cases, asked: Asked, base: Rule, rules: Sequence[Mistake]) -> Iterator[Rule]:
    here, target = made_here(asked, base.hypothesis), cases.target(asked)
    few = few_rows(target)
    for family in rules:
        place = target if any(map(is_mixing, (*here, family))) else few
        for _, found in solve(place, (beside(here, family),)):
            number = plain_number(found.theta, found.error)
            yield Rule((*base.hypothesis, family), number, found.error)


def beside(hypothesis: Hypothesis, family: Mistake) -> Mistake:
    """The rule with a number, and the other mistakes made along with it: one record, to be solved for the
    number."""
    if not hypothesis:
        return family
    wrong = {step: mistake.version(step) for mistake in hypothesis for step in mistake.wrong}
    with_number = {
        step: Wrong(lambda problem, theta, *read, run=version.run: run(problem, *read), version.reads)
        for step, version in wrong.items()
    }
    return replace(family, wrong={**with_number, **family.wrong})


def plain_number(theta: float, error: float) -> float:
    """The number with the fewest digits that is as good."""
    plain = (float(f"{theta:.{digits}g}") for digits in range(1, 8))
    return next((number for number in plain if abs(number - theta) <= error), theta)
