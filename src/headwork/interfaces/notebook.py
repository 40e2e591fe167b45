"""A trace in a Jupyter notebook: its tables as HTML that screen readers can walk through."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..mechanism.tracing import Trace
from .grids import Grid
from .sections import Section, sections_of
from .show import size_text


def html_of(trace: Trace) -> str:
    """Every step with its tables; large ones are summed up. `headwork show` has the arithmetic too."""
    sections = "\n".join(line for section in sections_of(trace) for line in _section(section))
    return f'<div class="headwork">\n<p>{escape(size_text(trace.problem))}</p>\n{sections}\n</div>'


def _section(section: Section) -> Iterator[str]:
    formula = f" {escape(section.formula)}" if section.formula else ""
    yield f"<p><strong>{escape(section.title)}</strong>{formula}</p>"
    for block in section.blocks:
        if block.grid:
            caption = ", ".join(part for part in (section.field, block.caption) if part)
            yield from _table(block.grid, caption)


def _table(grid: Grid, caption: str) -> Iterator[str]:
    yield f"<table>\n<caption>{escape(caption)}</caption>"
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in grid.columns)
    yield f"<thead><tr><td></td>{columns}</tr></thead>\n<tbody>"
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        entries = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f'<tr><th scope="row">{escape(name)}</th>{entries}</tr>'
    yield "</tbody>\n</table>"
