"""The fields that the steps give: their symbols, their axes, and the shape in which people see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import UnknownNameError
from ..problem import Problem


@dataclass(frozen=True)
class Field:
    """One named result.

    name    as in Trace, JSON and answers; symbol: of one entry, as people write it; title: in words
    axes    the axes behind the batch axes, in shape letters; "W" is a joined width
    """

    name: str
    symbol: str
    title: str
    axes: tuple[str, ...]


INPUTS = ("x", "x_key", "query", "key", "value")
_MATRIX = ("H", "Tq", "Tk")

FIELDS: tuple[Field, ...] = (
    Field("x", "x", "embeddings", ("H", "Tq", "E")),
    Field("x_key", "x", "embeddings of the keys", ("H", "Tk", "E")),
    Field("query", "q", "queries", ("H", "Tq", "D")),
    Field("key", "k", "keys", ("Hkv", "Tk", "D")),
    Field("value", "v", "values", ("Hkv", "Tk", "Dv")),
    Field("query_heads", "q", "queries per head", ("H", "Tq", "D")),
    Field("key_heads", "k", "keys per head", ("Hkv", "Tk", "D")),
    Field("value_heads", "v", "values per head", ("Hkv", "Tk", "Dv")),
    Field("key_repeated", "k", "keys for each query head", ("H", "Tk", "D")),
    Field("value_repeated", "v", "values for each query head", ("H", "Tk", "Dv")),
    Field("query_rotated", "q", "turned queries", ("H", "Tq", "D")),
    Field("key_rotated", "k", "turned keys", ("H", "Tk", "D")),
    Field("scores", "s", "scores", _MATRIX),
    Field("scaled", "s", "scaled scores", _MATRIX),
    Field("capped", "s", "capped scores", _MATRIX),
    Field("bias", "b", "bias", _MATRIX),
    Field("biased", "s", "scores with bias", _MATRIX),
    Field("allowed", "a", "which keys may be seen", _MATRIX),
    Field("masked", "s", "masked scores", _MATRIX),
    Field("row_max", "m", "row maxima", ("H", "Tq")),
    Field("exponentials", "e", "exponentials", _MATRIX),
    Field("row_sum", "ℓ", "row sums", ("H", "Tq")),
    Field("weights", "w", "weights", _MATRIX),
    Field("logsumexp", "lse", "logsumexp", ("H", "Tq")),
    Field("part_output", "z", "outputs of the parts", ("P", "H", "Tq", "Dv")),
    Field("part_logsumexp", "lse", "logsumexp of the parts", ("P", "H", "Tq")),
    Field("blended", "z", "outputs per head", ("H", "Tq", "Dv")),
    Field("merged", "z", "joined heads", ("H", "Tq", "Dv")),
    Field("output", "z", "output", ("H", "Tq", "Dv")),
)
_BY_NAME: dict[str, Field] = {field.name: field for field in FIELDS}


def field_named(name: str) -> Field:
    """The field of that name. Raises UnknownNameError, naming all of them."""
    if name not in _BY_NAME:
        names = ", ".join(_BY_NAME)
        raise UnknownNameError(f"there is no step called {name[:60]!r}. The steps are: {names}.")
    return _BY_NAME[name]


def canonical_axes(problem: Problem, name: str) -> tuple[str, ...]:
    """The axes behind the batch axes, as the pipeline holds them; packed and merged arrays have no H axis."""
    axes = field_named(name).axes
    if (problem.packed and name in INPUTS) or (problem.merges and name in ("merged", "output")):
        return (axes[1], "W")
    return axes


def axes_of(problem: Problem, name: str) -> tuple[str, ...]:
    """The axes behind the batch axes that people see: no H axis where the problem's arrays have none."""
    axes = canonical_axes(problem, name)
    return tuple(axis for axis in axes if axis not in ("H", "Hkv")) if problem.single else axes


def in_kind(problem: Problem, name: str, array: Array) -> Array:
    """A field as people see it: row quantities without their axis of 1, no H axis where there was none."""
    axes = canonical_axes(problem, name)
    if axes[-1] == "Tq":
        array = array[..., 0]
    return array.squeeze(_head_axis(axes)) if axes != axes_of(problem, name) else array


def canonical(problem: Problem, name: str, array: Array) -> Array:
    """The inverse of `in_kind`."""
    axes = canonical_axes(problem, name)
    if axes != axes_of(problem, name):
        array = np.expand_dims(array, _head_axis(axes))
    return array[..., None] if axes[-1] == "Tq" else array


def _head_axis(axes: tuple[str, ...]) -> int:
    return next(index - len(axes) for index, axis in enumerate(axes) if axis in ("H", "Hkv"))
