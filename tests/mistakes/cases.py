"""The bugs reported in public (tests/data/reported_bugs.jsonl), as Problems with right and wrong answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headwork.arrays import Array, as_floats
from headwork.problem import Problem

REPORTED = Path(__file__).parents[1] / "data" / "reported_bugs.jsonl"
PROJECTIONS = {"w_q": "w_query", "w_k": "w_key", "w_v": "w_value", "w_o": "w_output"}


@dataclass(frozen=True)
class Case:
    """One reported bug.

    kind    the id of the mistake; source: owner/repo#number
    inputs  as the file has them; problem: the same, checked
    right   step ("output", "weights") to the right numbers, shaped as the problem's arrays; wrong: alike
    """

    id: str
    source: str
    kind: str
    inputs: Mapping[str, Any]
    problem: Problem
    right: Mapping[str, Array]
    wrong: Mapping[str, Array]


def load() -> tuple[Case, ...]:
    """All reported cases, in the order of the file."""
    with REPORTED.open(encoding="utf-8") as lines:
        return tuple(read(json.loads(line)) for line in lines)


def cases(*kinds: str) -> list[Case]:
    """The reported cases of these kinds (mistake ids)."""
    return [case for case in load() if case.kind in kinds]


def read(record: Mapping[str, Any]) -> Case:
    """One line of the file."""
    inputs = record["inputs"]
    return Case(
        id=record["id"],
        source=record["source"],
        kind=record["kind"].replace("_", "-"),
        inputs=inputs,
        problem=Problem(**fields(inputs)),
        right=answers(record, "right"),
        wrong=answers(record, "wrong"),
    )


def fields(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Problem that a case's inputs stand for."""
    return arrays(inputs) | masks(inputs) | options(inputs)


def arrays(inputs: Mapping[str, Any]) -> dict[str, Any]:
    if "x" in inputs:
        return {"x": inputs["x"]} | {name: inputs[old] for old, name in PROJECTIONS.items() if old in inputs}
    made = {name: as_floats(name, inputs[name[0]]) for name in ("query", "key", "value")}
    if "layout" not in inputs:  # (T, d), or (batch, T, d): then each batch element has one head
        made = {name: with_heads(array) for name, array in made.items()}
    return made


def with_heads(array: Array) -> Array:
    return array[:, None] if array.ndim == 3 else array


def masks(inputs: Mapping[str, Any]) -> dict[str, Any]:
    if "key_keep" in inputs:
        return {"mask": np.array(inputs["key_keep"])[:, None, None, :]}
    return {"mask": inputs["keep"]} if "keep" in inputs else {}


def options(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Positions 0, 1, 2 … are the default; what belongs to the wrong rule (dropout_p, real …) is left out."""
    same = {name: inputs[name] for name in ("causal", "scale", "softcap", "chunks") if name in inputs}
    if inputs.get("alignment") == "top-left":
        same["causal"] = "upper_left"
    if "n_heads" in inputs:
        same["heads"] = inputs["n_heads"]
    if "window" in inputs:
        same["window"] = (inputs["window"] - 1, 0)
    if "variant" in inputs:
        same["sink"] = 0.0
    if "rope" in inputs:
        same["rope"] = {"pairing": inputs["rope"], "base": inputs["rope_base"]}
    if "alibi_slope" in inputs:
        same["alibi"] = inputs["alibi_slope"]
    if "dtype" in inputs:
        same["dtype"] = inputs["dtype"].split()[0]
    return same


def answers(record: Mapping[str, Any], which: str) -> dict[str, Array]:
    found = {step: record.get(f"{which}_{step}") for step in ("output", "weights")}
    made = {step: as_floats(step, values) for step, values in found.items() if values is not None}
    return made if "layout" in record["inputs"] else {step: with_heads(array) for step, array in made.items()}
