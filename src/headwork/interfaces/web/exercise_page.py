"""The page of an exercise: what it gives, its questions, what comes after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...workbook.course import ExerciseSet, Part, exercises, place_of, set_of
from ...workbook.endings import exercise_closed
from ...workbook.events import Said
from ...workbook.exercises import Exercise
from ...workbook.keeping import Kept
from ...workbook.questions import Question
from ...workbook.standing import Standing, standing
from .matrices import Matrix, in_view
from .question_views import QuestionView, question_view


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
