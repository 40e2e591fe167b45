"""Draw arrays like those of an exercise: as many zeros, numbers of the same kind, in other places.

Only `random.Random.random` is used, so that a seed gives the same numbers on every machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array
from ..problem import ARRAYS

Dice = random.Random
T = TypeVar("T")

FEWEST = 2  # multiples of the unit: with fewer, hardly two draws differ
SCORES = 3  # the same for scores that are given
FEW = 2  # scores in all: of so few, whole numbers hardly give ten tables, and halves are drawn
FAR = 100  # scores from here on are about overflow, and stay
COARSE = 5  # [5 0 10] keeps its unit of 5, and [2 0] may become [1 2]
SIGNED = ("query", "key")  # numbers without a sign would hide every mistake in signs
NEGATIVE = 0.25  # of their numbers, at the least
FINEST = 20  # parts of 1: halves, quarters, fifths and twentieths are numbers to work by hand


def draw_fields(
    given: Mapping[str, Any], dice: Dice, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> dict[str, Any]:
    """The fields of a problem with its arrays drawn anew and its options as they are.

    given   fields of Problem, as an exercise has them; dice: a random.Random
    shapes  of arrays that are drawn in another shape than they have, by name
    Raises nothing. Special cases: −∞ stays in its place, and rows of weights keep their sums.
    """
    fields = dict(given)
    for name in ARRAYS:
        if name in given:
            fields[name] = _drawn(name, given[name], dice, (shapes or {}).get(name))
    for name, array in given.get("given", {}).items():
        fields["given"] = {
            **fields["given"],
            name: _shares(array, dice) if name == "weights" else _scores(array, dice),
        }
    return fields


def shuffled(items: Iterable[T], dice: Dice) -> list[T]:
    """The items in another order. Raises nothing. Special cases: none."""
    return sorted(items, key=lambda _: dice.random())


# --- one array, as nested lists of the same shape --------------------------------------------------


Rows = tuple[tuple[float, ...], ...]


def _drawn(name: str, values: Any, dice: Dice, wanted: tuple[int, ...] | None) -> Any:
    """As many numbers other than 0 in each row, the rows in another order."""
    rows, shape = _read(values)
    kind = _kind(rows, FEWEST, name in SIGNED)
    shape, made = wanted or shape, []
    counts = [sum(map(bool, row)) for row in rows]
    for count in shuffled(np.resize(counts, math.prod(shape[:-1])).tolist(), dice):
        places = set(shuffled(range(shape[-1]), dice)[:count])
        made.append([kind.number(dice) if at in places else 0.0 for at in range(shape[-1])])
    return _plain(np.array(made).reshape(shape))


def _scores(values: Any, dice: Dice) -> Any:
    """Any numbers of that kind, zeros among them; −∞ stays in its place, and a row far from 0 stays there.

    Of one or two scores only nine tables of whole numbers are worth asking about: these are halves of either
    sign.
    """
    rows, shape = _read(values)
    based = [(row, _base(row)) for row in rows]
    kind = _kind(tuple(tuple(x - base for x in row) for row, base in based), SCORES, False)
    kind = IN_HALVES if sum(map(len, rows)) <= FEW else kind
    made = [
        [base + kind.number(dice, least=0) if math.isfinite(x) else x for x in row] for row, base in based
    ]
    return _plain(np.array(made).reshape(shape))


def _base(row: tuple[float, ...]) -> float:
    """The smallest score of a row where all of them are far from 0, such as 998 of [998 1000 999]; else 0."""
    least = min((x for x in row if math.isfinite(x)), default=0.0)
    return least if least >= FAR else 0.0


def _shares(values: Any, dice: Dice) -> Any:
    """The same rows with their entries in another order, so that each still sums to 1."""
    rows, shape = _read(values)
    return _plain(np.array([shuffled(row, dice) for row in shuffled(rows, dice)]).reshape(shape))


def _read(values: Any) -> tuple[Rows, tuple[int, ...]]:
    array = np.array(values, dtype=np.float64)
    rows = array.reshape(-1, array.shape[-1]).tolist()
    return tuple(map(tuple, rows)), array.shape


@dataclass(frozen=True)
class _Kind:
    """Multiples of a unit, up to so many times, and the share of them that is negative."""

    unit: float
    most: int
    negative: float

    def number(self, dice: Dice, least: int = 1) -> float:
        size = least + int(dice.random() * (self.most + 1 - least))
        is_negative = dice.random() < self.negative
        return self.unit * (-size if is_negative and size else size)


IN_HALVES = _Kind(0.5, 2 * SCORES, NEGATIVE)


@lru_cache(maxsize=256)
def _kind(rows: Rows, fewest: int, signed: bool) -> _Kind:
    numbers = [x for row in rows for x in row if x and math.isfinite(x)]
    sizes = [Fraction(abs(x)).limit_denominator(FINEST) for x in numbers] or [Fraction(1)]
    denominator = math.lcm(*(size.denominator for size in sizes))
    unit = Fraction(math.gcd(*(int(size * denominator) for size in sizes)), denominator)
    unit = Fraction(1) if 1 < unit < COARSE else unit
    below = sum(x < 0 for x in numbers) / max(len(numbers), 1)
    return _Kind(float(unit), max(int(max(sizes) / unit), fewest), max(below, NEGATIVE) if signed else below)


def _plain(array: Array) -> Any:
    """Nested lists, whole numbers without a point."""
    if array.ndim:
        return [_plain(row) for row in array]
    number = float(array)
    return int(number) if number.is_integer() else number
