"""Modules and functions that project inside: weights from which the wanted query, key and value come.

Two ways, both exact, as every product is a number times 1 or 0:
  identity  the inputs are query, key and value; every projection is the identity
  rows      the input is x, whose row for token t of sample b has a single 1 at b·T + t: the projections are
            then the rows of query, key and value. There must be at least as many columns as tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from .roles import plain_name

# of a module's own parameters: the last part of the name before ".weight" or ".bias"
WEIGHTS: Mapping[str, str] = {
    "query": (
        "q query q_proj query_proj w_q wq to_q q_linear linear_q query_linear fc_q w_query q_weight "
        "query_weights q_lin"
    ),
    "key": (
        "k key k_proj key_proj w_k wk to_k k_linear linear_k key_linear fc_k w_key k_weight key_weights k_lin"
    ),
    "value": (
        "v value v_proj value_proj w_v wv to_v v_linear linear_v value_linear fc_v w_value v_weight "
        "value_weights v_lin"
    ),
    "qkv": (
        "qkv qkv_proj c_attn in_proj to_qkv wqkv w_qkv query_key_value attn qkv_linear in_proj_weight "
        "in_proj_bias"
    ),
    "output": (
        "out out_proj proj c_proj o_proj w_o wo to_out output fc_o fc_out out_linear linear_out dense w_out "
        "o output_proj o_linear out_lin"
    ),
}
ROLE = {plain_name(name): role for role, names in WEIGHTS.items() for name in names.split()}


@dataclass(frozen=True)
class Projections:
    """The projections of a module.

    weights  parameter -> ("query", "key", "value", "qkv" or "output", its shape)
    biases   parameter -> its shape
    width    how many columns its inputs have
    """

    weights: Mapping[str, tuple[str, tuple[int, ...]]]
    biases: Mapping[str, tuple[int, ...]]
    width: int

    def chosen(self, query: Array, key: Array, value: Array, *, rows: bool) -> dict[str, Array]:
        """The weights with which these come out, arrays (B, T, E); with the identity where not `rows`."""
        made = {name: np.zeros(shape, query.dtype) for name, shape in self.biases.items()}
        for name, (role, shape) in self.weights.items():
            parts = [np.eye(self.width, dtype=query.dtype)] * (3 if role == "qkv" else 1)
            if rows and role != "output":
                arrays = {"query": query, "key": key, "value": value}
                chosen = arrays.values() if role == "qkv" else [arrays[role]]
                parts = [_rows(array, self.width) for array in chosen]
            matrix = np.concatenate(parts, axis=1)  # (in, out)
            made[name] = matrix.T if matrix.T.shape == shape else matrix
        return made


def _rows(array: Array, width: int) -> Array:
    flat = array.reshape(-1, array.shape[-1])
    return np.concatenate([flat, np.zeros((width - len(flat), flat.shape[1]), array.dtype)])


def one_hot(B: int, T: int, width: int, dtype: np.dtype[Any]) -> Array:
    """x (B, T, width): a 1 at b·T + t."""
    return np.eye(B * T, width, dtype=dtype).reshape(B, T, width)


def projections_of(weights: Mapping[str, tuple[int, ...]]) -> Projections | str | None:
    """The projections among a module's parameters; None where it has no parameters.

    Otherwise, in words, why there is nothing to be done: other weights, or widths that differ.
    """
    if not weights:
        return None
    found: dict[str, tuple[str, tuple[int, ...]]] = {}
    biases: dict[str, tuple[int, ...]] = {}
    for name, shape in weights.items():
        parts = [part for part in name.split(".") if part not in ("weight", "bias") and not part.isdigit()]
        role = ROLE.get(plain_name(parts[-1]), "") if parts else ""
        if not role or len(shape) > 2:
            return f"it has weights of its own beside its projections: {name}"
        if len(shape) == 1:
            biases[name] = shape
        else:
            found[name] = role, shape
    roles = {role for role, _ in found.values()}
    if not (roles >= {"query", "key", "value"} or "qkv" in roles):
        return f"its weights were not recognised: {', '.join(weights)}"
    width = min(min(shape) for _, shape in found.values())
    for name, (role, shape) in found.items():
        if sorted(shape) != [width, 3 * width if role == "qkv" else width]:
            return f"its projections have widths that differ: {name} is {shape}"
    return Projections(found, biases, width)
