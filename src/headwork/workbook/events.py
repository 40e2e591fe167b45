"""What happens in a session, as data: text and JSON are renderings of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .course import ExerciseSet, Part
from .exercises import Exercise
from .questions import Question
from .standing import Standing

if TYPE_CHECKING:  # marking, which the course can be listed without
    from ..diagnosis.diagnosing import Diagnosis
    from .coding import CodeCheck
    from .judging import Judged


@dataclass(frozen=True)
class Said:
    """Something for the learner to read.

    Fields
    what   opening, part, recap, closing, hint, solution, ours, yours, why, place, note, unreadable or warning
    text   Markdown; title: a few words above it
    lines  of a worked solution, one below the other
    """

    what: str
    text: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Its fields, empty ones left out."""
        record = {"event": self.what, "title": self.title, "text": self.text, "lines": list(self.lines)}
        return {key: value for key, value in record.items() if value}


@dataclass(frozen=True)
class Card:
    """The card of symbols of a set, with its opening.

    Fields
    of  the set
    """

    of: ExerciseSet

    def to_dict(self) -> dict[str, Any]:
        """Title, opening, formula and symbols."""
        symbols = {symbol.sign: symbol.says for symbol in self.of.symbols}
        return {
            "event": "card",
            "title": self.of.title,
            "opening": self.of.opening,
            "formula": self.of.formula,
            "symbols": symbols,
        }


@dataclass(frozen=True)
class Opened:
    """An exercise begins.

    Fields
    exercise  which; part: its part, where it is the first of it
    """

    exercise: Exercise
    part: Part | None

    def to_dict(self) -> dict[str, Any]:
        """The exercise as a learner sees it."""
        return {
            "event": "exercise",
            "part": self.part.opening if self.part else None,
            **self.exercise.to_dict(),
        }


@dataclass(frozen=True)
class Asked:
    """A question is put.

    Fields
    exercise  which; at: the place of the question, from 0
    """

    exercise: Exercise
    at: int

    @property
    def question(self) -> Question:
        """The question itself."""
        return self.exercise.questions[self.at]

    def to_dict(self) -> dict[str, Any]:
        """The question as a learner sees it."""
        record = {"event": "question", "exercise": self.exercise.id, "number": self.at + 1}
        return {**record, "of": len(self.exercise.questions), **self.question.to_dict()}


@dataclass(frozen=True)
class Marked:
    """An answer has its mark.

    Fields
    exercise, question  which
    answer   as it was read
    judged   what came of it
    before   the learner's earlier answers to it that were not right
    """

    exercise: Exercise
    question: Question
    answer: str
    judged: Judged
    before: tuple[str, ...] = ()

    @property
    def again(self) -> bool:
        """Whether the learner gave the same numbers before, and they were not right."""
        from ..diagnosis.verdicts import NOT_RIGHT
        from .judging import same_answer

        if self.judged.verdict != NOT_RIGHT:
            return False
        return any(same_answer(self.question, earlier, self.answer) for earlier in self.before)

    def to_dict(self) -> dict[str, Any]:
        """Everything about the mark."""
        ids = {"exercise": self.exercise.id, "question": self.question.id, "again": self.again}
        return {"event": "mark", **ids, "answer": self.answer, **self.judged.to_dict()}


@dataclass(frozen=True)
class Coded:
    """The learner's file was checked.

    Fields
    exercise, question  that were answered with it
    check               what came of it
    """

    exercise: Exercise
    question: Question
    check: CodeCheck

    def to_dict(self) -> dict[str, Any]:
        """The check as data."""
        names = {"exercise": self.exercise.id, "question": self.question.id}
        return {"event": "code", **names, **self.check.to_dict()}


@dataclass(frozen=True)
class Explained:
    """What is behind an answer that is not right, told in full.

    Fields
    exercise, question  which
    found    the diagnosis
    """

    exercise: Exercise
    question: Question
    found: Diagnosis

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found."""
        ids = {"exercise": self.exercise.id, "question": self.question.id}
        return {"event": "why", **ids, **self.found.to_dict()}


@dataclass(frozen=True)
class Listed:
    """The course, with what is done.

    Fields
    sets       of the course
    standings  by id of the exercise
    here       the id of the exercise that the learner is at, or ""
    fresh      of exercises with drawn numbers, by id such as scores@7
    """

    sets: tuple[ExerciseSet, ...]
    standings: dict[str, Standing]
    here: str = ""
    fresh: dict[str, Standing] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """One record for each exercise, those that are not here yet too."""
        fresh = [
            {"id": name, "state": stand.state, "done": len(stand.done), "questions": stand.asked}
            for name, stand in self.fresh.items()
        ]
        sets = [self._set(one) for one in self.sets]
        return {"event": "list", "here": self.here or None, "sets": sets, "fresh": fresh}

    def _set(self, one: ExerciseSet) -> dict[str, Any]:
        rows = [
            {
                "id": each.id,
                "number": each.number,
                "label": each.label,
                "title": each.title,
                "part": each.part,
                "state": self.standings[each.id].state,
                "done": len(self.standings[each.id].done),
                "questions": self.standings[each.id].asked,
                "solution_opened": self.standings[each.id].solved,
            }
            for each in one.exercises
        ]
        later = [
            {
                "id": each.id,
                "number": each.number,
                "title": each.title,
                "part": each.part,
                "state": "not here yet",
            }
            for each in one.later
        ]
        return {"id": one.id, "title": one.title, "exercises": rows + later}


Event = Said | Card | Opened | Asked | Marked | Coded | Explained | Listed
