"""Weights as a heat map, with their numbers, and what it shows in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import OptionError
from ..mechanism.numerals import number_text
from ..mechanism.tracing import Trace
from .drawing import Picture, Theme
from .grids import EVERY, Choice, caption_of, matrix_at, places_of

CELL = 0.62  # inches of one weight
WHOLE, PART = 5.0, 3.0  # inches of a matrix without numbers, alone and beside others
MOST_NUMBERS = 16  # columns up to which every weight is written into its cell
MOST_NAMED = 5  # rows, and columns, of a larger matrix that are named
MOST_PANELS = 4  # heads side by side


def weights_picture(work: Trace, digits: int = 3, choice: Choice = EVERY) -> Picture:
    """The weights of each query over the keys, as a heat map with their numbers.

    work    a problem worked out; digits: decimals; choice: which heads and batch elements
    Raises OptionError where it has no weights. Special cases: of many heads the first few are drawn, and of
    many keys no numbers are written; the description says so.
    """
    if "weights" not in work:
        raise OptionError("this problem has no weights to draw.")
    places = list(places_of(work, "weights", choice))
    shown = places[:MOST_PANELS]
    matrices = [matrix_at(work, "weights", place) for place in shown]
    hidden = [_hidden(work, place) for place in shown]
    captions = [caption_of(work, "weights", place) for place in shown]
    rows, columns = matrices[0].shape
    numbered = columns <= MOST_NUMBERS and rows <= MOST_NUMBERS
    cell = CELL if numbered else min(CELL, (WHOLE if len(shown) == 1 else PART) / max(rows, columns))

    def draw(axes: Sequence[Any], theme: Theme) -> None:
        for own, matrix, mask, caption in zip(axes, matrices, hidden, captions, strict=True):
            _heat_map(own, matrix, mask, caption, digits if numbered else None, theme)

    left = f"The first {len(shown)} of {len(places)} matrices. " if len(places) > len(shown) else ""
    told = left + " ".join(
        _weights_words(work, *each, digits) for each in zip(shown, matrices, hidden, strict=True)
    )
    size = (max(3.4, len(shown) * (columns * cell + 1.0)), max(2.6, rows * cell + 1.5))
    return Picture("weights", "Attention weights", told, size, draw, len(shown))


def _hidden(work: Trace, place: tuple[int, ...]) -> Array:
    """Which weights are 0 because a mask hides the key."""
    if "masked" not in work:
        return np.zeros(matrix_at(work, "weights", place).shape, dtype=bool)
    return np.isneginf(matrix_at(work, "masked", place))


def _heat_map(
    axes: Any, matrix: Array, hidden: Array, caption: str, digits: int | None, theme: Theme
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = matrix.shape
    shades = LinearSegmentedColormap.from_list("weights", [theme.paper, theme.shade])
    told = {"cmap": shades, "vmin": 0, "vmax": 1}
    if digits is None:  # one image: as many shapes as weights would make a file of megabytes
        roots = np.sqrt(np.nan_to_num(matrix))
        axes.imshow(roots, extent=(0, columns, rows, 0), interpolation="nearest", **told)
    else:
        axes.pcolormesh(np.nan_to_num(matrix), edgecolors=theme.rule, linewidth=0.8, **told)
    for i, begin, end in _runs(hidden):
        axes.fill([begin, end, end, begin], [i, i, i + 1, i + 1], fill=False, hatch="///", linewidth=0)
    if digits is not None:
        for i, j in np.argwhere(~hidden):
            text = number_text(matrix[i, j], digits)
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=9, color=theme.ink)
    axes.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", xlabel=caption)
    _count_ticks(axes, rows, columns)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)


def _runs(hidden: Array) -> Iterator[tuple[int, int, int]]:
    """Hidden entries beside one another: row, first column, and the column after the last."""
    for i, row in enumerate(hidden):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        yield from ((i, int(begin), int(end)) for begin, end in edges.reshape(-1, 2))


def _count_ticks(axes: Any, rows: int, columns: int) -> None:
    """The names of rows and columns; of many, some."""
    size = max(rows, columns)
    every = 1 if size <= MOST_NUMBERS else math.ceil(size / MOST_NAMED)
    across, down = range(0, columns, every), range(0, rows, every)
    key, query = ("key ", "query ") if every == 1 and columns <= 6 else ("k", "q")
    axes.set_xticks([j + 0.5 for j in across], [f"{key}{j + 1}" for j in across])
    axes.set_yticks([i + 0.5 for i in down], [f"{query}{i + 1}" for i in down])


def _weights_words(work: Trace, place: tuple[int, ...], matrix: Array, hidden: Array, digits: int) -> str:
    caption = caption_of(work, "weights", place)
    head = f"{caption[0].upper()}{caption[1:]}: " if caption else ""
    if max(matrix.shape) > MOST_NUMBERS:
        return head + _summary(matrix, hidden, digits)
    rows = enumerate(zip(matrix, hidden, strict=True))
    return head + " ".join(_row_words(i, row, own, digits) for i, (row, own) in rows)


def _summary(matrix: Array, hidden: Array, digits: int) -> str:
    """Of many weights: how many, how many are hidden, and the largest."""
    i, j = np.unravel_index(int(np.argmax(matrix)), matrix.shape)
    count = f"{len(matrix)} queries and {matrix.shape[1]} keys"
    seen = f", {int(hidden.sum()):,} of the {matrix.size:,} pairs hidden" if hidden.any() else ""
    largest = f"The largest weight is {number_text(matrix[i, j], digits)}, of query {i + 1} for key {j + 1}"
    mean = number_text(float(matrix.max(axis=-1).mean()), digits)
    average = f"on average, a query gives {mean} to the key that it gives most"
    return f"{count}{seen}. {largest}; {average}. Shades go with the square root of a weight."


def _row_words(i: int, row: Array, hidden: Array, digits: int) -> str:
    """All the weights of one row."""
    if hidden.all():
        return f"Query {i + 1} sees no key."
    parts = (
        f"key {j + 1} {'hidden' if is_hidden else number_text(weight, digits)}"
        for j, (weight, is_hidden) in enumerate(zip(row, hidden, strict=True))
    )
    return f"Query {i + 1}: {', '.join(parts)}."
