"""The matrices that stay in view while an exercise is worked, side by side as far as they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np

from ..arrays import Array
from ..mechanism.arithmetic import entry_text
from ..mechanism.numerals import subscript
from ..workbook.exercises import Exercise, View
from ..workbook.opening import result
from ..workbook.rows import block_title, is_column, row_axis

SYMBOLS = {
    "query": "Q",
    "key": "K",
    "value": "V",
    "x": "X",
    "x_key": "X of the keys",
    "scores": "S",
    "scaled": "S/√d_k",
    "output": "z",
    "w_query": "W_Q",
    "w_key": "W_K",
    "w_value": "W_V",
    "w_output": "W_O",
    "b_output": "b_O",
    "query_heads": "Q",
    "key_heads": "K",
    "value_heads": "V",
}
ROW_SYMBOLS = {"query": "q", "key": "k", "value": "v", "x": "x", "x_key": "x"}  # of each token's own row

Rows = list[tuple[str, list[str]]]


def in_view(exercise: Exercise, width: int, plain: bool) -> Iterator[str]:
    """The lines of text; plain: a matrix a line."""
    tables = [table for view in exercise.views for table in _tables(exercise, view)]
    if plain:
        yield from (
            f"{title}. " + "; ".join(f"{name}: {' '.join(row)}" for name, row in rows)
            for title, rows in tables
        )
    else:
        yield from side_by_side([list(_laid_out(title, rows)) for title, rows in tables], width)


def _tables(exercise: Exercise, view: View) -> Iterator[tuple[str, Rows]]:
    """A table for each head and part: its title, and its rows with their names."""
    work, name = exercise.work, view.field
    if name not in work:
        yield _title(name), _named_rows(name, result(exercise, work, name), view.rows)
        return
    array = work[name][..., None] if is_column(work, name) else work[name]
    for place in np.ndindex(array.shape[:-2]):
        title = ", ".join(part for part in (_title(name), block_title(work, name, (*place, 0))) if part)
        yield title, _named_rows(name, array[place], view.rows, row_axis(work, name))


def _title(name: str) -> str:
    return SYMBOLS.get(name, name)


def _named_rows(name: str, matrix: Array, rows: Sequence[int], axis: str = "row") -> Rows:
    symbol = ROW_SYMBOLS.get(name)
    matrix = np.atleast_2d(matrix)
    wanted = [row - 1 for row in rows] or range(len(matrix))
    return [
        (symbol + subscript(row) if symbol else f"{axis} {row + 1}", [entry_text(x) for x in matrix[row]])
        for row in wanted
    ]


def _laid_out(title: str, rows: Rows) -> Iterator[str]:
    width = max(len(entry) for _, row in rows for entry in row)
    yield title
    for name, row in rows:
        yield f"{name}  " + "  ".join(entry.rjust(width) for entry in row)


def side_by_side(tables: list[list[str]], width: int, gap: int = 5) -> Iterator[str]:
    """Tables next to each other as far as they fit, the others below."""
    row: list[list[str]] = []
    for table in tables:
        if row and _wide([*row, table], gap) > width:
            yield from _joined(row, gap)
            row = []
        row.append(table)
    yield from _joined(row, gap)


def _wide(row: list[list[str]], gap: int) -> int:
    return sum(max(map(len, table)) + gap for table in row) - gap


def _joined(row: list[list[str]], gap: int) -> Iterator[str]:
    widths = [max(map(len, table)) + gap for table in row]
    for parts in zip_longest(*row, fillvalue=""):
        yield "".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
