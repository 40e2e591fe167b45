"""The matrices of the bench as grids to type in, whatever has been typed so far."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...diagnosis.typed import read_entries, read_number
from ...errors import AnswerError
from .bench_state import MATRICES, MOST_TOKENS, MOST_WIDTH, State

NAMES = {"q": ("query", "queries"), "k": ("key", "keys"), "v": ("key", "values")}
NARROWEST, WIDEST = 3, 9  # characters
EMPTY = (2, 2)  # rows and columns of a matrix that nobody has begun


@dataclass(frozen=True)
class Grid:
    """One matrix to type in.

    Fields
    letter   q, k or v; field: of a problem; row: what a row stands for; words: what the rows are
    text     as it was typed; remarks: how it was read, where that could be missed
    rows     of each cell its text, and whether it is no number; () where a grid cannot hold it
    """

    letter: str
    field: str
    row: str
    words: str
    text: str
    remarks: tuple[str, ...]
    rows: tuple[tuple[tuple[str, bool], ...], ...]

    @property
    def width(self) -> int:
        """Characters that a cell has room for."""
        return min(max(NARROWEST, *(len(text) for row in self.rows for text, _ in row)), WIDEST)


def grids_of(state: State) -> Iterator[Grid]:
    """Q, K and V, in this order.

    state  of the bench
    Raises nothing. Special cases: what cannot be read stands in the cells that it seems to be in; a matrix
    that is empty has a few empty cells.
    """
    for letter, (row, words) in NAMES.items():
        text = getattr(state, letter)
        texts, remarks = _read(text)
        fits = len(texts) <= MOST_TOKENS and len(texts[0]) <= MOST_WIDTH
        yield Grid(
            letter, MATRICES[letter], row, words, text, remarks, _cells(texts, bool(text)) if fits else ()
        )


def _cells(texts: list[list[str]], is_begun: bool) -> tuple[tuple[tuple[str, bool], ...], ...]:
    return tuple(tuple((text, is_begun and _is_bad(text)) for text in line) for line in texts)


def _read(text: str) -> tuple[list[list[str]], tuple[str, ...]]:
    """The texts of the cells, in rows of one length, and the remarks about them."""
    try:
        entries = read_entries(text)
    except AnswerError:
        return _seen(text), ()
    return [[number.text if number else "" for number in row] for row in entries.rows], entries.remarks


def _seen(text: str) -> list[list[str]]:
    """What stands apart by blanks, line by line."""
    lines = [line.split() for line in re.split(r"[;\n]", text) if line.strip()] or [[""] * EMPTY[1]] * EMPTY[
        0
    ]
    width = max(map(len, lines))
    return [line + [""] * (width - len(line)) for line in lines]


def _is_bad(text: str) -> bool:
    try:
        read_number(text)
    except AnswerError:
        return True
    return False
