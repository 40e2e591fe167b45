"""One more question where several rules explain everything so far: an input on which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, islice

from ..diagnosis.plan import Hypothesis
from ..diagnosis.separating import separating_problem
from ..problem import Problem
from .asking import CannotAskError
from .calls import Subject
from .cases import Cases
from .comparing import Asked, ask
from .interface import Interface
from .lawful import sizes_of
from .rules import Group

MOST_ASKED = 3  # inputs that are drawn for one function
MOST_PAIRS = 6  # of rules, for which such an input is looked for


def told_apart(
    subject: Subject, interface: Interface, groups: tuple[Group, ...], cases: Cases, room: int
) -> tuple[tuple[Group, ...], tuple[Asked, ...]]:
    """Those of the rules that hold on further inputs, too, and the inputs that were asked, at most `room`."""
    asked: tuple[Asked, ...] = ()
    while len(asked) < room:
        more = _next(subject, interface, groups, cases.telling[0], len(asked) + 1)
        if more is None:
            break
        asked = (*asked, more)
        groups = _holding(groups, cases, more) or groups
    return groups, asked


def _next(
    subject: Subject, interface: Interface, groups: Sequence[Group], like: Asked, number: int
) -> Asked | None:
    """The answer to an input on which two of the rules differ; None where there is none to be had."""
    rules = [rule.hypothesis for group in groups for rule in group.rules if rule.theta is None]
    for one, other in islice(combinations(rules, 2), MOST_PAIRS):
        problem = _separating(interface, like, one, other)
        if problem is not None:
            why = f"tells apart {_ids(one)} and {_ids(other)}"
            id = f"{like.case.feature}/second-round-{number}"
            case = replace(like.case, id=id, why=why, problem=problem, lenient=False, sizes=sizes_of(problem))
            answer = ask(subject, interface, case)
            return answer if answer.target is not None else None
    return None


def _ids(hypothesis: Hypothesis) -> str:
    return " with ".join(mistake.id for mistake in hypothesis)


def _separating(interface: Interface, like: Asked, one: Hypothesis, other: Hypothesis) -> Problem | None:
    def fits(problem: Problem) -> bool:
        return interface.sizes.take(sizes_of(problem)) and _can_ask(interface, problem)

    return separating_problem(like.case.problem, one, other, like.case.step, None, fits)


def _can_ask(interface: Interface, problem: Problem) -> bool:
    try:
        interface.call_for(problem)
    except CannotAskError:
        return False
    return interface.suited(problem) is problem


def _holding(groups: Sequence[Group], cases: Cases, more: Asked) -> tuple[Group, ...]:
    left = ((group, tuple(rule for rule in group.rules if cases.holds(rule, more))) for group in groups)
    return tuple(replace(group, rules=rules) for group, rules in left if rules)
