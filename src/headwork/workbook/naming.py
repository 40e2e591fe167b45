"""Which mistake gives the numbers of somebody's function on all cases together, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..conformance.arithmetic import recognised
from ..conformance.cases import Cases
from ..conformance.comparing import Asked
from ..conformance.explaining import explain
from ..conformance.explaining_some import explain_most
from ..conformance.gradients import tolerances
from ..conformance.grouping import grouped
from ..conformance.rules import Found, Group, Rule
from ..conformance.wrong_gradients import WrongGradient, explain_gradients
from ..diagnosis.plan import Hypothesis
from ..diagnosis.search import applicable, with_dropout
from ..diagnosis.wording import describe
from ..mistakes.catalogue import CATALOGUE
from ..mistakes.mistake import altered
from ..problem import Problem

MOST = 4  # rules that give the same numbers, named


@dataclass(frozen=True, eq=False)
class Named:
    """A rule that gives the very numbers that came back.

    Fields
    ids       of the catalogue, or of the wrong gradients
    alike     ids of rules that always give the same numbers as these
    what      what was done, in the past tense, with the sizes; mend: how to put it right; why: it is wrong
    is_sure   whether chance is ruled out; cases: ids of the cases that it explains
    explains  whether `headwork explain` knows it
    """

    ids: tuple[str, ...]
    what: str
    why: str
    mend: str
    is_sure: bool
    cases: tuple[str, ...]
    alike: tuple[str, ...] = ()
    explains: bool = True

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()
        }


def name_rules(asked: Sequence[Asked]) -> tuple[Named, ...]:
    """The rules of the catalogue that give the numbers of every case, or of most.

    asked  every case with numbers, right ones too: a rule that stands keeps those right. Where none does, one
           that gives the wrong ones is named all the same: code has branches, and a mistake may be in one
    Raises nothing. Special cases: none where nothing known explains them. Work that was asked for in blocks
    may have been done in one piece, with a mistake that blocks do not have.
    """
    return _rules(asked) or _rules([in_one_piece(one) for one in asked if one.problem.chunks])


def in_one_piece(asked: Asked) -> Asked:
    """The same case without its blocks of keys."""
    return replace(asked, problem=altered(asked.problem, chunks=None))


def _rules(asked: Sequence[Asked]) -> tuple[Named, ...]:
    failing, passing = [a for a in asked if a.is_wrong], [a for a in asked if not a.is_wrong]
    if not failing:
        return ()
    cases, alone = Cases(failing, passing), Cases(failing, ())
    if not any(map(_has_numbers, failing)):  # NaN throughout comes of many things made together
        return _named(_each_alone(cases), failing)
    ways: list[Callable[[], tuple[Named, ...]]] = [
        lambda: _named(explain(cases, pairs=False), failing),
        lambda: _rounded(cases),
        lambda: _dropped(cases),
        lambda: _without_overflow(failing, passing),
        lambda: _named(explain(cases), failing),
        lambda: _of_most(explain_most(cases), explain_most(alone)),
    ]
    return next(filter(None, (way() for way in ways)), ())


def _has_numbers(asked: Asked) -> bool:
    """Whether an entry that is off is a number all the same."""
    return bool(np.isfinite(asked.values[asked.case.step][asked.off]).any())


def _without_overflow(failing: Sequence[Asked], passing: Sequence[Asked]) -> tuple[Named, ...]:
    """One mistake on all cases whose numbers are numbers: where they overflow, it is another one besides."""
    whole = [asked for asked in failing if not _overflows(asked)]
    if not whole or len(whole) == len(failing):
        return ()
    return _named(explain(Cases(whole, passing), pairs=False), whole)


def _overflows(asked: Asked) -> bool:
    """Whether an entry that is off is no number."""
    return not bool(np.isfinite(asked.values[asked.case.step][asked.off]).all())


def _each_alone(cases: Cases) -> tuple[Group, ...]:
    """Single mistakes that hold on every case, one by one: the nearest to NaN cannot be looked for."""
    first = cases.telling[0]
    rules = [Rule((mistake,)) for mistake in applicable(first.exact, first.case.step)]
    return grouped(cases, [rule for rule in rules if cases.hold(rule)], len(rules))


def _rounded(cases: Cases) -> tuple[Named, ...]:
    """Rounding to so many decimals on the way, or arithmetic of fewer bits that gives these very numbers."""
    found = recognised(cases)
    records = [mistake for mistake in CATALOGUE if found is not None and mistake.id == found.id]
    exact = [mistake for mistake in records if mistake.parameter or cases.hold(Rule((mistake,)))]
    return tuple(_of_rule(cases.failing, (mistake,), None, True) for mistake in exact)


def _dropped(cases: Cases) -> tuple[Named, ...]:
    """Dropout that was left on: which weights it drops is chance, each time anew."""
    findings = {asked: with_dropout(cases.target(asked)) for asked in cases.failing}
    explained = [asked for asked, found in findings.items() if found]
    if 2 * len(explained) < len(cases.failing):
        return ()
    first = findings[explained[0]][0]
    return (_of_rule(explained, first.readings[0], first.theta, True),)


def _of_most(*found: Found | None) -> tuple[Named, ...]:
    """What explains the most of the cases."""
    there = [one for one in found if one is not None]
    best = max(there, key=lambda one: len(one.cases), default=None)
    return () if best is None else _named(best.groups, best.cases)


def _named(groups: Iterable[Group], cases: Sequence[Asked]) -> tuple[Named, ...]:
    rules = (
        (rule, group.is_named)
        for group in sorted(groups, key=lambda each: -each.bits)
        for rule in group.rules
    )
    return tuple(_of_rule(cases, rule.hypothesis, rule.theta, is_sure) for rule, is_sure in rules)[:MOST]


def _of_rule(cases: Sequence[Asked], mistakes: Hypothesis, theta: float | None, is_sure: bool) -> Named:
    return Named(
        tuple(mistake.id for mistake in mistakes),
        describe(cases[0].exact, mistakes, theta),
        " ".join(mistake.why for mistake in mistakes),
        " ".join(mistake.mend for mistake in mistakes),
        is_sure,
        tuple(asked.case.id for asked in cases),
        tuple(reading.id for mistake in mistakes for reading in mistake.readings),
    )


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of one case as they came back.

    Fields
    problem  cotangent: the gradient of its output, (…, H, Tq, Dv)
    given    query, key, value or some of them; dtype: that they are judged in
    """

    problem: Problem
    cotangent: Array
    given: Mapping[str, Array]
    dtype: str


def name_gradients(cases: Sequence[Gradients]) -> tuple[Named, ...]:
    """The wrong rules of backpropagation that give the gradients of every case.

    cases  those that are not right
    Raises nothing. Special cases: none where no rule explains all of them.
    """
    found: list[WrongGradient] | None = None
    for one in cases:
        slack = tolerances(one.problem, one.cotangent, one.dtype)
        here = list(explain_gradients(one.problem, one.cotangent, one.given, slack)) if one.given else []
        found = here if found is None else [rule for rule in found if rule in here]
    return tuple(
        Named((rule.id,), rule.title, rule.why, rule.mend, True, (), explains=False) for rule in found or []
    )[:MOST]
