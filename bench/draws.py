"""Random problems and random wrong answers for the long runs: everything from a seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from headwork.errors import HeadworkError
from headwork.mistakes.recipe import Recipe
from headwork.problem import Problem

WHOLE_STEPS = ("scores", "scaled", "weights", "output")


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


def wrong_answer(
    rng: np.random.Generator, right: np.ndarray, others: np.ndarray, kind: str, digits: int
) -> np.ndarray:
    """Somebody's wrong numbers of one kind, rounded to `digits`.

    noise: Gaussian, of a size from 10⁻³ to 10; permuted: the right entries in another order;
    slips: a few entries off; unrelated: another problem's answer of the same shape
    """
    scale = float(np.ptp(right[np.isfinite(right)])) or 1.0
    if kind == "noise":
        made = right + rng.normal(size=right.shape) * scale * 10 ** rng.uniform(-3, 1)
    elif kind == "permuted":
        made = rng.permutation(right.ravel()).reshape(right.shape)
    elif kind == "slips":
        made = right.copy().ravel()
        where = rng.choice(made.size, size=min(made.size, int(rng.integers(2, 6))), replace=False)
        made[where] += rng.choice([-2, -1, -0.5, 0.5, 1, 2], size=where.size) * rng.choice([1.0, 0.1, scale])
        made = made.reshape(right.shape)
    else:
        made = others
    return np.round(made, digits)
