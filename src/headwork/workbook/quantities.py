"""Named quantities: what a number question asks for, worked out from the numbers of its exercise.

A header says `computed = { s13 = "scores[1,3]" }`, and the question s13 has an answer for drawn numbers, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..errors import FileError, OptionError
from ..mechanism.arithmetic import worked
from ..mechanism.numerals import DIGITS, number_text, subscript
from ..mechanism.tracing import Trace
from .exercises import Exercise
from .questions import NumberQuestion

PLACE = re.compile(r"([a-z_]+)\[(\d{1,3}(?:,\d{1,3})*)\]")


@dataclass(frozen=True)
class Quantity:
    """A number with how it comes about.

    Fields
    value  in full precision; source: how it comes about, in one line; hint: the step before the last
    """

    value: float
    source: str
    hint: str


def quantity(exercise: Exercise, formula: str) -> Quantity:
    """What a formula of a header names.

    exercise  with its numbers
    formula   "scores[1,3]" an entry; "largest of scores[1]" the key with the largest entry of a row;
              "slope of weights[1]" σ(1 − σ) of the largest; "sum of weights[1]" of a row. Places count from 1
    Raises FileError where it names nothing. Special cases: OptionError where two keys have the largest entry.
    """
    name, _, place = formula.rpartition(" of ")
    found = PLACE.fullmatch(place.strip())
    if not found or (name and name not in _QUANTITIES):
        raise _unknown(exercise, formula)
    step, index = found[1], tuple(int(part) - 1 for part in found[2].split(","))
    work = exercise.work
    wanted = work[step].ndim - bool(name) if step in work else 0
    if len(index) != wanted or any(not 0 <= i < n for i, n in zip(index, work[step].shape, strict=False)):
        raise _unknown(exercise, formula)
    return _QUANTITIES[name](work, step, index) if name else _entry(work, step, index)


def computed(exercise: Exercise, question: NumberQuestion, formula: str) -> NumberQuestion:
    """The question with the answer that the numbers of its exercise give.

    exercise, question  which; formula: of its answer
    Raises FileError. Special cases: wrong answers that were typical of the first numbers are left out.
    """
    found = quantity(exercise, formula)
    return replace(
        question,
        answer=f"{found.value:.15g}",
        source=f"by hand: {found.source}",
        hints=(found.hint, f"{found.source}."),
        wrong=(),
    )


def _unknown(exercise: Exercise, formula: str) -> FileError:
    return FileError(
        f"{exercise.file}: computed has {formula[:60]!r}, which names nothing in these numbers; scores[1,3], "
        "largest of scores[1], sum of weights[1] or slope of weights[1] were expected."
    )


Place = tuple[int, ...]


def _entry(work: Trace, step: str, index: Place) -> Quantity:
    line = worked(work, step, index)
    return Quantity(
        float(work[step][index]),
        line.text(),
        f"{line.symbol} is asked: row {index[-2] + 1}, column {index[-1] + 1}.",
    )


def _largest(work: Trace, step: str, index: Place) -> Quantity:
    row = work[step][index]
    at = int(np.argmax(row))
    if int(np.sum(row == row[at])) > 1:
        raise OptionError(
            f"row {index[-1] + 1} of {step} has its largest entry twice, so no key has it alone."
        )
    source = f"The largest entry of row {index[-1] + 1}, {_row(row)}, stands in column {at + 1}"
    return Quantity(at + 1.0, source, f"Row {index[-1] + 1} is {_row(row)}.")


def _sum(work: Trace, step: str, index: Place) -> Quantity:
    row = work[step][index]
    terms = " + ".join(number_text(entry) for entry in row)
    total, typed = float(row.sum()), float(np.round(row, DIGITS).sum())
    source = f"{terms} = {number_text(typed)}"
    if number_text(typed) != number_text(total):
        source += f"; {number_text(total)} from unrounded numbers"
    return Quantity(total, source, f"Row {index[-1] + 1} is {_row(row)}.")


def _slope(work: Trace, step: str, index: Place) -> Quantity:
    most = float(np.max(work[step][index]))
    at = subscript(index[-1], int(np.argmax(work[step][index])))
    slope = most * (1 - most)
    source = f"σ = w{at} = {number_text(most, 4)}, and σ(1 − σ) = {number_text(slope, 4)}"
    return Quantity(slope, source, f"The largest weight of the row is {number_text(most, 4)}.")


def _row(row: Array) -> str:
    return "[" + " ".join(number_text(entry) for entry in row) + "]"


_QUANTITIES: dict[str, Callable[[Trace, str, Place], Quantity]] = {
    "largest": _largest,
    "sum": _sum,
    "slope": _slope,
}
