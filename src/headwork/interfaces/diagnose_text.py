"""`headwork diagnose`: which mistake gives these numbers, how sure that is, and how to mend it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..diagnosis.answers import Answer, read_answers as placed
from ..diagnosis.apart import is_plain
from ..diagnosis.diagnosing import (
    ANOTHER_STEP,
    MOST_OF_LARGE,
    Diagnosis,
    diagnose,
)
from ..diagnosis.distinct import step_of
from ..diagnosis.large import is_large
from ..diagnosis.plan import Hypothesis
from ..diagnosis.right import worked
from ..diagnosis.search import Finding
from ..diagnosis.sentences import all_entries, entries, place_words
from ..diagnosis.wording import describe
from ..errors import AnswerError
from ..mechanism.fields import canonical, field_named
from ..mechanism.tracing import Trace
from ..mistakes.mistake import Mistake, Reading
from ..problem import Problem
from .apart_text import apart_lines
from .explanation_text import formula_texts, ids_of, more_about
from .files import read_answers, read_problem
from .grids import EVERY, Grid, grid_of, places_of
from .json_text import json_text
from .marking_text import named_answers
from .text import bold, plain_lines, spelled, table_lines, width_of_page, wrapped

NOT_RIGHT = 1  # exit status
WRONG, DIFFERS = ("✗", "not right"), ("≠", "differs")  # at an entry: a sign, or a word in plain text
# where the sentence itself is not the verdict
HEADLINES = {
    "convention": "Right, under another convention.",
    "consistent": "Perhaps a mistake: it gives these numbers, and they are too few or too plain to be sure.",
    "slip": "Perhaps a slip.",
    "unexplained": "Not right, and not explained.",
}
WORDS = {  # of a step among several
    "right": "right",
    "rounding": "right but for rounding",
    "convention": "right under another convention",
    "mistake": "a mistake",
    "consistent": "perhaps a mistake",
    "slip": "perhaps a slip",
    "unexplained": "not right, and not explained",
}
STARTS = ("query", "key", "value", "scores")  # steps with none before them that is worked by hand
EARLIER = "Given together with the steps before it, the first that is not right can be told."
MOST_READINGS = 6  # of one finding; --json has all of them
MOST_SHOWN = 64  # entries; of a larger answer, what is not right is told in words
WRITTEN_OUT = 20  # bits, up to which a chance is written as a number: 1 of 1,048,576
CERTAIN = 64  # bits, beyond which the number says nothing more


def run_diagnose(
    problem_text: str,
    answer_text: str,
    *,
    step: str | None = None,
    digits: int | None = None,
    row: tuple[int, ...] | None = None,
    entry: tuple[int, ...] | None = None,
    apart: bool = False,
    json: bool = False,
    plain: bool = False,
) -> int:
    """Print what is behind the numbers; the exit status. Raises HeadworkError.

    step        that the numbers answer; None: what the answer names, else the output
    row, entry  which of them the numbers answer, counted from 0
    apart       also what tells apart the explanations that give the same numbers
    """
    problem = read_problem(problem_text)
    given = read_answers(answer_text)
    if step is None and not isinstance(given, Mapping):
        step = step_of(problem, None)
    answers = by_step(named_answers(given, step, row, entry))
    found = diagnosed(problem, answers, digits)
    if found.verdict == "invalid":
        raise AnswerError(found.sentence)
    if json:
        print(json_text({**found.to_dict(), "apart": found.apart} if apart else found))
    else:
        for line in page(problem, found, answers, plain, apart):
            print(line)
    return 0 if found.verdict == "right" else NOT_RIGHT


def by_step(answers: Mapping[str, Any]) -> dict[str, Any]:
    """The answers by step, also where they came as one {"step": …, "values": …}."""
    if "step" not in answers:
        return dict(answers)
    return {str(answers["step"]): {key: value for key, value in answers.items() if key != "step"}}


def diagnosed(problem: Problem, answers: Mapping[str, Any], digits: int | None) -> Diagnosis:
    """The diagnosis of one step, or of several."""
    if len(answers) == 1:
        ((step, values),) = answers.items()
        return diagnose(problem, values, step, digits)
    return diagnose(problem, answers, digits=digits)


# --- the page ---------------------------------------------------------------------------------------

Line = tuple[str, str, str]  # text, margin, hang


def page(
    problem: Problem, found: Diagnosis, answers: Mapping[str, Any], plain: bool = False, apart: bool = False
) -> Iterator[str]:
    """The verdict, the steps, the entries, what explains them and how sure that is."""
    width = width_of_page()

    def said(text: str, margin: str = "", hang: str = "") -> str:
        return wrapped(spelled(text) if plain else text, width, margin, hang)

    heading = said(_headline(found))
    yield heading if plain else bold(heading)
    if len(found.steps) > 1:
        yield ""
        yield from (said(text, "  ", "  ") for text in _step_lines(found))
    yield ""
    yield said(f"{field_named(found.step).title.capitalize()} ({found.step})")
    yield from _entry_lines(problem, found, answers, width, plain)
    for paragraph in (
        _explained_lines(found),
        _other_lines(found),
        _apart_lines(found, apart),
        _slip_lines(found),
    ):
        lines = [said(*line) for line in paragraph]
        yield from ["", *lines] if lines else []
    if found.assumed:
        yield ""
        yield said(f"{found.assumed[0].upper()}{found.assumed[1:]}.")


def _headline(found: Diagnosis) -> str:
    """The verdict in a few words."""
    if found.verdict == "mistake":
        readings = found.findings[0].readings
        return (
            f"A mistake: {ids_of(readings[0])}."
            if len(readings) == 1
            else "A mistake, with more than one name."
        )
    return HEADLINES.get(found.verdict, found.sentence)


def _step_lines(found: Diagnosis) -> Iterator[str]:
    """One line for each step, then which was the first that is not right, and what only inherits from it."""
    names = [step.step for step in found.steps]
    for step in found.steps:
        word = "follows from your own numbers" if step.follows else WORDS[step.verdict]
        is_told = step.follows or step.verdict == "right" or step.step == found.step
        yield f"{step.step}: {word}" if is_told else f"{step.step}: {word}. {step.sentence}"
    if found.verdict != "right":
        inherit = [step.step for step in found.steps[names.index(found.step) + 1 :] if step.follows]
        rest = f" Not wrong in itself, as it follows: {', '.join(inherit)}." if inherit else ""
        yield f"The first step that is not right: {field_named(found.step).title}.{rest}"


# --- entries ---------------------------------------------------------------------------------------


def _entry_lines(
    problem: Problem, found: Diagnosis, answers: Mapping[str, Any], width: int, plain: bool
) -> Iterator[str]:
    """What was read, with a sign at what differs from the right numbers; or where that is, in words."""
    if is_large(problem):  # no step of it is kept whole
        yield from [wrapped(_first_words(found), width, hang="")] if found.wrong else []
        return
    work = worked(problem)
    (answer,) = placed(work, {found.step: answers[found.step]})
    for remark in answer.remarks:
        yield wrapped(f"({remark})", width)
    wrong = np.zeros(answer.values.shape, dtype=bool)
    for index in found.wrong:
        wrong[index] = True
    given = Trace(problem, {found.step: canonical(problem, found.step, answer.values)})
    is_shown = answer.values.size <= MOST_SHOWN
    sign, word = DIFFERS if found.verdict in ("rounding", "convention") else WRONG
    legend = f"{sign} {word}" if is_shown and not plain else word.capitalize()
    for grid in _grids(given, answer, wrong, word if plain else sign, plain) if is_shown else ():
        if grid.caption:
            yield f"  {grid.caption}:"
        yield from plain_lines(grid) if plain else table_lines(grid, width)
    if wrong.any():
        count = _count_words(problem, found, wrong, int(answer.given.sum()), is_shown)
        yield wrapped(f"{legend}{count}.", width, hang="")
        if answer.dtype is not None:
            yield wrapped(_farthest(problem, found.step, work[found.step], answer, wrong), width, hang="")


def _count_words(problem: Problem, found: Diagnosis, wrong: Array, given: int, is_shown: bool) -> str:
    """ ": 4 of 9 entries", and where they are unless a table shows it."""
    count = int(wrong.sum())
    if count == given:
        return "" if given == 1 else f": {all_entries(given)}"
    where = "" if is_shown else f": {place_words(problem, found.step, np.argwhere(wrong))}"
    return f": {count:,} of {entries(given)}{where}"


def _first_words(found: Diagnosis) -> str:
    first = place_words(found.problem, found.step, np.array(found.wrong[:1]))
    is_part = len(found.wrong) == MOST_OF_LARGE or found.findings  # what explains them was tried on few rows
    at_least = "at least " if is_part else ""
    return f"Not right: {at_least}{entries(len(found.wrong))}, from {first} on."


def _grids(given: Trace, answer: Answer, wrong: Array, sign: str, plain: bool) -> Iterator[Grid]:
    """A table for each head: the numbers as they were read, a sign or a word at those that differ."""
    texts = np.full(answer.values.size, "", dtype=object)
    for at, text in answer.texts.items():
        texts[at] = text
    texts = texts.reshape(answer.values.shape)
    for place in places_of(given, answer.step, EVERY):
        grid = grid_of(given, answer.step, place, 3)
        rows, columns = len(grid.rows), len(grid.columns)
        inside = (array[place].reshape(rows, columns) for array in (answer.given, texts, wrong))
        is_given, typed, is_wrong = inside
        cells = [
            [
                _cell(typed[i, j] or grid.cells[i][j], sign if is_wrong[i, j] else "", plain)
                if is_given[i, j]
                else "_"
                for j in range(columns)
            ]
            for i in range(rows)
        ]
        yield replace(grid, cells=tuple(map(tuple, cells)))


def _cell(text: str, sign: str, plain: bool) -> str:
    return f"{spelled(text)} {sign}".strip() if plain else f"{sign} {text}".strip()


def _farthest(problem: Problem, step: str, right: Array, answer: Answer, wrong: Array) -> str:
    """For an array: the largest difference and where it is."""
    with np.errstate(invalid="ignore"):
        off = np.where(wrong, np.abs(answer.values - right), -1.0)
    off = np.where(np.isnan(off), np.inf, off)
    at = np.unravel_index(int(off.argmax()), off.shape)
    where = place_words(problem, step, np.array([at]))
    return f"Farthest off: {answer.values[at]:.6g} at {where}; the right number is {right[at]:.6g}."


# --- explanations ----------------------------------------------------------------------------------


def _explained_lines(found: Diagnosis) -> Iterator[Line]:
    """What was done, at one entry and as a formula, and how sure that is; for the best explanation."""
    if _headline(found) != found.sentence and found.verdict != "slip":
        yield found.sentence, "", ""
    if found.verdict == "unexplained" and not found.steps and found.step not in STARTS:
        yield EARLIER, "", ""
    if not found.findings:
        return
    best = found.findings[0]
    if found.example is not None:
        yield found.example.says, "", ""
    yield from ((text, "", "") for text in formula_texts(found.problem, best))
    yield f"How sure: {evidence_words(best)}", "", ""
    yield more_about(best.readings[0]), "", ""


def _other_lines(found: Diagnosis) -> Iterator[Line]:
    """What else gives these numbers, each with how to mend it."""
    named = [
        (finding, reading, also)
        for finding in found.findings
        for reading in finding.readings
        for also in (None, *_others(reading))
    ]
    if len(named) > 1:
        yield "On this input these give the same numbers:", "", ""
    for finding, reading, also in named[:MOST_READINGS] if len(named) > 1 else ():
        parts = [also[1] if also and mistake is also[0] else mistake for mistake in reading]
        theta = finding.theta_of(reading)
        titles = [
            describe(found.problem, (part,), theta) if isinstance(part, Mistake) else part.title
            for part in parts
        ]
        yield f"{' and '.join(part.id for part in parts)}: {' and '.join(titles)}.", "  ", "  "
        yield f"To mend it: {' '.join(part.mend for part in parts)}", "    ", ""
    if len(named) > MOST_READINGS:
        yield f"and {len(named) - MOST_READINGS} more (--json lists them)", "  ", "  "


def _others(reading: Hypothesis) -> tuple[tuple[Mistake, Reading], ...]:
    """What always gives the same numbers as one of its mistakes."""
    return tuple((mistake, other) for mistake in reading for other in mistake.readings)


def _apart_lines(found: Diagnosis, asked: bool) -> Iterator[Line]:
    """What tells the explanations apart, or how to see that."""
    plain = [reading for finding in found.findings for reading in finding.readings if is_plain(reading)]
    if len(plain) > 1 and not asked:
        yield "The same command with --apart shows numbers that tell them apart.", "", ""
    elif found.apart is not None and asked:
        yield from apart_lines(found.apart)


def evidence_words(finding: Finding) -> str:
    """How often chance gives such numbers, and how rare that has to be, in plain words."""
    text = chance_words(finding.bits)
    if finding.bits < 1 or finding.named or finding.is_convention:
        return f"{text}."
    return f"{text}. To be sure takes 1 of {2 ** int(finding.needed):,} ({finding.needed:.0f} bits)."


def chance_words(evidence: float) -> str:
    """How often chance gives numbers with so many bits of evidence."""
    bits = math.floor(evidence)
    if bits < 1:
        return "not at all; random errors look like this as often"
    odds = f"{2**bits:,}" if bits <= WRITTEN_OUT else f"2^{min(bits, CERTAIN)}"
    unit = "bit" if bits == 1 else "bits"
    return f"random errors look like this in less than 1 of {odds} cases ({bits:,} {unit})"


def _slip_lines(found: Diagnosis) -> Iterator[Line]:
    """Hints, not certainties."""
    if found.after:
        yield (
            f"But for a slip, these are the numbers of somebody who {describe(found.problem, found.after)}.",
            "",
            "",
        )
        yield more_about(found.after), "", ""
    if len(found.slips) == 1 and found.slips[0].kind == ANOTHER_STEP:
        yield found.slips[0].says, "", ""
    elif found.slips:
        one = "This" if len(found.slips) == 1 else "Each of these"
        yield f"{one} would explain an entry; a hint, not a certainty:", "", ""
        yield from ((f"- {slip.says}", "  ", "  ") for slip in found.slips)
