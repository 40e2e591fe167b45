"""What is said when an exercise, a part or the course comes to its end."""

from __future__ import annotations

from collections.abc import Iterator

from .course import exercises, set_of
from .events import Event, Said
from .exercises import Exercise
from .progress import Act
from .questions import ChoiceQuestion
from .standing import standing

FIRST_SEED = 7
LONG_SEED = 19  # digits: the next number may be no seed any more
MOST_NAMES = 8


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
    yield from _guesses(exercise, acts)
    yield Said("recap", exercise.recap, f"{exercise.heading}: recap")
    one = set_of(exercise)
    part = one.part(exercise.part)
    own = [each for each in one.exercises if each.part == part.id]
    if own[-1].id == exercise.id and all(standing(each, acts).state == "done" for each in own):
        yield Said("recap", part.recap, f"{part.title}: recap")
    if one.exercises[-1].id == exercise.id and all(standing(e, acts).state == "done" for e in one.exercises):
        yield Said("closing", one.closing, f"{one.title}: all {len(one.exercises)} done")


def _guesses(exercise: Exercise, acts: tuple[Act, ...]) -> Iterator[Said]:
    """What the learner expected before the work."""
    for question in exercise.questions:
        if isinstance(question, ChoiceQuestion) and question.guess:
            own = [a.text for a in acts if (a.exercise, a.question) == (exercise.id, question.id)]
            kept = [text for text in own if text]
            if kept:
                yield Said("place", f"What you expected before: {kept[-1]}.")


def course_ended(acts: tuple[Act, ...]) -> Iterator[Event]:
    """What is said after the last exercise.

    acts  of the learner
    Raises nothing. Special cases: with something still open it is named, and nothing is closed.
    """
    left = [each.id for each in exercises() if standing(each, acts).state != "done"]
    if left:
        yield Said("place", f"That was the last exercise. Still open: {_some(left)}.")
        yield Said("note", "headwork practice goes back to them.")
        return
    yield Said("note", "headwork practice with an id, such as headwork practice softmax, works one again.")


def fresh_offer(exercise: Exercise) -> Iterator[Said]:
    """Other numbers, once the solution of these has been seen.

    exercise  whose solution it was
    Raises nothing. Special cases: nothing for an exercise whose numbers cannot be drawn.
    """
    if not exercise.separates:
        return
    _, _, seed = exercise.id.partition("@")
    name = exercise.drawn_from or exercise.id
    other = f"{name}@{int(seed) + 1 if seed.isdecimal() and len(seed) < LONG_SEED else FIRST_SEED}"
    yield Said("note", f"headwork practice {other} asks the same of other numbers.")


def _some(names: list[str]) -> str:
    """The names, the first few of many."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
