"""Draw a problem like a given one: the same fields and options, other numbers, other sizes if asked.

Whole numbers stay whole numbers, decimals keep their places, rows that are mostly zeros stay sparse.
Negative numbers are always drawn too, since numbers without a sign hide every fault in signs. Only
`random.Random.random` is used, so that a seed gives the same numbers on every machine.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import OptionError
from ..problem import ARRAYS, Problem, published_slopes
from .tolerance import decimal_places

Dice = random.Random
Sizes = Mapping[str, int]

FEWEST = 2  # units: numbers between −2 and 2 at the least, or every problem looks the same
MOST_ZEROS = 0.5  # a row of zeros has nothing to say
TRIES = 8  # draws of a row until it is neither zero nor a copy
DISTINCT = {"B": 2, "Tq": 3, "Tk": 5, "D": 6, "Dv": 7}  # no size is another's root, square or double
OTHER = {"Tq": 4, "Tk": 3, "D": 10, "Dv": 5}  # the same, with fewer keys than queries
MOST_NUMBERS = 100_000  # drawn and worked out 64 times: a few seconds
SMALL = 8  # tokens, widths: from here on a smaller problem shows what a large one would


def sizes_of(problem: Problem) -> dict[str, int]:
    """The sizes that can be chosen, by shape letter: no heads where the arrays have no axis for them."""
    sizes: dict[str, int | None] = {"B": problem.batch[0] if problem.batch else None}
    sizes |= {} if problem.single else {"H": problem.H, "Hkv": problem.Hkv}
    sizes |= {"Tq": problem.Tq, "Tk": None if _is_self_attention(problem) else problem.Tk}
    sizes |= {"D": problem.D, "Dv": problem.Dv, "E": None if problem.x is None else problem.x.shape[-1]}
    return {name: size for name, size in sizes.items() if size is not None}


def _is_self_attention(problem: Problem) -> bool:
    """Queries and keys come from the same embeddings, so that there are as many of both."""
    return problem.x is not None and problem.x_key is None


def similar_problem(problem: Problem, dice: Dice, sizes: Sizes | None = None, spread: int = 1) -> Problem:
    """A problem with the same fields and options and fresh numbers.

    sizes   shape letters to sizes; those left out stay. H alone keeps the number of heads that share a key
    spread  how many times as far the numbers may reach
    Masks and lengths are drawn too, but a causal mask stays one.
    Raises OptionError for a size that this problem does not have, or too many numbers; ShapeError where
    sizes do not fit together.
    """
    wanted = _all_sizes(problem, sizes or {})
    drawn = _Drawing(problem, wanted, dice, spread)
    if drawn.count > MOST_NUMBERS:
        raise OptionError(
            f"a problem of that size has {drawn.count:,} numbers with its scores, and at most "
            f"{MOST_NUMBERS:,} are drawn. Take fewer tokens, features or heads; mistakes show on few."
        )
    return Problem.from_dict(problem.to_dict() | drawn.arrays() | drawn.options())


def _all_sizes(problem: Problem, asked: Sizes) -> dict[str, int]:
    have = sizes_of(problem)
    for name, size in asked.items():
        if name not in have:
            raise OptionError(f"this problem has no size {name!r} to choose; it has {', '.join(have)}.")
        if size < 1:
            raise OptionError(f"{name} = {size}; a size is at least 1.")
    sizes = {"H": problem.H, "Hkv": problem.Hkv, "Tk": problem.Tk} | have | dict(asked)
    if "H" in asked and "Hkv" not in asked and problem.Hkv:
        sizes["Hkv"] = max(asked["H"] * problem.Hkv // problem.H, 1)
    if _is_self_attention(problem):
        sizes["Tk"] = sizes["Tq"]
    return sizes


# --- numbers of a kind ----------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberKind:
    """What numbers an array holds: multiples of 10^−places up to `most` of them, and the share of zeros."""

    places: int
    most: int
    zeros: float

    def draw(self, dice: Dice, shape: Sequence[int]) -> Array:
        """Numbers of this kind; rows are neither all zeros nor equal, as far as a few tries go."""
        width = shape[-1] if shape else 1
        rows: list[tuple[float, ...]] = []
        seen: set[tuple[float, ...]] = set()
        for _ in range(math.prod(shape) // max(width, 1)):
            for _ in range(TRIES):
                row = tuple(self._number(dice.random()) for _ in range(width))
                if any(row) and row not in seen:
                    break
            seen.add(row)
            rows.append(row)
        return np.array(rows, dtype=np.float64).reshape(shape)

    def _number(self, share: float) -> float:
        """0 for the lowest shares; the others are spread over −most … −1, 1 … most."""
        if share < self.zeros:
            return 0.0
        count = 2 * self.most
        index = min(int((share - self.zeros) / (1 - self.zeros) * count), count - 1) - self.most
        units = index + (index >= 0)
        return units / 10**self.places if self.places >= 0 else float(units * 10**-self.places)


def kind_of(array: Array, spread: int = 1) -> NumberKind:
    """The kind of numbers that an array holds; long decimals are taken as two digits."""
    finite = array[np.isfinite(array)].astype(np.float64)
    largest = float(np.max(np.abs(finite), initial=0.0))
    places = decimal_places(finite, array.dtype.name)
    if places is None or places > 3:
        places = 1 - math.floor(math.log10(largest))
    zeros = float(np.mean(finite == 0)) if finite.size else 0.0
    units = round(largest * 10.0**places)
    most = spread * max(units, FEWEST)
    if places < 0:  # nothing beyond what a float64 can hold
        most = min(most, int(sys.float_info.max) // 10**-places)
    return NumberKind(places, most, min(zeros, MOST_ZEROS))


# --- arrays and options of a problem --------------------------------------------------------------


@dataclass(frozen=True)
class _Drawing:
    problem: Problem
    sizes: Sizes
    dice: Dice
    spread: int

    @property
    def count(self) -> int:
        """How many numbers the arrays and the score matrices have."""
        names = [name for name in ARRAYS if getattr(self.problem, name) is not None]
        scores = math.prod((*self._batch(), *(self.sizes[name] for name in ("H", "Tq", "Tk"))))
        return scores + sum(math.prod(self._shape(name)) for name in names)

    def arrays(self) -> dict[str, Any]:
        """Every array that the problem has, drawn anew."""
        problem = self.problem
        record: dict[str, Any] = {}
        for name in ARRAYS:
            array = getattr(problem, name)
            if array is not None:
                record[name] = kind_of(array, self.spread).draw(self.dice, self._shape(name))
        if problem.given is not None:
            record["given"] = {problem.start: self._given(problem.given[problem.start])}
        if problem.sink is not None:
            record["sink"] = kind_of(problem.sink).draw(self.dice, (self.sizes["H"],))
        return record

    def options(self) -> dict[str, Any]:
        """The options that depend on a size, and the masks."""
        problem, sizes = self.problem, self.sizes
        record: dict[str, Any] = {}
        if problem.heads is not None:
            record |= {"heads": sizes["H"], "kv_heads": sizes["Hkv"]}
        if problem.head_dim is not None:
            record["head_dim"] = sizes["D"]
        if problem.rope is not None:
            even, was = sizes["D"] // 2 * 2, problem.rope.dim
            record["rope"] = asdict(problem.rope) | {"dim": even if was == problem.D else min(even, was)}
        if problem.alibi is not None:
            is_published = np.array_equal(problem.alibi, published_slopes(problem.H))
            record["alibi"] = True if is_published else np.resize(problem.alibi, sizes["H"])
        if problem.offset is not None:
            record["offset"] = np.resize(problem.offset, self._batch())
        if problem.lengths is not None:
            record["lengths"] = self._lengths()
        if problem.chunks is not None and sizes["Tk"] != problem.Tk:
            parts = np.array_split(np.arange(sizes["Tk"]), min(len(problem.chunks), sizes["Tk"]))
            record["chunks"] = [len(part) for part in parts]
        if problem.mask is not None:
            record["mask"] = [{"mask": self._mask(mask)} for mask in problem.mask]
        return record

    def _batch(self) -> tuple[int, ...]:
        batch = self.problem.batch
        return (self.sizes["B"], *batch[1:]) if batch else ()

    def _shape(self, name: str) -> tuple[int, ...]:
        problem, s = self.problem, self.sizes
        heads = {"query": s["H"]}.get(name.removeprefix("w_").removeprefix("b_"), s["Hkv"])
        width = s.get("Dv" if name.endswith("value") else "D", 0)
        length = s["Tq"] if name in ("query", "x") else s["Tk"]
        match name.partition("_")[0], name:
            case _, "w_output":
                return (s["H"] * s["Dv"], problem.w_output.shape[1])
            case _, "b_output":
                return (problem.w_output.shape[1],)
            case "w", _:
                return (s["E"], heads * width)
            case "b", _:
                return (heads * width,)
            case "x", _:
                return (*self._batch(), length, s["E"])
        if problem.single:
            return (length, width)
        return (*self._batch(), *((length, heads * width) if problem.packed else (heads, length, width)))

    def _given(self, array: Array) -> Array:
        s = self.sizes
        shape = (s["Tq"], s["Tk"]) if self.problem.single else (*self._batch(), s["H"], s["Tq"], s["Tk"])
        if self.problem.start == "weights":
            return self._shares(array, shape)
        drawn = kind_of(array, self.spread).draw(self.dice, shape)
        closed = np.isneginf(array)
        return np.where(self._keep(shape, float(closed.mean())), drawn, -np.inf) if closed.any() else drawn

    def _shares(self, array: Array, shape: tuple[int, ...]) -> Array:
        """Rows of decimals that sum to 1."""
        units = 10 ** max(kind_of(array).places, 1)
        cuts = np.array([self.dice.random() for _ in range(math.prod(shape[:-1]) * (shape[-1] - 1))])
        whole = np.sort((cuts.reshape(*shape[:-1], -1) * (units + 1)).astype(int), axis=-1)
        ends = (np.zeros((*shape[:-1], 1), int), np.full((*shape[:-1], 1), units))
        return np.asarray(np.diff(np.concatenate([ends[0], whole, ends[1]], axis=-1), axis=-1) / units)

    def _lengths(self) -> Array:
        """Some padding in each batch element; none of it is valid where there was such a one."""
        most = max(self.sizes["Tk"] - 1, 1)
        count = math.prod(self._batch())
        lengths = np.array([1 + int(self.dice.random() * most) for _ in range(count)])
        was_empty = np.resize(self.problem.lengths == 0, count)
        return np.where(was_empty, 0, lengths).reshape(self._batch())

    def _mask(self, mask: Array) -> Array:
        """A mask with as many axes; what was 1 long to be broadcast stays so."""
        problem, s = self.problem, self.sizes
        was = problem.matrix_shape
        now = (*self._batch(), s["H"], s["Tq"], s["Tk"])
        last = slice(len(now) - mask.ndim, None)
        shape = tuple(1 if have == 1 else size for have, size in zip(mask.shape, now[last], strict=True))
        allowed = mask if mask.dtype == bool else ~np.isneginf(mask)
        keep = _causal(allowed, was[last], shape)
        if keep is None:
            keep = self._keep(shape, 1 - float(allowed.mean()))
            if mask.ndim and not allowed.any(axis=-1).all():
                keep[(0,) * (mask.ndim - 1)] = False
        return keep if mask.dtype == bool else np.where(keep, kind_of(mask).draw(self.dice, shape), -np.inf)

    def _keep(self, shape: tuple[int, ...], closed: float) -> Array:
        """False with that chance, at least once if it is above 0; every row keeps a key."""
        draws = np.array([self.dice.random() for _ in range(math.prod(shape))]).reshape(shape)
        if not shape or not draws.size:
            return np.asarray(draws >= closed)
        keep = (draws >= closed) | (draws == draws.max(axis=-1, keepdims=True))
        if closed and keep.all() and shape[-1] > 1:
            keep &= draws > draws.min(axis=-1, keepdims=True)
        return np.asarray(keep)


def _causal(allowed: Array, full: tuple[int, ...], shape: tuple[int, ...]) -> Array | None:
    """For a causal mask, from the first key or to the last, the same in another shape; None for others."""
    if allowed.ndim < 2 or allowed.shape[-2:] != full[-2:] or min(full[-2:]) < 2:
        return None
    for is_to_last in (False, True):
        was, now = (
            np.tri(Tq, Tk, k=(Tk - Tq) * is_to_last, dtype=bool) for Tq, Tk in (full[-2:], shape[-2:])
        )
        if (allowed == was).all():
            return np.broadcast_to(now, shape)
    return None


# --- nearby problems ------------------------------------------------------------------------------


def other_sizes(problem: Problem) -> Iterator[dict[str, int]]:
    """Sizes near the problem's own, large ones made small: unchanged, all distinct, one changed at a time."""
    have = sizes_of(problem)
    small = {name: min(size, DISTINCT.get(name, 2)) for name, size in have.items() if size > SMALL}
    if "H" in small:
        small["H"] = problem.H // problem.Hkv * (2 if problem.Hkv > 1 else 1) if problem.Hkv else 2
    if problem.rope is not None and "D" in small:
        small["D"] = 6
    distinct = {name: size for name, size in DISTINCT.items() if name in have}
    if "H" in have and problem.Hkv:
        distinct |= {"H": 4 * problem.H // problem.Hkv, "Hkv": 4}
    yield small
    yield small | distinct
    yield small | distinct | {name: size for name, size in OTHER.items() if name in have}
    for name, by in (("Tk", 2), ("Dv", 1), ("D", 1 if problem.rope is None else 2), ("Tq", 1)):
        if name in have:
            yield small | {name: small.get(name, have[name]) + by}
