"""Parts of a problem: some of its queries, or one of its heads. What a large one is searched by.

A query's row of scores, weights and output depends on no other query, and a head on no other head, so a part
is as good as the whole for every rule that keeps to that. Positions, sizes and alignment stay those of the
whole problem, and no array is copied.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import INPUT_PROJECTIONS, Problem
from .fields import field_named
from .steps import STEPS
from .tracing import results, seeds

# what "weights" become on their way into the blend, and "masked" on its way into the softmax
HIDDEN = {"logits": "masked", "settled": "weights", "attention": "weights"}
LINEAR = ("project", "split-query", "split-key", "split-value")  # steps before heads are apart


def sample(problem: Problem, rows: Array) -> Problem:
    """The same problem with the queries `rows` (counted from 0) only; `Tq` still counts all of them."""
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
    return _holding(problem, held)


def _holding(problem: Problem, held: dict[str, Any]) -> Problem:
    part = copy.copy(problem)
    for name, value in held.items():
        object.__setattr__(part, name, value)  # a Problem is frozen for everybody else
    return part


def rows_of_field(problem: Problem, name: str, array: Array, rows: Array) -> Array:
    """Those rows of a field of the whole problem that has one for each query; any other field as it is."""
    has_rows = "Tq" in field_named(HIDDEN.get(name, name)).axes and array.shape[-2] == problem.Tq
    return array[..., rows, :] if has_rows else array


def _rows_known(problem: Problem, name: str, known: tuple[Array, Array], rows: Array) -> tuple[Array, Array]:
    values, error = known
    both = values, np.broadcast_to(error, values.shape)
    return rows_of_field(problem, name, both[0], rows), rows_of_field(problem, name, both[1], rows)


def _rows_of_mask(mask: Array, rows: Array) -> Array:
    return mask if mask.ndim < 2 or mask.shape[-2] == 1 else mask[..., rows, :]


# --- heads ----------------------------------------------------------------------------------------


def in_heads(problem: Problem) -> Problem:
    """The same problem from its queries, keys and values per head on, ending with the outputs per head."""
    if not problem.merges and problem.x is None:
        return problem
    fields = seeds(problem)
    for step in (step for step in STEPS if step.name in LINEAR):
        for name, array in zip(step.writes, results(problem, step, fields), strict=False):
            fields.setdefault(name, array)
    held: dict[str, Any] = {name: fields.get(f"{name}_heads") for name in ("query", "key", "value")}
    held |= dict.fromkeys(("x", "x_key", "heads", "kv_heads", "w_output", "b_output", *INPUT_PROJECTIONS))
    return _holding(problem, held)


def one_head(problem: Problem, batch: tuple[int, ...] | None, head: int) -> Problem:
    """One head of one batch element of a problem per head (`in_heads`), as a problem without either axis.

    batch    None: of all batch elements, which keep their axes
    problem  nothing of somebody's own stands for its steps (`known`)
    Special cases: a batch axis of length 1 stays, so that rules about it find it.
    """
    where, heads = batch_index(problem, batch), slice(head, head + 1)
    kv = slice(head * problem.Hkv // problem.H, head * problem.Hkv // problem.H + 1)
    kept = problem.batch if batch is None else (1,) * sum(size == 1 for size in problem.batch)
    held: dict[str, Any] = {"batch": kept, "H": 1, "Hkv": 1}
    held["single"] = True  # rules about the axis of heads have no place here
    for name, own in (("query", heads), ("key", kv), ("value", kv)):
        array = getattr(problem, name)
        held[name] = None if array is None else array[(*where, own)]
    for name in ("alibi", "sink"):
        held[name] = None if getattr(problem, name) is None else getattr(problem, name)[heads]
    for name in ("lengths", "offset"):
        held[name] = None if getattr(problem, name) is None else getattr(problem, name)[where]
    if problem.mask is not None:
        held["mask"] = tuple(_head_of_mask(mask, (*where, heads)) for mask in problem.mask)
    if problem.given is not None:
        held["given"] = {step: array[(*where, heads)] for step, array in problem.given.items()}
    return _holding(problem, held)


def batch_index(problem: Problem, batch: tuple[int, ...] | None) -> tuple[int | slice, ...]:
    """That batch element, or all of them; an axis of length 1 stays."""
    if batch is None:
        return (slice(None),) * len(problem.batch)
    return tuple(slice(0, 1) if size == 1 else at for size, at in zip(problem.batch, batch, strict=True))


def _head_of_mask(mask: Array, where: tuple[int | slice, ...]) -> Array:
    """The mask of that head; it may be held smaller than the score matrix."""
    lead = mask.shape[:-2]
    own = (
        at if size != 1 else slice(None) if isinstance(at, slice) else 0
        for at, size in zip(where[len(where) - len(lead) :], lead, strict=True)
    )
    return mask[tuple(own)]
