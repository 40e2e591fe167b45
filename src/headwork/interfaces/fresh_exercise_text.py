"""`headwork fresh EXERCISE`: the numbers of a seed, as practice asks about them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from ..errors import OptionError, UnknownNameError
from ..workbook.effort import effort
from ..workbook.exercises import Exercise
from ..workbook.finding import find_exercise, read_seed
from ..workbook.gate import step_questions
from ..workbook.numbers import Drawing, drawing
from ..workbook.transfer import write_whole
from .files import is_json, names_file
from .input_text import input_lines
from .json_text import json_text
from .text import spelled, width_of_page, wrapped

MOST_NUMBERS = 600  # that are printed; --output and --json have any number of them


def is_drawn_exercise(text: str) -> bool:
    """Whether an exercise is meant whose numbers can be drawn, with a seed behind it or without.

    Raises nothing.
    """
    if names_file(text) or is_json(text):
        return False
    try:
        return bool(find_exercise(text.partition("@")[0]).separates)
    except UnknownNameError:
        return False


def with_seed(text: str, seed: int | None) -> tuple[str, int]:
    """The name and the seed that are meant: scores@7 says both, and --seed has to agree with it.

    Raises UnknownNameError where what stands behind the @ is no seed; OptionError where the two differ.
    """
    name, at, said = text.strip().partition("@")
    if not at:
        return name, seed or 0
    meant = read_seed(said, find_exercise(name).id)
    if seed is not None and seed != meant:
        raise OptionError(f"{text.strip()} asks for seed {meant}, and --seed for {seed}. Give one of them.")
    return name, meant


def run_fresh_exercise(text: str, seed: int, output: str | None, json: bool, plain: bool) -> int:
    """Print the numbers of a seed and what they prove; the exit status. Raises HeadworkError."""
    exercise = find_exercise(text)
    found = drawing(exercise, seed)
    if output is not None:
        write_whole(Path(output), json_text(found.exercise.problem) + "\n")
    if json:
        print(json_text(_record(exercise, found, seed)))
        return 0
    for margin, line in _lines(exercise, found, seed):
        print(wrapped(spelled(line) if plain else line, width_of_page(), "  " * margin, "  "))
    return 0


def _record(exercise: Exercise, found: Drawing, seed: int) -> dict[str, object]:
    return {
        "exercise": found.exercise.id,
        "problem": found.exercise.problem.to_dict(),
        "seed": seed,
        "draws": found.draws,
        "steps": [question.step for question in step_questions(found.exercise)],
        "shows": list(exercise.separates),
        "effort": effort(found.exercise).to_dict(),
        "proven": True,
    }


def _lines(exercise: Exercise, found: Drawing, seed: int) -> Iterator[tuple[int, str]]:
    yield from ((1, line) for line in input_lines(found.exercise.problem, MOST_NUMBERS))
    yield 0, ""
    draws = "the first draw" if found.draws == 1 else f"{found.draws} draws"
    count = len(exercise.separates)
    pairs = sum(1 for _ in combinations(exercise.separates, 2))
    steps = ", ".join(dict.fromkeys(question.step for question in step_questions(exercise)))
    yield 0, f"From seed {seed}, {draws}. Proven at what {exercise.id} asks ({steps}):"
    yield 1, f"all {count} mistakes of its list show, and all {pairs} pairs of them are told apart."
    yield 0, f"headwork practice {found.exercise.id} asks about these numbers."
