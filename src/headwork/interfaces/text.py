"""Text for terminals: tables in 80 columns, wrapped lines, and plain words for screen readers."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from .grids import Grid

NARROWEST, WIDEST = 40, 100
BOLD, RESET = "\x1b[1m", "\x1b[0m"
NO_BREAK = "\xa0"
SPELLED = {
    "−": "-",
    "∞": "infinity",
    "·": " * ",
    "×": "x",
    "√": "sqrt ",
    "→": "to",
    "…": "...",
    "≤": "<=",
    "Σ": "sum ",
    "ℓ": "l",
    "ᵀ": " transposed",
    "≥": ">=",
    "≠": "is not",
    "∈": "in",
    "∨": "or",
    "¬": "not ",
    "←": "becomes",
    "⊙": "times, entry by entry,",
    "‖": "|",
    "⌊": "floor(",
    "⌋": ")",
    "θ": "theta",
    "α": "alpha",
}


def width_of_page() -> int:
    """The columns to fill: the terminal's, or 80 where there is none (COLUMNS says otherwise)."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, NARROWEST), WIDEST)


def has_colour(stream: TextIO | None = None) -> bool:
    """Whether bold type may be used: on a terminal that can, unless NO_COLOR is set (no-color.org)."""
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """The text in bold where that can be shown."""
    return f"{BOLD}{text}{RESET}" if has_colour() else text


def wrapped(text: str, width: int, margin: str = "  ", hang: str = "    ") -> str:
    """The text, its further lines starting farther in; what is in short parentheses stays together."""
    return textwrap.fill(
        kept_together(text),
        width,
        initial_indent=margin,
        subsequent_indent=margin + hang,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(NO_BREAK, " ")


def printable(text: str) -> str:
    """The text without characters that move the cursor or change the screen: they are written as \\x1b."""
    return "".join(
        c if c.isprintable() or c == NO_BREAK else " " if c.isspace() else ascii(c)[1:-1] for c in text
    )


def kept_together(text: str) -> str:
    """The text with blanks that do not break in short parentheses: (d_k = 4)."""
    return re.sub(r"\([^()]{,30}\)", lambda match: match.group().replace(" ", NO_BREAK), text)


def table_lines(grid: Grid, width: int, margin: str = "  ") -> Iterator[str]:
    """The table, in as many blocks of columns as the width asks for."""
    names = max(map(len, grid.rows), default=0)
    room = width - len(margin) - names - len(" │")
    widths = [
        max(map(len, (name, *column))) for name, column in zip(grid.columns, _columns(grid), strict=True)
    ]
    start = 0
    while start < len(grid.columns):
        end = _fitting(widths, start, room)
        if start:
            yield ""
        yield from _block(grid, widths, names, slice(start, end), margin)
        start = end


def _columns(grid: Grid) -> list[tuple[str, ...]]:
    return list(zip(*grid.cells, strict=True)) if grid.cells else [()] * len(grid.columns)


def _fitting(widths: Sequence[int], start: int, room: int) -> int:
    """The end of the columns that fit from `start` on, at least one."""
    end, used = start, 0
    while end < len(widths) and (used + widths[end] + 2 <= room or end == start):
        used += widths[end] + 2
        end += 1
    return end


def _block(grid: Grid, widths: Sequence[int], names: int, part: slice, margin: str) -> Iterator[str]:
    def line(name: str, texts: Sequence[str]) -> str:
        entries = (f"  {text:>{size}}" for text, size in zip(texts, widths[part], strict=True))
        return f"{margin}{name:>{names}} │{''.join(entries)}"

    yield line("", grid.columns[part])
    yield margin + "─" * (names + 1) + "┼" + "─" * sum(size + 2 for size in widths[part])
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        yield line(name, cells[part])


def plain_lines(grid: Grid) -> Iterator[str]:
    """The table for a screen reader: one line for each row, "query 1: 2, 0, 4"."""
    if len(grid.columns) > 1:
        yield f"columns: {', '.join(grid.columns)}"
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        yield f"{name}: {', '.join(cells)}"


def spelled(text: str) -> str:
    """The text in letters and signs that every screen reader says: s[1,3] = 2 * 2, -infinity."""
    text = re.sub("[₀-₉ᵢⱼ]+", _index, text.replace("Σⱼ", "sum over j of"))
    text = re.sub("[⁰¹²³⁴-⁹⁻⁽⁾ᵖ]+", _power, text)
    for sign, words in SPELLED.items():
        text = text.replace(sign, words)
    return text


_LOW = str.maketrans("₀₁₂₃₄₅₆₇₈₉ᵢⱼ", "0123456789ij")
_HIGH = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁽⁾ᵖ", "0123456789-()p")


def _index(match: re.Match[str]) -> str:
    return f"[{','.join(match.group().translate(_LOW))}]"


def _power(match: re.Match[str]) -> str:
    return "^" + match.group().translate(_HIGH)
