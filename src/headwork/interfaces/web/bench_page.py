"""The bench: every step as shaded tables, the arithmetic of a cell, the hill, mistakes and their traces."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from ...diagnosis.diagnosing import Diagnosis, diagnose
from ...errors import HeadworkError, OptionError
from ...mechanism.fields import axes_of, field_named
from ...mechanism.numerals import number_text
from ...mechanism.steps import Step
from ...mechanism.tracing import Trace, seeds
from ...mistakes.catalogue import TOPICS
from ...mistakes.example import example_of
from ...mistakes.lookup import Entry, entries, entry_named
from ...mistakes.wrong_run import can_be_made
from ...problem import Problem
from ..catalogue_text import labels_of
from ..explanation_text import explanation_texts
from ..formulas import formula_of
from ..grids import EVERY, caption_of, matrix_at, places_of
from ..sections import COPIES, entry_sections, made_by
from ..show import size_text
from .bench_grid import grids_of
from .bench_options import FIRST, MORE
from .bench_state import MOST_TOKENS, MOST_WIDTH, State, worked_state
from .catalogue_pages import tables_of
from .exports import FORMATS
from .matrices import Matrix, cells_of
from .prose import mathml, opened, signs

SHADED = ("scores", "scaled", "capped", "biased", "masked", "exponentials", "weights", "blended", "output")
WITH_SUMS = ("exponentials", "weights")
SYMBOLS = {"query": "Q", "key": "K", "value": "V", "x": "X"}
SPLIT = ("query_heads", "key_heads", "value_heads")
# what the tables already say, or what a table of yes and no would say again
LEFT_OUT = ("allowed", "row_sum", *(name for name in COPIES if name not in SPLIT))
MOST_ANSWER = 20_000  # characters


def bench_page(state: State, asked: Mapping[str, str]) -> dict[str, Any]:
    """What the template of the bench shows.

    state   numbers and options; asked: the rest of the address: at, mistake, answer, step, blind
    Raises nothing: what cannot be worked is said on the page. Special cases: none.
    """
    values: dict[str, Any] = {
        "state": state,
        "grids": () if state.problem else tuple(grids_of(state)),
        "first": FIRST,
        "more": MORE,
        "most": (MOST_TOKENS, MOST_WIDTH),
        "error": "",
        "asked": asked,
        "work": None,
    }
    values["exports"] = [
        (state.address("/bench/export", **{"as": kind}), words) for kind, (*_, words) in FORMATS.items()
    ]
    try:
        work = worked_state(state)
    except HeadworkError as error:
        return values | {"error": opened(str(error))}
    last = source_field(work)
    place = cell_asked(work, asked.get("at", ""))
    return values | {
        "work": work,
        "size": size_text(work.problem),
        # what stands in a grid above is not shown twice
        "given": ()
        if values["grids"] and all(grid.rows for grid in values["grids"])
        else tuple(given_tables(work)),
        "tables": tuple(step_tables(work)),
        "cell": cell_lines(work, place),
        "place": place,
        "hill": hill(work, place) if "masked" in work else None,
        "steps": [(name, field_named(name).title) for _, name in made_by(work)],
        "last": last,
        "possible": possible(work),
        "compared": compared(work, asked.get("mistake", "")),
        "diagnosed": diagnosed(work, asked.get("answer", ""), asked.get("step", "") or last),
        "blind": blind(work) if asked.get("blind") else None,
    }


def source_field(work: Trace) -> str:
    """The last result of a problem, as answers name it."""
    return [name for _, name in made_by(work)][-1]


# --- tables ----------------------------------------------------------------------------------------


def given_tables(work: Trace) -> Iterator[Matrix]:
    """What the problem gives, a table for each head."""
    for name in seeds(work.problem):
        if name != "x_key" or work.problem.x_key is not None:
            yield from _tables(work, name, Markup(SYMBOLS.get(name, "")), field_named(name).title)


def step_tables(work: Trace) -> Iterator[Matrix]:
    """Each step that the problem asks for, a table for each head."""
    for step, name in made_by(work):
        if name not in LEFT_OUT:
            title = Markup("{}").format(field_named(name).title.capitalize())
            yield from _tables(work, name, title, formula_markup(step, work.problem))


def formula_markup(step: Step, problem: Problem) -> Markup:
    """The formula of a step, with what this problem says about it.

    step, problem  which
    Raises nothing. Special cases: biases are said in words.
    """
    if step.name == "bias":
        return signs(formula_of(step, problem))
    if step.name == "scale" and problem.scale is not None:
        return mathml(rf"S \cdot {number_text(problem.scale, 6)}")
    return mathml(step.formula)


def _tables(work: Trace, name: str, title: Markup, small: Markup | str) -> Iterator[Matrix]:
    axes = axes_of(work.problem, name)
    is_column = axes[-1] == "Tq"
    row = "key" if not is_column and axes[-2] == "Tk" else "query"
    column = "" if is_column else "key" if axes[-1] == "Tk" else "dimension"
    for at, place in enumerate(places_of(work, name, EVERY)):
        matrix = matrix_at(work, name, place)
        hidden = np.isneginf(matrix_at(work, "masked", place)) if _is_masked(work, name) else None
        caption = caption_of(work, name, place)
        sums = matrix.sum(axis=1) if name in WITH_SUMS else ()
        yield Matrix(
            id=f"t-{name}-{at}",
            title=title,
            small=Markup(", ").join(part for part in (small, caption) if part),
            row=row,
            column=column,
            rows=tuple(str(i + 1) for i in range(matrix.shape[0])),
            columns=(field_named(name).symbol,)
            if is_column
            else tuple(str(j + 1) for j in range(matrix.shape[1])),
            cells=cells_of(matrix, shaded=name in SHADED, masked=hidden),
            sums=tuple(number_text(value) for value in sums),
            step=f"{name}-{at}",
        )


def _is_masked(work: Trace, name: str) -> bool:
    return name in ("masked", "exponentials", "weights") and "masked" in work


# --- one cell --------------------------------------------------------------------------------------


def cell_asked(work: Trace, text: str) -> tuple[int, int, int]:
    """The head, query and key of an address such as "1,3,2" or "3,2", from 0.

    work  of the bench; text: counted from 1
    Raises nothing. Special cases: what is not there is the last query and its first key.
    """
    problem = work.problem
    numbers = [int(part) - 1 for part in text.replace(",", " ").split() if part.isdecimal() and len(part) < 4]
    head, query, key = numbers if len(numbers) == 3 else [0, *numbers] if len(numbers) == 2 else [0, -1, 0]
    if not (0 <= head < problem.H and 0 <= query < problem.Tq and 0 <= key < problem.Tk):
        return 0, max(problem.Tq - 1, 0), 0
    return head, query, key


def cell_lines(work: Trace, place: tuple[int, int, int]) -> tuple[tuple[str, str], ...]:
    """How everything about a query and a key came about: the name of a result, and its arithmetic.

    work  of the bench; place: head, query and key
    Raises nothing. Special cases: of several batch elements, the first.
    """
    from ..grids import Choice

    head, *entry = place
    if not work.problem.Tq:
        return ()
    choice = Choice(head if work.problem.H > 1 else None, (0,) * len(work.problem.batch) or None)
    sections = entry_sections(work, entry, choice)
    return tuple(
        (field_named(section.field).title, worked.text())
        for section in sections
        if section.field not in ("allowed", "bias", *COPIES)
        for block in section.blocks
        for worked in block.worked[:1]
    )


def output_lines(work: Trace, name: str, index: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """How one entry of any result came about.

    work  of the bench; name: of the result; index: of the entry, from 0
    Raises UnknownNameError. Special cases: none.
    """
    from ...mechanism.arithmetic import worked

    return ((field_named(name).title, worked(work, name, index).text()),)


# --- the hill --------------------------------------------------------------------------------------

LEFT, RIGHT, WIDTH, HEIGHT = -6.2, 6.2, 360, 200  # log-odds at the edges; size of the drawing


def hill(work: Trace, place: tuple[int, int, int]) -> dict[str, Any] | None:
    """The slope p(1 − p) of the largest weight of a query, with the scale and without it.

    work  of the bench; place: head, query and key
    Raises nothing. Special cases: None where no query sees two keys, so that nothing can move. A query
    that sees one key has all its weight there. Of several batch elements, the first.
    """
    rows = [
        [[float(score) for score in row if math.isfinite(score)] for row in matrix_at(work, "masked", at)]
        for at in places_of(work, "masked", EVERY)
    ]
    if not any(len(row) > 1 for matrix in rows for row in matrix):
        return None
    head, query, _ = place
    scores = rows[head][query] or [0.0]
    now, was = (_on_hill([factor * score for score in scores]) for factor in (1.0, _root(work)))
    curve = " ".join("{:.1f},{:.1f}".format(*_point(LEFT + at * (RIGHT - LEFT) / 120)) for at in range(121))
    ticks = [(_point(math.log(p / (1 - p)))[0], f"{p:g}") for p in (0.01, 0.1, 0.5, 0.9, 0.99)]
    return {
        "rows": json.dumps(rows),
        "axis": f"{LEFT} {RIGHT} {WIDTH} {HEIGHT}",
        "root": _root(work),
        "now": now,
        "was": was | {"text": max(was["text"], now["text"] + 36)} if _root(work) != 1 else None,
        "curve": curve,
        "ticks": ticks,
        "query": query + 1,
        "head": head,
        "width": work.problem.D or 1,
    }


def _root(work: Trace) -> float:
    """What the scores were divided by; 1 where what came after it would have to be undone, too."""
    problem, made = work.problem, {name for _, name in made_by(work)}
    if problem.scale is not None or not problem.D or "scaled" not in made or made & {"capped", "biased"}:
        return 1.0
    return math.sqrt(problem.D)


def _on_hill(scores: list[float]) -> dict[str, Any]:
    top = max(scores)
    rest = sum(math.exp(score - top) for score in scores) - 1
    p = 1 / (1 + rest)
    odds = RIGHT if rest <= 0 else min(-math.log(rest), RIGHT)
    x, y = _point(odds)
    is_left = odds < 0  # the label stands outside of the hill
    label = max(x - 13, 110) if is_left else min(x + 13, WIDTH - 120)
    return {
        "x": round(x, 1),
        "y": round(y, 1),
        "p": f"{p:.3f}",
        "slope": f"{p * (1 - p):.3f}",
        "label": round(label, 1),
        "text": round(y - 14, 1),
        "anchor": "end" if is_left else "start",
    }


def _point(odds: float) -> tuple[float, float]:
    p = 1 / (1 + math.exp(-odds))
    x = 8 + (odds - LEFT) / (RIGHT - LEFT) * (WIDTH - 16)
    return x, HEIGHT - 34 - p * (1 - p) / 0.25 * (HEIGHT - 66)


# --- mistakes --------------------------------------------------------------------------------------


def possible(work: Trace) -> list[tuple[str, list[Entry]]]:
    """The mistakes that the problem has a place for, under the topic of each.

    work  of the bench
    Raises nothing. Special cases: other readings of a mistake are left out, since they give the same numbers.
    """
    found = [
        entry for entry in entries() if entry.reading is None and can_be_made(work.problem, entry.mistake)
    ]
    topics = [(topic.title, [entry for entry in found if entry.topic is topic]) for topic in TOPICS]
    return [(title, members) for title, members in topics if members]


def compared(work: Trace, id: str) -> dict[str, Any] | None:
    """What a mistake makes of these numbers, beside the right ones.

    work  of the bench; id: of the mistake
    Raises nothing. Special cases: None where none is asked for; it is said where there is no place for it.
    """
    if not id:
        return None
    try:
        entry = entry_named(id[:80])
        if not can_be_made(work.problem, entry.mistake):
            raise OptionError("these numbers have no place for it: what it is about is not there.")
        example = example_of(entry.mistake, work.problem)
    except HeadworkError as error:
        return {"error": str(error), "entry": None}
    labels = labels_of(entry.mistake)
    tables = [tables_of(example, name, f"w{at}", labels) for at, name in enumerate(example.ends)]
    return {"entry": entry, "error": "", "tables": tables, "theta": example.theta, "counts": _counts(example)}


def _counts(example: Any) -> str:
    if not example.fields:
        return "These numbers do not show it: every entry is the right one."
    name = example.ends[-1]
    differs = example.differs(name)
    return f"At the {field_named(name).title}, {int(differs.sum())} of {differs.size} entries differ."


def diagnosed(work: Trace, answer: str, step: str) -> dict[str, Any] | None:
    """What is behind numbers that somebody has instead of the right ones.

    work  of the bench; answer: rows of numbers; step: that they answer
    Raises nothing. Special cases: None where nothing is asked.
    """
    if not answer.strip():
        return None
    try:
        found: Diagnosis = diagnose(work.problem, answer[:MOST_ANSWER], step)
    except HeadworkError as error:
        return {"verdict": "invalid", "texts": [str(error)]}
    return {"verdict": found.verdict, "texts": list(explanation_texts(found))}


def blind(work: Trace) -> dict[str, Any]:
    """The mistakes that these numbers cannot show.

    work  of the bench
    Raises nothing. Special cases: where it cannot be told, why.
    """
    from ...diagnosis.blind import blindspots

    try:
        return {"found": blindspots(work.problem), "error": ""}
    except HeadworkError as error:
        return {"found": None, "error": str(error)}
