"""What an answer to a question deserves: the marks of a step and what explains them, or a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagnosis.marking import Marking, StepMark, mark
from ..diagnosis.rounding import half_unit
from ..diagnosis.typed import read_entries, read_number
from ..diagnosis.verdicts import NOT_RIGHT, SHORT, mark_number, short_note
from ..errors import AnswerError
from ..problem import Problem
from .questions import NumberQuestion, StepQuestion
from .standing import COUNTS

if TYPE_CHECKING:
    from ..diagnosis.diagnosing import Diagnosis


@dataclass(frozen=True)
class Judged:
    """The mark of one answer.

    Fields
    verdict   right, follows, short (right so far), blank (an entry is missing) or not right
    sentence  about it, in words
    typed     one number as it was read; step: the marks of a step. One of the two is None
    marking   of the step and the steps before it
    """

    verdict: str
    sentence: str
    typed: str | None = None
    step: StepMark | None = None
    marking: Marking | None = None

    @property
    def is_done(self) -> bool:
        """Whether the question is answered."""
        return self.verdict in COUNTS

    @property
    def explanation(self) -> Diagnosis | None:
        """What is behind a step that is not right; None where it is, and for one number."""
        if self.marking is None or self.step is None:
            return None
        return self.marking.explanations.get(self.step.step)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        marks = self.step.to_dict() if self.step else {"typed": self.typed}
        found = self.explanation
        said = {"verdict": self.verdict, "sentence": self.sentence, "explanation": found and found.to_dict()}
        return {**marks, **said}


def judge_step(
    question: StepQuestion, problem: Problem, answer: str, earlier: Mapping[StepQuestion, str]
) -> Judged:
    """The marks of a step, each entry by itself and with follow-through.

    question, problem  what was asked about which numbers
    answer             its rows, apart by ;
    earlier            the learner's own answers to steps before
    Raises AnswerError, which costs nothing.
    Source: docs/marking.md.
    """
    answers = {one.step: in_rows(one, text) for one, text in {**earlier, question: answer}.items()}
    marking = mark(problem, answers, question.digits)
    step = marking[question.step]
    return Judged(step.verdict, step.sentence, step=step, marking=marking)


def judge_number(question: NumberQuestion, answer: str) -> Judged:
    """The verdict on one number; a typical wrong one is named.

    question  what was asked; answer: as typed
    Raises AnswerError, which costs nothing.
    Special cases: `within` stands where the given helper values are themselves rounded.
    """
    typed = read_number(answer)
    within = read_number(question.within).value if question.within else 0
    slack = max(within - half_unit(question.digits), 0)
    verdict = mark_number(read_number(question.answer).value, typed, question.digits, slack=slack)
    if verdict == NOT_RIGHT:
        known = (
            wrong
            for wrong in question.wrong
            if mark_number(read_number(wrong.value).value, typed, question.digits) != NOT_RIGHT
        )
        return Judged(verdict, next((wrong.says for wrong in known), ""), typed.text)
    return Judged(verdict, short_note(question.digits) if verdict == SHORT else "", typed.text)


def same_numbers(answer: str, other: str) -> bool:
    """Whether two answers, as they were typed, say the same numbers in the same places.

    answer, other  rows apart by ;
    Raises nothing. Special cases: what cannot be read, as from an imported file, is not the same.
    """
    try:
        return np.array_equal(read_entries(answer).values, read_entries(other).values, equal_nan=True)
    except AnswerError:
        return False


def in_rows(question: StepQuestion, answer: str) -> Any:
    """The answer, each row where it belongs; all rows where all are asked."""
    if not question.rows:
        return answer
    return [
        {"row": row - 1, "values": text} for row, text in zip(question.rows, answer.split(";"), strict=True)
    ]
