"""A trace as data to be rendered: each step's title, formula and tables, and how their entries came about."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import UnknownNameError
from ..mechanism.arithmetic import Worked, source_of, unshifted, worked
from ..mechanism.fields import axes_of, field_named
from ..mechanism.numerals import DIGITS
from ..mechanism.steps import Step
from ..mechanism.tracing import Trace, seeds
from ..mistakes.lookup import typical_at
from .formulas import formula_of
from .grids import EVERY, Choice, Grid, caption_of, grid_of, is_large, places_of, summary_of

MOST_WORKED = (
    36  # entries of one result whose arithmetic is written out: a 6 × 6 table, or two heads of 4 × 4
)
COPIES = (
    "query_heads",
    "key_heads",
    "value_heads",
    "key_repeated",
    "value_repeated",
    "merged",
)  # no arithmetic in these
LARGE = "Too large to be shown whole; --json has every number. "
ONE = "One entry worked out: --step {name} --entry 1,1"


@dataclass(frozen=True)
class Block:
    """One table and how its entries came about.

    Fields
    caption  which head and batch element; "" where there is one only
    grid     None where only the arithmetic of an entry was asked for
    worked   line by line; empty where the table is large or only hands on what was there
    """

    caption: str
    grid: Grid | None
    worked: tuple[Worked, ...] = ()


@dataclass(frozen=True)
class Section:
    """One result of one step, or of the problem's own numbers.

    Fields
    title    a verb phrase; field: the result's name, as answers and JSON have it
    formula  in plain characters; "" for what the problem gives
    blocks   one for each head and batch element, or two for a summary
    note     what else is to be said, or ""
    mistakes what learners get wrong at this step, by id; with the last of its results
    """

    title: str
    field: str
    formula: str
    blocks: tuple[Block, ...]
    note: str = ""
    mistakes: tuple[str, ...] = ()


def sections_of(
    trace: Trace, digits: int = DIGITS, choice: Choice = EVERY, fields: Sequence[str] = ()
) -> tuple[Section, ...]:
    """What the problem gives and every step that it asks for; or only the steps that give these fields.

    Raises UnknownNameError: there is no such head or batch element.
    """
    steps = tuple(
        _section(trace, step, name, digits, choice)
        for step, name in made_by(trace)
        if not fields or name in fields
    )
    return steps if fields else (*_given(trace, digits, choice), *steps)


def made_by(trace: Trace) -> Iterator[tuple[Step, str]]:
    """Each step that the problem asks for, with each field it gives; the last of them is called output."""
    last = source_of(trace, "output") if "output" in trace else ""
    for step in trace.steps:
        for name in step.writes:
            if name in trace:
                yield step, "output" if name == last else name


def fields_named(trace: Trace, asked: str) -> tuple[str, ...]:
    """The fields that a step's or a field's name means; of a step that is not asked for, what it hands on.

    Raises UnknownNameError, naming the steps of this problem.
    """
    there = list(made_by(trace))
    names = [name for _, name in there]
    if asked in trace and asked not in names:
        asked = next((name for name in names if source_of(trace, name) == source_of(trace, asked)), asked)
    found = tuple(name for step, name in there if asked in (name, step.name))
    if not found:
        near = difflib.get_close_matches(asked, names, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise UnknownNameError(
            f"this problem has no step {asked[:60]!r}. {hint}Its steps are {', '.join(names)}."
        )
    return (asked,) if asked in found else found


def _given(trace: Trace, digits: int, choice: Choice) -> tuple[Section, ...]:
    names = [name for name in seeds(trace.problem) if name != "x_key" or trace.problem.x_key is not None]
    return tuple(
        Section(f"Given: {field_named(name).title}", name, "", _tables(trace, name, digits, choice))
        for name in names
    )


def _section(trace: Trace, step: Step, name: str, digits: int, choice: Choice) -> Section:
    blocks, note = _tables(trace, name, digits, choice), ""
    if is_large(trace, name, choice):
        note = LARGE + ONE.format(name=name)
    elif name not in COPIES:
        note = ONE.format(name=name) if sum(_size(block.grid) for block in blocks) > MOST_WORKED else ""
        blocks = blocks if note else tuple(_with_arithmetic(trace, name, digits, choice))
    title, formula = _title(trace, step, name), formula_of(step, trace.problem)
    return Section(title, name, formula, blocks, note, _typical(trace, step, name))


def _typical(trace: Trace, step: Step, name: str) -> tuple[str, ...]:
    last = [field for made, field in made_by(trace) if made is step][-1]
    return tuple(mistake.id for mistake in typical_at(trace.problem, step.name)) if name == last else ()


def _title(trace: Trace, step: Step, name: str) -> str:
    several = sum(other is step for other, _ in made_by(trace)) > 1
    return f"{step.title}: {field_named(name).title}" if several else step.title


def _tables(trace: Trace, name: str, digits: int, choice: Choice) -> tuple[Block, ...]:
    if is_large(trace, name, choice):
        grids: Sequence[Grid] = summary_of(trace, name, digits, choice)
    else:
        grids = [grid_of(trace, name, place, digits) for place in places_of(trace, name, choice)]
    return tuple(Block(grid.caption, grid) for grid in grids)


def _size(grid: Grid | None) -> int:
    return sum(map(len, grid.cells)) if grid else 0


def _with_arithmetic(trace: Trace, name: str, digits: int, choice: Choice) -> Iterator[Block]:
    for place in places_of(trace, name, choice):
        grid = grid_of(trace, name, place, digits)
        inner = [
            (i, j)[: _depth(trace, name)] for i in range(len(grid.rows)) for j in range(len(grid.columns))
        ]
        yield Block(
            grid.caption,
            grid,
            tuple(one for index in inner for one in _worked(trace, name, (*place, *index))),
        )


def _depth(trace: Trace, name: str) -> int:
    """How many numbers name an entry of one matrix: one for row quantities."""
    return 1 if axes_of(trace.problem, name)[-1] == "Tq" else 2


def _worked(trace: Trace, name: str, index: tuple[int, ...]) -> Iterator[Worked]:
    """The entry's arithmetic, if there is any; a row's sum also as people work it, without the shift."""
    one = worked(trace, name, index)
    if one.pieces or one.reason:
        yield one
    other = unshifted(trace, index) if name == "row_sum" else None
    if other is not None:
        yield other


# --- one entry -------------------------------------------------------------------------------------


def entry_sections(
    trace: Trace, entry: Sequence[int], choice: Choice = EVERY, fields: Sequence[str] = ()
) -> tuple[Section, ...]:
    """One entry of each of these fields worked out, in each head and batch element.

    entry   row and column, or a row alone, counted from 0
    fields  none: everything that belongs to that query and key
    Raises UnknownNameError: there is no such entry, head or batch element.
    """
    found = [
        (step, name)
        for step, name in made_by(trace)
        if (name in fields if fields else _is_about(trace, name, entry))
    ]
    return tuple(_entry_section(trace, step, name, entry, choice) for step, name in found)


def _is_about(trace: Trace, name: str, entry: Sequence[int]) -> bool:
    """Whether the field has one number for each query and key, or for each query."""
    axes = axes_of(trace.problem, name)
    return axes[-1] == "Tq" or (len(entry) == 2 and axes[-2:] == ("Tq", "Tk"))


def _entry_section(trace: Trace, step: Step, name: str, entry: Sequence[int], choice: Choice) -> Section:
    index = tuple(entry)[: _depth(trace, name)]
    shape = trace[name].shape[-_depth(trace, name) :]
    if len(index) < len(shape) or any(not 0 <= at < size for at, size in zip(index, shape, strict=True)):
        asked, there = ",".join(str(at + 1) for at in entry), " × ".join(map(str, shape))
        raise UnknownNameError(f"{name} has no entry {asked}, counted from 1: its size is {there}.")
    blocks = []
    for place in places_of(trace, name, choice):
        lines = tuple(_worked(trace, name, (*place, *index))) or (worked(trace, name, (*place, *index)),)
        blocks.append(Block(caption_of(trace, name, place), None, lines))
    return Section(_title(trace, step, name), name, formula_of(step, trace.problem), tuple(blocks))
