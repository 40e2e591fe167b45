"""Numbers with fewer digits than were asked: the right ones cut off, or the whole of another answer.

2 is 2√2 = 2.8284 cut off, and it is exactly what dividing by d_k gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnosis.diagnosing import Diagnosis
from ..diagnosis.marking import StepMark
from ..diagnosis.rounding import half_unit
from ..diagnosis.typed import Number, read_entries
from ..diagnosis.verdicts import SHORT


def is_cut_off(step: StepMark, answer: str) -> bool:
    """Whether an entry is right so far by being cut off, and would not be if it were rounded.

    step    as it was marked; answer: as typed, the rows that were asked
    Raises AnswerError. Special cases: none.
    """
    typed = iter(number for number in read_entries(answer).numbers if number is not None)
    return any(
        entry.verdict == SHORT and abs(entry.value - entry.right) > half_unit(number.places or 0)
        for entry, number in zip(step.entries, typed, strict=False)
    )


def written_out(answer: str, digits: int) -> str:
    """The answer with every decimal written to so many digits, as if the zeros had been typed.

    answer  rows apart by ;
    Raises AnswerError. Special cases: what is meant exactly, and entries not given, stay as they are.
    """
    rows = read_entries(answer).rows
    return "; ".join(" ".join(_written_out(number, digits) for number in row) for row in rows)


def _written_out(number: Number | None, digits: int) -> str:
    if number is None:
        return "_"
    is_short = number.places is not None and number.places < digits
    return f"{number.value:.{digits}f}" if is_short else number.text


def names_one_of(found: Diagnosis | None, typical: Sequence[str]) -> bool:
    """Whether one of these mistakes, made alone, gives the numbers.

    found  of the answer, None where nothing is to be explained; typical: ids
    Raises nothing. Special cases: none.
    """
    readings = found.mistakes if found is not None and found.verdict in ("consistent", "mistake") else ()
    return any(len(reading) == 1 and reading[0] in typical for reading in readings)
