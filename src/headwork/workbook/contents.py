"""The course as a list, with the learner's progress."""

from __future__ import annotations

from dataclasses import replace

from .course import course, exercises
from .events import Listed
from .progress import Act
from .standing import Standing, standing


def listed(acts: tuple[Act, ...], here: str = "") -> Listed:
    """The course and how far each exercise has come.

    acts  of the learner; here: the id of the exercise that is open
    Raises nothing. Special cases: none.
    """
    standings = {exercise.id: standing(exercise, acts) for exercise in exercises()}
    return Listed(course(), standings, here, _fresh_standings(acts))


def _fresh_standings(acts: tuple[Act, ...]) -> dict[str, Standing]:
    """How far exercises with drawn numbers have come, by id, in the order in which they were begun."""
    known = {_base(exercise.id, exercise.variant): exercise for exercise in exercises()}
    begun = dict.fromkeys(act.exercise for act in acts if "@" in act.exercise)
    found = {name: known.get(name.partition("@")[0]) for name in begun}
    return {
        name: standing(replace(exercise, id=name, questions=exercise.kept), acts)
        for name, exercise in found.items()
        if exercise is not None
    }


def _base(name: str, variant: int) -> str:
    return name if variant == 1 else f"{name}.{variant}"
