"""`headwork explain` and `headwork mistakes`: one mistake with a small example, and the list of all."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..mechanism.fields import field_named
from ..mechanism.steps import STEPS
from ..mistakes.catalogue import TOPICS
from ..mistakes.example import Example, example_of
from ..mistakes.lookup import Entry, entries, entry_named, search
from ..mistakes.mistake import Mistake
from ..problem import Problem
from .grids import EVERY, Grid, grid_of, places_of
from .input_text import input_lines
from .json_text import json_text
from .latex_text import plain_formula
from .show import size_text
from .text import NO_BREAK, bold, plain_lines, spelled, table_lines, width_of_page, wrapped

DIFFERS, DIFFERS_IN_WORDS = "≠", "differs"
MOST_LINES = 8  # rows or columns of a table; in larger ones, those that differ first
MOST_NUMBERS = 60  # of the example's input
GAP = 4  # blanks between two tables
ID_WIDTH = 34  # the longest id has 33 letters
# the places where the right pipeline does nothing, and a wrong one may
SLOTS = {
    "before-softmax": "between the mask and the softmax",
    "empty-rows": "in rows that may see nothing",
    "after-softmax": "between the softmax and the blend",
}
CONVENTION = "Good systems differ here: a difference is reported as a convention, not as a mistake."
NARROW = "The rule is right, and the arithmetic has fewer bits: it is reported as rounding."
SOLVED = "The number {symbol} is worked out from the answer."


# --- explain ---------------------------------------------------------------------------------------


def run_explain(name: str, *, json: bool = False, plain: bool = False) -> int:
    """Print what a mistake is; the exit status. Raises UnknownNameError."""
    entry = entry_named(name)
    example = example_of(entry.mistake)
    recipe = entry.mistake.blind_spot
    blind = None if recipe is None else recipe.draw()
    if json:
        print(json_text({**entry.to_dict(), "example": example, "blind_spot": blind}))
        return 0
    for line in page(entry, example, blind, plain):
        print(line)
    return 0


def page(entry: Entry, example: Example, blind: Problem | None, plain: bool) -> Iterator[str]:
    """The lines about one mistake."""
    width = width_of_page()

    def said(text: str, margin: str = "", hang: str = "") -> str:
        return wrapped(spelled(text) if plain else text, width, margin, hang)

    heading = f"{entry.id}: {entry.title}"
    yield said(heading) if plain else bold(wrapped(heading, width, "", "  "))
    yield ""
    formula = plain_formula(entry.mistake.formula)
    yield said(formula.replace(" · ", "·") if plain else formula, "    ")
    yield wrapped(f"LaTeX: {entry.mistake.formula}", width, "    ")
    yield ""
    for text in _facts(entry):
        yield said(text, hang="  ")
    yield from _same_lines(entry, width, plain)
    yield ""
    yield bold("For example") if not plain else "For example"
    yield from (said(line, "  ", "    ") for line in input_lines(example.problem, MOST_NUMBERS))
    for name in example.ends:
        yield ""
        yield from compared(example, name, labels_of(entry.mistake), width, plain)
    yield ""
    yield said(_blind_sentence(entry.mistake, blind))


def _facts(entry: Entry) -> Iterator[str]:
    mistake = entry.mistake
    titles = [SLOTS.get(step.name, step.title.lower()) for step in STEPS if step.name in mistake.steps]
    yield f"Where: {'; '.join(titles) or 'in the problem itself'} ({entry.topic.id})."
    if mistake.convention:
        yield CONVENTION
    if mistake.narrow:
        yield NARROW
    is_wrong = not mistake.convention and not mistake.narrow
    yield f"{'Why it is not right' if is_wrong else 'Why the numbers differ'}: {entry.own.why}"
    yield f"How to mend it: {entry.own.mend}"
    if mistake.parameter:
        yield SOLVED.format(symbol=mistake.parameter.symbol)
    yield f"Source: {entry.source}."


def _same_lines(entry: Entry, width: int, plain: bool) -> Iterator[str]:
    """The other names of the same numbers."""
    others = [other for other in entries() if other.id in entry.same_as]
    if others:
        yield ""
        yield "Always the same numbers:"
    for other in others:
        yield from _listed(other, width, plain)


def _blind_sentence(mistake: Mistake, blind: Problem | None) -> str:
    is_whole = mistake.hides_when.startswith(("never", "always"))
    text = f"It hides {mistake.hides_when}." if is_whole else f"It hides when {mistake.hides_when}."
    size = "" if blind is None else size_text(blind).replace(" = ", f"{NO_BREAK}={NO_BREAK}")
    return f"{text} It cannot be seen, for example, with {size}" if size else text


# --- the example's tables ---------------------------------------------------------------------------


def labels_of(mistake: Mistake) -> tuple[str, str]:
    """What the two tables are called."""
    if mistake.convention:
        return "here", "elsewhere"
    return ("exact", "in fewer bits") if mistake.narrow else ("right", "wrong")


def compared(example: Example, name: str, labels: tuple[str, str], width: int, plain: bool) -> Iterator[str]:
    """The right numbers and the wrong ones, side by side where they fit; those that differ are marked.

    labels  what the two tables are called
    """
    right, wrong, caption = example_grids(example, name, plain)
    title = f"{field_named(name).title.capitalize()} ({name}){', ' + caption if caption else ''}"
    yield f"  {spelled(title) if plain else title}{_number(example)}"
    if plain:
        for label, grid in zip(labels, (right, wrong), strict=True):
            yield from (f"{label}, {spelled(line)}" for line in plain_lines(grid))
        return
    tables = [
        [label, *table_lines(grid, width, "")] for label, grid in zip(labels, (right, wrong), strict=True)
    ]
    sizes = [max(map(len, table)) for table in tables]
    if sum(sizes) + GAP + 2 <= width:
        for left, other in zip(*tables, strict=True):
            yield f"  {left:<{sizes[0] + GAP}}{other}".rstrip()
    else:
        yield from (f"  {line}".rstrip() for table in (tables[0], [""], tables[1]) for line in table)


def _number(example: Example) -> str:
    return "" if example.theta is None else f", with θ = {example.theta:g}"


def example_grids(example: Example, name: str, plain: bool) -> tuple[Grid, Grid, str]:
    """Tables of the right and the wrong numbers of one head, and which head it is."""
    right, wrong = example.right, example.wrong
    differs = example.differs(name)
    place = next(place for place in places_of(right, name, EVERY) if differs[place].any())
    matrix = differs[place].reshape(len(differs[place]), -1)
    lines = [_telling(matrix.any(axis=1 - axis)) for axis in (0, 1)]
    digits = example.digits(name)
    grids = [grid_of(work, name, place, digits, *lines) for work in (right, wrong)]
    marked = tuple(
        tuple(_marked(a, b, plain) for a, b in zip(*rows, strict=True))
        for rows in zip(grids[0].cells, grids[1].cells, strict=True)
    )
    return grids[0], replace(grids[1], cells=marked), grids[0].caption


def _telling(differs: Array) -> Sequence[int]:
    """All lines of a small table; of a large one those that differ, in order."""
    if len(differs) <= MOST_LINES:
        return range(len(differs))
    return sorted(np.argsort(~differs, kind="stable")[:MOST_LINES].tolist())


def _marked(right: str, wrong: str, plain: bool) -> str:
    if right == wrong:
        return wrong
    return f"{wrong} {DIFFERS_IN_WORDS}" if plain else f"{DIFFERS} {wrong}"


# --- the list --------------------------------------------------------------------------------------


def run_mistakes(
    words: Sequence[str] = (), *, step: str | None = None, json: bool = False, plain: bool = False
) -> int:
    """Print the catalogue, or what is found in it; the exit status. Raises UnknownNameError."""
    found = search(words, step)
    if json:
        print(json_text({"count": len(found), "mistakes": found}))
        return 0
    for line in list_page(found, words, width_of_page(), plain):
        print(line)
    return 0


def list_page(found: Sequence[Entry], words: Sequence[str], width: int, plain: bool) -> Iterator[str]:
    """By topic; what was searched for, the best first."""
    if not found:
        sought = " and ".join(repr(word[:40]) for word in words)
        yield wrapped(f"No mistake has {sought} in its words.", width, "", "")
        yield "headwork mistakes lists all of them."
        return
    yield wrapped(_count_sentence(found, words), width, "", "")
    if words:
        yield ""
        for entry in found:
            yield from _listed(entry, width, plain)
        return
    for topic in TOPICS:
        members = [entry for entry in found if entry.topic is topic]
        if members:
            yield ""
            title = f"{topic.title} ({topic.id}, {len(members)})"
            yield title if plain else bold(title)
            for entry in members:
                yield from _listed(entry, width, plain)


def _count_sentence(found: Sequence[Entry], words: Sequence[str]) -> str:
    records = len({entry.mistake.id for entry in found})
    more = f" under {len(found)} names" if len(found) > records else ""
    what = "1 mistake" if records == 1 else f"{records} mistakes"
    order = ", the best first" if words and len(found) > 1 else ""
    return f"{what}{more}{order}. headwork explain ID says more about one."


def _listed(entry: Entry, width: int, plain: bool) -> Iterator[str]:
    title = f"{entry.title} (convention)" if entry.mistake.convention else entry.title
    if plain:
        yield f"{entry.id}: {spelled(title)}"
        return
    lines = textwrap.wrap(title, width - ID_WIDTH - 2, break_on_hyphens=False)
    yield f"  {entry.id:<{ID_WIDTH}}{lines[0]}"
    yield from (f"  {'':<{ID_WIDTH}}{line}" for line in lines[1:])
