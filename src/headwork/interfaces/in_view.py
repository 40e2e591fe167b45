"""The matrices that stay in view while an exercise is worked, side by side as far as they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from ..mechanism.numerals import number_text, subscript
from ..workbook.exercises import Exercise, View

SYMBOLS = {"query": "Q", "key": "K", "value": "V", "scores": "S", "scaled": "S/√d_k", "output": "z"}
ROW_SYMBOLS = {"query": "q", "key": "k", "value": "v"}  # the other matrices have a row for each query

Rows = list[tuple[str, list[str]]]


def in_view(exercise: Exercise, width: int, plain: bool) -> Iterator[str]:
    """The lines of text; plain: a matrix a line."""
    tables = [
        _table(view, [[number_text(x) for x in row] for row in exercise.work[view.field]])
        for view in exercise.views
    ]
    if plain:
        yield from (
            f"{title}. " + "; ".join(f"{name}: {' '.join(row)}" for name, row in rows)
            for title, rows in tables
        )
    else:
        yield from side_by_side([list(_laid_out(title, rows)) for title, rows in tables], width)


def _table(view: View, entries: Sequence[list[str]]) -> tuple[str, Rows]:
    """The title of a matrix, and its rows with their names."""
    symbol = ROW_SYMBOLS.get(view.field)
    names = [symbol + subscript(row) if symbol else f"query {row + 1}" for row in range(len(entries))]
    wanted = [row - 1 for row in view.rows] or range(len(entries))
    return SYMBOLS.get(view.field, view.field), [(names[row], entries[row]) for row in wanted]


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
