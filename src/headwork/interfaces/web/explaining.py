"""What explains an answer that is not right, apart from its marks: they are there at once, and this follows.

Everything here can be done in another process: what is asked and what is given are plain texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ...errors import AnswerError
from ...workbook.exercises import Exercise
from ...workbook.judging import Judged, judge
from ...workbook.questions import Question, StepQuestion
from ..explanation_text import explanation_texts
from .addresses import at_hand, exercise_named, keep_at_hand, question_named, shared
from .forms import size_of


@dataclass(frozen=True)
class Asked:
    """An answer to explain.

    Fields
    exercise  its name; question: its id; answer: as typed
    earlier   the learner's own answers to steps before: id of the question and answer
    """

    exercise: str
    question: str
    answer: str
    earlier: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Explained:
    """What explains it.

    Fields
    hint  where to look, "" for none; full: paragraph by paragraph
    """

    hint: str
    full: tuple[str, ...]


def asked_about(
    exercise: Exercise, question: Question, answer: str, earlier: Mapping[StepQuestion, str]
) -> Asked:
    """An answer to explain.

    exercise, question, answer, earlier  as in `judge`
    Raises nothing. Special cases: none.
    """
    return Asked(exercise.id, question.id, answer, tuple((one.id, text) for one, text in earlier.items()))


def explained(asked: Asked) -> Explained | None:
    """What explains an answer, found anew from its text.

    asked  the answer
    Raises UnknownNameError. Special cases: None where it is right, or can no longer be read.
    """
    exercise = _found(asked.exercise)
    question = exercise.questions[question_named(exercise, asked.question)]
    texts = dict(asked.earlier)
    steps = (one for one in exercise.questions if isinstance(one, StepQuestion))
    try:
        earlier = {step: texts[step.id] for step in steps if step.id in texts}
        return behind(judge_once(exercise, question, asked.answer, earlier))
    except AnswerError:  # of an exercise that has changed since, or from an imported file
        return None


def judge_once(
    exercise: Exercise, question: Question, answer: str, earlier: Mapping[StepQuestion, str]
) -> Judged:
    """As `judge`, and remembered: a page shows every question's last answer, and only the new one needs work.

    exercise, question, answer, earlier  as in `judge`
    Raises AnswerError. Special cases: none.
    """
    return _remembered(exercise, question, answer, tuple(earlier.items()))


@lru_cache(maxsize=512)
def _remembered(
    exercise: Exercise, question: Question, answer: str, earlier: tuple[tuple[StepQuestion, str], ...]
) -> Judged:
    return judge(exercise, question, answer, dict(earlier))


def behind(judged: Judged) -> Explained | None:
    """What explains an answer that has been marked.

    judged  its marks
    Raises nothing. Special cases: None where it is right, or no step.
    """
    found = judged.explanation if judged.is_explained else None
    return Explained(found.hint, tuple(explanation_texts(found))) if found else None


def prepare_marks(exercise: str, question: str) -> Judged | None:
    """Work out what marking an answer takes, while the learner still reads the question.

    exercise, question  their names
    Raises UnknownNameError. Special cases: None where there is nothing to be worked out: it is no step.
    """
    found = _found(exercise)
    step = found.questions[question_named(found, question)]
    if not isinstance(step, StepQuestion):
        return None
    rows, columns = size_of(found, step)
    # numbers that nothing explains: everything is looked at
    numbers = [[f"{7.5 + 2 * i + 7 * j}" for j in range(columns)] for i in range(rows)]
    return judge(found, step, "; ".join(map(" ".join, numbers)), {})


def prepare(exercise: str, question: str) -> None:
    """The same for marking and explaining.

    exercise, question  their names
    Raises UnknownNameError. Special cases: as in `prepare_marks`.
    """
    judged = prepare_marks(exercise, question)
    assert judged is None or judged.explanation is not None


def _found(name: str) -> Exercise:
    return at_hand(name) or keep_at_hand(name, shared(name) or exercise_named(name))
