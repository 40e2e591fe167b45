"""The battery: the inputs on which a function is checked, inside what it supports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..mechanism.heads import merge
from ..problem import Problem
from .entries import ENTRIES, Entry
from .numbers import Fields, dice_for
from .sizes import ANY, Sizes, Wanted, fitted

ALIGNMENTS = ("lower_right", "upper_left")  # where queries stand when nothing says it
PLACED = ("causal", "window", "alibi")  # options that depend on where a query stands
# options of a problem that are features of the same name
OPTIONS = ("scale", "causal", "offset", "window", "lengths", "softcap", "alibi", "sink")


@dataclass(frozen=True, eq=False)
class Case:
    """One input, and why it is there.

    Fields
    id       feature/name, or dtypes/dtype/name; feature: the one it is about; why: the reason, in words
    problem  the input, in its dtype
    dtype    "float64", "float32", "float16" or "bfloat16"
    step     what is compared: "output", "logsumexp", "weights" or "gradients"
    needs    the features that the function must have to be asked this
    lenient  a weakness there is a matter of robustness, not of being right
    sizes    letter to size
    """

    id: str
    feature: str
    why: str
    problem: Problem
    dtype: str
    step: str
    needs: frozenset[str]
    lenient: bool
    sizes: Wanted

    def to_dict(self) -> dict[str, Any]:
        """Everything but the numbers, as plain data."""
        return {
            "id": self.id,
            "feature": self.feature,
            "why": self.why,
            "dtype": self.dtype,
            "step": self.step,
            "needs": sorted(self.needs),
            "lenient": self.lenient,
            "sizes": dict(self.sizes),
        }


def draw_battery(
    supports: Callable[[str], bool],
    dtypes: Sequence[str] = ("float64",),
    sizes: Sizes = ANY,
    alignment: str = "lower_right",
) -> tuple[Case, ...]:
    """The cases for a function, the same ones every time, each drawn once and kept.

    supports   feature id -> whether the function has it
    dtypes     the first is what everything is checked in; some cases are drawn again for each other one
    sizes      what the function takes; a case whose point is a size that it does not take is left out
    alignment  "lower_right": the last query stands with the last key; "upper_left": the first with the first
    """
    unique: dict[object, Case] = {}
    for case in cases_one_by_one(supports, dtypes, sizes, alignment):
        unique.setdefault(_numbers(case), case)
    return tuple(unique.values())


def cases_one_by_one(
    supports: Callable[[str], bool],
    dtypes: Sequence[str],
    sizes: Sizes = ANY,
    alignment: str = "lower_right",
) -> Iterator[Case]:
    """The same as they are drawn, so that one can stop; sizes that were refitted may make two of them one."""
    main, *others = dtypes
    entries = [entry for entry in ENTRIES if supports(entry.feature)]
    plan = [(entry, main) for entry in entries]
    if supports("dtypes"):
        plan += [(entry, dtype) for dtype in others for entry in entries if entry.in_every_dtype]
    drawn = (draw_case(entry, dtype, sizes, alignment, dtype != main) for entry, dtype in plan)
    return (case for case in drawn if case is not None and all(map(supports, case.needs)))


def _numbers(case: Case) -> object:
    """What a case asks: sizes that were refitted may make two of them one, of which the first stays."""
    record = case.problem.to_dict()
    return case.step, case.dtype, *case.sizes.items(), *((name, _bytes(record[name])) for name in record)


def _bytes(value: object) -> object:
    if isinstance(value, list):
        return tuple(_bytes(item["mask"]) for item in value)
    return value.tobytes() if isinstance(value, np.ndarray) else value


def draw_case(
    entry: Entry, dtype: str, sizes: Sizes = ANY, alignment: str = "lower_right", is_other: bool = False
) -> Case | None:
    """One case; None where its point is a size that is not taken.

    is_other  its point is the dtype, which is not the one that everything is checked in
    """
    found = fitted(sizes, tuple(entry.sizes.items()), entry.keep)
    return None if found is None else _drawn(entry, dtype, tuple(found.items()), alignment, is_other)


@lru_cache(maxsize=1024)
def _drawn(
    entry: Entry, dtype: str, sizes: tuple[tuple[str, int], ...], alignment: str, is_other: bool
) -> Case:
    """The same problem for the same sizes, whatever else the function takes."""
    found = dict(sizes)
    fields = entry.draw(dice_for(entry.seed, dtype, found))
    needs = {entry.feature, *needs_of(fields, found)} | ({"dtypes"} if is_other else set())
    if alignment == "upper_left" and "offset" not in fields and any(name in fields for name in PLACED):
        fields = fields | {"offset": 0}
    return Case(
        id=f"dtypes/{dtype}/{entry.id.partition('/')[2]}" if is_other else entry.id,
        feature="dtypes" if is_other else entry.feature,
        why=f"{dtype}: {entry.why}" if is_other else entry.why,
        problem=Problem(**fields, dtype=dtype),
        dtype=dtype,
        step=entry.step,
        needs=frozenset(needs),
        lenient=entry.lenient,
        sizes=found,
    )


def needs_of(fields: Fields, sizes: Wanted) -> set[str]:
    """The features that a problem with these fields and sizes asks for, beside the basic one."""
    needs = {name for name in OPTIONS if name in fields}
    needs |= {"mask-bool" if mask.dtype == bool else "mask-float" for mask in fields.get("mask", ())}
    return needs | ({"grouped-heads"} if sizes["H"] != sizes["Hkv"] else set())


def as_packed(case: Case) -> Case:
    """The same case with its heads packed, (B, T, H·D): where a function that splits them may go wrong."""
    problem = case.problem
    arrays = {name: merge(getattr(problem, name)) for name in ("query", "key", "value")}
    heads = {"heads": problem.H, "kv_heads": problem.Hkv}
    return replace(case, problem=Problem.from_dict(problem.to_dict() | arrays | heads))
