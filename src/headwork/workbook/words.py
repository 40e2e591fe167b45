"""The words that a learner can type instead of an answer, and what is said about answering."""

from __future__ import annotations

from .answers import Table
from .questions import ExplainQuestion, Question

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

    question  that is asked; table: the answer to a step question, as far as it is typed
    Raises nothing. Special cases: none.
    """
    if isinstance(question, ExplainQuestion):
        return "Expected here: a sentence or two of your own; an empty line ends them."
    if table is None or table.columns == table.rows == 1:
        return "Expected here: one number."
    numbers = "one number" if table.columns == 1 else f"{table.columns} numbers, apart by blanks"
    if table.rows == 1:
        return f"Expected here: {numbers}."
    each = "a line of its own"
    return f"Expected here: {table.rows} rows, each of {numbers}. Rows stand apart by ; or each on {each}."


def help_lines() -> tuple[str, ...]:
    """Every word and what it does."""
    return tuple(f"{word:<6}{says}" for word, says in WORDS.items())
