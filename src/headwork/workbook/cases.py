"""The numbers of a code case: the problem that it is, and what the function is called with."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import GIVEN, Problem
from .tracks import CodeCase, Track

TENTHS = 15  # drawn numbers have one decimal and lie between −1.5 and 1.5
Fields = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class CaseNumbers:
    """A case in numbers.

    Fields
    problem    what is worked out; d_output: the gradient of the output, where gradients are asked for
    arguments  what the function is called with, in order, by name
    """

    problem: Problem
    d_output: Array | None
    arguments: Mapping[str, Any]


def numbers_of(track: Track, case: CodeCase) -> CaseNumbers:
    """The numbers of a case, the same ones every time.

    track  whose function is called; case: one of its own
    Raises HeadworkError where the case is no problem. Special cases: none.
    """
    fields = {**case.given, **_drawn(case)}
    given = {name: value for name, value in fields.items() if name in GIVEN}
    others = {name: value for name, value in fields.items() if name not in (*GIVEN, "d_output")}
    problem = Problem.from_dict({**others, **({"given": given} if given else {})})
    arguments = {name: _ARGUMENTS[name](fields) for name in track.takes}
    return CaseNumbers(problem, arguments.get("d_output"), arguments)


def _drawn(case: CodeCase) -> dict[str, Any]:
    """Numbers with one decimal; random() alone is the same on every machine and version."""
    dice = random.Random(case.seed)
    return {name: _numbers(dice, shape) for name, shape in case.draw.items()}


def _numbers(dice: random.Random, shape: tuple[int, ...]) -> Any:
    tenths = [int(dice.random() * (2 * TENTHS + 1)) - TENTHS for _ in range(prod(shape))]
    return (np.array(tenths) / 10).reshape(shape).tolist()


# --- what a function may be called with -----------------------------------------------------------


def _array(name: str) -> Callable[[Fields], Array]:
    return lambda fields: np.array(_floats(fields[name]), dtype=np.float64)


def _past(name: str) -> Callable[[Fields], Array]:
    return lambda fields: _array(name)(fields)[..., : -_queries(fields), :]


def _new(name: str) -> Callable[[Fields], Array]:
    return lambda fields: _array(name)(fields)[..., -_queries(fields) :, :]


def _queries(fields: Fields) -> int:
    return int(np.shape(fields["query"])[-2])


def _floats(value: Any) -> Any:
    """Nested lists in which "-inf" is a number, as in every JSON of Headwork."""
    return [_floats(item) for item in value] if isinstance(value, list) else float(value)


_ARGUMENTS: Mapping[str, Callable[[Fields], Any]] = {
    "scores": _array("masked"),
    "query": _array("query"),
    "key": _array("key"),
    "value": _array("value"),
    "past_key": _past("key"),
    "past_value": _past("value"),
    "new_key": _new("key"),
    "new_value": _new("value"),
    "d_output": _array("d_output"),
    "mask": lambda fields: np.array(fields["mask"], dtype=bool),
    "heads": lambda fields: fields["heads"],
    "block": lambda fields: fields["chunks"][0],
}
ARGUMENTS = tuple(_ARGUMENTS)
