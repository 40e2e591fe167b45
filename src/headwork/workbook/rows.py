"""The rows of a result as a learner types them: one after the other, head by head, part by part."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..diagnosis.sentences import index_words
from ..mechanism.fields import axes_of
from ..mechanism.tracing import Trace

ROW_NAMES = {"Tq": "query", "Tk": "key"}

Place = tuple[int, ...]


def is_column(work: Trace, step: str) -> bool:
    """Whether a result has one number for each query, as a row's sum has."""
    return axes_of(work.problem, step)[-1] == "Tq"


def columns_of(work: Trace, step: str) -> int:
    """How many numbers a row of a result has."""
    return 1 if is_column(work, step) else work[step].shape[-1]


def row_places(work: Trace, step: str, rows: Iterable[int] = ()) -> tuple[Place, ...]:
    """The index of each row that is asked for, from 0, with its head and part in front.

    rows  which rows of each head, from 1; none: all
    Raises nothing. Special cases: none.
    """
    shape = work[step].shape
    asked = [row - 1 for row in rows]
    places = np.ndindex(shape if is_column(work, step) else shape[:-1])
    return tuple(place for place in places if not asked or place[-1] in asked)


def row_title(work: Trace, step: str, place: Place) -> str:
    """What a row is called, counted from 1: "query 2", or "head 1, query 2"."""
    row = f"{row_axis(work, step)} {place[-1] + 1}"
    return ", ".join(part for part in (block_title(work, step, place), row) if part)


def row_axis(work: Trace, step: str) -> str:
    """What a row stands for: "query", "key", or "row"."""
    axes = axes_of(work.problem, step)
    return ROW_NAMES.get(axes[-1] if is_column(work, step) else axes[-2], "row")


def block_title(work: Trace, step: str, place: Place) -> str:
    """The head and part that a row belongs to; "" where there is one only."""
    return index_words(work.problem, step, place[:-1]) if place[:-1] else ""
