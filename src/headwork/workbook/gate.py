"""What the numbers of an exercise can show: which mistakes give other numbers than the right ones, and than
each other's, at the steps that are asked and to the digits that are asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from ..arrays import Array
from ..diagnosis.distinct import alike, differs, judged, makeable, numbers_of
from ..errors import OptionError
from ..mistakes.lookup import mistake_named
from ..mistakes.mistake import Mistake
from .exercises import Exercise
from .questions import StepQuestion
from .rows import row_places


@dataclass(frozen=True)
class Seen:
    """What the numbers of an exercise show of the mistakes that it is about.

    Fields
    hidden    ids of those that give the right numbers at a step that is asked and follows from them
    together  pairs of ids that give the same numbers at every step that is asked
    absent    ids of those that have no place here at all
    """

    hidden: tuple[str, ...]
    together: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]

    @property
    def is_all(self) -> bool:
        """Every mistake shows wherever it can be made, and no two are the same throughout."""
        return not (self.hidden or self.together or self.absent)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        pairs = [list(pair) for pair in self.together]
        return {"hidden": list(self.hidden), "together": pairs, "absent": list(self.absent)}


@lru_cache(maxsize=64)
def seen(exercise: Exercise, mistakes: tuple[str, ...] | None = None) -> Seen:
    """What the numbers of an exercise show.

    exercise  whose steps are asked; mistakes: ids, or None for those that its header lists
    Raises FileError, UnknownNameError, OptionError (a mistake with a number of its own). Special cases: rules
    that are the same on every input are one mistake.
    """
    records = _records(exercise.separates if mistakes is None else mistakes)
    return _summary(records, [_look(exercise, question, records) for question in step_questions(exercise)])


def all_seen(exercise: Exercise) -> bool:
    """Whether its numbers show every mistake that its header lists and tell every two of them apart.

    exercise  which
    Raises FileError, UnknownNameError. Special cases: it stops at the first step at which one is hidden.
    """
    records, looks = _records(exercise.separates), list[_Look]()
    for question in step_questions(exercise):
        looks.append(_look(exercise, question, records))
        if not looks[-1].shows.all():
            return False
    return _summary(records, looks).is_all


@lru_cache(maxsize=64)
def blind_spots(exercise: Exercise) -> tuple[str, ...]:
    """Ids of the catalogue's mistakes that can be made in an exercise and that no step it asks for shows.

    exercise  with its own numbers or drawn ones
    Raises FileError. Special cases: conventions and rules with a number of their own are left out.
    """
    there, shown = dict[Mistake, None](), set[Mistake]()
    for question in step_questions(exercise):
        every = judged(question.step, question.digits, exercise.problem.dtype.name)
        look = _look(exercise, question, tuple(mistake for mistake in every if not mistake.convention))
        there |= dict.fromkeys(look.made)
        shown |= {mistake for mistake, is_shown in zip(look.made, look.shows, strict=True) if is_shown}
    return tuple(mistake.id for mistake in there if mistake not in shown)


def hides(exercise: Exercise, question: StepQuestion, name: str) -> bool:
    """Whether a mistake can be made at a step and leaves what is asked there right.

    exercise, question  which; name: its id
    Raises FileError, UnknownNameError. Special cases: none.
    """
    look = _look(exercise, question, (mistake_named(name),))
    return bool(look.made) and not look.shows.all()


def step_questions(exercise: Exercise) -> tuple[StepQuestion, ...]:
    """The questions that are marked against the problem worked out. Raises nothing. Special cases: none."""
    return tuple(question for question in exercise.questions if isinstance(question, StepQuestion))


def _records(ids: tuple[str, ...]) -> tuple[Mistake, ...]:
    records = tuple(dict.fromkeys(map(mistake_named, ids)))
    for record in records:
        if record.parameter is not None:
            raise OptionError(f"{record.id} has a number of its own, so there is no one result to look for.")
    return records


@dataclass(frozen=True, eq=False)
class _Look:
    """One step that is asked: the mistakes that can be made, which of them show, which two are the same."""

    made: tuple[Mistake, ...]
    shows: Array
    same: Array

    def is_apart(self, a: Mistake, b: Mistake) -> bool:
        """Whether their numbers differ here; what cannot be made here leaves this step right."""
        if a in self.made and b in self.made:
            return not self.same[self.made.index(a), self.made.index(b)]
        one = next((mistake for mistake in (a, b) if mistake in self.made), None)
        return one is not None and bool(self.shows[self.made.index(one)])


def _look(exercise: Exercise, question: StepQuestion, records: tuple[Mistake, ...]) -> _Look:
    problem = exercise.problem
    made = makeable(problem, question.step, records)
    numbers = numbers_of(problem, question.step, question.digits, tuple((mistake,) for mistake in made))
    where = _entries(exercise, question)
    values, right, sure = numbers.values[:, where], numbers.right[where], numbers.sure[where]
    shows = differs(values, right, sure).any(axis=-1) & numbers.shows
    return _Look(made, np.asarray(shows), alike(values, values, sure))


def _summary(records: tuple[Mistake, ...], looks: list[_Look]) -> Seen:
    hidden = {
        mistake for look in looks for mistake, shows in zip(look.made, look.shows, strict=True) if not shows
    }
    there = {mistake for look in looks for mistake in look.made}
    pairs = combinations([one for one in records if one in there - hidden], 2)
    return Seen(
        hidden=tuple(one.id for one in records if one in hidden),
        together=tuple((a.id, b.id) for a, b in pairs if not any(look.is_apart(a, b) for look in looks)),
        absent=tuple(one.id for one in records if one not in there),
    )


def _entries(exercise: Exercise, question: StepQuestion) -> Array:
    """The flat indices of the entries that are asked."""
    work, step = exercise.work, question.step
    index = np.arange(work[step].size).reshape(work[step].shape)
    return np.concatenate([np.ravel(index[place]) for place in row_places(work, step, question.rows)])
