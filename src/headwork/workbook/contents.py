"""The course as a list, with the learner's progress."""

from __future__ import annotations

from .course import course, exercises
from .events import Listed
from .progress import Act
from .standing import standing


def listed(acts: tuple[Act, ...], here: str = "") -> Listed:
    """The course and how far each exercise has come.

    acts  of the learner; here: the id of the exercise that is open
    Raises nothing. Special cases: none.
    """
    return Listed(course(), {exercise.id: standing(exercise, acts) for exercise in exercises()}, here)
