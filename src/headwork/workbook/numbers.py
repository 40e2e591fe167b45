"""Fresh numbers for an exercise: `scores@7` is the exercise `scores` with the numbers of seed 7.

They are like its own (as many zeros, as much work) and proven to show the mistakes that its header lists, and
to tell them apart. A seed gives the same numbers on every machine: they come from
`random.Random(seed).random()` alone. Whatever changes them (the list, how they are drawn) raises `variant`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..errors import HeadworkError, OptionError
from .drawing import draw_fields
from .exercises import Exercise
from .gate import all_seen, step_questions
from .likeness import Likeness, likeness
from .quantities import quantity
from .retelling import MOST_SEED, retold

MOST_DRAWS = 3000  # that are drawn, nearly all of them refused at sight
MOST_PROVED = 100  # of them that go through the gate


@dataclass(frozen=True)
class Drawing:
    """How fresh numbers came about.

    Fields
    exercise  with the numbers
    draws     how many were drawn; proved: how many of them were worked out and held against the mistakes
    """

    exercise: Exercise
    draws: int
    proved: int


def drawn(exercise: Exercise, seed: int) -> Exercise:
    """The exercise with the numbers of a seed; its id says so, such as scores@7.

    exercise  of the course; seed: a whole number from 0 to 2⁶³
    Raises OptionError: no such seed, or nothing to draw; FileError. Special cases: questions about the first
    numbers are left out, and the opening says so.
    """
    return drawing(exercise, seed).exercise


@lru_cache(maxsize=64, typed=True)
def drawing(exercise: Exercise, seed: int) -> Drawing:
    """Fresh numbers and how they came about; see `drawn`.

    exercise, seed  which
    Raises OptionError, FileError. Special cases: none.
    """
    _check(exercise, seed)
    _check_formulas(exercise)
    like, refused = likeness(exercise), list[Exercise]()
    for draws, fields in enumerate(_candidates(exercise, seed), 1):
        if fields == exercise.given or not like.may_fit(fields):
            continue
        fresh = replace(exercise, given=fields)
        if _is_like(fresh, like):
            if all_seen(fresh):
                return Drawing(retold(exercise, fresh, seed), draws, len(refused) + 1)
            refused.append(fresh)
        if len(refused) == MOST_PROVED:
            break
    raise OptionError(
        f"no numbers were found for {exercise.id}@{seed}: none of {draws} draws showed every mistake that "
        f"it is about and told them apart. {_why_none(refused)} headwork practice {exercise.id} has the "
        "first numbers."
    )


def _why_none(refused: list[Exercise]) -> str:
    from .unmeetable import why_none  # the search for inputs, which draws do without

    return why_none(refused)


def _check(exercise: Exercise, seed: Any) -> None:
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise OptionError(f"the seed is {seed!r}; a whole number from 0 to {MOST_SEED} was expected.")
    if not exercise.separates or not step_questions(exercise):
        raise OptionError(
            f"{exercise.id} has no numbers to draw: what it asks goes with its own, or with none. "
            f"headwork practice {exercise.id} puts them."
        )


def _check_formulas(exercise: Exercise) -> None:
    """What a header computes has to name something, or every draw would be refused."""
    for formula in exercise.computed.values():
        with suppress(OptionError):  # two largest entries: other numbers may have one
            quantity(exercise, formula)


def _candidates(exercise: Exercise, seed: int) -> Iterator[dict[str, Any]]:
    dice = random.Random(seed)
    return (draw_fields(exercise.given, dice, exercise.draws) for _ in range(MOST_DRAWS))


def _is_like(fresh: Exercise, like: Likeness) -> bool:
    try:
        for formula in fresh.computed.values():
            quantity(fresh, formula)
        return like.fits(fresh)
    except HeadworkError:  # numbers that cannot be worked
        return False
