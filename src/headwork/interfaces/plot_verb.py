"""`headwork show PROBLEM --plot FILE`: a picture of the problem, or the one that belongs to an exercise."""

from __future__ import annotations

from pathlib import Path

from ..errors import HeadworkError, OptionError, UnknownNameError
from ..mechanism.tracing import Trace, trace
from ..workbook.exercises import Exercise
from ..workbook.finding import find_exercise
from ..workbook.transfer import write_whole
from .drawing import KINDS, drawn
from .files import read_problem
from .grids import EVERY, Choice
from .json_text import json_text
from .pictures import OF_EXERCISE, PICTURES, picture_named
from .text import spelled, width_of_page, wrapped


def run_plot(
    problem_text: str,
    file: str,
    *,
    picture: str | None = None,
    dark: bool = False,
    digits: int = 3,
    choice: Choice = EVERY,
    json: bool = False,
    plain: bool = False,
) -> int:
    """Draw a picture into a file, and say what it shows; the exit status. Raises HeadworkError.

    file  ends in .svg or .png; picture: its name, or the one that belongs to the exercise, else the weights
    """
    kind = _kind(file)
    if picture is not None and picture not in PICTURES:
        raise OptionError(f"--picture is {picture[:40]!r}; it is one of {', '.join(PICTURES)}.")
    exercise = _exercise(problem_text)
    name = picture or OF_EXERCISE.get(exercise.id.partition("@")[0] if exercise else "", "weights")
    # Its own picture is of the numbers that it starts from; one that was asked for is of the problem.
    is_own = picture is None and name != "weights"
    made = picture_named(name, None if is_own else _work(problem_text, exercise), digits, choice)
    write_whole(Path(file), drawn(made, kind, dark=dark))
    if json:
        print(json_text({"written": file, **made.to_dict()}))
        return 0
    for text in (f"Written: {file}.", made.title, made.says):
        print(wrapped(spelled(text) if plain else text, width_of_page(), "", ""))
    return 0


def _kind(file: str) -> str:
    """What kind of file it is, by its ending."""
    if not file:
        raise OptionError("--picture and --dark say what is drawn; --plot FILE.svg or FILE.png says where.")
    kind = Path(file).suffix.lower().removeprefix(".")
    if kind not in KINDS:
        endings = " or ".join(f".{each}" for each in KINDS)
        raise OptionError(f"--plot is {file!r}; a picture is written to a file that ends in {endings}.")
    return kind


def _exercise(problem_text: str) -> Exercise | None:
    """The exercise that is meant; None where it is a file, or nothing that is known."""
    try:
        return find_exercise(problem_text)
    except UnknownNameError:
        return None


def _work(problem_text: str, exercise: Exercise | None) -> Trace | None:
    """The problem worked out; None for an exercise that has none."""
    try:
        return trace(read_problem(problem_text))
    except HeadworkError:
        if exercise is None:
            raise
        return None
