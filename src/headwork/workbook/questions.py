"""What an exercise asks: one record for each kind of question, as its file states it."""

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


@dataclass(frozen=True)
class Option:
    """One option of a choice.

    Fields
    text   what can be chosen
    says   what choosing it believes, and what is so; of a right one, why it is right
    right  whether it is right; a guess has no right one
    """

    text: str
    says: str
    right: bool = False


@dataclass(frozen=True)
class ChoiceQuestion:
    """One option out of several, all that hold, or a guess before the work is done.

    Fields
    id       unique in the exercise; prompt: Markdown; hints: graded
    options  in the order in which they are put
    several  every option that holds is asked for, otherwise the only one
    guess    predict first: any option is kept and none is marked
    """

    kind: ClassVar[str] = "choice"
    id: str
    prompt: str
    hints: tuple[str, ...]
    options: tuple[Option, ...]
    several: bool = False
    guess: bool = False

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it."""
        options = [option.text for option in self.options]
        return {**_seen(self), "options": options, "several": self.several, "guess": self.guess}


@dataclass(frozen=True)
class ShapeQuestion:
    """The shape of an array.

    Fields
    id      unique in the exercise; prompt: Markdown; hints: graded
    answer  such as "3 × 5"; source: where it comes from
    wrong   typical shapes that are not right
    """

    kind: ClassVar[str] = "shape"
    id: str
    prompt: str
    hints: tuple[str, ...]
    answer: str
    source: str
    wrong: tuple[Wrong, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it."""
        return _seen(self)


@dataclass(frozen=True)
class Ask:
    """A matrix that the learner makes up.

    Fields
    name  of a field of Problem, such as "query"; rows, columns: its shape
    """

    name: str
    rows: int
    columns: int


@dataclass(frozen=True)
class DesignQuestion:
    """Numbers of the learner's own with a property that is asked for: whatever has it is right.

    Fields
    id         unique in the exercise; prompt: Markdown; hints: graded
    asks       what the learner gives; it takes the place of these fields in the problem of the exercise
    wanted     a result of the problem made of them, as in Trace; values: what it has to be
    example    one answer, its rows apart by ;
    property   told of an answer that is right, with {scores}, {weights} … for its own results
    otherwise  told of one that is not (empty: what it gives, and what was asked)
    """

    kind: ClassVar[str] = "design"
    id: str
    prompt: str
    hints: tuple[str, ...]
    asks: tuple[Ask, ...]
    wanted: str
    values: str
    example: str
    property: str
    otherwise: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it."""
        asks = [{"name": ask.name, "shape": [ask.rows, ask.columns]} for ask in self.asks]
        return {**_seen(self), "asks": asks, "wanted": self.wanted, "values": self.values}


@dataclass(frozen=True)
class CodeQuestion:
    """A function that the learner writes in a file of their own; its track checks it.

    Fields
    id     unique in the exercise; prompt: Markdown; hints: graded
    track  the id of the code track that has its stub, its cases and its solution
    """

    kind: ClassVar[str] = "code"
    id: str
    prompt: str
    hints: tuple[str, ...]
    track: str

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it."""
        return {**_seen(self), "track": self.track}


Question = (
    StepQuestion
    | NumberQuestion
    | ExplainQuestion
    | ChoiceQuestion
    | ShapeQuestion
    | DesignQuestion
    | CodeQuestion
)


def _seen(question: Question) -> dict[str, Any]:
    return {"id": question.id, "kind": question.kind, "prompt": question.prompt, "hints": len(question.hints)}
