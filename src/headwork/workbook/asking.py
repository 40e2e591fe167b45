"""The questions of an exercise are read from its header, one reader for each kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .headers import Header
from .questions import (
    DIGITS,
    Ask,
    ChoiceQuestion,
    CodeQuestion,
    DesignQuestion,
    ExplainQuestion,
    NumberQuestion,
    Option,
    Question,
    ShapeQuestion,
    StepQuestion,
    Wrong,
)
from .shapes import read_shape

KEBAB = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
MOST_OPTIONS = 9  # one digit and one letter each

Common = dict[str, Any]


def read_id(header: Header) -> str:
    """The id of an exercise or a question. Raises FileError where it is not kebab-case."""
    found = header.text("id")
    if not KEBAB.fullmatch(found):
        raise header.error("id", f"is {found!r}; small letters and digits with - between words were expected")
    return found


def read_questions(header: Header) -> tuple[Question, ...]:
    """The questions of an exercise, in order.

    header  of the exercise
    Raises FileError, naming file and key: also where there is none, or two have one id.
    """
    questions = header.tables("questions", _question)
    ids = [question.id for question in questions]
    if not ids:
        raise header.error("questions", "is missing; an exercise asks at least one question")
    for name in ids:
        if ids.count(name) > 1:
            raise header.error(
                "questions", f"has the id {name!r} twice; progress is kept under it, so it must be unique"
            )
    return questions


def _question(table: Header) -> Question:
    common: Common = {"id": read_id(table), "prompt": table.text("prompt"), "hints": table.texts("hints")}
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.error("kind", f"is {kind!r}; it must be one of {', '.join(KINDS)}")
    return KINDS[kind](table, common)


def _step(table: Header, common: Common) -> Question:
    step, rows, digits = table.text("step"), table.wholes("rows"), table.whole("digits", 0, DIGITS)
    return StepQuestion(**common, step=step, rows=rows, digits=digits)


def _number(table: Header, common: Common) -> Question:
    return NumberQuestion(
        **common,
        answer=table.text("answer"),
        source=table.text("source"),
        digits=table.whole("digits", 0, DIGITS),
        within=table.text("within", ""),
        wrong=table.tables("wrong", _wrong),
    )


def _wrong(table: Header) -> Wrong:
    return Wrong(table.text("value"), table.text("says"))


def _explain(table: Header, common: Common) -> Question:
    points = table.texts("points")
    if not points:
        raise table.error("points", "is missing; a list of what an explanation has to say was expected")
    return ExplainQuestion(**common, ours=table.text("ours"), points=points)


def _choice(table: Header, common: Common) -> Question:
    several = table.take("several", bool, "true or false", False)
    guess = table.take("guess", bool, "true or false", False)
    options = table.tables("options", _option)
    if not 2 <= len(options) <= MOST_OPTIONS:
        raise table.error("options", f"has {len(options)}; from 2 to {MOST_OPTIONS} were expected")
    texts = [option.text.casefold() for option in options]
    if len(set(texts)) < len(texts):
        raise table.error("options", "has the same text twice")
    _check_right(table, sum(option.right for option in options), several, guess)
    return ChoiceQuestion(**common, options=options, several=several, guess=guess)


def _option(table: Header) -> Option:
    right = table.take("right", bool, "true or false", False)
    return Option(table.text("text"), table.text("says"), right)


def _check_right(table: Header, right: int, several: bool, guess: bool) -> None:
    if guess and (right or several):
        raise table.error("guess", "is true; then no option is right = true, and several has no place")
    if not guess and (right < 1 or (right > 1 and not several)):
        wanted = "at least one" if several else "exactly one"
        raise table.error("options", f"has {right} with right = true; {wanted} was expected")


def _shape(table: Header, common: Common) -> Question:
    question = ShapeQuestion(
        **common,
        answer=table.text("answer"),
        source=table.text("source"),
        wrong=table.tables("wrong", _wrong),
    )
    for key, text in (("answer", question.answer), *(("wrong", each.value) for each in question.wrong)):
        if read_shape(text) is None:
            raise table.error(key, f"has {text!r}; a shape such as '3 × 5' was expected")
    return question


def _design(table: Header, common: Common) -> Question:
    asks = table.tables("asks", _ask)
    if not asks or len({ask.columns for ask in asks}) > 1:
        raise table.error("asks", "needs at least one matrix, and all of them of one width")
    return DesignQuestion(
        **common,
        asks=asks,
        wanted=table.text("wanted"),
        values=table.text("values"),
        example=table.text("example"),
        property=table.text("property"),
        otherwise=table.text("otherwise", ""),
    )


def _ask(table: Header) -> Ask:
    shape = table.wholes("shape")
    if len(shape) != 2:
        raise table.error("shape", f"is {list(shape)}; [rows, columns] was expected")
    return Ask(table.text("name"), *shape)


def _code(table: Header, common: Common) -> Question:
    return CodeQuestion(**common, track=table.text("track"))


KINDS: dict[str, Callable[[Header, Common], Question]] = {
    "step": _step,
    "number": _number,
    "explain": _explain,
    "choice": _choice,
    "shape": _shape,
    "design": _design,
    "code": _code,
}
