"""The catalogue: a list that can be searched, and a page for each mistake with an example worked live."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...mechanism.fields import axes_of, field_named
from ...mechanism.steps import STEPS
from ...mistakes.catalogue import TOPICS
from ...mistakes.example import Example, example_of
from ...mistakes.lookup import Entry, entries, entry_named, search
from ...workbook.course import exercises
from ..catalogue_text import CONVENTION, NARROW, SLOTS, SOLVED, labels_of
from ..grids import EVERY, caption_of, matrix_at, places_of
from ..show import size_text
from .bench_state import address_of
from .matrices import Matrix, cells_of, with_classes

MOST_WORDS = 200  # characters of a search
MOST_LINES = 8  # rows or columns of a table that is shown


async def catalogue(request: Request) -> Response:
    """The list of mistakes, or what a search finds in it."""
    from .rendering import page

    sought = request.query_params.get("q", "")[:MOST_WORDS]
    found = search(sought.split())
    topics = [(topic, [entry for entry in found if entry.topic is topic]) for topic in TOPICS]
    shown = [(topic.id, topic.title, members) for topic, members in topics if members]
    if sought:
        shown = [("", "Found", list(found))] if found else []
    return page(
        request,
        "mistakes.html",
        "mistakes",
        sought=sought,
        topics=shown,
        count=len(found),
        all=len(entries()),
    )


async def mistake(request: Request) -> Response:
    """The page of a mistake; under the beginning of its id, where it is."""
    from .rendering import page

    name = request.path_params["name"][:MOST_WORDS]
    entry = entry_named(name)
    if entry.id != name:
        return RedirectResponse(f"/mistakes/{entry.id}", 303)
    return page(
        request, "mistake.html", "mistakes", **await request.app.state.desk.work(mistake_page, entry.id)
    )


@lru_cache(maxsize=256)
def mistake_page(id: str) -> dict[str, Any]:
    """What the template of a mistake shows.

    id  of the mistake
    Raises UnknownNameError. Special cases: none.
    """
    entry = entry_named(id)
    made = entry.mistake
    example = example_of(made)
    step = next((step for step in STEPS if step.name in made.steps), None)
    slot = next((SLOTS[step.name] for step in STEPS if step.name in made.steps and step.name in SLOTS), "")
    right = "" if step is None or slot else step.formula
    blind = made.blind_spot.draw() if made.blind_spot else None
    is_whole = made.hides_when.startswith(("never", "always"))
    return {
        "entry": entry,
        "right": right,
        "where": slot or (step.title if step else "the problem itself"),
        "notes": [note for note in _notes(entry) if note],
        "tables": [
            tables_of(example, name, f"e{at}", labels_of(made)) for at, name in enumerate(example.ends)
        ],
        "given": given_of(example),
        "theta": "" if example.theta is None else f"{example.theta:g}",
        "bench": address_of(example.problem, mistake=id),
        "blind": "" if blind is None else size_text(blind),
        "blind_bench": address_of(blind, mistake=id) if blind is not None else "",
        "hides": f"It hides {made.hides_when}." if is_whole else f"It hides when {made.hides_when}.",
        "others": [other for other in entries() if other.id in entry.same_as],
        "before": _beside(entry, -1),
        "after": _beside(entry, 1),
        "practised": [each for each in exercises() if id in each.separates],
    }


def _beside(entry: Entry, by: int) -> Entry | None:
    """The entry before or after another in the catalogue."""
    at = entries().index(entry) + by
    return entries()[at] if 0 <= at < len(entries()) else None


def _notes(entry: Entry) -> tuple[str, ...]:
    made = entry.mistake
    solved = SOLVED.format(symbol=made.parameter.symbol) if made.parameter else ""
    return (CONVENTION if made.convention else "", NARROW if made.narrow else "", solved)


def given_of(example: Example) -> tuple[Matrix, ...]:
    """Q, K and V of an example, where they are small enough to be read.

    example  a mistake at work
    Raises nothing. Special cases: none for a problem that is given otherwise, or larger.
    """
    problem, made = example.problem, []
    for name, title in (("query", "Q"), ("key", "K"), ("value", "V")):
        array = getattr(problem, name)
        if array is None or array.ndim != 2 or max(array.shape) > MOST_LINES:
            return ()
        row = "query" if name == "query" else "key"
        made.append(
            Matrix(
                f"g-{name}",
                Markup(title),
                field_named(name).title,
                row,
                "dimension",
                *_counted(array),
                cells_of(array),
                step=name,
            )
        )
    return tuple(made)


def _counted(array: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rows, columns = (tuple(str(at + 1) for at in range(size)) for size in array.shape[:2])
    return rows, columns


def tables_of(example: Example, name: str, id: str, labels: tuple[str, str]) -> tuple[str, Matrix, Matrix]:
    """The right and the wrong numbers of a result, where they differ first.

    example     a mistake at work; name: of the result
    id, labels  of the two tables on the page
    Raises nothing. Special cases: of several heads the first that differs, of a large table what differs.
    """
    differs = example.differs(name)
    places = list(places_of(example.right, name, EVERY))
    place = next((each for each in places if differs[each].any()), places[0])
    digits = example.digits(name)
    is_apart = differs[place].reshape(len(differs[place]), -1)
    rows, columns = (_telling(is_apart.any(axis=1 - axis)) for axis in (0, 1))
    window = np.ix_(rows, columns)
    axes = axes_of(example.problem, name)
    is_column = axes[-1] == "Tq"
    row = "key" if not is_column and axes[-2] == "Tk" else "query"
    column = "" if is_column else "key" if axes[-1] == "Tk" else "dimension"
    column_names = (field_named(name).symbol,) if is_column else tuple(str(j + 1) for j in columns)
    made = []
    for at, work in enumerate((example.right, example.wrong)):
        matrix = matrix_at(work, name, place)[window]
        masked = np.isneginf(matrix) if matrix.dtype != bool else None
        made.append(
            Matrix(
                f"{id}-{at}",
                Markup(labels[at].capitalize()),
                "",
                row,
                column,
                tuple(str(i + 1) for i in rows),
                column_names,
                cells_of(matrix, digits, at == 0, masked),
                step=name,
            )
        )
    marks = [["differs" if apart else "same" for apart in line] for line in is_apart[window]]
    title = field_named(name).title.capitalize()
    caption = caption_of(example.right, name, place)
    return (f"{title}, {caption}" if caption else title), made[0], with_classes(made[1], marks)


def _telling(differs: Any) -> Sequence[int]:
    """All lines of a small table; of a large one those that differ, in order."""
    if len(differs) <= MOST_LINES:
        return range(len(differs))
    return sorted(np.argsort(~differs, kind="stable")[:MOST_LINES].tolist())
