"""`headwork blindspots`: what these inputs cannot show, what they cannot tell apart, and inputs that can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase

from ..diagnosis.blind import Alike, Blind, Blindspots, Pairs, blindspots
from ..diagnosis.distinct import usual_digits
from ..errors import OptionError
from ..mechanism.fields import field_named
from ..mistakes.lookup import mistake_named
from ..mistakes.mistake import Mistake
from ..problem import Problem
from .files import read_problem
from .input_text import input_lines
from .json_text import json_text
from .text import bold, spelled, width_of_page, wrapped

NOT_RIGHT = 1  # exit status: a mistake that is required cannot be seen
MOST_PAIRS = 8  # listed; --json has all of them


def run_blindspots(
    problem_texts: Sequence[str],
    *,
    step: str | None = None,
    digits: int | None = None,
    require: Sequence[str] = (),
    pairs: bool = False,
    json: bool = False,
    plain: bool = False,
) -> int:
    """Print what the problems cannot show; the exit status. Raises HeadworkError."""
    required = tuple(_required(id) for id in require)
    problems = [read_problem(text) for text in problem_texts]
    found = blindspots(problems, step, usual_digits(problems) if digits is None else digits, pairs=pairs)
    missing = tuple(id for id in required if not found.shows(id))
    if json:
        print(json_text(found.to_dict() | {"required": list(required), "missing": list(missing)}))
    else:
        for line in page(found, missing, plain):
            print(line)
    return NOT_RIGHT if missing else 0


def _required(id: str) -> str:
    mistake = mistake_named(id)
    if mistake.parameter is not None:
        raise OptionError(
            f"{id} has a number of its own, and whether it shows depends on that. Leave it out."
        )
    return id


def page(found: Blindspots, missing: Sequence[str], plain: bool) -> Iterator[str]:
    """The lines of text."""
    width = width_of_page()
    lines = [*_seen_lines(found), *_nearby_lines(found), *_alike_lines(found), *_always_lines(found)]
    lines += [*_pair_lines(found.pairs), *_required_lines(found, missing), *_rest(found)]
    for margin, text in lines:
        said = spelled(text) if plain else text
        if margin == HEADING:
            yield ""
            yield said if plain else bold(said)
        else:
            yield wrapped(said, width, "  " * margin, "  ")


HEADING = -1
Line = tuple[int, str]  # how far in, and what is said


def where(found_step: str, digits: int | None) -> str:
    """ "at the output, 3 decimals"."""
    step = f"at the {field_named(found_step).title}" if found_step else "at their ends"
    return f"{step}, in their own arithmetic" if digits is None else f"{step}, {_count(digits, 'decimal')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _whose(found: Blindspots) -> str:
    several = len(found.problems)
    return "This input" if several == 1 else f"These {several} inputs together"


def _seen_lines(found: Blindspots) -> Iterator[Line]:
    shown = [mistake for mistake in found.shown if not mistake.convention]
    every = len(shown) + len(found.invisible)
    place = where(found.step, found.digits)
    if not found.invisible:
        yield 0, f"{_whose(found)} can show all {_count(every, 'mistake')} that it has a place for, {place}."
        return
    hidden = f"{len(found.invisible)} of {_count(every, 'mistake')}"
    yield 0, f"{_whose(found)} cannot show {hidden} {place}:"
    yield from _listed(found.invisible)
    if found.conventions:
        yield HEADING, "Conventions that it cannot show"
        yield from _listed(found.conventions)


def _listed(blind: Sequence[Blind]) -> Iterator[Line]:
    for each in blind:
        yield 1, f"{each.mistake.id}: {each.mistake.title}"
        if each.reason:
            yield 2, each.reason


def _nearby_lines(found: Blindspots) -> Iterator[Line]:
    """The inputs that can, each under a letter."""
    inputs = _inputs(found)
    if inputs:
        yield HEADING, "Inputs that can"
    for letter, problem in inputs.items():
        shows = [near.shows for near in found.nearby if near.problem is problem]
        yield 1, f"{letter}: shows {_ids(shows[0])}" if shows else f"{letter}:"
        yield from ((2, line) for line in input_lines(problem))
    shown = {mistake for near in found.nearby for mistake in near.shows}
    left = [blind.mistake for blind in found.invisible if blind.mistake not in shown]
    if left:
        yield 1, f"None was found that shows {_ids(left)}."


def _inputs(found: Blindspots) -> dict[str, Problem]:
    """Every input that shows or tells apart something, by its letter."""
    problems = [near.problem for near in found.nearby]
    problems += [group.apart for group in found.alike if group.apart is not None]
    return dict(zip(ascii_uppercase, dict.fromkeys(problems), strict=False))


def _ids(mistakes: Sequence[Mistake]) -> str:
    return ", ".join(mistake.id for mistake in mistakes)


def _alike_lines(found: Blindspots) -> Iterator[Line]:
    if found.alike:
        yield HEADING, f"{'It' if len(found.problems) == 1 else 'They'} cannot tell these apart"
    letters = {problem: letter for letter, problem in _inputs(found).items()}
    for group in found.alike:
        yield 1, _ids(group.mistakes)
        yield 2, _apart(group, letters)


def _apart(group: Alike, letters: Mapping[Problem, str]) -> str:
    elsewhere = f"; they differ at the step {group.other_step}" if group.other_step else ""
    if group.apart is None:
        return f"No input was found that tells them apart here{elsewhere}."
    still = "; ".join(f"{a.id} from {b.id}" for a, b in group.still)
    return f"Input {letters.get(group.apart)} tells them apart" + (
        f", but not {still}{elsewhere}." if still else "."
    )


def _always_lines(found: Blindspots) -> Iterator[Line]:
    if found.always:
        yield HEADING, "Always the same numbers, on any input"
        yield from ((1, " = ".join(ids)) for ids in found.always)


def _pair_lines(pairs: Pairs | None) -> Iterator[Line]:
    if pairs is None:
        return
    yield HEADING, f"Two at once: {_count(pairs.tried, 'pair')}"
    if pairs.cancel:
        yield 1, "These give the right numbers together:"
        yield from _first([f"{a.id} + {b.id}" for a, b in pairs.cancel])
    else:
        yield 1, "None of them gives the right numbers."
    if pairs.as_single:
        yield 1, f"{_count(len(pairs.as_single), 'pair')} look like one mistake, such as:"
        yield from _first([f"{a.id} + {b.id} = {single.id}" for (a, b), single in pairs.as_single])
    if pairs.alike:
        yield 1, "Also alike, though not in one group above:"
        yield from _first([f"{a.id}, {b.id}" for a, b in pairs.alike])


def _first(texts: Sequence[str]) -> Iterator[Line]:
    yield from ((2, text) for text in texts[:MOST_PAIRS])
    if len(texts) > MOST_PAIRS:
        yield 2, f"and {len(texts) - MOST_PAIRS:,} more; --json lists them."


def _required_lines(found: Blindspots, missing: Sequence[str]) -> Iterator[Line]:
    if missing:
        yield HEADING, "Required, and not shown"
    for id in missing:
        no_place = any(id in mistake.ids for mistake in found.elsewhere)
        yield 1, f"{id}: no input has a place for it" if no_place else id


def _rest(found: Blindspots) -> Iterator[Line]:
    if found.elsewhere:
        yield 0, ""
        need = _count(len(found.elsewhere), "mistake")
        yield 0, f"Not counted: {need} for which there is no place here (no mask, no heads, another step …)."
    yield from ((0, f"Note: {note}.") for note in found.notes)
