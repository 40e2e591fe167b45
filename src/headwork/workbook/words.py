"""The words that a learner can type instead of an answer, and what is said about answering."""

from __future__ import annotations

from .answers import Table
from .questions import (
    ChoiceQuestion,
    CodeQuestion,
    DesignQuestion,
    ExplainQuestion,
    Question,
    ShapeQuestion,
)

WORDS = {
    "hint": "the next hint, one step at a time",
    "why": "what may be behind an answer that is not right",
    "show": "the worked solution of this question",
    "skip": "on to the next question",
    "back": "the question before this one; while you type rows, the row before",
    "list": "the course and your progress",
    "card": "every symbol and what it stands for",
    "quit": "stop here; your answers are kept",
    "?": "this help",
}
ALSO = {"help": "?", "exit": "quit", "q": "quit"}
HOW = """
Type an answer after > and press Enter: numbers apart by blanks, rows apart by ; or each on a line of its own.
You can try as often as you like. Instead of an answer you can type a word: hint, why, show, skip, back, list,
card or quit; ? says what each one does.
"""
OR_A_WORD = "Or a word: hint, show, skip, quit, ? for all of them."


def expected(question: Question, table: Table | None) -> str:
    """What an answer to this question looks like.

    question  that is asked; table: the rows of an answer, as far as they are typed
    Raises nothing. Special cases: none.
    """
    match question:
        case ExplainQuestion():
            return "Expected here: a sentence or two of your own; an empty line ends them."
        case ChoiceQuestion():
            which = "all that hold, such as 1 3 or a c" if question.several else "a number or a letter"
            return f"Expected here: {which}; the beginning of an option will do too."
        case ShapeQuestion():
            return "Expected here: a shape, such as 2 × 7, 2x7 or (2, 7)."
        case CodeQuestion():
            return "Expected here: Enter, once your file holds the function; it is checked then."
    return _numbers_expected(table, isinstance(question, DesignQuestion))


def _numbers_expected(table: Table | None, made_up: bool) -> str:
    if table is None or table.columns == table.rows == 1:
        return "Expected here: one number."
    numbers = "one number" if table.columns == 1 else f"{table.columns} numbers, apart by blanks"
    if made_up:
        rows = ", ".join(table.names)
        return f"Expected here: {rows}, for each a row of {numbers}; rows apart by ; or one a line."
    if table.rows == 1:
        return f"Expected here: {numbers}."
    order = f" They go from {table.names[0]} to {table.names[-1]}." if table.names else ""
    rows = f"Expected here: {table.rows} rows, each of {numbers}."
    return f"{rows} Rows stand apart by ; or each on a line of its own.{order}"


def help_lines() -> tuple[str, ...]:
    """Every word and what it does."""
    return tuple(f"{word:<6}{says}" for word, says in WORDS.items())
