"""Marks as plain sentences: how many, which not, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..mechanism.fields import axes_of, field_named
from ..problem import Problem
from .verdicts import BLANK, FOLLOWS, NOT_RIGHT, RIGHT, SHORT, short_note

if TYPE_CHECKING:
    from .marking import StepMark

MOST_ROWS = 4  # rows named in a sentence; the table shows the rest
AXIS_WORDS = {"H": "head", "Hkv": "head"}


def step_sentence(problem: Problem, step: str, verdicts: Array, digits: int | None) -> str:
    """One step: "6 of 9 entries are right; row 2, columns 1 and 3 are not."."""
    counts = {word: int((verdicts == word).sum()) for word in (RIGHT, FOLLOWS, SHORT, NOT_RIGHT, BLANK)}
    asked = sum(counts.values())
    if counts[RIGHT] == asked:
        return "The entry is right." if asked == 1 else f"All {asked} entries are right."
    if asked == 1:
        return _one(next(word for word, count in counts.items() if count), digits)
    said = [_first(problem, step, verdicts, counts, asked)]
    if counts[FOLLOWS]:
        said.append(f"{_following(counts, asked)} from your step before.")
    if counts[SHORT]:
        said.append(
            f"{_entries(counts[SHORT])}: {short_note(digits or 0)[0].lower()}{short_note(digits or 0)[1:]}"
        )
    if counts[BLANK]:
        said.append(
            f"{_entries(counts[BLANK])} {'is' if counts[BLANK] == 1 else 'are'} still to be filled in."
        )
    return " ".join(said)


def _first(problem: Problem, step: str, verdicts: Array, counts: dict[str, int], asked: int) -> str:
    right = f"{counts[RIGHT]} of {asked} entries {'is' if counts[RIGHT] == 1 else 'are'} right"
    if not counts[NOT_RIGHT]:
        return f"{right}."
    if counts[NOT_RIGHT] == asked:
        return f"None of the {asked} entries is right."
    where = place_words(problem, step, np.argwhere(verdicts == NOT_RIGHT))
    return f"{right}; {where} {'is' if counts[NOT_RIGHT] == 1 else 'are'} not."


def _one(verdict: str, digits: int | None) -> str:
    if verdict == SHORT:
        return short_note(digits or 0)
    return {FOLLOWS: "The entry follows from your step before.", NOT_RIGHT: "The entry is not right."}[
        verdict
    ]


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _following(counts: dict[str, int], asked: int) -> str:
    judged = counts[RIGHT] + counts[NOT_RIGHT]
    if judged and judged + counts[FOLLOWS] == asked:
        return "The rest follows"
    return f"{_entries(counts[FOLLOWS])} follow{'s' if counts[FOLLOWS] == 1 else ''}"


def marking_sentence(problem: Problem, steps: Sequence[StepMark]) -> str:
    """All steps: the marks, the first step that is not right, and what became of the later ones."""
    if len(steps) == 1:
        return steps[0].sentence
    marks, out_of = sum(step.marks for step in steps), sum(step.out_of for step in steps)
    if all(step.verdict == RIGHT for step in steps):
        return f"All {out_of} entries of {len(steps)} steps are right."
    said = [f"{marks} of {out_of} marks."]
    wrong = next((index for index, step in enumerate(steps) if step.verdict == NOT_RIGHT), None)
    if wrong is not None:
        first = steps[wrong]
        where = place_words(problem, first.step, np.argwhere(first.verdicts == NOT_RIGHT))
        said.append(f"The first that is not right: {field_named(first.step).title}, {where}.")
        later = steps[wrong + 1 :]
        if later and all(step.verdict in (RIGHT, FOLLOWS) for step in later):
            said.append("The rest follows.")
    return " ".join(said)


def place_words(problem: Problem, step: str, indices: Array) -> str:
    """Entries in words, counted from 1: "row 1, column 2 and row 3, columns 1 and 3"."""
    is_row_quantity = axes_of(problem, step)[-1] == "Tq"
    rows: dict[tuple[int, ...], list[int]] = {}
    for index in indices.tolist():
        rows.setdefault(tuple(index if is_row_quantity else index[:-1]), []).append(index[-1] + 1)
    named = []
    for row, columns in list(rows.items())[:MOST_ROWS]:
        column = "" if is_row_quantity else f", column{'s' if len(columns) > 1 else ''} {_list(columns)}"
        named.append(index_words(problem, step, row) + column)
    if len(rows) > MOST_ROWS:
        named.append(f"{len(rows) - MOST_ROWS} more row{'s' if len(rows) > MOST_ROWS + 1 else ''}")
    return "; ".join(named[:-1]) + " and " + named[-1] if len(named) > 1 else named[0]


def index_words(problem: Problem, step: str, index: Sequence[int]) -> str:
    """The leading part of an index: "head 2, row 1"; nothing where there is none."""
    axes = axes_of(problem, step)
    lead = ["P", *problem.batch] if step.startswith("part_") else [*problem.batch]
    names = ["part" if axis == "P" else "batch element" for axis in lead]
    names += [AXIS_WORDS.get(axis, "row") for axis in axes]
    return ", ".join(f"{name} {number + 1}" for name, number in zip(names, index, strict=False))


def _list(numbers: Iterable[int]) -> str:
    words = [str(number) for number in numbers]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
