"""The contents: every set with its parts, how far each exercise has come, and where to go on.

This is the first page, so nothing here needs NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ...workbook.contents import listed
from ...workbook.course import ExerciseSet, exercises
from ...workbook.events import Asked, Listed
from ...workbook.keeping import Kept
from ...workbook.standing import resume
from ..practice_text import state_words
from .rendering import page


async def contents(request: Request) -> Response:
    """The contents."""
    values = await request.app.state.desk.ask(contents_page)
    return page(request, "contents.html", "contents", **values)


async def keys(request: Request) -> Response:
    """What the keys do."""
    return page(request, "keys.html", "keys")


def contents_page(kept: Kept) -> dict[str, Any]:
    """What the template of the contents shows.

    kept  the learner's progress
    Raises FileError. Special cases: nothing to go on with where everything is done.
    """
    acts = kept.progress.acts()
    place = resume(exercises(), acts)
    go_on = Asked(*place) if place else None
    found = listed(acts, go_on.exercise.id if go_on and acts else "")
    return {
        "begun": bool(acts),
        "go_on": go_on,
        "sets": [_set(one, found) for one in found.sets],
        "warning": kept.warning,
    }


def _set(one: ExerciseSet, found: Listed) -> dict[str, Any]:
    states = [found.standings[each.id].state for each in one.exercises]
    return {
        "set": one,
        # the first set, and those that are begun, lie open
        "folded": one is not found.sets[0] and set(states) == {"not yet"} and not _is_here(one, found),
        "done": states.count("done"),
        "count": len(states),
        "parts": [part for part in _parts(one, found) if part["rows"]],
    }


def _is_here(one: ExerciseSet, found: Listed) -> bool:
    return found.here in [each.id for each in one.exercises]


def _parts(one: ExerciseSet, found: Listed) -> Iterator[dict[str, Any]]:
    for part in one.parts:
        own = [each for each in one.exercises if each.part == part.id]
        rows = []
        for each in own:
            sign, _, words = state_words(found.standings[each.id], plain=False).partition(" ")
            rows.append({"exercise": each, "sign": sign, "words": words, "here": each.id == found.here})
        yield {"part": part, "rows": rows, "done": all(row["sign"] == "✓" for row in rows)}
