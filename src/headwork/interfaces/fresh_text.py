"""`headwork fresh`: other numbers for a problem, proven to show mistakes and to tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from ..diagnosis.distinct import usual_digits
from ..diagnosis.separating import Fresh, fresh_problem
from ..errors import OptionError
from ..mistakes.lookup import mistake_named
from ..mistakes.mistake import Mistake
from ..workbook.transfer import write_whole
from .blind_text import where
from .files import read_problem
from .fresh_exercise_text import is_drawn_exercise, run_fresh_exercise, with_seed
from .input_text import input_lines
from .json_text import json_text
from .text import spelled, width_of_page, wrapped

NOT_RIGHT = 1  # exit status: not everything that was asked for could be had
MOST_NUMBERS = 600  # that are printed; --output and --json have any number of them
MOST_DIGITS = 12  # of a size
MOST_PAIRS = 8  # listed; --json has all of them


def run_fresh(
    problem_text: str,
    *,
    seed: int | None = None,
    separate: Sequence[str] = (),
    sizes: str = "",
    step: str | None = None,
    digits: int | None = None,
    output: str | None = None,
    json: bool = False,
    plain: bool = False,
) -> int:
    """Print fresh numbers and what they prove; the exit status. Raises HeadworkError.

    seed  which numbers; None is that of EXERCISE@SEED, or else 0
    """
    wanted = _wanted(separate)
    if not (wanted or sizes or step or digits is not None) and is_drawn_exercise(problem_text):
        name, seed = with_seed(problem_text, seed)
        return run_fresh_exercise(name, seed, output, json, plain)
    problem = read_problem(problem_text)
    digits = usual_digits([problem]) if digits is None else digits
    fresh = fresh_problem(problem, seed or 0, wanted, read_sizes(sizes), step, digits)
    if output is not None:
        write_whole(Path(output), json_text(fresh.problem) + "\n")
    if json:
        print(json_text(fresh))
    else:
        for line in page(fresh, plain):
            print(line)
    return NOT_RIGHT if wanted and not fresh.is_proven else 0


def _wanted(ids: Sequence[str]) -> tuple[Mistake, ...]:
    mistakes = [mistake_named(id) for id in ids]
    for (a, one), (b, other) in combinations(zip(ids, mistakes, strict=True), 2):
        if one is other and a != b:
            raise OptionError(f"{a} and {b} give the same numbers on every input; none can tell them apart.")
    for mistake in mistakes:
        if mistake.parameter is not None:
            raise OptionError(f"{mistake.id} has a number of its own, so there is no one result to look for.")
    return tuple(mistakes)


def read_sizes(text: str) -> dict[str, int]:
    """Sizes such as "Tq=3,Tk=5,D=4". Raises OptionError."""
    parts = [part for part in re.split(r"[,;\s]+", re.sub(r"\s*=\s*", "=", text)) if part]
    found = [re.fullmatch(r"([A-Za-z]+)=(\d+)", part) for part in parts]
    if not all(found):
        raise OptionError(f"--size is {text[:60]!r}; sizes such as Tq=3,Tk=5,D=4 were expected.")
    for match in filter(None, found):
        if len(match[2]) > MOST_DIGITS:
            raise OptionError(f"--size {match[1]} has {len(match[2])} digits; no problem is that large.")
    return {match[1]: int(match[2]) for match in found if match}


def page(fresh: Fresh, plain: bool) -> Iterator[str]:
    """The lines of text."""
    width = width_of_page()
    for margin, text in _lines(fresh):
        yield wrapped(spelled(text) if plain else text, width, "  " * margin, "  ")


def _lines(fresh: Fresh) -> Iterator[tuple[int, str]]:
    yield from ((1, line) for line in input_lines(fresh.problem, MOST_NUMBERS))
    yield 0, ""
    draws = "the first draw" if fresh.draws == 1 else f"the best of {fresh.draws} draws"
    count = len(fresh.shows) + len(fresh.hides)
    place = where(fresh.step, fresh.digits)
    yield 0, f"From seed {fresh.seed}, {draws}. Proven {place}:"
    yield 1, f"{len(fresh.shows)} of {count} mistake{'s show' if count != 1 else ' shows'}."
    if fresh.hides:
        yield 1, "Not shown, whatever was drawn: " + ", ".join(m.id for m in fresh.hides) + "."
    pairs = len(fresh.shows) * (len(fresh.shows) - 1) // 2
    yield 1, f"{pairs - len(fresh.together)} of {pairs} pairs of them are told apart."
    yield from ((2, line) for line in _together(fresh))


def _together(fresh: Fresh) -> Iterator[str]:
    for pair in fresh.together[:MOST_PAIRS]:
        why = "not by these numbers" if pair.ever else f"by none of {fresh.draws} draws"
        elsewhere = f"; they differ at the step {pair.other_step}" if pair.other_step else ""
        yield f"{pair.a.id} and {pair.b.id}: {why}{elsewhere}"
    if len(fresh.together) > MOST_PAIRS:
        yield f"and {len(fresh.together) - MOST_PAIRS} more pairs; --json lists them."
