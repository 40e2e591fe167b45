"""Whether drawn numbers are like those of an exercise: as workable by hand, and as much work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.tracing import Trace
from .effort import effort
from .exercises import Exercise
from .gate import step_questions

MOST_EFFORT = 1.25  # times the first numbers'
LEAST_EFFORT = 0.6
SPARE = 2  # operations more are no matter where there are few
SHORT = 3  # exponents up to this size are short: e³ ≈ 20.09
CLEAR_LEAD = 3  # of the best key, from which on the others hardly count: a row that is about saturation
ROUNDING = 1e-9
ROWS = ("query", "key", "value", "x")


@dataclass(frozen=True)
class Likeness:
    """What drawn numbers have to be like.

    Fields
    effort    of the first numbers
    largest   the size of the largest exponent, at least 3; widest: from the smallest to the largest of a row
    halves    whether every exponent is a whole number or a half
    constant  how many rows have the same score everywhere
    lead      of the best key, the least of any row, where it is clear; else 0
    distinct  the arrays whose rows all differ
    """

    effort: float
    largest: float
    widest: float
    halves: bool
    constant: int
    lead: float
    distinct: tuple[str, ...]

    def may_fit(self, fields: Mapping[str, Any]) -> bool:
        """Whether arrays are worth being worked out: rows that differ, and queries that meet a key.

        fields  of a problem, drawn
        Raises nothing. Special cases: without one query and one key matrix, only rows are looked at.
        """
        for name in self.distinct:
            if name in fields and not _differ(np.array(fields[name], dtype=np.float64)):
                return False
        if "query" not in fields:
            return True
        query, key = (np.array(fields[name], dtype=np.float64) for name in ("query", "key"))
        if query.ndim > 2 or query.shape[1] != key.shape[1] or len(key) == 1:
            return True
        return int(np.sum(np.ptp(query @ key.T, axis=1) == 0)) <= self.constant

    def fits(self, fresh: Exercise) -> bool:
        """Whether other numbers for the same exercise are like these.

        fresh  the exercise with them
        Raises HeadworkError where they cannot be worked. Special cases: none.
        """
        work = fresh.work
        rows = list(_exponents(fresh, work))
        return (
            all(self._is_short(row) for row in rows)
            and sum(_is_constant(row) for row in rows) <= self.constant
            and all(_lead(row) >= self.lead for row in rows)
            and self._is_as_much(effort(fresh).total)
        )

    def _is_short(self, row: Array) -> bool:
        is_plain = not self.halves or _halves(row)
        return is_plain and np.max(np.abs(row)) <= self.largest and float(np.ptp(row)) <= self.widest

    def _is_as_much(self, total: float) -> bool:
        return LEAST_EFFORT * self.effort - SPARE <= total <= MOST_EFFORT * self.effort + SPARE


@lru_cache(maxsize=128)
def likeness(exercise: Exercise) -> Likeness:
    """What numbers like those of an exercise are.

    exercise  with its own numbers
    Raises FileError. Special cases: none.
    """
    work = exercise.work
    rows = list(_exponents(exercise, work))
    lead = min(map(_lead, rows), default=0.0)
    return Likeness(
        effort=effort(exercise).total,
        largest=max([SHORT, *(float(np.max(np.abs(row))) for row in rows)]),
        widest=max([SHORT, *(float(np.ptp(row)) for row in rows)]),
        halves=all(map(_halves, rows)),
        constant=sum(map(_is_constant, rows)),
        lead=lead if lead >= CLEAR_LEAD else 0.0,
        distinct=tuple(name for name in ROWS if name in exercise.given and _differ(work[name])),
    )


def _exponents(exercise: Exercise, work: Trace) -> Iterator[Array]:
    """The scores that go into the softmax, of each row that is asked and may see more than one key."""
    if "masked" not in work.fields:
        return
    rows = {row for question in step_questions(exercise) for row in question.rows}
    whole = any(not question.rows for question in step_questions(exercise))
    for place in np.ndindex(work.fields["masked"].shape[:-1]):
        row = work.fields["masked"][place]
        seen = row[np.isfinite(row)]
        if seen.size > 1 and (whole or place[-1] + 1 in rows):
            yield seen


def _differ(array: Array) -> bool:
    rows = array.reshape(-1, array.shape[-1]).tolist()
    return len(set(map(tuple, rows))) == len(rows)


def _halves(row: Array) -> bool:
    return bool(np.all(np.abs(2 * row - np.round(2 * row)) < ROUNDING))


def _is_constant(row: Array) -> bool:
    return float(np.ptp(row)) < ROUNDING


def _lead(row: Array) -> float:
    first, second = np.sort(row)[[-1, -2]]
    return float(first - second)
