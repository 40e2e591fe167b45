"""A learner answers a question: what came before, the mark, and that it is kept. For every interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..diagnosis.verdicts import NOT_RIGHT
from .events import Marked
from .exercises import Exercise
from .judging import Judged, judge
from .progress import Act, Progress
from .questions import Question, StepQuestion


def answers_to(question: Question, acts: Sequence[Act]) -> list[Act]:
    """The learner's answers to a question, the latest at the end.

    question  which; acts: of its exercise, the oldest first
    Raises nothing. Special cases: none.
    """
    return [act for act in acts if act.question == question.id and act.kind == "answer"]


def earlier_answers(exercise: Exercise, question: Question, acts: Sequence[Act]) -> dict[StepQuestion, str]:
    """The learner's own latest answers to the steps before a question, for follow-through.

    exercise, question  which; acts: of the exercise, the oldest first
    Raises nothing. Special cases: none.
    """
    before = exercise.questions[: exercise.questions.index(question)]
    steps = [one for one in before if isinstance(one, StepQuestion)]
    return {one: answers[-1].text for one in steps if (answers := answers_to(one, acts))}


Judging = Callable[[Exercise, Question, str, Mapping[StepQuestion, str]], Judged]


def keep_answer(
    progress: Progress, exercise: Exercise, question: Question, answer: str, judging: Judging = judge
) -> Marked:
    """The mark of an answer, which is recorded when this returns.

    progress  where it is kept; exercise, question: what was asked
    answer    rows apart by ;, a number, a shape, or the text of an option
    judging   judge, or one that remembers what it has judged
    Raises AnswerError, which costs nothing; FileError. Special cases: none.
    """
    acts = progress.acts(exercise.id)
    judged = judging(exercise, question, answer, earlier_answers(exercise, question, acts))
    before = tuple(act.text for act in answers_to(question, acts) if act.verdict == NOT_RIGHT)
    progress.record(exercise.id, question.id, "answer", answer, judged.verdict)
    return Marked(exercise, question, answer, judged, before)
