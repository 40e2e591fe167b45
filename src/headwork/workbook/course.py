"""The course: sets of exercises, in the order in which they are worked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from .exercises import Exercise, read_exercise
from .headers import Header, read_header
from .misplaced import SET_KEYS

THREE_TOKENS = (
    "scores",
    "asymmetry",
    "scaling",
    "softmax",
    "blend",
    "all-rows",
    "saturation",
    "causal",
    "code-attention",
    "code-causal",
)
LEVELS = (
    "level-1.1",
    "level-1.2",
    "level-1.3",
    "level-2.1",
    "level-2.2",
    "level-2.3",
    "level-3.1",
    "level-3.2",
    "level-4.1",
    "level-4.2",
    "level-5.1",
    "level-5.2",
    "level-5.3",
    "self-test",
)
CODE = (
    "code-softmax",
    "code-masks",
    "code-heads",
    "code-grouped",
    "code-cache",
    "code-online",
    "code-backward",
)
PRODUCTION = (
    "projection",
    "cross-attention",
    "two-heads",
    "output-projection",
    "grouped-heads",
    "padding-mask",
    "float-mask",
    "empty-row",
    "cache",
    "sliding-window",
    "maximum",
    "online-softmax",
    "merging",
    "rope",
    "alibi",
    "softcap",
    "sink",
    "jacobian",
    "backward",
    "cost",
)
SETS = (("three-tokens", THREE_TOKENS), ("levels", LEVELS), ("production", PRODUCTION), ("code", CODE))


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

    @property
    def label(self) -> str:
        """What stands before its title."""
        return str(self.number)


@dataclass(frozen=True)
class ExerciseSet:
    """A set of exercises about the same numbers.

    Fields
    id, title
    letter     what stands before the number of one of its exercises when it is typed: p3; "" for nothing
    formula    what the set is about, in one line
    opening    Markdown, before the first exercise; closing: after the last
    symbols    the card: every symbol, before it is used
    parts      in order
    exercises  in order; later: those that are not here yet
    """

    id: str
    title: str
    letter: str
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


def course() -> tuple[ExerciseSet, ...]:
    """Every set of the course, in order; the learner's own at the end where a folder is named. Read once.

    Raises FileError where that folder cannot be read.
    """
    from .own import own_folder, state_of

    folder = own_folder()
    return packaged_course() if folder is None else _with_own(folder, state_of(folder))


@cache
def packaged_course() -> tuple[ExerciseSet, ...]:
    """The sets that are part of Headwork. Raises nothing."""
    return tuple(_packaged_set(name, exercises) for name, exercises in SETS)


@lru_cache(maxsize=4)
def _with_own(folder: Path, state: object) -> tuple[ExerciseSet, ...]:
    """`state` of its files is there so that they are read again once they change."""
    from .own import own_set

    return (*packaged_course(), own_set(folder, packaged_course()))


def exercises() -> tuple[Exercise, ...]:
    """Every exercise of the course that can be worked, in order."""
    return tuple(exercise for one in course() for exercise in one.exercises)


def set_of(exercise: Exercise) -> ExerciseSet:
    """The set that an exercise belongs to, with its own numbers or drawn ones."""
    name = exercise.drawn_from or exercise.id
    return next(one for one in course() if name in (each.id for each in one.exercises))


def place_of(exercise: Exercise) -> int:
    """The place of an exercise in the course, from 0; with drawn numbers it has the place of its own."""
    names = [each.id for each in exercises()]
    return names.index(exercise.drawn_from or exercise.id)


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
    header, opening = read_header(file, text, SET_KEYS)
    found = header.whole_table(lambda table: _set(table, opening, made))
    for one in found.announced:
        if one.part not in [part.id for part in found.parts]:
            raise header.error("parts", f"has no {one.part!r}, the part that exercise {one.id} names")
    return found


def _set(table: Header, opening: str, made: tuple[Exercise, ...]) -> ExerciseSet:
    return ExerciseSet(
        id=table.text("id"),
        title=table.text("title"),
        letter=table.text("letter", ""),
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
