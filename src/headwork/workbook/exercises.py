"""An exercise is one Markdown file: what is given and asked in its header, the opening text below it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..diagnosis.typed import read_number
from ..errors import HeadworkError
from ..mechanism.tracing import Trace, trace
from ..problem import Problem
from .headers import Header, read_header
from .questions import DIGITS, ExplainQuestion, NumberQuestion, Question, StepQuestion, Wrong

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
    id         kebab-case; number: its place in its set; title and about: in a few words
    part       the part of the set that it belongs to
    problem    the numbers it is about
    views      what stays in view; helpers: values that are given, such as "e¹ ≈ 2.718"
    questions  in order
    opening    Markdown, before the first question; recap: after the last
    source     where the mathematics comes from
    """

    id: str
    number: int
    title: str
    about: str
    part: str
    problem: Problem
    views: tuple[View, ...]
    helpers: str
    questions: tuple[Question, ...]
    opening: str
    recap: str
    source: str

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
    problem, work = _problem(header)
    exercise = Exercise(
        id=_id(header),
        number=header.whole("number", least=1),
        title=header.text("title"),
        about=header.text("about"),
        part=header.text("part"),
        problem=problem,
        views=_views(header, work),
        helpers=header.text("helpers", ""),
        questions=header.tables("questions", lambda table: _question(table, work)),
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


def _problem(header: Header) -> tuple[Problem, Trace]:
    table = header.take("problem", dict, "a table of the fields of Problem")
    try:
        problem = Problem.from_dict(table)
        return problem, trace(problem)
    except HeadworkError as error:
        raise header.error("problem", f"cannot be worked: {error}".rstrip(".")) from None


def _views(header: Header, work: Trace) -> tuple[View, ...]:
    """`shows`: names, or tables with field and rows."""
    shown = header.take("shows", list, "a list of results to keep in view")
    tables = [{"field": item} if isinstance(item, str) else item for item in shown]
    return Header(header.file, header.place, {"shows": tables}).tables(
        "shows", lambda table: _view(table, work)
    )


def _view(table: Header, work: Trace) -> View:
    return View(_step(table, "field", work), _rows(table, "field", work))


def _step(table: Header, key: str, work: Trace) -> str:
    name = table.text(key)
    if name not in work:
        raise table.error(key, f"is {name!r}, which this problem does not have; it has {', '.join(work)}")
    return name


def _rows(table: Header, key: str, work: Trace) -> tuple[int, ...]:
    rows = table.wholes("rows")
    most = len(work[table.text(key)])
    if any(row > most for row in rows):
        raise table.error("rows", f"is {list(rows)}, and there are only {most} rows; they are counted from 1")
    return rows


def _question(table: Header, work: Trace) -> Question:
    common = {"id": _id(table), "prompt": table.text("prompt"), "hints": table.texts("hints")}
    match table.text("kind"):
        case "step":
            step, rows = _step(table, "step", work), _rows(table, "step", work)
            return StepQuestion(**common, step=step, rows=rows, digits=table.whole("digits", 0, DIGITS))  # type: ignore[arg-type]
        case "number":
            return _number_question(table, common)
        case "explain":
            points = table.texts("points")
            if not points:
                raise table.error(
                    "points", "is missing; a list of what an explanation has to say was expected"
                )
            return ExplainQuestion(**common, ours=table.text("ours"), points=points)  # type: ignore[arg-type]
        case other:
            raise table.error("kind", f"is {other!r}; it must be one of {KINDS}")


def _number_question(table: Header, common: dict[str, Any]) -> NumberQuestion:
    return NumberQuestion(
        **common,
        answer=_typed(table, "answer"),
        source=table.text("source"),
        digits=table.whole("digits", 0, DIGITS),
        within=read_number(_typed(table, "within")).value if "within" in table.table else None,
        wrong=table.tables("wrong", lambda wrong: Wrong(_typed(wrong, "value"), wrong.text("says"))),
    )


def _typed(table: Header, key: str) -> str:
    """A number as a learner would type it, so that its digits are kept and e^2 can be said."""
    text = table.text(key)
    try:
        read_number(text)
    except HeadworkError as error:
        raise table.error(key, f"is no number: {error}".rstrip(".")) from None
    return text


def _check_questions(header: Header, questions: tuple[Question, ...]) -> None:
    ids = [question.id for question in questions]
    if not ids:
        raise header.error("questions", "is missing; an exercise asks at least one question")
    for name in ids:
        if ids.count(name) > 1:
            raise header.error(
                "questions", f"has the id {name!r} twice; progress is kept under it, so it must be unique"
            )
