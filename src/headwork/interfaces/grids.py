"""Matrices as tables of text, with named rows and columns; large ones as an honest summary."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..errors import UnknownNameError
from ..mechanism.arithmetic import entry_text
from ..mechanism.fields import axes_of, field_named
from ..mechanism.numerals import number_text
from ..mechanism.tracing import Trace

MOST_COLUMNS = 12  # wider tables are not read, and do not fit into 80 columns
MOST_ENTRIES = 200
MOST_TABLES = 8
ROW_NAMES = {"Tq": "query", "Tk": "key"}
AXIS_NAMES = {"H": "heads", "Hkv": "heads", "P": "parts", "Tq": "queries", "Tk": "keys"}


@dataclass(frozen=True)
class Grid:
    """One table.

    Fields
    caption  which head, which batch element; "" where there is one only
    columns  their names; rows: theirs; cells: the text of each entry, row by row
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Choice:
    """Which of several heads and batch elements to show, counted from 0; None means all of them.

    Fields
    head, batch
    """

    head: int | None = None
    batch: tuple[int, ...] | None = None


EVERY = Choice()


def is_large(trace: Trace, field: str, choice: Choice) -> bool:
    """Whether the field is summed up rather than shown."""
    places = list(places_of(trace, field, choice))
    matrices = [matrix_at(trace, field, place) for place in places[:MOST_TABLES]]
    too_large = any(matrix.shape[1] > MOST_COLUMNS or matrix.size > MOST_ENTRIES for matrix in matrices)
    return too_large or len(places) > MOST_TABLES


def places_of(trace: Trace, field: str, choice: Choice) -> Iterator[tuple[int, ...]]:
    """The index of each matrix of the field: batch axes, part, head, those that it has."""
    problem, lead = trace.problem, _lead(trace, field)
    batch_axes = len(problem.batch)
    if choice.batch is not None:
        _check_choice("batch element", choice.batch, problem.batch)
    if choice.head is not None:
        _check_choice("head", (choice.head,), (problem.H,))
    sizes = trace[field].shape[: batch_axes + len(lead)]
    ranges = [range(size) for size in sizes]
    for axis, at in enumerate(choice.batch or ()):
        ranges[axis] = range(at, at + 1)
    for axis, letter in enumerate(lead, batch_axes):
        if letter in ("H", "Hkv") and choice.head is not None:
            at = choice.head * sizes[axis] // problem.H
            ranges[axis] = range(at, at + 1)
    return iter(itertools.product(*ranges))


def _check_choice(what: str, place: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    if len(place) != len(sizes) or any(not 0 <= at < size for at, size in zip(place, sizes, strict=True)):
        asked = ",".join(str(at + 1) for at in place)
        there = " × ".join(map(str, sizes)) or "one, without a batch axis"
        raise UnknownNameError(f"there is no {what} {asked}; counted from 1, the problem has {there}.")


def _lead(trace: Trace, field: str) -> tuple[str, ...]:
    """The axes before a matrix, or before a column of row quantities."""
    return tuple(axis for axis in axes_of(trace.problem, field) if axis in ("P", "H", "Hkv"))


def matrix_at(trace: Trace, field: str, place: tuple[int, ...]) -> Array:
    """One matrix of the field; row quantities are a column."""
    matrix: Array = trace[field][place]
    return matrix[:, None] if matrix.ndim == 1 else matrix


def grid_of(
    trace: Trace,
    field: str,
    place: tuple[int, ...],
    digits: int,
    rows: Sequence[int] | None = None,
    columns: Sequence[int] | None = None,
) -> Grid:
    """The table of one matrix, or of some of its rows and columns."""
    matrix, axes = matrix_at(trace, field, place), axes_of(trace.problem, field)
    rows = range(matrix.shape[0]) if rows is None else rows
    columns = range(matrix.shape[1]) if columns is None else columns
    row_axis, column_axis = (axes[-1], "") if axes[-1] == "Tq" else axes[-2:]
    column_names = [f"{ROW_NAMES.get(column_axis, '')} {j + 1}".strip() for j in columns]
    return Grid(
        caption_of(trace, field, place),
        tuple(column_names) if column_axis else (field_named(field).symbol,),
        tuple(f"{ROW_NAMES[row_axis]} {i + 1}" for i in rows),
        tuple(tuple(entry_text(matrix[i, j], digits) for j in columns) for i in rows),
    )


def caption_of(trace: Trace, field: str, place: tuple[int, ...]) -> str:
    """Which batch element, part and head a matrix belongs to, counted from 1; "" where there is one only."""
    batch_axes = len(trace.problem.batch)
    words = [f"batch {','.join(str(at + 1) for at in place[:batch_axes])}"] if batch_axes else []
    names = {"P": "part", "H": "head", "Hkv": "key/value head"}
    words += [
        f"{names[axis]} {at + 1}" for axis, at in zip(_lead(trace, field), place[batch_axes:], strict=True)
    ]
    return ", ".join(words)


# --- summaries -------------------------------------------------------------------------------------


def summary_of(trace: Trace, field: str, digits: int, choice: Choice) -> tuple[Grid, Grid]:
    """What can be said of all the matrices chosen, and the corners of the first."""
    places = list(places_of(trace, field, choice))
    whole = trace[field]
    lead = whole.shape[: len(places[0])]
    array = whole if len(places) == math.prod(lead) else np.stack([whole[place] for place in places])
    facts = [("shape", _shape_text(trace, field)), *_facts(array, digits)]
    caption = caption_of(trace, field, places[0]) if len(places) == 1 else f"{len(places)} matrices together"
    told = Grid(
        caption, ("all entries",), tuple(name for name, _ in facts), tuple((text,) for _, text in facts)
    )
    matrix = matrix_at(trace, field, places[0])
    corners = grid_of(
        trace, field, places[0], digits, *(sorted({0, size - 1} - {-1}) for size in matrix.shape)
    )
    return told, replace(corners, caption=f"corners of {corners.caption}" if corners.caption else "corners")


def _shape_text(trace: Trace, field: str) -> str:
    axes = ["batch"] * len(trace.problem.batch) + [
        AXIS_NAMES.get(axis, "wide") for axis in axes_of(trace.problem, field)
    ]
    return " × ".join(f"{size} {axis}" for size, axis in zip(trace[field].shape, axes, strict=True))


def _facts(array: Array, digits: int) -> Iterator[tuple[str, str]]:
    """Smallest, mean, largest and spread of the finite entries, and how many are none."""
    if array.dtype == bool:
        yield "yes", f"{int(array.sum()):,} of {array.size:,} entries"
        return
    finite = array[np.isfinite(array)].astype(np.float64)
    if finite.size:
        yield "smallest", number_text(finite.min(), digits)
        yield "mean", number_text(finite.mean(), digits)
        yield "largest", number_text(finite.max(), digits)
        yield "standard deviation", number_text(finite.std(), digits)
    counts = (("−∞", np.isneginf(array)), ("∞", np.isposinf(array)), ("NaN", np.isnan(array)))
    for name, is_such in counts:
        if is_such.any():
            yield f"entries that are {name}", f"{int(is_such.sum()):,} of {array.size:,}"
