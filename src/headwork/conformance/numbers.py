"""The numbers of a case: drawn from a seed, the same ones on every machine.

A case is made of numbers (`plain`, `far`, …) and of options that are added to them (`masked`, `padded`, …).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import DTYPES, Array
from ..problem import published_slopes

Fields = dict[str, Any]  # of a Problem

SPREAD = 1.5  # entries lie between −spread and spread: scores differ by about 1, so that no weight is idle
FAR = 1600.0  # scaled scores, give or take a tenth: e^x is infinite from 709 on, and 0 below −745, in float64
BETWEEN = 500.0  # more than half of 709
HOLDS = 58_000.0  # scores before they are scaled; with a tenth more, float16 still holds them
# below −10⁴, −10⁵, −10⁹, which some write for −∞ or start maxima from, where values are still told apart
LOW = {"float64": (-3e4, -3e5, -3e9), "float32": (-3e4, -3e5)}
FIRST, LAST = 0.8, 1.2  # times the highest of the other keys
BY_KEY = 0.1  # the share by which large scores differ from key to key


@dataclass(frozen=True)
class Dice:
    """What the numbers of one case are drawn with.

    Fields
    random  NumPy's RandomState, whose numbers no version of NumPy changes
    dtype   every number is one that this dtype holds, so that it is the same in a function's own arrays
    B H Hkv Tq Tk D Dv
            the sizes
    """

    random: np.random.RandomState
    dtype: str
    B: int
    H: int
    Hkv: int
    Tq: int
    Tk: int
    D: int
    Dv: int

    def held(self, numbers: Array) -> Array:
        """The numbers as the dtype holds them, in float64."""
        return numbers.astype(DTYPES[self.dtype]).astype(np.float64)

    def uniform(self, *shape: int, spread: float = SPREAD) -> Array:
        """Numbers between −spread and spread."""
        return self.held(spread * (2 * self.random.random_sample(shape) - 1))

    def keep(self, *axes: str) -> Array:
        """(B, H, Tq, Tk) with 1 for axes not named: True for three in five.

        The last of several queries sees every key, the others at least one and, where they can, not all.
        """
        shape = tuple(getattr(self, axis) if axis in axes else 1 for axis in ("B", "H", "Tq", "Tk"))
        draws = self.random.random_sample(shape)
        keep: Array = (draws < 0.6) | (draws == draws.min(axis=-1, keepdims=True))
        keep &= (draws < draws.max(axis=-1, keepdims=True)) | (shape[-1] == 1)
        keep[..., shape[-2] - 1 :, :] |= shape[-2] > 1
        return keep


def dice_for(seed: int, dtype: str, sizes: Mapping[str, int]) -> Dice:
    """Dice of that seed."""
    return Dice(np.random.RandomState(seed), dtype, **sizes)


# --- query, key and value -------------------------------------------------------------------------

Numbers = Callable[[Dice], Fields]
Adding = Callable[[Dice, Fields], Fields]  # further fields; it may change the arrays, too


def drawn(numbers: Numbers, *adding: Adding, **options: Any) -> Numbers:
    """Numbers, and what is added to them, in that order; the options depend on no size."""

    def draw(dice: Dice) -> Fields:
        fields = numbers(dice) | options
        for add in adding:
            fields |= add(dice, fields)
        return fields

    return draw


def plain(dice: Dice, spread: float = SPREAD) -> Fields:
    """query (B, H, Tq, D), key (B, Hkv, Tk, D), value (B, Hkv, Tk, Dv) between −1.5 and 1.5."""
    return {
        "query": dice.uniform(dice.B, dice.H, dice.Tq, dice.D, spread=spread),
        "key": dice.uniform(dice.B, dice.Hkv, dice.Tk, dice.D, spread=spread),
        "value": dice.uniform(dice.B, dice.Hkv, dice.Tk, dice.Dv),
    }


def wide(dice: Dice) -> Fields:
    """Scores so far apart that most rows give all their weight to one key."""
    return plain(dice, spread=12.0)


def far(dice: Dice) -> Fields:
    """Rows about 1600 and about −1600 by turns; in float64 also where e^x is a number and e^2x is not."""
    return _levels(dice, FAR, -FAR, *([BETWEEN] if dice.dtype == "float64" else []))


def low(dice: Dice) -> Fields:
    """Rows far below 0, by turns as far as the dtype holds scores and still tells values apart."""
    return _levels(dice, *LOW.get(dice.dtype, (-HOLDS / math.sqrt(dice.D),)))


def _levels(dice: Dice, *levels: float) -> Fields:
    """Rows whose scaled scores lie about these numbers by turns, a tenth more or less from key to key."""
    fields = plain(dice)
    query, key = fields["query"], fields["key"]
    entry = math.sqrt(max(map(abs, levels)) * math.sqrt(dice.D))
    level = np.resize(levels, query.shape[:-1]) * math.sqrt(dice.D)
    query[..., 0] = dice.held(level / entry)
    key[..., 0] = dice.held(entry * (1 + dice.uniform(*key.shape[:-1], spread=BY_KEY)))
    return fields


def rising(dice: Dice) -> Fields:
    """The first key gets much weight, and the later ones ever more.

    A block that goes astray shows at both ends, and the maximum grows from block to block.
    """
    fields = plain(dice)
    rise = np.linspace(0, 1, dice.Tk)
    rise[0], rise[-1] = FIRST, LAST
    fields["query"][..., 0] = dice.held(np.abs(fields["query"][..., 0]) + 1)
    fields["key"][..., 0] = dice.held(math.sqrt(dice.D) * math.log(max(dice.Tk, 2)) * rise)
    return fields


# --- masks ----------------------------------------------------------------------------------------


def masked(*axes: str) -> Adding:
    """A mask of true and false with these axes."""
    return lambda dice, fields: {"mask": [dice.keep(*axes)]}


def biased(*axes: str) -> Adding:
    """A float mask with these axes: numbers, and −∞ in some places."""

    def add(dice: Dice, fields: Fields) -> Fields:
        keep = dice.keep(*axes)
        return {"mask": [np.where(keep, dice.uniform(*keep.shape), -np.inf)]}

    return add


def biased_everywhere(dice: Dice, fields: Fields) -> Fields:
    """A float mask of numbers alone, as biases by position are: no key is hidden."""
    return {"mask": [dice.uniform(dice.B, dice.H, dice.Tq, dice.Tk)]}


def biased_low(dice: Dice, fields: Fields) -> Fields:
    """A float mask of 0 and −30000, as many write −∞."""
    return {"mask": [dice.held(np.where(dice.keep("B", "Tq", "Tk"), 0.0, -30_000.0))]}


def with_empty_row(dice: Dice, fields: Fields) -> Fields:
    """The first query of every head may see nothing, whatever the mask is; without one, one is made."""
    (mask,) = fields.get("mask") or [dice.keep("B", "H", "Tq", "Tk")]
    mask[..., 0, :] = False if mask.dtype == bool else -np.inf
    return {"mask": [mask]}


def with_own_key(dice: Dice, fields: Fields) -> Fields:
    """A mask that leaves every query the key at its own place, for causality beside it."""
    return {"mask": [dice.keep("B", "H", "Tq", "Tk") | np.eye(dice.Tq, dice.Tk, dtype=bool)]}


def with_first_key(dice: Dice, fields: Fields) -> Fields:
    """A mask that leaves every query the first key, for lengths beside it."""
    mask = dice.keep("B", "Tq", "Tk")
    mask[..., 0] = True
    return {"mask": [mask]}


def with_odd_padding(dice: Dice, fields: Fields) -> Fields:
    """The last key is hidden from all; there some heads have a key of NaN, the others a value of ∞."""
    mask = np.broadcast_to(np.arange(dice.Tk) < max(dice.Tk - 1, 1), (dice.B, 1, dice.Tq, dice.Tk)).copy()
    _spoil(fields, ~mask[:, 0, 0])
    return {"mask": [mask]}


def with_odd_beyond(dice: Dice, fields: Fields) -> Fields:
    """The same for all that lies beyond the lengths."""
    _spoil(fields, np.arange(dice.Tk) >= fields["lengths"][:, None])
    return {}


def _spoil(fields: Fields, where: Array) -> None:
    """NaN into keys, ∞ into values at these places (B, Tk), by turns from head to head."""
    for b, h in np.ndindex(*fields["key"].shape[:2]):
        name, odd = (("key", np.nan), ("value", np.inf))[(b + h) % 2]
        fields[name][b, h, where[b]] = odd


# --- lengths, positions ---------------------------------------------------------------------------


def padded(dice: Dice, fields: Fields) -> Fields:
    """Every sample has padding, and as many valid keys as no other where there is room: 1, 3, 5 of 7."""
    return {"lengths": np.array([max(1, dice.Tk * (2 * b + 1) // (2 * dice.B)) for b in range(dice.B)])}


def padded_cache(dice: Dice, fields: Fields) -> Fields:
    """Every sample has padding, and more valid keys than there are queries where there is room."""
    room = max(dice.Tk - dice.Tq - 1, 1)
    counts = [min(dice.Tq + room * (b + 1) // dice.B, dice.Tk) for b in range(dice.B)]
    return {"lengths": np.array(counts)}


def one_full(dice: Dice, fields: Fields) -> Fields:
    """The last sample has no padding."""
    return {"lengths": np.append(padded(dice, fields)["lengths"][:-1], dice.Tk)}


def one_empty(dice: Dice, fields: Fields) -> Fields:
    """The first sample is all padding."""
    return {"lengths": np.append(0, padded(dice, fields)["lengths"][1:])}


def each_at_its_place(dice: Dice, fields: Fields) -> Fields:
    """Every sample's first query stands elsewhere: at 1, 2, …"""
    return {"offset": np.arange(1, dice.B + 1)}


def windowed(left: float | None, right: float | None) -> Adding:
    """A window that reaches back and ahead by these shares of the keys, at least 1; 0 and None stay."""
    return lambda dice, fields: {"window": (_reach(left, dice.Tk), _reach(right, dice.Tk))}


def _reach(share: float | None, Tk: int) -> int | None:
    if share is None:
        return None
    return max(1, round(share * Tk)) if share else 0


# --- heads ----------------------------------------------------------------------------------------


def sloped(dice: Dice, fields: Fields) -> Fields:
    """The published slopes."""
    return {"alibi": published_slopes(dice.H)}


def own_slopes(dice: Dice, fields: Fields) -> Fields:
    """Slopes of one's own, neither rising nor falling; multiples of 1/16, which every dtype holds."""
    return {"alibi": np.array([(5 + 3 * h * h) % 17 / 16 for h in range(dice.H)])}


def sunk(dice: Dice, fields: Fields) -> Fields:
    """A sink for each head, above and below 0 by turns; multiples of 1/16."""
    return {"sink": np.array([(-1) ** h * (7 + 11 * h % 23) / 16 for h in range(dice.H)])}
