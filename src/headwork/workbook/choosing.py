"""Which option somebody means: by its number, its letter, its text or the beginning of that."""

from __future__ import annotations

import re
import unicodedata
from string import ascii_lowercase

from ..errors import AnswerError
from .questions import ChoiceQuestion, Option

BETWEEN = " | "  # options of one answer, as progress keeps them
LONGEST = 60


def letter_of(at: int) -> str:
    """The letter of an option, counted from 0."""
    return ascii_lowercase[at]


def read_choice(question: ChoiceQuestion, line: str) -> str:
    """The text of the option that was chosen; of several, in their order, with | between.

    line  a number, a letter, a text or the beginning of one; of several, apart by blanks or commas
    Raises AnswerError: none of the options, or more than one of them.
    """
    text = line.strip()
    if question.several and not _matches(question, text):
        between = r"\s*\|\s*" if "|" in text else r"[\s,;]+"
        words = [word for word in re.split(between, text) if word and word.lower() != "and"]
        chosen = {_option_at(question, word) for word in words}
    else:
        chosen = {_option_at(question, text)}
    return BETWEEN.join(question.options[at].text for at in sorted(chosen))


def chosen_options(question: ChoiceQuestion, answer: str) -> tuple[Option, ...]:
    """The options of an answer that was read."""
    texts = answer.split(BETWEEN)
    return tuple(option for option in question.options if option.text in texts)


def _option_at(question: ChoiceQuestion, text: str) -> int:
    found = _matches(question, text)
    if len(found) == 1:
        return found[0]
    letters = [letter_of(at) for at in range(len(question.options))]
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    if found:
        could = " or ".join(f"option {letter_of(at)}" for at in found)
        raise AnswerError(f"{shown!r} could be {could}; type its letter.")
    raise AnswerError(
        f"{shown!r} is none of the options. Type a number from 1 to {len(letters)}, or a letter from a to "
        f"{letters[-1]}."
    )


def _matches(question: ChoiceQuestion, text: str) -> list[int]:
    """The options that a text names; those that begin with it where it names none."""
    said = _plain(text)
    name = said.strip("().") or said
    texts = [_plain(option.text) for option in question.options]
    signs = [{option, str(at + 1), letter_of(at)} for at, option in enumerate(texts)]
    exact = [at for at, names in enumerate(signs) if names & {said, name}]
    return exact or [at for at, option in enumerate(texts) if said and option.startswith(said)]


def _plain(text: str) -> str:
    """Without capitals, and with k₂ as k2, so that it can be typed."""
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()
