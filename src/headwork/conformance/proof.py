"""What a battery is proven to see: the mistakes of the catalogue that its cases show, and tell apart.

Judged as a check judges: at the dtype's tolerance, and only what even the least exact honest arithmetic
cannot explain counts as seen. Every feature is proven on its own cases, since a function may well have a
path of its own for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from ..arrays import Array
from ..diagnosis.blind import Blind
from ..diagnosis.consequences import under_numbers
from ..diagnosis.distinct import Numbers, alike, can_show, differs, numbers_of
from ..diagnosis.hiding import EXACT, why_hidden
from ..diagnosis.reach import reaches
from ..diagnosis.tolerance import in_float64
from ..mechanism.sampling import sample
from ..mistakes.catalogue import CATALOGUE
from ..mistakes.merging import in_unknown_blocks
from ..mistakes.mistake import Mistake
from .battery import Case

STEPS = ("output", "logsumexp", "weights")  # gradients have mistakes of their own
LARGE = 10_000  # entries of the score matrix, from where on some queries stand for all
ROWS = 6  # so many of them
PATIENCE = 10  # cases that hold a mistake and do not show it, until it is given up
BLOCK_SIZES = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)  # those that kernels use


KINDS = {
    "equal": "they give the same numbers here",
    "shape": "both give something of another shape",
    "near": "they differ by less than this arithmetic rounds",
}
BEFORE_VALUES = "they differ in the output only, and the weights come before it"
TINY = "10⁻⁹ is 0 in this arithmetic"
# Rules that give the same numbers on every input of a feature, or of an arithmetic, and why.
SAME = {
    ("scores-negated", "softmin"): "they differ only where something is added to the scores in between",
    ("scores-keys-reversed", "values-reversed"): "either way the first key is paired with the last value",
    ("scale-after-softmax", "scale-output"): "a factor of the weights is a factor of the output",
    ("scale-zero", "values-averaged"): "equal scores average the values",
    ("softmax-over-axis-of-one", "values-summed"): "weights of 1 add up the values",
    ("scale-after-bias", "alibi-scaled-too"): "to scale a sum is to scale both its parts",
    ("alibi-signed", "alibi-by-key-index"): "they differ by one number for each row, which the softmax drops",
    ("scores-value-for-key", "key-and-value-swapped"): BEFORE_VALUES,
    ("scale-missing", "scale-after-softmax"): "both leave the scores unscaled, and only those are seen here",
    ("scale-missing", "scale-output"): BEFORE_VALUES,
    ("softmax-missing", "softmax-after-blend"): BEFORE_VALUES,
    (
        "softmax-without-max",
        "row-max-added",
    ): "both overflow; only float64 holds scores where one of them does",
    ("mask-fill-zero", "mask-fill-tiny"): TINY,
    ("mask-fill-zero", "mask-fill-minus-tiny"): TINY,
    ("mask-fill-tiny", "mask-fill-minus-tiny"): TINY,
}


@dataclass(frozen=True, eq=False)
class Twins:
    """Two mistakes that no case tells apart.

    Fields
    a b     the mistakes
    kind    "equal": the same to the last digit wherever both can be made; "shape": neither has the shape of
            an answer, which shows by itself; "near": too near one another for this arithmetic
    reason  why, in words
    """

    a: Mistake
    b: Mistake
    kind: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        return {"ids": [self.a.id, self.b.id], "kind": self.kind, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Proof:
    """What the cases of one feature, in one dtype, show.

    Fields
    feature    its id; dtype: of the cases; cases: how many there are
    own        the mistakes that nothing but this feature makes possible
    shown      the mistakes that at least one case shows
    invisible  those that could be made there and that none shows, each with the reason
    twins      pairs of those shown that no case tells apart
    """

    feature: str
    dtype: str
    cases: int
    own: tuple[Mistake, ...]
    shown: tuple[Mistake, ...]
    invisible: tuple[Blind, ...]
    twins: tuple[Twins, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        return {
            "feature": self.feature,
            "dtype": self.dtype,
            "cases": self.cases,
            "own": [mistake.id for mistake in self.own],
            "shown": [mistake.id for mistake in self.shown],
            "invisible": [blind.to_dict() for blind in self.invisible],
            "twins": [pair.to_dict() for pair in self.twins],
        }


def prove(cases: Sequence[Case]) -> tuple[Proof, ...]:
    """A proof for each feature and dtype that the cases are about.

    A mistake that one of the other features of a case brings in is left to that feature's own cases.
    """
    numeric = [case for case in cases if case.step in STEPS]
    kinds = dict.fromkeys((case.feature, case.dtype) for case in numeric)
    return tuple(_proof(numeric, *kind) for kind in kinds)


def _proof(cases: Sequence[Case], feature: str, dtype: str) -> Proof:
    looks = [_look(case) for case in cases if (case.feature, case.dtype) == (feature, dtype)]
    others = {name for look in looks for name in look.case.needs} - {feature}
    alone = _made(look for look in looks if look.case.needs == {feature})
    elsewhere = _made(_look(case) for case in cases if any(case.needs == {name} for name in others))
    basic = _made(_look(case) for case in cases if case.needs == {"basic"} and feature != "basic")
    there = _in_order(_made(looks) - (elsewhere - alone))
    shown = tuple(m for m in there if any(look.shows(m) for look in looks))
    return Proof(
        feature,
        dtype,
        len(looks),
        tuple(m for m in there if m not in basic),
        shown,
        tuple(Blind(m, _reason(looks, m)) for m in there if m not in shown),
        _twins(looks, shown),
    )


def _made(looks: Iterable[_Look]) -> set[Mistake]:
    return {mistake for look in looks for mistake in look.there}


# --- what a smaller battery loses -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lost:
    """A mistake that a battery can no longer show.

    Fields
    mistake  the record; case: the case of the whole battery that would show it
    """

    mistake: Mistake
    case: Case

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "id": self.mistake.id,
            "title": self.mistake.title,
            "case": self.case.id,
            "why": self.case.why,
            "sizes": dict(self.case.sizes),
        }


def lost(whole: Sequence[Case], left: Sequence[Case]) -> tuple[Lost, ...]:
    """The rules that the whole battery shows and the cases that are left do not, in the catalogue's order.

    Arithmetic in fewer bits is no rule. Of large cases some queries are looked at; a rule that mixes queries
    counts as shown where it can be made there.
    """
    rules = [mistake for mistake in CATALOGUE if not mistake.narrow and mistake.parameter is None]
    shown = first_shown(left, rules)
    hidden = [mistake for mistake in rules if mistake not in shown]
    before = first_shown(whole, hidden)
    return tuple(Lost(mistake, before[mistake]) for mistake in hidden if mistake in before)


def first_shown(cases: Sequence[Case], mistakes: Iterable[Mistake]) -> dict[Mistake, Case]:
    """Those of the mistakes that the cases show, each with the first case that does."""
    found: dict[Mistake, Case] = {}
    tries = dict.fromkeys(mistakes, 0)
    for case in cases:
        there = [m for m, count in tries.items() if count < PATIENCE and _is_there(m, case)]
        found |= dict.fromkeys(_shown(case, there), case)
        tries |= {mistake: tries[mistake] + 1 for mistake in there}
        tries = {mistake: count for mistake, count in tries.items() if mistake not in found}
    return found


def _shown(case: Case, mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Those of the mistakes, which can be made there, that the case shows."""
    problem = case.problem
    taken: list[Mistake] = []
    if math.prod(problem.matrix_shape) > LARGE:
        taken = [mistake for mistake in mistakes if mistake.mixes_queries or mistake.rewrite is not None]
        problem = sample(problem, np.unique(np.linspace(0, problem.Tq - 1, ROWS).astype(np.int64)))
    singles = tuple((mistake,) for mistake in mistakes if mistake not in taken)
    if not singles:
        return taken
    made = numbers_of(problem, case.step, None, singles)
    return taken + [mistake for (mistake,), shows in zip(singles, made.shows, strict=True) if shows]


# --- one case -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Look:
    """What each mistake gives on one case."""

    case: Case
    there: tuple[Mistake, ...]
    made: Numbers

    def shows(self, mistake: Mistake) -> bool:
        return mistake in self.there and bool(self.made.shows[self.there.index(mistake)])

    def rows(self, mistakes: Sequence[Mistake]) -> Array:
        """What each mistake gives: the right numbers where it cannot be made."""
        where = {mistake: index for index, mistake in enumerate(self.there)}
        every = np.concatenate([self.made.values, self.made.right[None]])
        return every[[where.get(mistake, len(where)) for mistake in mistakes]]


@lru_cache(maxsize=1024)
def _look(case: Case) -> _Look:
    there = tuple(mistake for mistake in CATALOGUE if mistake.parameter is None and _is_there(mistake, case))
    singles = tuple((mistake,) for mistake in there)
    return _Look(case, there, numbers_of(case.problem, case.step, None, singles))


@lru_cache(maxsize=8)
def _reaching(step: str) -> frozenset[Mistake]:
    return frozenset(mistake for mistake in CATALOGUE if reaches(mistake, step))


def _is_there(mistake: Mistake, case: Case) -> bool:
    """Whether the mistake can be made on the case, and what is compared follows from it."""
    return (
        case.step in STEPS and mistake in _reaching(case.step) and can_show(case.problem, case.step, mistake)
    )


def _in_order(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    found = set(mistakes)
    return tuple(mistake for mistake in CATALOGUE if mistake in found)


def _reason(looks: Sequence[_Look], mistake: Mistake) -> str:
    look = next(look for look in looks if mistake in look.there)
    return why_hidden(look.case.problem, look.made, look.case.step, mistake, None)


# --- pairs ----------------------------------------------------------------------------------------


def _twins(looks: Sequence[_Look], shown: tuple[Mistake, ...]) -> tuple[Twins, ...]:
    same = np.ones((len(shown), len(shown)), dtype=bool)
    for look in looks:
        rows = look.rows(shown)
        same &= alike(rows, rows, look.made.sure)
    pairs = [(shown[i], shown[j]) for i, j in combinations(range(len(shown)), 2) if same[i, j]]
    kinds = [_kind(looks, a, b) for a, b in pairs]
    return tuple(Twins(a, b, kind, _why(a, b, kind)) for (a, b), kind in zip(pairs, kinds, strict=True))


def _why(a: Mistake, b: Mistake, kind: str) -> str:
    return SAME.get((a.id, b.id), KINDS[kind])


def _kind(looks: Sequence[_Look], *pair: Mistake) -> str:
    both = [look.rows(pair) for look in looks if set(pair) <= set(look.there)]
    if all(np.isnan(rows).all() for rows in both):
        return "shape"
    same = (not differs(a, b, EXACT * np.maximum(np.abs(a), 1)).any() for a, b in both)
    return "equal" if all(same) else "near"


# --- rules with a number --------------------------------------------------------------------------


def unseen_numbers(cases: Sequence[Case]) -> dict[Mistake, tuple[float, ...]]:
    """For each rule with a free number, the numbers of its lists with which none of the cases shows it.

    Of block sizes only those are asked that kernels use.
    """
    rules = (m for m in CATALOGUE if m.parameter is not None)
    unseen = {rule: _unseen(rule, [case for case in cases if _is_there(rule, case)]) for rule in rules}
    return {rule: numbers for rule, numbers in unseen.items() if numbers}


def _unseen(rule: Mistake, cases: Sequence[Case]) -> tuple[float, ...]:
    left = np.unique([theta for case in cases for theta in _asked(rule, case)])
    for case in cases:
        if left.size:
            left = left[~_shown_with(rule, case, left)]
    return tuple(map(float, left))


def _asked(rule: Mistake, case: Case) -> Iterator[float]:
    """The numbers of the rule's list for this case, but the right one."""
    assert rule.parameter is not None
    right, numbers = rule.parameter.right(case.problem), rule.parameter.values(case.problem)
    is_block = rule.applies is in_unknown_blocks
    return (x for x in numbers if x != right and (x in BLOCK_SIZES or not is_block))


def _shown_with(rule: Mistake, case: Case, numbers: Array) -> Array:
    """(numbers,): whether the rule shows with that number."""
    problem = case.problem if rule.narrow else in_float64(case.problem)
    made = numbers_of(case.problem, case.step, None, ())
    values = under_numbers(problem, case.step, (rule,) * numbers.size, numbers)
    return np.asarray(differs(values.reshape(len(numbers), -1), made.right, made.sure).any(axis=-1))
