"""Numbers that the learner makes up, held against the property that was asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..diagnosis.typed import read_entries
from ..errors import AnswerError, HeadworkError
from ..mechanism.numerals import number_text, subscript
from ..mechanism.tracing import Trace, trace
from ..problem import Problem
from .exercises import Exercise
from .questions import DesignQuestion

CLOSE = 1e-12  # what float64 leaves of an equality that holds exactly
DIGITS = (3, 6, 12)  # as many as it takes to see a difference
NAME = re.compile(r"(^|;)\s*[A-Za-z]{1,8}[0-9₀-₉]?\s*[=:]")
SIGNS = {"query": "q", "key": "k", "value": "v"}


@dataclass(frozen=True)
class Designed:
    """What the learner's numbers give.

    Fields
    is_right  whether they have the property; says: what their own results are
    """

    is_right: bool
    says: str


def design_rows(question: DesignQuestion) -> tuple[str, ...]:
    """The name of each row that is asked for: q₁, k₁, k₂; q alone where it is the only one of its kind."""
    return tuple(
        SIGNS.get(ask.name, ask.name) + (subscript(row) if ask.rows > 1 else "")
        for ask in question.asks
        for row in range(ask.rows)
    )


def without_names(line: str) -> str:
    """What was typed without the names that rows may be given: q = 1 0; k₁ = 1 1."""
    return NAME.sub(r"\1", line)


def designed(exercise: Exercise, question: DesignQuestion, answer: str) -> Designed:
    """Whether numbers have the property that was asked for, and what they give.

    exercise, question  where it was asked
    answer              every row, apart by ;
    Raises AnswerError: an entry that is missing or not finite, or numbers that cannot be worked, or are too
    large for it.
    Special cases: whatever gives the wanted result exactly is right, but for what float64 leaves over.
    """
    work = _work(exercise, question, answer)
    if not np.isfinite(work[question.wanted]).all():
        raise AnswerError("These numbers are too large to be worked with here; take smaller ones.")
    found, wanted = work[question.wanted], read_entries(question.values).values
    is_right = bool(np.allclose(found.reshape(wanted.shape), wanted, rtol=CLOSE, atol=CLOSE))
    digits = next((n for n in DIGITS if not is_right and _differ(found, wanted, n)), DIGITS[0])
    templates = (question.otherwise or _otherwise(question), question.property)
    filled = [template.format_map(_Results(work, digits)) for template in templates]  # a slip in either shows
    return Designed(is_right, filled[is_right])


def _differ(found: Array, wanted: Array, digits: int) -> bool:
    return not np.array_equal(found.reshape(wanted.shape).round(digits), wanted.round(digits))


def _otherwise(question: DesignQuestion) -> str:
    return f"These give {{{question.wanted}}}; {question.values} was asked for."


def _work(exercise: Exercise, question: DesignQuestion, answer: str) -> Trace:
    entries = read_entries(answer)
    if not np.isfinite(entries.values).all():  # NaN where an entry is not given
        raise AnswerError("Every entry has to be a finite number here.")
    fields, at = dict[str, Any](exercise.given), 0
    for ask in question.asks:
        fields[ask.name] = entries.values[at : at + ask.rows].tolist()
        at += ask.rows
    try:
        return trace(Problem.from_dict(fields))
    except HeadworkError as error:
        raise AnswerError(f"These cannot be worked: {error}") from None


class _Results(dict[str, str]):
    """What {scores} and the other results of the work stand for in a text."""

    def __init__(self, work: Trace, digits: int) -> None:
        super().__init__()
        self.work, self.digits = work, digits

    def __missing__(self, name: str) -> str:
        return _text(self.work[name], self.digits)


def _text(array: Array, digits: int) -> str:
    """[1 1]; of several rows, apart by ;"""
    rows = array.reshape(-1, array.shape[-1])
    return "[" + "; ".join(" ".join(number_text(x, digits) for x in row) for row in rows) + "]"
