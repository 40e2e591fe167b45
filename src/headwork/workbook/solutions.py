"""The worked solution of a question, line by line, as a learner would work it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..mechanism.arithmetic import unshifted, worked
from ..mechanism.numerals import number_text, subscript
from ..mechanism.tracing import Trace
from .questions import ExplainQuestion, NumberQuestion, Question, StepQuestion


def solution(question: Question, work: Trace) -> tuple[str, ...]:
    """The lines of the worked solution.

    question  of an exercise; work: its problem worked out
    Raises nothing. Special cases: exponentials and their sums are worked without the maximum taken off, as
    the exercises do; the weights are the same.
    """
    match question:
        case StepQuestion():
            return tuple(_lines(question, work))
        case NumberQuestion():
            return (question.source.removeprefix("by hand: "),)
        case ExplainQuestion():
            return (question.ours,)


def asked_rows(question: StepQuestion, work: Trace) -> tuple[int, ...]:
    """The rows that are asked for, counted from 0."""
    return tuple(row - 1 for row in question.rows) or tuple(range(len(work[question.step])))


def _lines(question: StepQuestion, work: Trace) -> Iterator[str]:
    for row in asked_rows(question, work):
        if question.step == "row_sum":
            total = unshifted(work, (row,)) or worked(work, "row_sum", (row,))
            right = number_text(total.value, question.digits)
            yield f"sum of row {row + 1} = {total.arithmetic(question.digits)} = {right}"
            continue
        for column in range(work[question.step].shape[1]):
            yield _entry(work, question, row, column)


def _entry(work: Trace, question: StepQuestion, row: int, column: int) -> str:
    score, digits = float(work.masked[row, column]), question.digits
    exponential = number_text(math.exp(score), digits)
    if question.step == "exponentials":
        return f"e{subscript(row, column)} = e^{number_text(score)} = {exponential}"
    if question.step == "weights":
        total = float(np.exp(work.masked[row]).sum())
        right = number_text(work.weights[row, column], digits)
        return f"w{subscript(row, column)} = {exponential} / {number_text(total, digits)} = {right}"
    return worked(work, question.step, (row, column)).text(digits)
