"""The exercise that a learner means: by its id, its number or the beginning of its id; fresh numbers too."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from ..errors import UnknownNameError
from .course import Later, course
from .exercises import Exercise

if TYPE_CHECKING:
    from ..problem import Problem

MOST_DIGITS = 6  # of the number of an exercise
MOST_SEED_DIGITS = 19
LONGEST = 60
MOST_NAMES = 8
LIST = "headwork list shows them all."
NO_NAME = f"no exercise is named. Give its id or its number, such as scores or 3. {LIST}"


def find_exercise(text: str) -> Exercise:
    """The exercise that a learner means.

    text  an id, a unique beginning of one, a number of the first set, a label such as 2.1, or a number of
          another set behind its letter, such as p3; @ and a seed behind it ask for fresh numbers
    Special cases: capitals, blanks around it and a # before a number do not matter.
    Raises UnknownNameError: no name at all, not here yet, ambiguous, or unknown (with the nearest ids);
    OptionError where there are no numbers to draw.
    """
    asked = text.strip()
    plain, at, seed = asked.partition("@")
    name = "-".join(plain.lower().lstrip("#").split())
    if not name:
        raise UnknownNameError(NO_NAME)
    found = _find(name, _shown(asked))
    if isinstance(found, Later):
        raise UnknownNameError(f"exercise {found.id} is not here yet. {LIST}")
    if not at:
        return found
    from .numbers import drawn  # all of mathematics, which a list does without

    return drawn(found, read_seed(seed, found.id))


def read_seed(text: str, name: str) -> int:
    """The seed behind an @.

    text  as typed; name: the id of the exercise, for errors
    Raises UnknownNameError where it is no whole number. Special cases: whether there are numbers for it is
    asked when they are drawn.
    """
    if text.isascii() and text.isdigit() and len(text) <= MOST_SEED_DIGITS:
        return int(text)
    raise UnknownNameError(
        f"{_shown(f'{name}@{text}')!r} asks for fresh numbers, and {_shown(text)!r} is no seed; a whole "
        f"number from 0 to 9223372036854775808 was expected, such as {name}@7."
    )


def problem_of(name: str) -> Problem:
    """The problem of the exercise that a learner means; see `find_exercise`."""
    return find_exercise(name).problem


def _find(plain: str, asked: str) -> Exercise | Later:
    known = {one.id: one for each in course() for one in each.announced}
    named = known.get(plain) or _numbered(plain) or _of_variant(known, plain)
    if named:
        return named
    begins = [name for name in known if name.startswith(plain)]
    if len(begins) == 1:
        return known[begins[0]]
    if begins:
        raise UnknownNameError(
            f"{asked!r} could be {_or(begins)}; type a letter more of the one you mean. {LIST}"
        )
    if plain.isdecimal():
        first = course()[0]
        raise UnknownNameError(
            f"there is no exercise {asked[:MOST_DIGITS]}: {first.title.lower()} has exercises 1 to "
            f"{len(first.announced)}. {LIST}"
        )
    near = difflib.get_close_matches(plain, known, n=3, cutoff=0.65)
    nearest = f"The nearest: {', '.join(near)}. " if near else ""
    raise UnknownNameError(f"there is no exercise {asked!r}. {nearest}{LIST}")


def _numbered(plain: str) -> Exercise | Later | None:
    """By its number behind the letter of its set; in a set without a letter, by its label."""
    for one in course():
        for each in one.announced:
            if plain == (f"{one.letter}{each.number}" if one.letter else each.label):
                return each
    return None


def _of_variant(known: dict[str, Exercise | Later], plain: str) -> Exercise | None:
    """By an id with its variant, as progress keeps fresh numbers: scores.2"""
    name, _, variant = plain.rpartition(".")
    found = known.get(name)
    is_meant = isinstance(found, Exercise) and variant == str(found.variant) != "1"
    return found if isinstance(found, Exercise) and is_meant else None


def _or(names: list[str]) -> str:
    """The names, the first few of many."""
    few, more = names[:MOST_NAMES], len(names) - MOST_NAMES
    return " or ".join(names) if more <= 0 else f"{', '.join(few)} or one of {more} more"


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
