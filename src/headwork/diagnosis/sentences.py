"""Marks as plain sentences: how many, which not, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..mechanism.fields import axes_of, field_named
from ..problem import Problem
from .verdicts import BLANK, FOLLOWS, NOT_RIGHT, RIGHT, SHORT, short_note

if TYPE_CHECKING:
    from .marking import StepMark

MOST_ROWS = 4  # rows named in a sentence; the table shows the rest
LONG_RUN = 3  # columns in a row that are named by the first and the last
AXIS_WORDS = {"H": "head", "Hkv": "head", "P": "part"}


def entries(count: int) -> str:
    """ "1 entry", "9 entries"."""
    return "1 entry" if count == 1 else f"{count:,} entries"


def all_entries(count: int) -> str:
    """ "the entry", "both entries", "all 9 entries"."""
    return {1: "the entry", 2: "both entries"}.get(count, f"all {count:,} entries")


def none_right(count: int) -> str:
    """ "None of the 9 entries is right", without its full stop."""
    few = {1: "The entry is not right", 2: "Neither entry is right"}
    return few.get(count, f"None of the {count:,} entries is right")


def is_are(count: int) -> str:
    """The verb for so many."""
    return "is" if count == 1 else "are"


def step_sentence(problem: Problem, step: str, verdicts: Array, digits: int | None) -> str:
    """One step: "6 of 9 entries are right. Not right: row 2, columns 1 and 3."."""
    counts = {word: int((verdicts == word).sum()) for word in (RIGHT, FOLLOWS, SHORT, NOT_RIGHT, BLANK)}
    asked = sum(counts.values())
    alike = next((word for word, count in counts.items() if count == asked), None)
    if alike is not None:
        return _all_alike(alike, asked, digits)
    where = place_words(problem, step, np.argwhere(verdicts == NOT_RIGHT)) if counts[NOT_RIGHT] else ""
    return " ".join(_mixed(counts, asked, where, digits))


def _all_alike(verdict: str, count: int, digits: int | None) -> str:
    """Where every entry asked has the same verdict."""
    every = all_entries(count).capitalize()
    follow = "follows" if count == 1 else "follow"
    return {
        RIGHT: f"{every} {is_are(count)} right.",
        FOLLOWS: f"{every} {follow} from your step before.",
        SHORT: short_note(digits or 0),
        NOT_RIGHT: f"{none_right(count)}.",
        BLANK: f"{every} {is_are(count)} still to be filled in.",
    }[verdict]


def _mixed(counts: dict[str, int], asked: int, where: str, digits: int | None) -> Iterator[str]:
    right, follows, short, blank = (counts[word] for word in (RIGHT, FOLLOWS, SHORT, BLANK))
    said = f"{right} of {entries(asked)} {is_are(right)} right"
    if counts[NOT_RIGHT] == 1 and right:
        yield f"{said}; {where} is not."
    else:
        yield from (f"{said}." for _ in range(right > 0))
        yield from (f"Not right: {where}." for _ in range(counts[NOT_RIGHT] > 0))
    if follows and not short and not blank:
        yield "The rest follows from your step before."
    elif follows:
        yield f"{entries(follows)} {'follows' if follows == 1 else 'follow'} from your step before."
    if short:
        note = short_note(digits or 0)
        yield f"{entries(short)}: {note[0].lower()}{note[1:]}"
    if blank:
        yield f"{entries(blank)} {is_are(blank)} still to be filled in."


def marking_sentence(problem: Problem, steps: Sequence[StepMark]) -> str:
    """All steps: the marks, the first step that is not right, and what became of the later ones."""
    if len(steps) == 1:
        return steps[0].sentence
    marks, out_of = sum(step.marks for step in steps), sum(step.out_of for step in steps)
    if all(step.verdict == RIGHT for step in steps):
        return f"{all_entries(out_of).capitalize()} of {len(steps)} steps are right."
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
    """Entries in words, counted from 1: "row 1, column 2; row 3, columns 1 and 3"; row sums "rows 1 to 4"."""
    what, groups = ("row", "head") if axes_of(problem, step)[-1] == "Tq" else ("column", "row")
    numbers: dict[tuple[int, ...], list[int]] = {}
    for *lead, last in indices.tolist():
        numbers.setdefault(tuple(lead), []).append(last + 1)
    named = []
    for lead, lasts in list(numbers.items())[:MOST_ROWS]:
        parts = [index_words(problem, step, lead), f"{what}{'s' if len(lasts) > 1 else ''} {_list(lasts)}"]
        named.append(", ".join(part for part in parts if part))
    more = len(numbers) - MOST_ROWS
    return "; ".join(named) + (f" and {more:,} more {groups}{'s' if more > 1 else ''}" if more > 0 else "")


def index_words(problem: Problem, step: str, index: Sequence[int]) -> str:
    """The leading part of an index: "head 2, row 1"; nothing where there is none."""
    names = ["batch element"] * len(problem.batch)
    names += [AXIS_WORDS.get(axis, "row") for axis in axes_of(problem, step)]
    return ", ".join(f"{name} {number + 1}" for name, number in zip(names, index, strict=False))


def _list(numbers: Sequence[int]) -> str:
    """ "1, 3 and 5", with "4 to 9" for numbers that follow each other."""
    words = list(_runs(numbers))
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    start = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            run = numbers[start:end]
            yield from [f"{run[0]} to {run[-1]}"] if len(run) >= LONG_RUN else map(str, run)
            start = end
