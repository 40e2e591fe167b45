"""`headwork mark`: each step's entries with a sign and a word, what there is to say of them, and a hint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..diagnosis.marking import Marking, StepMark, mark
from ..diagnosis.sentences import index_words, place_words
from ..diagnosis.verdicts import BLANK, FOLLOWS, NOT_RIGHT, RIGHT, SHORT
from ..errors import AnswerError
from ..mechanism.fields import axes_of, field_named
from ..problem import Problem
from .files import read_answers, read_problem
from .grids import MOST_COLUMNS, MOST_ENTRIES, ROW_NAMES, Grid
from .json_text import json_text
from .text import bold, plain_lines, spelled, table_lines, width_of_page, wrapped

SIGNS = {RIGHT: "✓", FOLLOWS: "↳", SHORT: "…", NOT_RIGHT: "✗", BLANK: "_"}
LEGEND = {RIGHT: "right", FOLLOWS: "follows", SHORT: "right so far", NOT_RIGHT: "not right", BLANK: "blank"}
MOST_NOTES = 12


def run_mark(
    problem_text: str,
    answers_text: str,
    *,
    step: str | None = None,
    digits: int | None = None,
    row: tuple[int, ...] | None = None,
    entry: tuple[int, ...] | None = None,
    why: bool = False,
    json: bool = False,
    plain: bool = False,
) -> int:
    """Print the marks; the exit status. Raises HeadworkError.

    row, entry  which of them the numbers answer, counted from 0; the head in front where there are several
    why         say what gives the numbers of a step that is not right; otherwise only where to look
    """
    problem = read_problem(problem_text)
    answers = named_answers(read_answers(answers_text), step, row, entry)
    marking = mark(problem, answers, digits)
    if json:
        print(json_text(marking))
    else:
        for line in page(problem, marking, why, plain):
            print(line)
    return 0 if marking.is_right else 1


def named_answers(
    answers: Any,
    step: str | None = None,
    row: tuple[int, ...] | None = None,
    entry: tuple[int, ...] | None = None,
) -> Mapping[str, Any]:
    """The answers by step, as `mark` takes them. Raises AnswerError where nothing says which step it is."""
    if row is not None and entry is not None:
        raise AnswerError("--row and --entry are both given; keep one of the two.")
    if isinstance(answers, Mapping):
        return _chosen(answers, step, is_part=row is not None or entry is not None)
    if step is None:
        raise AnswerError(
            "these numbers do not say which step they answer. Name it: --step scores, --step weights, "
            "--step output; headwork show lists the steps."
        )
    if entry is not None:
        return {step: {"entry": entry, "value": answers}}
    return {step: answers if row is None else {"row": row, "values": answers}}


def _chosen(answers: Mapping[str, Any], step: str | None, is_part: bool) -> Mapping[str, Any]:
    if is_part:
        raise AnswerError("--row and --entry go with numbers alone; answers with names say it themselves.")
    if step is None or answers.get("step") == step:
        return answers
    if step not in answers:
        raise AnswerError(
            f"there is no answer to {step} here; there is one to {', '.join(map(str, answers))}."
        )
    return {step: answers[step]}


# --- the page ---------------------------------------------------------------------------------------


def page(problem: Problem, marking: Marking, why: bool = False, plain: bool = False) -> Iterator[str]:
    """All steps, each with a hint or with all that explains it, then the sum."""
    width = width_of_page()
    for step in marking.steps:
        yield from render_step(problem, step, plain)
        for text in explained(marking, step.step, why):
            yield from _said(text, width, plain)
        yield ""
    if len(marking.steps) > 1:
        yield from _said(marking.sentence, width, plain, "")
    yield from _said(f"One mark for each entry; {marking.assumed}.", width, plain, "")
    if not why and any(found.verdict != "unexplained" for found in marking.explanations.values()):
        yield "--why says what gives these numbers."


def explained(marking: Marking, step: str, why: bool) -> Iterator[str]:
    """Where to look in a step that is not right; on request everything about it."""
    found = marking.explanations.get(step)
    if found is None:
        return
    if why:
        from .explanation_text import explanation_texts  # the catalogue, which right answers do without

        yield from explanation_texts(found)
    elif found.hint:
        yield found.hint


def render_step(problem: Problem, step: StepMark, plain: bool = False) -> Iterator[str]:
    """The lines for one step: its name, what was read, the entries and verdicts, the sentence, notes."""
    width = width_of_page()
    title = f"{field_named(step.step).title.capitalize()} ({step.step})"
    yield spelled(title) if plain else bold(title)
    if step.remarks:
        for line in step.echo[:MOST_NOTES]:
            yield from _said(line, width, plain)
    if _is_shown(step):
        yield from _tables(problem, step, width, plain)
    yield from _said(step.sentence, width, plain)
    yield from _notes(problem, step, width, plain)


def _said(text: str, width: int, plain: bool, margin: str = "  ") -> Iterator[str]:
    yield wrapped(spelled(text) if plain else text, width, margin, "")


def _is_shown(step: StepMark) -> bool:
    return step.verdicts.shape[-1] <= MOST_COLUMNS * 2 and step.verdicts.size <= MOST_ENTRIES


def _tables(problem: Problem, step: StepMark, width: int, plain: bool) -> Iterator[str]:
    for grid in step_grids(problem, step, plain):
        if grid.caption:
            yield f"  {grid.caption}:"
        yield from plain_lines(grid) if plain else table_lines(grid, width)
    present = [verdict for verdict in SIGNS if step.count(verdict)]
    if not plain:
        yield "  " + "   ".join(f"{SIGNS[verdict]} {LEGEND[verdict]}" for verdict in present)


def step_grids(problem: Problem, step: StepMark, plain: bool = False) -> Iterator[Grid]:
    """A table for each head with the rows asked: of "✓ 2", or of "2 right" in plain text."""
    axes = axes_of(problem, step.step)
    is_column = axes[-1] == "Tq"
    cells = _cells(step, plain)
    if is_column:
        cells = cells[..., None]
    row_name = ROW_NAMES.get(axes[-1] if is_column else axes[-2], "row")
    column_name = f"{ROW_NAMES.get(axes[-1], '')} ".lstrip()
    columns = (field_named(step.step).symbol,) if is_column else _numbered(column_name, cells.shape[-1])
    for place in np.ndindex(cells.shape[:-2]):
        rows = [row for row in range(cells.shape[-2]) if any(cells[place][row])]
        if rows:
            yield Grid(
                index_words(problem, step.step, place),
                columns,
                tuple(f"{row_name} {row + 1}" for row in rows),
                tuple(tuple(cells[place][row]) for row in rows),
            )


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{number + 1}" for number in range(count))


def _cells(step: StepMark, plain: bool) -> Any:
    cells = np.full(step.verdicts.shape, "", dtype=object)
    for entry in step.entries:
        text = entry.text if entry.verdict != BLANK else ""
        word = LEGEND[entry.verdict] if plain else SIGNS[entry.verdict]
        said = f"{spelled(text)} {word}" if plain else f"{word} {text}"
        cells[entry.index] = said.strip()
    return cells


def _notes(problem: Problem, step: StepMark, width: int, plain: bool) -> Iterator[str]:
    """Notes that the sentence has not said, one line for those that are the same."""
    shape = step.verdicts.shape
    by_text: dict[str, list[Sequence[int]]] = {}
    for at, note in step.notes.items():
        index = np.unravel_index(at, shape)
        if step.verdicts[index] not in ("", SHORT):
            by_text.setdefault(note, []).append([int(i) for i in index])
    for note, indices in by_text.items():
        where = place_words(problem, step.step, np.array(indices))
        yield from _said(f"{where[0].upper()}{where[1:]}: {note[0].lower()}{note[1:]}", width, plain)
