"""The page of an exercise: what it gives, its questions, what comes after it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import UnknownNameError
from ...workbook.course import ExerciseSet, Part, exercises, place_of, set_of
from ...workbook.endings import exercise_closed
from ...workbook.events import Said
from ...workbook.exercises import Exercise
from ...workbook.finding import find_exercise
from ...workbook.judging import judge
from ...workbook.keeping import Kept
from ...workbook.questions import Question, StepQuestion
from ...workbook.standing import Standing, standing
from .forms import size_of
from .matrices import Matrix, in_view
from .question_views import QuestionView, question_view

MOST_FOUND = 2048
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}(?:@\d{1,19})?")


@dataclass(frozen=True)
class ExercisePage:
    """All that its template shows.

    Fields
    exercise, of, part  which, and where it stands; stand: how far it has come
    given      matrices in view; questions: in order
    closing    what is said when all of it is done
    before, after  the exercises next to it
    warning    about progress that cannot be kept
    """

    exercise: Exercise
    of: ExerciseSet
    part: Part
    stand: Standing
    given: tuple[Matrix, ...]
    questions: tuple[QuestionView, ...]
    closing: tuple[Said, ...]
    before: Exercise | None
    after: Exercise | None
    warning: str

    @property
    def fresh(self) -> str:
        """The exercise whose fresh numbers can be drawn from here; "" for none."""
        return (self.exercise.drawn_from or self.exercise.id) if self.exercise.separates else ""


def exercise_named(name: str) -> Exercise:
    """The exercise of an address.

    name  its id, with @ and a seed behind it for fresh numbers
    Raises UnknownNameError; OptionError: it has no fresh numbers. Special cases: none.
    """
    if not NAME.fullmatch(name):
        raise UnknownNameError("There is no such exercise.")
    return find_exercise(name)


_FOUND: dict[str, Exercise] = {}  # drawn numbers take a moment, and learners come back to theirs


def keep_at_hand(name: str, found: Exercise) -> Exercise:
    """The exercise, which `at_hand` gives from now on.

    name, found  of its address
    Raises nothing. Special cases: the oldest make room.
    """
    while len(_FOUND) >= MOST_FOUND:
        _FOUND.pop(next(iter(_FOUND)))
    return _FOUND.setdefault(name, found)


def at_hand(name: str) -> Exercise | None:
    """The exercise of an address, if it has been found before, at once.

    name  as in `exercise_named`
    Raises nothing. Special cases: none.
    """
    return _FOUND.get(name)


def prepare(exercise: Exercise, question: StepQuestion) -> None:
    """Work out what marking and explaining an answer takes, while the learner still reads the question.

    exercise, question  which
    Raises FileError. Special cases: none.
    """
    rows, columns = size_of(exercise, question)
    # numbers that nothing explains: everything is looked at
    numbers = [[f"{7.5 + 2 * i + 7 * j}" for j in range(columns)] for i in range(rows)]
    assert judge(exercise, question, "; ".join(map(" ".join, numbers)), {}).explanation is not None


def question_named(exercise: Exercise, id: str) -> int:
    """The place of a question of that id, from 0.

    exercise, id  which
    Raises UnknownNameError. Special cases: none.
    """
    for at, question in enumerate(exercise.questions):
        if question.id == id:
            return at
    raise UnknownNameError(f"{exercise.id} has no such question.")


def exercise_page(
    kept: Kept, exercise: Exercise, failed: Mapping[Question, tuple[str, Mapping[str, str]]] | None = None
) -> ExercisePage:
    """The page as it stands.

    kept      the learner's progress; exercise: which
    failed    questions whose answer could not be read now: why, and what was typed
    Raises FileError. Special cases: none.
    """
    acts = kept.progress.acts(exercise.id)
    stand = standing(exercise, acts)
    one = set_of(exercise)
    failed = failed or {}
    views = tuple(
        question_view(exercise, at, acts, *failed.get(question, ("", None)))
        for at, question in enumerate(exercise.questions)
    )
    done = stand.state == "done"
    closing = tuple(exercise_closed(exercise, kept.progress.acts())) if done else ()
    place, known = place_of(exercise), exercises()
    return ExercisePage(
        exercise=exercise,
        of=one,
        part=one.part(exercise.part),
        stand=stand,
        given=in_view(exercise) if exercise.views else (),
        questions=views,
        closing=tuple(said for said in closing if isinstance(said, Said)),
        before=known[place - 1] if place else None,
        after=known[place + 1] if place + 1 < len(known) else None,
        warning=kept.warning,
    )
