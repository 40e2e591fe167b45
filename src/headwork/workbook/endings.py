"""What is said when an exercise, a part or the course comes to its end."""

from __future__ import annotations

from collections.abc import Iterator

from .course import course, exercises, set_of
from .events import Event, Said
from .exercises import Exercise
from .progress import Act
from .standing import standing


def exercise_closed(exercise: Exercise, acts: tuple[Act, ...]) -> Iterator[Event]:
    """The recap of an exercise, and of its part when that is done too; or what is still open.

    exercise  the one that the learner has come to the end of; acts: of the learner
    Raises nothing. Special cases: without everything done there is no recap, which would give it away.
    """
    stand = standing(exercise, acts)
    if stand.state != "done":
        left = f"Still open: {stand.asked - len(stand.done)} of {stand.asked} questions."
        yield Said("place", f"{left} headwork practice {exercise.id} goes back to them.")
        return
    yield Said("recap", exercise.recap, f"{exercise.number}. {exercise.title}: recap")
    one = set_of(exercise)
    part = one.part(exercise.part)
    own = [each for each in one.exercises if each.part == part.id]
    if own[-1] is exercise and all(standing(each, acts).state == "done" for each in own):
        yield Said("recap", part.recap, f"{part.title}: recap")


def course_ended(acts: tuple[Act, ...]) -> Iterator[Event]:
    """What is said after the last exercise.

    acts  of the learner
    Raises nothing. Special cases: with something still open it is named, and nothing is closed.
    """
    left = [each.id for each in exercises() if standing(each, acts).state != "done"]
    if left:
        yield Said("place", f"That was the last exercise. Still open: {', '.join(left)}.")
        yield Said("note", "headwork practice goes back to them.")
        return
    one = course()[-1]
    yield Said("closing", one.closing, f"{one.title}: all {len(one.exercises)} done")
    yield Said("note", "headwork practice with an id, such as headwork practice softmax, works one again.")
