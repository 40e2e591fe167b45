"""Random problems and random answers for the long runs: everything from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from headwork.errors import HeadworkError
from headwork.mistakes.mistake import Mistake
from headwork.mistakes.recipe import Recipe
from headwork.problem import Problem

WHOLE_STEPS = ("scores", "scaled", "weights", "output")
LEAST, MOST = 3, 6  # tokens and features of a problem that shows a mistake well
TRIES = 20  # problems like a mistake's witness, larger; then a few of just its size
TRIES_OF_PAIRS = 10  # most pairs show on the first; working out all pairs on a problem takes a while
KINDS = ("noise", "few", "permuted", "rows", "columns", "swaps", "slips", "unrelated", "weights", "plain")
PLAIN = (0, 1, 0.5, -1, 2, 0.25, 1 / 3)


# --- any problem ----------------------------------------------------------------------------------


def options(dice: random.Random, D: int) -> dict[str, Any]:
    """Each option in about one problem out of five."""
    chances: list[tuple[str, Any]] = [
        ("causal", True),
        ("window", (dice.randrange(0, 3), dice.choice([0, 1, None]))),
        ("softcap", dice.choice([1.5, 3.0])),
        ("alibi", dice.choice([0.5, 0.25])),
        ("sink", dice.choice([0.0, 0.3, -1.2])),
        ("scale", dice.choice([0.3, 1.0])),
        ("offset", dice.choice([0, 1, 2])),
        ("rope", {"pairing": dice.choice(["half", "interleaved"])} if D % 2 == 0 else None),
    ]
    return {name: value for name, value in chances if value is not None and dice.random() < 0.2}


def recipe(dice: random.Random, least: int = 1) -> Recipe:
    """Sizes from `least` to 6, in the ways people have them: one head, heads, batches, packed, projected."""
    H, B = dice.choice([(None, None), (None, None), (2, None), (4, None), (2, 2)])
    Tq, Tk, D, Dv = (dice.randrange(least, 7) for _ in range(4))
    Tk = Tq if dice.random() < 0.5 else Tk
    packed = H is not None and dice.random() < 0.25
    Hkv = dice.choice([H, 1, 2]) if H else None
    return Recipe(
        B=B,
        H=H,
        Hkv=Hkv,
        Tq=Tq,
        Tk=Tk,
        D=D,
        Dv=D if dice.random() < 0.5 else Dv,
        packed=packed,
        E=dice.randrange(2, 5) if (packed or H is None) and dice.random() < 0.15 else None,
        mask=dice.choice([None, None, None, "bool", "float", "padding"]),
        spread=dice.choice([1.5, 3.0]),
        options=options(dice, D),
    )


def problem(seed: int, least: int = 1) -> Problem:
    """A random problem; the same for the same seed."""
    dice = random.Random(seed)
    while True:
        try:
            return recipe(dice, least).draw(dice.randrange(10**9))
        except HeadworkError:  # options that contradict one another: draw again
            continue


# --- problems that show mistakes ------------------------------------------------------------------


def telling(mistakes: Sequence[Mistake], seed: int) -> Iterator[Problem]:
    """Problems with what these mistakes need, of 3 tokens and features at least; then small as a witness.

    Each of the mistakes is the first one in turn: where two ask for different things, it has its way.
    """
    dice = random.Random(seed)
    witnesses = [m.witness for m in mistakes]
    turns = [witnesses, witnesses[::-1]]
    recipes: list[Callable[[Sequence[Recipe]], Recipe]] = [
        *[lambda turn: _larger(turn, dice)] * (TRIES if len(mistakes) == 1 else TRIES_OF_PAIRS),
        *[_asked_of] * (TRIES // 4 if len(mistakes) == 1 else len(turns)),
    ]
    for index, made in enumerate(recipes):
        try:
            drawn = made(turns[index % 2]).draw(dice.randrange(10**9))
            for mistake in mistakes:
                if mistake.id in SHOWN_ONLY_BY:
                    drawn = _altered(drawn, SHOWN_ONLY_BY[mistake.id])
        except HeadworkError:  # sizes or options that do not fit together
            continue
        yield drawn


def _asked_of(witnesses: Sequence[Recipe]) -> Recipe:
    """The first witness, with the options of the others."""
    asked = {name: value for w in reversed(witnesses) for name, value in w.options.items()}
    return replace(witnesses[0], mask=_first(witnesses, "mask"), options=asked)


def _first(witnesses: Sequence[Recipe], name: str) -> Any:
    return next((value for w in witnesses if (value := getattr(w, name)) is not None), None)


def _larger(witnesses: Sequence[Recipe], dice: random.Random) -> Recipe:
    """What all of the witnesses have, with sizes of 3 to 6."""
    names = ("B", "H", "Hkv", "E", "mask")
    made = replace(witnesses[0], **{name: _first(witnesses, name) for name in names})
    if len(witnesses) > 1 and dice.random() < 0.3:  # what makes one sequence NaN leaves the other
        made = replace(made, B=made.B or 2)
    Tq, Tk, D, Dv = (dice.randrange(LEAST, MOST + 1) for _ in range(4))
    Tk = Tq if dice.random() < 0.4 else Tk
    Dv = D if len(witnesses) > 1 and dice.random() < 0.5 else Dv  # some can be made only there
    asked = {name: value for w in reversed(witnesses) for name, value in w.options.items()}
    projected = any(w.project_output for w in witnesses)
    widths = [dice.randrange(LEAST, MOST), *[(made.H or 1) * Dv] * projected]  # a square w_output, too
    made = replace(
        made,
        Tq=Tq,
        Tk=Tk,
        D=D + D % 2 if "rope" in asked else D,
        Dv=Dv,
        E=made.E and dice.choice(widths),
        packed=any(w.packed for w in witnesses) or (made.E is not None and made.H is not None),
        project_output=projected,
        spread=max(w.spread for w in witnesses) * dice.choice([1, 1, 2]),
    )
    fixed = {name: value for w in reversed(witnesses) for name, value in w.fixed.items()}
    return replace(made, options=_fitting(asked, made, dice), fixed=_redrawn(fixed, made, dice))


def _fitting(asked: dict[str, Any], made: Recipe, dice: random.Random) -> dict[str, Any]:
    """The options, those that count tokens drawn anew."""
    Tk, B = made.Tk or made.Tq, made.B or 1
    if "chunks" in asked:
        cuts = sorted(dice.sample(range(1, Tk), len(asked["chunks"]) - 1))
        asked["chunks"] = tuple(b - a for a, b in pairwise([0, *cuts, Tk]))
    if "lengths" in asked:
        asked["lengths"] = [dice.randrange(1, Tk + 1) for _ in range(B)]
    if isinstance(asked.get("offset"), list):
        asked["offset"] = [dice.randrange(0, Tk) for _ in range(B)]
    return asked


def _redrawn(fixed: dict[str, Any], made: Recipe, dice: random.Random) -> dict[str, Any]:
    """The arrays that are fixed, drawn anew in the sizes that they need."""
    H, Tk, E = made.H or 1, made.Tk or made.Tq, made.E or 1
    Hkv, Dv = made.Hkv or H, made.Dv or made.D
    widths = {"b_query": H * made.D, "b_key": Hkv * made.D, "b_value": Hkv * Dv, "b_output": E, "sink": H}
    drawn = {name: _numbers(dice, (width,)) for name, width in widths.items() if name in fixed}
    if "x_key" in fixed:
        drawn["x_key"] = _numbers(dice, (Tk, E))
    if "mask" in fixed:
        seen, masks = dice.randrange(Tk), fixed["mask"]
        if isinstance(masks[0], dict):  # several of them
            keeps = [_keep(dice, np.asarray(each["mask"]), made.Tq, Tk, seen) for each in masks]
            drawn["mask"] = [{"mask": keep} for keep in keeps]
        else:
            drawn["mask"] = _keep(dice, np.asarray(masks), made.Tq, Tk, seen)
    return drawn


def _keep(dice: random.Random, like: np.ndarray, Tq: int, Tk: int, seen: int) -> np.ndarray:
    """A mask with the axes of another, in other sizes; one key is seen by all."""
    rows = (Tq if like.shape[-2] > 1 else 1,) if like.ndim > 1 else ()
    shape = (*like.shape[:-2], *rows, Tk)
    keep = np.array([dice.random() < 0.6 for _ in range(int(np.prod(shape)))]).reshape(shape)
    keep[..., seen] = True
    return keep


def _numbers(dice: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    return np.array([round(dice.uniform(-1.5, 1.5), 1) for _ in range(count)]).reshape(shape)


# --- numbers that some mistakes show only on ------------------------------------------------------


Change = Callable[[dict[str, Any]], None]  # of the arrays of a problem; nothing where they are not there


def _common(query: float, key: float) -> Change:
    """All scores of a head moved by query · key: one feature of all queries and keys is that number."""

    def move(arrays: dict[str, Any]) -> None:
        if {"query", "key"}.issubset(arrays):
            arrays["query"][..., 0], arrays["key"][..., 0] = query, key

    return move


def _low(fill: float, last: float = 1.0) -> Change:
    """Scores as low as that fill or lower: only there it is told from −∞; the last one `last` times that."""

    def lower(arrays: dict[str, Any]) -> None:
        if {"query", "key"}.issubset(arrays):
            _common(1.0, -fill * arrays["query"].shape[-1] ** 0.5)(arrays)
            arrays["key"][..., -1, 0] *= last

    return lower


def _low_but_for_one(fill: float) -> Change:
    """The same for all queries but the first: the row that is not lost tells who lost the others."""

    def lower(arrays: dict[str, Any]) -> None:
        _low(fill)(arrays)
        if "query" in arrays:
            arrays["query"][..., 0, 0] = 0

    return lower


def _hidden(name: str) -> Change:
    """Not a number in the last token of one sequence, which no query may see."""

    def spoil(arrays: dict[str, Any]) -> None:
        if {name, "mask"}.issubset(arrays):
            array, mask = arrays[name], arrays["mask"][0]["mask"]
            array[(0,) * (array.ndim - 2)][-1, 0] = np.nan
            mask[..., -1] = False if mask.dtype == bool else -np.inf

    return spoil


def _one_sees_all(arrays: dict[str, Any]) -> None:
    """Nothing is masked for the last query, so that a rule that makes masked rows infinite leaves it."""
    if "mask" in arrays and (mask := arrays["mask"][0]["mask"]).shape[-2:-1] > (1,):
        mask[..., -1, :] = mask.dtype == bool


def _altered(problem: Problem, change: Change) -> Problem:
    arrays = deepcopy(problem.to_dict())
    change(arrays)
    return Problem.from_dict(arrays)


SHOWN_ONLY_BY: dict[str, Change] = {
    "mask-fill-minus-1e4": _low(1e4),
    "mask-fill-not-low-enough": _low(1e5),
    "mask-fill-minus-1e9": _low(1e9),
    "mask-added-minus-100": _low(100.0, last=0.0),
    "row-max-floor": _low_but_for_one(1e5),
    "mask-lets-nan-through": _hidden("key"),
    "masked-value-leaks": _hidden("value"),
    "mask-after-softmax-minus-infinity": _one_sees_all,
    "qk-accumulated-fp16": _common(50.0, 50.0),  # from 2048 on float16 skips numbers
    "maximum-stuck-at-zero": _common(-60.0, 60.0),  # an exponential without its maximum is 0
}


# --- wrong answers --------------------------------------------------------------------------------


def wrong_answer(rng: np.random.Generator, right: np.ndarray, kind: str, digits: int | None) -> np.ndarray:
    """Somebody's wrong numbers of one kind, rounded to `digits`, or not at all.

    noise      Gaussian, of a size from 10⁻³ to 10 times the spread; few: in some of the entries
    permuted   the right entries in another order; rows, columns: whole ones; swaps: one to three pairs
    slips      some entries off by a round number
    unrelated  other numbers of the same size; weights: rows that sum to 1; plain: 0, 1, 1/2, 1/3 …
    """
    scale = float(np.ptp(right[np.isfinite(right)])) or 1.0
    made = WRONG[kind](rng, right.copy(), scale)
    return made if digits is None else np.round(made, digits)


def _noise(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    return right + rng.normal(size=right.shape) * scale * 10 ** rng.uniform(-3, 1)


def _few(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    return np.where(rng.random(right.shape) < 0.4, _noise(rng, right, scale), right)


def _permuted(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    return rng.permutation(right.ravel()).reshape(right.shape)


def _rows(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    return right[..., rng.permutation(right.shape[-2]), :]


def _columns(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    return right[..., rng.permutation(right.shape[-1])]


def _swaps(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    for _ in range(int(rng.integers(1, 4))):
        a, b = rng.choice(right.size, 2, replace=False)
        right.flat[[a, b]] = right.flat[[b, a]]
    return right


def _slips(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    where = rng.choice(right.size, size=min(right.size, int(rng.integers(2, 6))), replace=False)
    off = rng.choice([-2, -1, -0.5, 0.5, 1, 2], size=where.size) * rng.choice([1.0, 0.1, scale])
    right.flat[where] += off
    return right


def _unrelated(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    return rng.permuted(right.ravel()).reshape(right.shape) + rng.normal(size=right.shape) * right.std()


def _weights(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    exps = np.exp(rng.normal(size=right.shape) * rng.choice([0.3, 1, 3]))
    return exps / exps.sum(axis=-1, keepdims=True)


def _plain(rng: np.random.Generator, right: np.ndarray, scale: float) -> np.ndarray:
    if rng.random() < 0.3:
        return np.full(right.shape, rng.choice(PLAIN))
    return rng.choice(PLAIN, size=right.shape)


WRONG = dict(
    zip(
        KINDS,
        (_noise, _few, _permuted, _rows, _columns, _swaps, _slips, _unrelated, _weights, _plain),
        strict=True,
    )
)
