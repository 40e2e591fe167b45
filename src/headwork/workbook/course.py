"""The course: sets of exercises, in the order in which they are worked."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UnknownNameError
from .exercises import Exercise, read_exercise
from .headers import Header, read_header

if TYPE_CHECKING:
    from ..problem import Problem

THREE_TOKENS = ("scores", "asymmetry", "scaling", "softmax", "blend", "all-rows", "saturation", "causal")
MOST_DIGITS = 6  # of the number of an exercise
SETS = (("three-tokens", THREE_TOKENS),)


@dataclass(frozen=True)
class Symbol:
    """One line of the card: a sign and what it stands for.

    Fields
    sign  as it is written; says: what it is, in a sentence
    """

    sign: str
    says: str


@dataclass(frozen=True)
class Part:
    """A stretch of a set.

    Fields
    id, title
    opening  what it is for; recap: what the learner can do after it
    """

    id: str
    title: str
    opening: str
    recap: str


@dataclass(frozen=True)
class Later:
    """An exercise that has its number and is not here yet.

    Fields
    id, number, title, part
    """

    id: str
    number: int
    title: str
    part: str


@dataclass(frozen=True)
class ExerciseSet:
    """A set of exercises about the same numbers.

    Fields
    id, title
    formula    what the set is about, in one line
    opening    Markdown, before the first exercise; closing: after the last
    symbols    the card: every symbol, before it is used
    parts      in order
    exercises  in order; later: those that are not here yet
    """

    id: str
    title: str
    formula: str
    opening: str
    closing: str
    symbols: tuple[Symbol, ...]
    parts: tuple[Part, ...]
    exercises: tuple[Exercise, ...]
    later: tuple[Later, ...]

    def part(self, name: str) -> Part:
        """The part of that id."""
        return next(part for part in self.parts if part.id == name)

    @property
    def announced(self) -> tuple[Exercise | Later, ...]:
        """The exercises in order, with those that are not here yet."""
        return (*self.exercises, *self.later)

    def in_part(self, part: Part) -> tuple[Exercise | Later, ...]:
        """Those of one part."""
        return tuple(one for one in self.announced if one.part == part.id)


@cache
def course() -> tuple[ExerciseSet, ...]:
    """Every set of the course, in order; read once."""
    return tuple(_packaged_set(name, exercises) for name, exercises in SETS)


def exercises() -> tuple[Exercise, ...]:
    """Every exercise of the course that can be worked, in order."""
    return tuple(exercise for one in course() for exercise in one.exercises)


def find_exercise(name: str) -> Exercise:
    """The exercise that a learner means.

    name  an id, a unique beginning of one, or a bare number of the three-token set
    Special cases: `scores@7` asks for fresh numbers, which are not here yet.
    Raises UnknownNameError: not here yet, ambiguous, or unknown (with the nearest ids).
    """
    plain, at, _seed = name.strip().partition("@")
    found = _find(plain.lower().lstrip("#"), name.strip())
    if isinstance(found, Later):
        raise UnknownNameError(
            f"exercise {found.number}, {found.id}, is worked in code and is not here yet. "
            f"Those that are: {_ids()}. headwork list shows them all."
        )
    if at:
        raise UnknownNameError(
            f"{name.strip()!r} asks for fresh numbers for {found.id}, and those are not here yet. "
            f"headwork practice {found.id} has the first numbers."
        )
    return found


def problem_of(name: str) -> Problem:
    """The problem of the exercise that a learner means; see `find_exercise`."""
    return find_exercise(name).problem


def set_of(exercise: Exercise) -> ExerciseSet:
    """The set that an exercise belongs to."""
    return next(one for one in course() if exercise in one.exercises)


def _find(plain: str, asked: str) -> Exercise | Later:
    known = {one.id: one for each in course() for one in each.announced}
    if plain in known:
        return known[plain]
    if plain.isdecimal() and len(plain) <= MOST_DIGITS:
        return _numbered(int(plain))
    begins = [name for name in known if plain and name.startswith(plain)]
    if len(begins) == 1:
        return known[begins[0]]
    if begins:
        raise UnknownNameError(
            f"{asked!r} could be {' or '.join(begins)}; type a letter more of the one you mean."
        )
    near = difflib.get_close_matches(plain, known, n=3, cutoff=0.5)
    nearest = f"The nearest: {', '.join(near)}." if near else f"The exercises are: {_ids()}."
    raise UnknownNameError(f"there is no exercise {asked[:60]!r}. {nearest} headwork list shows them all.")


def _numbered(number: int) -> Exercise | Later:
    first = course()[0]
    for one in first.announced:
        if one.number == number:
            return one
    raise UnknownNameError(
        f"there is no exercise {number}: {first.title.lower()} has exercises 1 to {len(first.announced)}. "
        "headwork list shows them all."
    )


def _ids() -> str:
    return ", ".join(exercise.id for exercise in exercises())


# --- reading a set --------------------------------------------------------------------------------


def _packaged_set(name: str, exercise_names: tuple[str, ...]) -> ExerciseSet:
    folder = Path(__file__).with_name("course") / name

    def text_of(file: str) -> str:
        return (folder / file).read_text(encoding="utf-8")

    made = tuple(read_exercise(f"{name}/{one}.md", text_of(f"{one}.md")) for one in exercise_names)
    return read_set(f"{name}/set.md", text_of("set.md"), made)


def read_set(file: str, text: str, made: tuple[Exercise, ...]) -> ExerciseSet:
    """The set that a file describes, around its exercises.

    file  its name, for errors; text: all of it
    made  its exercises, in order
    Raises FileError, naming file and key; also where an exercise names a part that is not there.
    Special cases: none.
    """
    header, opening = read_header(file, text)
    found = header.whole_table(lambda table: _set(table, opening, made))
    for one in found.announced:
        if one.part not in [part.id for part in found.parts]:
            raise header.error("parts", f"has no {one.part!r}, the part that exercise {one.id} names")
    return found


def _set(table: Header, opening: str, made: tuple[Exercise, ...]) -> ExerciseSet:
    return ExerciseSet(
        id=table.text("id"),
        title=table.text("title"),
        formula=table.text("formula"),
        opening=opening,
        closing=table.text("closing"),
        symbols=table.tables("symbols", lambda row: Symbol(row.text("sign"), row.text("says"))),
        parts=table.tables("parts", lambda row: Part(*map(row.text, ("id", "title", "opening", "recap")))),
        exercises=made,
        later=table.tables(
            "later",
            lambda row: Later(row.text("id"), row.whole("number", 1), row.text("title"), row.text("part")),
        ),
    )
