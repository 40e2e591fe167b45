"""Sizes and options of a problem, from which one is drawn on demand: witnesses, blind spots, fresh trials."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import Problem

STEP = 0.1  # drawn numbers have one decimal, as people write them


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Sizes, options and the spread of the numbers.

    B None means no batch axis; H None no head axis, so arrays (T, D). Hkv defaults to H, Tk to Tq, Dv to D.
    packed   arrays are (…, T, H·D)
    E        project from embeddings E wide, by random w_query, w_key, w_value (and w_output on request)
    mask     "bool", "float", "padding" (same keys for every query, (B, 1, 1, Tk) with a batch) or "empty"
             (bool, query 1 sees nothing)
    spread   entries are drawn from −spread … spread
    options  further fields of Problem: causal, window, scale, …
    fixed    fields that replace what was drawn: exact arrays
    """

    B: int | None = None
    H: int | None = None
    Hkv: int | None = None
    Tq: int = 3
    Tk: int | None = None
    D: int = 4
    Dv: int | None = None
    packed: bool = False
    E: int | None = None
    project_output: bool = False
    mask: str | None = None
    spread: float = 1.5
    options: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def draw(self, seed: int = 0) -> Problem:
        """The problem of that seed, the same on every machine: only `Random(seed).random()` is used."""
        dice = random.Random(seed)
        record = self._arrays(dice) | dict(self.options)
        if self.mask is not None:
            record["mask"] = self._mask(dice)
        return Problem(**(record | dict(self.fixed)))

    def _arrays(self, dice: random.Random) -> dict[str, Any]:
        H, Tk, Dv = self.H or 1, self.Tk or self.Tq, self.Dv or self.D
        Hkv = self.Hkv or H
        if self.E is not None:
            return self._embedded(dice, H, Hkv, Tk, Dv)
        names = (("query", H, self.Tq, self.D), ("key", Hkv, Tk, self.D), ("value", Hkv, Tk, Dv))
        arrays: dict[str, Any] = {name: self._draw(dice, self._shape(*sizes)) for name, *sizes in names}
        return arrays | self._heads(H, Hkv)

    def _embedded(self, dice: random.Random, H: int, Hkv: int, Tk: int, Dv: int) -> dict[str, Any]:
        E = self.E or 1
        lead = () if self.B is None else (self.B,)
        record: dict[str, Any] = {"x": self._draw(dice, (*lead, self.Tq, E))}
        if Tk != self.Tq:
            record["x_key"] = self._draw(dice, (*lead, Tk, E))
        widths = {"w_query": (E, H * self.D), "w_key": (E, Hkv * self.D), "w_value": (E, Hkv * Dv)}
        if self.project_output:
            widths["w_output"] = (H * Dv, E)
        return (
            record | {name: self._draw(dice, shape) for name, shape in widths.items()} | self._heads(H, Hkv)
        )

    def _heads(self, H: int, Hkv: int) -> dict[str, Any]:
        return {"heads": H, "kv_heads": Hkv} if self.packed else {}

    def _shape(self, heads: int, length: int, width: int) -> tuple[int, ...]:
        lead = () if self.B is None else (self.B,)
        if self.packed:
            return (*lead, length, heads * width)
        return (*lead, length, width) if self.H is None else (*lead, heads, length, width)

    def _draw(self, dice: random.Random, shape: tuple[int, ...]) -> Array:
        steps = round(self.spread / STEP)
        count = int(np.prod(shape))
        drawn = [round((int(dice.random() * (2 * steps + 1)) - steps) * STEP, 10) for _ in range(count)]
        return np.array(drawn, dtype=np.float64).reshape(shape)

    def _mask(self, dice: random.Random) -> Array:
        """Every row keeps a key and, where it can, loses one: a mask that masks nothing shows nothing."""
        Tq, Tk = self.Tq, self.Tk or self.Tq
        if self.mask == "padding":
            return np.array([self._keep(dice, Tk) for _ in range(self.B or 1)])[:, None, None, :].reshape(
                (self.B, 1, 1, Tk) if self.B else (1, Tk)
            )
        rows = [self._keep(dice, Tk) for _ in range(Tq)]
        keep = np.array(rows, dtype=bool).reshape(Tq, Tk)
        if self.mask == "empty":
            keep[0] = False
        if self.mask == "float":
            return np.where(keep, self._draw(dice, (Tq, Tk)), -np.inf)
        return keep

    def _keep(self, dice: random.Random, Tk: int) -> list[bool]:
        kept = 1 + int(dice.random() * max(Tk - 1, 1))
        order = sorted(range(Tk), key=lambda _: dice.random())
        return [j in order[:kept] for j in range(Tk)]
