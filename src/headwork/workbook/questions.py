"""What an exercise asks: rows of a step, one number, or an explanation in the learner's own words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

DIGITS = 3  # after the point, where a question does not say otherwise


@dataclass(frozen=True)
class Wrong:
    """An answer that is typical and not right, with what it is.

    Fields
    value  as it would be typed; says: what that number is, and what was asked instead
    """

    value: str
    says: str


@dataclass(frozen=True)
class StepQuestion:
    """Rows of one result of the pipeline, marked entry by entry.

    Fields
    id      unique in the exercise, kebab-case: progress is kept under it
    prompt  Markdown; hints: graded, each reveals one step more
    step    the result that is asked for, as in Trace; rows: which of its rows, from 1 (empty: all)
    digits  after the point
    """

    kind: ClassVar[str] = "step"
    id: str
    prompt: str
    hints: tuple[str, ...]
    step: str
    rows: tuple[int, ...] = ()
    digits: int = DIGITS

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it."""
        return {**_seen(self), "step": self.step, "rows": list(self.rows), "digits": self.digits}


@dataclass(frozen=True)
class NumberQuestion:
    """One number.

    Fields
    id      unique in the exercise; prompt: Markdown; hints: graded
    answer  the right number as it can be typed, such as "e^2"; source: where it comes from
    digits  after the point
    within  how far an answer may be from the right one where the given helper values are themselves rounded,
            as it can be typed (empty: half a unit of the last digit)
    wrong   typical answers that are not right
    """

    kind: ClassVar[str] = "number"
    id: str
    prompt: str
    hints: tuple[str, ...]
    answer: str
    source: str
    digits: int = DIGITS
    within: str = ""
    wrong: tuple[Wrong, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it."""
        return {**_seen(self), "digits": self.digits}


@dataclass(frozen=True)
class ExplainQuestion:
    """An explanation that the learner writes, and then compares with ours: nobody else judges it.

    Fields
    id      unique in the exercise; prompt: Markdown; hints: graded
    ours    our explanation; points: what it has to say, each to be compared
    """

    kind: ClassVar[str] = "explain"
    id: str
    prompt: str
    hints: tuple[str, ...]
    ours: str
    points: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it before having written."""
        return _seen(self)


Question = StepQuestion | NumberQuestion | ExplainQuestion


def _seen(question: Question) -> dict[str, Any]:
    return {"id": question.id, "kind": question.kind, "prompt": question.prompt, "hints": len(question.hints)}
