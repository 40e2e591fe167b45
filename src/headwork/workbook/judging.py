"""What an answer to a question deserves: the marks of a step and what explains them, or a verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..diagnosis.expression import Number
from ..diagnosis.marking import Marking, StepMark, mark
from ..diagnosis.rounding import half_unit
from ..diagnosis.typed import read_entries, read_number
from ..diagnosis.verdicts import NOT_RIGHT, RIGHT, SHORT, mark_number, short_note
from ..errors import AnswerError
from ..mechanism.tracing import Trace
from .choosing import chosen_options, letter_of
from .designing import designed
from .exercises import Exercise
from .questions import (
    ChoiceQuestion,
    DesignQuestion,
    NumberQuestion,
    Option,
    Question,
    ShapeQuestion,
    StepQuestion,
)
from .rows import row_places
from .shapes import read_shape, shape_text
from .standing import DONE, GUESSED

if TYPE_CHECKING:
    from ..diagnosis.diagnosing import Diagnosis


# three digits after each mark, all marks the same; of commas at least two
THOUSANDS = re.compile(r"[0-9]{1,3}(?:(?:,[0-9]{3}){2,}|([\s_'’])[0-9]{3}(?:\1[0-9]{3})*)")
ONE_COMMA = re.compile(r"[0-9]{1,3},[0-9]{3}")


@dataclass(frozen=True)
class Judged:
    """The mark of one answer.

    Fields
    verdict   right, follows, short (right so far), blank (an entry is missing), not right; or guess, kept
    sentence  about it, in words
    typed     the answer as it was read; step: the marks of a step. One of the two is None
    marking   of the step and the steps before it
    typical   ids of the mistakes that the exercise is about, which come first where several give the numbers
    """

    verdict: str
    sentence: str
    typed: str | None = None
    step: StepMark | None = None
    marking: Marking | None = None
    typical: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the question is answered."""
        return self.verdict in DONE

    @property
    def is_explained(self) -> bool:
        """Whether there is something to explain: a step that is not right."""
        return self.step is not None and self.verdict == NOT_RIGHT

    @property
    def explanation(self) -> Diagnosis | None:
        """What is behind a step that is not right; None where it is, and for other questions."""
        if self.marking is None or self.step is None:
            return None
        found = self.marking.explanations.get(self.step.step)
        if found is None or not self.typical:
            return found
        from .typical import typical_first  # the catalogue, which right answers do without

        return typical_first(found, self.typical)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        marks = self.step.to_dict() if self.step else {"typed": self.typed}
        found = self.explanation
        said = {"verdict": self.verdict, "sentence": self.sentence, "explanation": found and found.to_dict()}
        return {**marks, **said}


def judge(exercise: Exercise, question: Question, answer: str, earlier: Mapping[StepQuestion, str]) -> Judged:
    """The mark of an answer to any question that a program can mark.

    exercise, question  what was asked
    answer              rows apart by ;, a number, a shape, or the text of an option
    earlier             the learner's own answers to steps before, for follow-through
    Raises AnswerError, which costs nothing. Special cases: what is explained or written in code is not
    judged here.
    """
    match question:
        case StepQuestion():
            judged = judge_step(question, exercise.work, answer, earlier)
            return replace(
                _or_typical(exercise, question, judged, answer, earlier), typical=exercise.separates
            )
        case NumberQuestion():
            return judge_number(question, answer)
        case ChoiceQuestion():
            return judge_choice(question, answer)
        case ShapeQuestion():
            return judge_shape(question, answer)
        case DesignQuestion():
            found = designed(exercise, question, answer)
            return Judged(RIGHT if found.is_right else NOT_RIGHT, found.says, answer)
    raise TypeError(f"{question.kind} is not judged here")


def judge_step(
    question: StepQuestion, work: Trace, answer: str, earlier: Mapping[StepQuestion, str]
) -> Judged:
    """The marks of a step, each entry by itself and with follow-through.

    question, work  what was asked about which numbers
    answer          its rows, apart by ;
    earlier         the learner's own answers to steps before
    Raises AnswerError, which costs nothing.
    Source: docs/marking.md.
    """
    answers = {one.step: in_rows(one, work, text) for one, text in {**earlier, question: answer}.items()}
    marking = mark(work.problem, answers, question.digits)
    step = marking[question.step]
    return Judged(step.verdict, step.sentence, step=step, marking=marking)


def _or_typical(
    exercise: Exercise,
    question: StepQuestion,
    judged: Judged,
    answer: str,
    earlier: Mapping[StepQuestion, str],
) -> Judged:
    """What is right so far by being cut off is not right where a typical mistake gives exactly that."""
    step = judged.step
    if judged.verdict != SHORT or step is None or not exercise.separates:
        return judged
    from .cut_off import (  # the catalogue, which right answers do without
        is_cut_off,
        names_one_of,
        written_out,
    )

    if not is_cut_off(step, answer):
        return judged
    whole = judge_step(question, exercise.work, written_out(answer, question.digits), earlier)
    if whole.marking is None or whole.step is None:
        return judged
    if not names_one_of(whole.marking.explanations.get(question.step), exercise.separates):
        return judged
    return replace(whole, step=replace(whole.step, texts=step.texts, echo=step.echo))


def judge_number(question: NumberQuestion, answer: str) -> Judged:
    """The verdict on one number; a typical wrong one is named.

    question  what was asked; answer: as typed
    Raises AnswerError, which costs nothing.
    Special cases: `within` stands where the given helper values are themselves rounded.
    """
    typed = read_number(ungrouped(answer, question.digits))
    within = read_number(question.within).value if question.within else 0
    slack = max(within - half_unit(question.digits), 0)
    verdict = mark_number(read_number(question.answer).value, typed, question.digits, slack=slack)
    if verdict == NOT_RIGHT:
        return Judged(verdict, _said_of(question, typed), typed.text)
    return Judged(verdict, short_note(question.digits) if verdict == SHORT else "", typed.text)


def _said_of(question: NumberQuestion, typed: Number) -> str:
    """What is said of a typical wrong number: the one typed, else one that it agrees with so far."""
    for wanted in (RIGHT, SHORT):
        for wrong in question.wrong:
            if mark_number(read_number(wrong.value).value, typed, question.digits) == wanted:
                return wrong.says
    return ""


def ungrouped(answer: str, digits: int) -> str:
    """A whole number without what stands between its thousands: 1,000,000 or 1 000 000.

    answer  as typed; digits: after the point that are asked for
    Raises nothing. Special cases: one comma alone is a decimal comma, but where no digits are asked for.
    """
    text = answer.strip()
    if THOUSANDS.fullmatch(text) or (digits == 0 and ONE_COMMA.fullmatch(text)):
        return re.sub(r"[,\s_'’]", "", text)
    return text


def judge_choice(question: ChoiceQuestion, answer: str) -> Judged:
    """The verdict on what was chosen, with what it believes.

    question  what was asked; answer: the text of the option, of several apart by |
    Raises nothing. Special cases: a guess is kept and not marked. Of several, what was chosen and does not
    hold is named; where all of it holds and some is missing, that is counted, and it is right so far.
    """
    chosen = chosen_options(question, answer)
    said = [_told(question, option) for option in chosen]
    if question.guess:
        return Judged(GUESSED, " ".join(said), answer)
    wrong = [_told(question, option) for option in chosen if not option.right]
    if wrong:
        return Judged(NOT_RIGHT, " ".join(wrong), answer)
    missing = sum(option.right for option in question.options) - len(chosen)
    if missing:
        more = "one more holds" if missing == 1 else f"{missing} more hold"
        return Judged(SHORT, f"Right so far: {more}.", answer)
    return Judged(RIGHT, " ".join(said), answer)


def _told(question: ChoiceQuestion, option: Option) -> str:
    """What an option tells; of several, with its letter."""
    letter = f"{letter_of(question.options.index(option))}: " if question.several else ""
    return letter + option.says


def judge_shape(question: ShapeQuestion, answer: str) -> Judged:
    """The verdict on a shape; a typical wrong one is named.

    question  what was asked; answer: as typed
    Raises AnswerError where it is no shape.
    Special cases: none.
    """
    typed, right = read_shape(answer), read_shape(question.answer)
    if typed is None or right is None:
        raise AnswerError(f"I could not read {answer[:60]!r} as a shape. Write it as 2 × 7, 2x7 or (2, 7).")
    if typed == right:
        return Judged(RIGHT, "", shape_text(typed))
    known = (wrong.says for wrong in question.wrong if read_shape(wrong.value) == typed)
    axes = f"This has {_axes(len(typed))}, and {_axes(len(right))} were asked for."
    return Judged(NOT_RIGHT, next(known, axes if len(typed) != len(right) else ""), shape_text(typed))


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def same_answer(question: Question, answer: str, other: str) -> bool:
    """Whether two answers to a question, as they were typed, say the same.

    question  what was asked; answer, other: as they are kept
    Raises nothing. Special cases: none.
    """
    match question:
        case ChoiceQuestion():
            return answer == other
        case ShapeQuestion():
            return read_shape(answer) == read_shape(other)
    return same_numbers(answer, other)


def same_numbers(answer: str, other: str) -> bool:
    """Whether two answers, as they were typed, say the same numbers in the same places.

    answer, other  rows apart by ;
    Raises nothing. Special cases: what cannot be read, as from an imported file, is not the same.
    """
    try:
        return np.array_equal(_values(answer), _values(other), equal_nan=True)
    except AnswerError:
        return False


@lru_cache(maxsize=1024)  # a learner's answers are held against each of the earlier ones
def _values(answer: str) -> Array:
    return read_entries(answer).values


def in_rows(question: StepQuestion, work: Trace, answer: str) -> Any:
    """The answer, each row where it belongs; as it is where all rows are asked. Raises AnswerError."""
    if not question.rows:
        return answer
    places, rows = row_places(work, question.step, question.rows), answer.split(";")
    if len(rows) != len(places):
        asked = f"rows of {question.step} asked here: {len(places)}"
        raise AnswerError(f"{asked}; I read {len(rows)}. Put ; between two rows.")
    return [{"row": list(place), "values": text} for place, text in zip(places, rows, strict=True)]
