"""Matrices as tables of a page: the text of each cell, its shade, and the digits that it is short of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from markupsafe import Markup

from ...arrays import Array
from ...mechanism.arithmetic import entry_text
from ...mechanism.fields import FIELDS
from ...mechanism.numerals import DIGITS
from ...workbook.exercises import Exercise, View
from ...workbook.opening import result
from ...workbook.rows import block_title, is_column, row_axis
from ..in_view import SYMBOLS
from .prose import signs

TITLES = {each.name: each.title for each in FIELDS}
COLUMN_AXES = {"scores", "scaled", "capped", "biased", "masked", "exponentials", "weights", "bias", "allowed"}
MOST_SHADE = 10


@dataclass(frozen=True)
class Cell:
    """One entry.

    Fields
    text    as it is shown; i, j: its place, from 0
    shade   0 to 10, None for none; short: digits that it lacks to the right of the longest one
    classes of the cell: masked, differs, same
    """

    text: str
    i: int
    j: int
    shade: int | None = None
    short: str = ""
    classes: str = ""


@dataclass(frozen=True)
class Matrix:
    """One table.

    Fields
    id       unique on the page; title: its symbol; small: in words
    row      what a row stands for, column: what a column does; rows, columns: their names
    cells    row by row; sums: of each row, where they are shown
    step     the result that it shows
    """

    id: str
    title: Markup
    small: str
    row: str
    column: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    sums: tuple[str, ...] = field(default=())
    step: str = ""


def cells_of(
    matrix: Array, digits: int = DIGITS, shaded: bool = False, masked: Array | None = None
) -> tuple[tuple[Cell, ...], ...]:
    """The cells of a matrix.

    matrix  (Tq, Tk), or any other of two axes; digits: after the point
    shaded  by how large each number is in its table; masked: where a key may not be seen
    Raises nothing. Special cases: nothing below zero is shaded.
    """
    texts = [[entry_text(x, digits) for x in row] for row in matrix]
    most = max((_digits(text) for row in texts for text in row), default=0)
    top = _top(matrix)
    return tuple(
        tuple(
            Cell(
                text,
                i,
                j,
                _shade(matrix[i, j], top) if shaded else None,
                _short(text, most),
                "masked" if masked is not None and masked[i, j] else "",
            )
            for j, text in enumerate(row)
        )
        for i, row in enumerate(texts)
    )


def _top(matrix: Array) -> float:
    if matrix.dtype == bool:
        return 0.0
    finite = matrix[np.isfinite(matrix)]
    return float(finite.max()) if finite.size else 0.0


def _shade(value: float, top: float) -> int:
    share = float(value) / top if top > 0 and math.isfinite(value) else 0.0
    return round(max(share, 0.0) * MOST_SHADE)


def _digits(text: str) -> int:
    """Digits after the point."""
    return len(text.partition(".")[2]) if "e" not in text and "·" not in text else 0


def _short(text: str, most: int) -> str:
    lacks = most - _digits(text)
    return "" if not lacks else f"{lacks}p" if "." not in text else str(lacks)


def with_classes(matrix: Matrix, classes: Sequence[Sequence[str]]) -> Matrix:
    """The table with more said of each cell.

    matrix  the table; classes: for each cell
    Raises nothing. Special cases: none.
    """
    return replace(
        matrix,
        cells=tuple(
            tuple(
                replace(cell, classes=f"{cell.classes} {more}".strip())
                for cell, more in zip(*rows, strict=True)
            )
            for rows in zip(matrix.cells, classes, strict=True)
        ),
    )


# --- what an exercise keeps in view ------------------------------------------------------------------


def in_view(exercise: Exercise) -> tuple[Matrix, ...]:
    """The matrices that stay in view, a table for each head and part.

    exercise  which
    Raises FileError. Special cases: none.
    """
    return tuple(
        matrix for at, view in enumerate(exercise.views) for matrix in _tables(exercise, view, f"m{at}")
    )


def _tables(exercise: Exercise, view: View, id: str) -> Iterator[Matrix]:
    work, name = exercise.work, view.field
    title = signs(SYMBOLS.get(name, TITLES.get(name, name)))
    if name not in work:
        yield _table(id, title, TITLES.get(name, ""), "row", name, result(exercise, work, name), view.rows)
        return
    array = work[name][..., None] if is_column(work, name) else work[name]
    for at, place in enumerate(np.ndindex(array.shape[:-2])):
        block = block_title(work, name, (*place, 0))
        small = ", ".join(part for part in (TITLES[name], block) if part)
        yield _table(f"{id}{at}", title, small, row_axis(work, name), name, array[place], view.rows)


def _table(
    id: str, title: Markup, small: str, row: str, name: str, matrix: Array, rows: Sequence[int]
) -> Matrix:
    matrix = np.atleast_2d(matrix)
    wanted = [each - 1 for each in rows] or list(range(len(matrix)))
    shown = tuple(
        tuple(replace(cell, i=i) for cell in cells)
        for i, cells in zip(wanted, cells_of(matrix[wanted]), strict=True)
    )
    column = "key" if name in COLUMN_AXES else "dimension"
    small = "" if small == str(title) else small
    return Matrix(
        id,
        title,
        small,
        row,
        column,
        tuple(str(i + 1) for i in wanted),
        tuple(str(j + 1) for j in range(matrix.shape[1])),
        shown,
        step=name,
    )
