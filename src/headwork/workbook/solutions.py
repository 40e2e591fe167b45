"""The worked solution of a question, line by line, as a learner would work it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..mechanism.arithmetic import Worked, entry_text, source_of, unshifted, worked
from ..mechanism.masks import float_masks
from ..mechanism.numerals import number_text, subscript
from ..mechanism.tracing import Trace
from .choosing import letter_of
from .designing import design_rows, designed
from .exercises import Exercise
from .questions import (
    DIGITS,
    ChoiceQuestion,
    CodeQuestion,
    DesignQuestion,
    ExplainQuestion,
    NumberQuestion,
    Question,
    ShapeQuestion,
    StepQuestion,
)
from .rows import Place, block_title, columns_of, is_column, row_places
from .running import part_lines, running_lines

UNROUNDED = (
    "Worked with unrounded numbers: from rounded ones, the last digit may come out one higher or lower."
)


def solution(exercise: Exercise, question: Question) -> tuple[str, ...]:
    """The lines of the worked solution.

    exercise, question  which
    Raises FileError. Special cases: exponentials and their sums are worked without the maximum taken off, as
    the exercises do, where that can be read; the weights are the same. A guess has none; code has its own.
    """
    match question:
        case StepQuestion():
            if question.step == "output" and exercise.problem.chunks is not None:
                return tuple(_in_parts(exercise, question))
            return tuple(_lines(question, exercise.work, exercise.takes_maximum_off))
        case NumberQuestion():
            return (question.source.removeprefix("by hand: "),)
        case ShapeQuestion():
            return (f"{question.answer}: {question.source.removeprefix('by hand: ')}",)
        case ChoiceQuestion():
            return tuple(_options(question))
        case DesignQuestion():
            return (*_example(question), designed(exercise, question, question.example).says)
        case ExplainQuestion():
            return (question.ours,)
        case CodeQuestion():
            return ()


def _options(question: ChoiceQuestion) -> Iterator[str]:
    for at, option in enumerate(question.options):
        if option.right:
            yield f"{letter_of(at)}) {option.text}. {option.says}"


def _example(question: DesignQuestion) -> Iterator[str]:
    for name, row in zip(design_rows(question), question.example.split(";"), strict=True):
        yield f"{name} = [{row.strip().replace('-', '−')}]"


# --- the rows of a step ----------------------------------------------------------------------------


def _in_parts(exercise: Exercise, question: StepQuestion) -> Iterator[str]:
    """By logsumexp where the exercise asks for that, or else with a running maximum and sum."""
    work, step = exercise.work, question.step
    for place in row_places(work, step, question.rows):
        if not exercise.merges_parts:
            yield from running_lines(work, place, question.digits)
            continue
        yield from part_lines(work, place, question.digits)
        yield from (_entry(work, question, place, at, False) for at in range(columns_of(work, step)))


def _lines(question: StepQuestion, work: Trace, is_off: bool) -> Iterator[str]:
    """`is_off`: whether the row's maximum is taken off, as the exercise asks."""
    block = ""
    for place in row_places(work, question.step, question.rows):
        title = block_title(work, question.step, place)
        if title != block:
            block = title
            yield f"{title[:1].upper()}{title[1:]}:"
        if question.step == "row_sum":
            yield _sum_line(work, place, question.digits, is_off)
        elif question.step == "logsumexp":
            yield _logsumexp_line(work, place, question.digits, is_off)
        elif is_column(work, question.step):
            yield _worked_text(worked(work, question.step, place), question.digits)
        else:
            for column in range(columns_of(work, question.step)):
                yield _entry(work, question, place, column, is_off)


def _sum_line(work: Trace, place: Place, digits: int, is_off: bool) -> str:
    total = (None if is_off else unshifted(work, place)) or worked(work, "row_sum", place)
    return f"sum of row {place[-1] + 1} = {total.arithmetic(digits)} = {number_text(total.value, digits)}"


def _logsumexp_line(work: Trace, place: Place, digits: int, is_off: bool) -> str:
    line = worked(work, "logsumexp", place)
    total = None if is_off else unshifted(work, place)
    if total is None:
        return _worked_text(line, digits)
    terms = total.arithmetic(digits).rpartition(" = ")[2]  # without the powers before it
    logarithm = f"ln({terms}) = ln {number_text(total.value, digits)}"
    return f"{line.symbol} = {logarithm} = {number_text(line.value, digits)}"


def _entry(work: Trace, question: StepQuestion, place: Place, column: int, is_off: bool) -> str:
    index, digits = (*place, column), question.digits
    plain = worked(work, question.step, index)
    if question.step == "masked" and float_masks(work.problem) and np.isfinite(plain.value):
        plain = worked(work, "biased", index)  # with what the mask adds
    if question.step not in ("exponentials", "weights") or source_of(work, question.step) != question.step:
        return _worked_text(plain, digits)
    total = None if is_off else unshifted(work, place)
    if total is None and (is_off or not _is_plain(work, place)):
        return _worked_text(plain, digits)
    score = float(work["masked"][index])
    exponential = number_text(math.exp(score), digits)
    if question.step == "exponentials":
        return f"e{subscript(place[-1], column)} = e^{_exponent(score)} = {exponential}"
    sum_of_row = number_text((total or worked(work, "row_sum", place)).value, digits)
    right = number_text(work["weights"][index], digits)
    return f"w{subscript(place[-1], column)} = {exponential} / {sum_of_row} = {right}"


def _worked_text(entry: Worked, digits: int) -> str:
    """The whole line; what goes in keeps three digits where fewer are asked of what comes out."""
    line = (entry.symbol, entry.arithmetic(max(digits, DIGITS)), entry_text(entry.value, digits))
    text = " = ".join(part for part in line if part)
    return f"{text}: {entry.reason}" if entry.reason else text


def _is_plain(work: Trace, place: Place) -> bool:
    """Whether the maximum of a row is 0, so that taking it off changes nothing."""
    return bool(np.all(work["row_max"][place] == 0))


def _exponent(score: float) -> str:
    """A score as an exponent; a negative one in parentheses."""
    text = number_text(score)
    return f"({text})" if text.startswith("−") else text
