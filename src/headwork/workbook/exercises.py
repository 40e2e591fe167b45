"""An exercise is one Markdown file: what is given and asked in its header, the opening text below it.

Reading it works nothing out, so that the course can be listed at once: see `worked_out`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import FileError
from .asking import read_id, read_questions
from .headers import Header, read_header
from .misplaced import EXERCISE_KEYS
from .questions import Question, StepQuestion

if TYPE_CHECKING:
    from ..mechanism.tracing import Trace
    from ..problem import Problem


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
    label      what stands before its title, such as "3" or "2.1"; "" for nothing
    part       the part of the set that it belongs to
    given      the numbers it is about, as fields of Problem; empty where it asks without any
    views      what stays in view; helpers: values that are given, such as "e¹ ≈ 2.718"
    questions  in order
    opening    Markdown, before the first question; recap: after the last
    source     where the mathematics comes from
    separates  ids of the mistakes that fresh numbers have to show; empty: no numbers are drawn
    variant    raised whenever other numbers are drawn for the same seed
    drawn_from the id of the exercise that its numbers were drawn for; "" where they stand in the file
    blind      ids of the mistakes that its own numbers do not show, for authors: see `workbook/gate.py`
    draws      shapes of arrays that are drawn in another shape than its own, by name
    stays      ids of questions that hold for any numbers
    computed   ids of number questions with what is asked, by name: see `workbook/quantities.py`
    """

    file: str
    id: str
    number: int
    label: str
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
    separates: tuple[str, ...] = ()
    variant: int = 1
    drawn_from: str = ""
    blind: tuple[str, ...] = ()
    draws: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stays: tuple[str, ...] = ()
    computed: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def opened(self) -> Trace | None:
        """Its file checked and its problem worked out, once; None where it has none. Raises FileError."""
        from .opening import worked_out

        return worked_out(self)

    @property
    def work(self) -> Trace:
        """Its problem worked out. Raises FileError: also where it has none."""
        if self.opened is None:
            raise FileError(
                f"{self.id} asks its questions without a problem to work out. headwork practice {self.id} "
                "puts them."
            )
        return self.opened

    @property
    def takes_maximum_off(self) -> bool:
        """Whether the maximum of a row is asked for, and so the exponentials are those of what is left."""
        return any(isinstance(one, StepQuestion) and one.step == "row_max" for one in self.questions)

    @property
    def merges_parts(self) -> bool:
        """Whether the logsumexp is asked for: then parts of the keys are merged by it, not worked in turn."""
        return any(isinstance(one, StepQuestion) and one.step == "logsumexp" for one in self.questions)

    @property
    def kept(self) -> tuple[Question, ...]:
        """The questions that are asked of drawn numbers, too."""
        named = {*self.stays, *self.computed}
        return tuple(one for one in self.questions if isinstance(one, StepQuestion) or one.id in named)

    @property
    def heading(self) -> str:
        """Its title behind its label: "2.1. Scaled scores"."""
        return f"{self.label}. {self.title}" if self.label else self.title

    @property
    def problem(self) -> Problem:
        """The numbers it is about."""
        return self.work.problem

    def to_dict(self) -> dict[str, Any]:
        """What a learner sees before the first question."""
        return {
            "id": self.id,
            "number": self.number,
            "label": self.label,
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
    header, opening = read_header(file, text, EXERCISE_KEYS)
    if not opening:
        raise header.error("the text", "below the header is missing; an exercise opens with a few sentences")
    return header.whole_table(lambda header: _exercise(header, opening))


def _exercise(header: Header, opening: str) -> Exercise:
    number = header.whole("number", least=1)
    return Exercise(
        file=header.file,
        id=read_id(header),
        number=number,
        label=header.text("label", str(number)),
        title=header.text("title"),
        about=header.text("about"),
        part=header.text("part"),
        given=header.take("problem", dict, "a table of the fields of Problem", {}),
        views=_views(header),
        helpers=header.text("helpers", ""),
        questions=read_questions(header),
        opening=opening,
        recap=header.text("recap"),
        source=header.text("source"),
        separates=header.texts("separates"),
        variant=header.whole("variant", 1, 1),
        blind=header.texts("blind"),
        draws=_draws(header),
        stays=header.texts("stays"),
        computed=_computed(header),
    )


def _draws(header: Header) -> dict[str, tuple[int, ...]]:
    """`draws`: { value = [3, 5] }."""
    shapes = header.take("draws", dict, "a table of arrays and their shapes", {})
    inner = Header(header.file, f"{header.place}draws.", shapes)
    return inner.whole_table(lambda table: {name: table.wholes(name) for name in shapes})


def _computed(header: Header) -> dict[str, str]:
    """`computed`: { token-1 = "largest of scores[1]" }."""
    formulas = header.take("computed", dict, "a table of questions and what they ask", {})
    inner = Header(header.file, f"{header.place}computed.", formulas)
    return inner.whole_table(lambda table: {name: table.text(name) for name in formulas})


def _views(header: Header) -> tuple[View, ...]:
    """`shows`: names, or tables with field and rows."""
    shown = header.take("shows", list, "a list of results to keep in view", [])
    tables = [{"field": item} if isinstance(item, str) else item for item in shown]
    return Header(header.file, header.place, {"shows": tables}, header.lines).tables(
        "shows", lambda table: View(table.text("field"), table.wholes("rows"))
    )
