"""What an answer to a question deserves: the marks of a step, or the verdict on one number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..diagnosis.marking import StepMark, mark
from ..diagnosis.rounding import half_unit
from ..diagnosis.typed import read_number
from ..diagnosis.verdicts import NOT_RIGHT, SHORT, mark_number, short_note
from ..problem import Problem
from .questions import NumberQuestion, StepQuestion
from .standing import COUNTS


@dataclass(frozen=True)
class Judged:
    """The mark of one answer.

    Fields
    verdict   right, follows, short (right so far), blank (an entry is missing) or not right
    sentence  about it, in words
    typed     one number as it was read; step: the marks of a step. One of the two is None
    """

    verdict: str
    sentence: str
    typed: str | None = None
    step: StepMark | None = None

    @property
    def is_done(self) -> bool:
        """Whether the question is answered."""
        return self.verdict in COUNTS

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        marks = self.step.to_dict() if self.step else {"typed": self.typed}
        return {**marks, "verdict": self.verdict, "sentence": self.sentence}


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
    step = mark(problem, answers, question.digits)[question.step]
    return Judged(step.verdict, step.sentence, step=step)


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


def reason(question: StepQuestion, problem: Problem, answer: str) -> str:
    """What may be behind an answer that is not right: the mistake or slip that gives its numbers.

    question, problem, answer  as in `judge_step`
    Raises nothing. Special cases: an answer that nothing explains is said to be one.
    """
    from ..diagnosis.diagnosing import (
        diagnose,
    )  # the catalogue of mistakes: half of the time to start, and seldom needed

    return diagnose(problem, in_rows(question, answer), question.step, question.digits).sentence


def in_rows(question: StepQuestion, answer: str) -> Any:
    """The answer, each row where it belongs; all rows where all are asked."""
    if not question.rows:
        return answer
    return [
        {"row": row - 1, "values": text} for row, text in zip(question.rows, answer.split(";"), strict=True)
    ]
