"""Where an entry stands, in words, as people count: from 1, and without a head axis that they never had."""

from __future__ import annotations

from ..mechanism.fields import axes_of, canonical_axes
from ..problem import Problem

WORDS = {"H": "head", "Hkv": "head", "P": "part"}


def entry_words(problem: Problem, step: str, index: tuple[int, ...]) -> str:
    """ "row 3, column 2", with batch element and head in front where there are any."""
    axes = canonical_axes(problem, step)
    if axes[-1] == "Tq":  # a row quantity, kept with a last axis of 1
        return row_words(problem, step, index[:-1])
    return f"{row_words(problem, step, index[:-1])}, column {index[-1] + 1}"


def row_words(problem: Problem, step: str, index: tuple[int, ...]) -> str:
    """ "row 3", with batch element and head in front where there are any."""
    head = head_words(problem, step, index[:-1])
    return f"{head}, row {index[-1] + 1}" if head else f"row {index[-1] + 1}"


def head_words(problem: Problem, step: str, index: tuple[int, ...]) -> str:
    """ "batch element 1, head 2", as far as there are any."""
    axes = canonical_axes(problem, step)
    named = (axes if axes[-1] == "Tq" else axes[:-1])[:-1]
    visible = axes_of(problem, step)
    batch = index[: len(index) - len(named)]
    parts = [f"batch element {number + 1}" for number in batch]
    for axis, number in zip(named, index[len(batch) :], strict=False):
        if axis in visible:
            parts.append(f"{WORDS.get(axis, axis)} {number + 1}")
    return ", ".join(parts)


def seen_index(problem: Problem, step: str, index: tuple[int, ...]) -> tuple[int, ...]:
    """A canonical index as people see that step: no head axis that they never had, no last one of 1."""
    axes, visible = canonical_axes(problem, step), axes_of(problem, step)
    batch = len(problem.batch)
    seen = (at for axis, at in zip(axes, index[batch:], strict=False) if axis in visible)
    return (*index[:batch], *seen)
