"""A problem with some of its queries only: what a large one is searched by.

A query's row of scores, weights and output depends on no other query, so a few rows are as good as all
for every rule that keeps to that. Positions, sizes and alignment stay those of the whole problem.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import Problem
from .fields import field_named


def sample(problem: Problem, rows: Array) -> Problem:
    """The same problem with the queries `rows` (counted from 0) only; `Tq` still counts all of them."""
    part = copy.copy(problem)
    held: dict[str, Any] = {"rows": rows}
    if problem.x is not None:
        held |= {"x": problem.x[..., rows, :], "x_key": problem.x if problem.x_key is None else problem.x_key}
    if problem.query is not None:
        held["query"] = problem.query[..., rows, :]
    if problem.given is not None:
        held["given"] = {step: array[..., rows, :] for step, array in problem.given.items()}
    if problem.known is not None:
        held["known"] = {name: _rows_known(problem, name, each, rows) for name, each in problem.known.items()}
    if problem.mask is not None:
        held["mask"] = tuple(_rows_of_mask(mask, rows) for mask in problem.mask)
    for name, value in held.items():
        object.__setattr__(part, name, value)  # a Problem is frozen for everybody else
    return part


def _rows_known(problem: Problem, name: str, known: tuple[Array, Array], rows: Array) -> tuple[Array, Array]:
    if "Tq" not in field_named(name).axes:
        return known
    values, error = known
    return values[..., rows, :], np.broadcast_to(error, values.shape)[..., rows, :]


def _rows_of_mask(mask: Array, rows: Array) -> Array:
    return mask if mask.ndim < 2 or mask.shape[-2] == 1 else mask[..., rows, :]


def single_head(problem: Problem, batch: tuple[int, ...], head: int) -> Problem:
    """One head of one batch element, for arrays (…, H, T, width): to try a rule that mixes queries on."""
    kv = head * problem.Hkv // problem.H
    one = {
        "query": problem.query[batch][head],
        "key": problem.key[batch][kv],
        "value": problem.value[batch][kv],
    }
    options: dict[str, Any] = {
        name: getattr(problem, name) for name in ("scale", "softcap", "rope", "causal", "window", "chunks")
    }
    for name in ("alibi", "sink"):
        options[name] = None if getattr(problem, name) is None else float(getattr(problem, name)[head])
    for name in ("lengths", "offset"):
        options[name] = None if getattr(problem, name) is None else int(getattr(problem, name)[batch])
    shape = (*problem.batch, problem.H, problem.Tq, problem.Tk)
    if problem.mask is not None:
        options["mask"] = [np.broadcast_to(mask, shape)[batch][head] for mask in problem.mask]
    return Problem(**one, **options, dtype=problem.dtype)
