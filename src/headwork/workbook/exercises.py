"""An exercise is one Markdown file: what is given and asked in its header, the opening text below it.

Reading it works nothing out, so that the course can be listed at once: see `worked_out`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .headers import Header, read_header
from .questions import DIGITS, ExplainQuestion, NumberQuestion, Question, StepQuestion, Wrong

if TYPE_CHECKING:
    from ..mechanism.tracing import Trace
    from ..problem import Problem

KEBAB = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
KINDS = "step, number, explain"


@dataclass(frozen=True)
class View:
    """A matrix that stays in view while the exercise is worked.

    Fields
    field  its name, as in Trace; rows: which of its rows, from 1 (empty: all)
    """

    field: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise.

    Fields
    file       where it stands, for errors
    id         kebab-case; number: its place in its set; title and about: in a few words
    part       the part of the set that it belongs to
    given      the numbers it is about, as fields of Problem
    views      what stays in view; helpers: values that are given, such as "e¹ ≈ 2.718"
    questions  in order
    opening    Markdown, before the first question; recap: after the last
    source     where the mathematics comes from
    """

    file: str
    id: str
    number: int
    title: str
    about: str
    part: str
    given: Mapping[str, Any]
    views: tuple[View, ...]
    helpers: str
    questions: tuple[Question, ...]
    opening: str
    recap: str
    source: str

    @cached_property
    def work(self) -> Trace:
        """Its problem worked out, once. Raises FileError where its file asks for what is not there."""
        from .opening import worked_out

        return worked_out(self)

    @property
    def problem(self) -> Problem:
        """The numbers it is about."""
        return self.work.problem

    def to_dict(self) -> dict[str, Any]:
        """What a learner sees before the first question."""
        return {
            "id": self.id,
            "number": self.number,
            "title": self.title,
            "about": self.about,
            "part": self.part,
            "opening": self.opening,
            "helpers": self.helpers,
            "questions": [question.to_dict() for question in self.questions],
        }


def read_exercise(file: str, text: str) -> Exercise:
    """The exercise that a file holds.

    file  its name, for errors
    text  all of it
    Raises FileError, naming file and key.
    Source: docs/exercises.md has every key.
    """
    header, opening = read_header(file, text)
    if not opening:
        raise header.error("the text", "below the header is missing; an exercise opens with a few sentences")
    return header.whole_table(lambda header: _exercise(header, opening))


def _exercise(header: Header, opening: str) -> Exercise:
    exercise = Exercise(
        file=header.file,
        id=_id(header),
        number=header.whole("number", least=1),
        title=header.text("title"),
        about=header.text("about"),
        part=header.text("part"),
        given=header.take("problem", dict, "a table of the fields of Problem"),
        views=_views(header),
        helpers=header.text("helpers", ""),
        questions=header.tables("questions", _question),
        opening=opening,
        recap=header.text("recap"),
        source=header.text("source"),
    )
    _check_questions(header, exercise.questions)
    return exercise


def _id(header: Header) -> str:
    found = header.text("id")
    if not KEBAB.fullmatch(found):
        raise header.error("id", f"is {found!r}; small letters and digits with - between words were expected")
    return found


def _views(header: Header) -> tuple[View, ...]:
    """`shows`: names, or tables with field and rows."""
    shown = header.take("shows", list, "a list of results to keep in view")
    tables = [{"field": item} if isinstance(item, str) else item for item in shown]
    return Header(header.file, header.place, {"shows": tables}).tables(
        "shows", lambda table: View(table.text("field"), table.wholes("rows"))
    )


def _question(table: Header) -> Question:
    common: dict[str, Any] = {"id": _id(table), "prompt": table.text("prompt"), "hints": table.texts("hints")}
    match table.text("kind"):
        case "step":
            step, rows, digits = table.text("step"), table.wholes("rows"), table.whole("digits", 0, DIGITS)
            return StepQuestion(**common, step=step, rows=rows, digits=digits)
        case "number":
            return _number_question(table, common)
        case "explain":
            points = table.texts("points")
            if not points:
                raise table.error(
                    "points", "is missing; a list of what an explanation has to say was expected"
                )
            return ExplainQuestion(**common, ours=table.text("ours"), points=points)
        case other:
            raise table.error("kind", f"is {other!r}; it must be one of {KINDS}")


def _number_question(table: Header, common: dict[str, Any]) -> NumberQuestion:
    return NumberQuestion(
        **common,
        answer=table.text("answer"),
        source=table.text("source"),
        digits=table.whole("digits", 0, DIGITS),
        within=table.text("within", ""),
        wrong=table.tables("wrong", lambda wrong: Wrong(wrong.text("value"), wrong.text("says"))),
    )


def _check_questions(header: Header, questions: tuple[Question, ...]) -> None:
    ids = [question.id for question in questions]
    if not ids:
        raise header.error("questions", "is missing; an exercise asks at least one question")
    for name in ids:
        if ids.count(name) > 1:
            raise header.error(
                "questions", f"has the id {name!r} twice; progress is kept under it, so it must be unique"
            )
