"""`headwork diagnose`: which mistake gives these numbers, how sure that is, and how to mend it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..diagnosis.answers import Answer, read_answers as placed
from ..diagnosis.diagnosing import Diagnosis, diagnose, worked
from ..diagnosis.distinct import step_of
from ..diagnosis.evidence import NAMED
from ..diagnosis.plan import Hypothesis
from ..diagnosis.search import Finding
from ..diagnosis.sentences import place_words
from ..diagnosis.wording import describe
from ..errors import AnswerError
from ..mechanism.fields import axes_of, canonical, canonical_axes, field_named
from ..mechanism.tracing import Trace
from ..mistakes.mistake import Mistake, Reading
from ..problem import Problem
from .files import read_answers, read_problem
from .grids import EVERY, Grid, grid_of, places_of
from .json_text import json_text
from .marking_text import named_answers
from .text import bold, plain_lines, spelled, table_lines, width_of_page, wrapped

NOT_RIGHT = 1  # exit status
WRONG, WRONG_IN_WORDS = "✗", "not right"
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
    json: bool = False,
    plain: bool = False,
) -> int:
    """Print what is behind the numbers; the exit status. Raises HeadworkError.

    step        that the numbers answer; None: what the answer names, else the output
    row, entry  which of them the numbers answer, counted from 0
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
        print(json_text(found))
    else:
        for line in page(problem, found, answers, plain):
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


def page(
    problem: Problem, found: Diagnosis, answers: Mapping[str, Any], plain: bool = False
) -> Iterator[str]:
    """The sentence, the steps, the entries, then each explanation."""
    width = width_of_page()

    def said(text: str, margin: str = "", hang: str = "") -> str:
        return wrapped(spelled(text) if plain else text, width, margin, hang)

    yield said(found.sentence) if plain else bold(said(found.sentence))
    if len(found.steps) > 1:
        yield ""
        yield from (said(text, "  ", "    ") for text in _step_lines(found))
    yield ""
    title = field_named(found.step).title.capitalize()
    yield said(f"{title} ({found.step}), {found.assumed}.")
    yield from _entry_lines(problem, found, answers, width, plain)
    for number, finding in enumerate(found.findings, 1):
        yield ""
        which = f" {number} of {len(found.findings)}" if len(found.findings) > 1 else ""
        heading = f"{_name_of(finding)}{which}"
        yield heading if plain else bold(heading)
        yield from (said(text, margin, hang) for text, margin, hang in _finding_lines(problem, finding))
    if found.slips:
        yield ""
        yield from (said(text, "  ", "    ") for text in _slip_lines(found))


def _step_lines(found: Diagnosis) -> Iterator[str]:
    """One line for each step, then which was the first that is not right, and what only inherits from it."""
    names = [step.step for step in found.steps]
    for step in found.steps:
        word = "follows from your own numbers" if step.follows else step.verdict
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
    """What was read, with the entries that are not right; where they are, in words for a large answer."""
    work = worked(problem)
    (answer,) = placed(work, {found.step: answers[found.step]})
    for remark in answer.remarks:
        yield wrapped(f"({remark})", width)
    wrong = np.zeros(answer.values.shape, dtype=bool)
    for index in found.wrong:
        wrong[_visible(problem, found.step, index)] = True
    given = Trace(problem, {found.step: canonical(problem, found.step, answer.values)})
    if answer.values.size <= MOST_SHOWN:
        for grid in _grids(given, answer, wrong, plain):
            if grid.caption:
                yield f"  {grid.caption}:"
            yield from plain_lines(grid) if plain else table_lines(grid, width)
    if wrong.any():
        yield wrapped(_wrong_sentence(problem, found.step, wrong, int(answer.given.sum())), width, hang="")
        if answer.dtype is not None:
            yield wrapped(_farthest(problem, found.step, work[found.step], answer, wrong), width, hang="")


def _visible(problem: Problem, step: str, index: Sequence[int]) -> tuple[int, ...]:
    """A canonical index as people see it: no axis of one head that they never had, none behind a row."""
    axes = canonical_axes(problem, step)
    index = tuple(index[:-1]) if axes[-1] == "Tq" else tuple(index)
    batch = len(problem.batch)
    visible = axes_of(problem, step)
    seen = (at for axis, at in zip(axes, index[batch:], strict=True) if axis in visible)
    return (*index[:batch], *seen)


def _grids(given: Trace, answer: Answer, wrong: Array, plain: bool) -> Iterator[Grid]:
    """A table for each head: the numbers as they were read, a sign or a word at those that are not right."""
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
                _cell(typed[i, j] or grid.cells[i][j], is_wrong[i, j], plain) if is_given[i, j] else "_"
                for j in range(columns)
            ]
            for i in range(rows)
        ]
        yield replace(grid, cells=tuple(map(tuple, cells)))


def _cell(text: str, is_wrong: bool, plain: bool) -> str:
    if not is_wrong:
        return spelled(text) if plain else text
    return f"{spelled(text)} {WRONG_IN_WORDS}" if plain else f"{WRONG} {text}"


def _wrong_sentence(problem: Problem, step: str, wrong: Array, given: int) -> str:
    count = int(wrong.sum())
    if count == given:
        return "The entry is not right." if given == 1 else f"None of the {given} entries is right."
    places = np.argwhere(wrong)
    if count > MOST_SHOWN:
        return f"Not right: {count:,} of {given:,} entries, from {place_words(problem, step, places[:1])} on."
    return f"Not right: {count} of {given} entries: {place_words(problem, step, places)}."


def _farthest(problem: Problem, step: str, right: Array, answer: Answer, wrong: Array) -> str:
    """For an array: the largest difference and where it is."""
    with np.errstate(invalid="ignore"):
        off = np.where(wrong, np.abs(answer.values - right), -1.0)
    off = np.where(np.isnan(off), np.inf, off)
    at = np.unravel_index(int(off.argmax()), off.shape)
    where = place_words(problem, step, np.array([at]))
    return f"Farthest off: {answer.values[at]:.6g} at {where}; the right number is {right[at]:.6g}."


# --- explanations ----------------------------------------------------------------------------------

Line = tuple[str, str, str]  # text, margin, hang


def _name_of(finding: Finding) -> str:
    if finding.is_convention:
        return "A convention"
    return "Named" if finding.named else "Consistent"


def _finding_lines(problem: Problem, finding: Finding) -> Iterator[Line]:
    yield f"Evidence: {evidence_words(finding)}", "  ", "  "
    names = [(reading, also) for reading in finding.readings for also in (None, *_others(reading))]
    if len(names) > 1:
        yield "On this input these give the same numbers:", "  ", "  "
    for reading, also in names[:MOST_READINGS]:
        yield from _reading_lines(problem, reading, also, finding.theta)
    if len(names) > MOST_READINGS:
        yield f"and {len(names) - MOST_READINGS} more (--json lists them)", "  ", "  "
    commands = " and ".join(f"headwork explain {mistake.id}" for mistake in finding.readings[0])
    more = "says more" if len(finding.readings[0]) == 1 else "say more"
    yield f"{commands} {more}.", "  ", "  "


def _others(reading: Hypothesis) -> tuple[tuple[Mistake, Reading], ...]:
    """What always gives the same numbers as one of its mistakes."""
    return tuple((mistake, other) for mistake in reading for other in mistake.readings)


def _reading_lines(
    problem: Problem, reading: Hypothesis, also: tuple[Mistake, Reading] | None, theta: float | None
) -> Iterator[Line]:
    """One explanation: its ids, what was done, how to mend it."""
    parts = [also[1] if also and mistake is also[0] else mistake for mistake in reading]
    yield " and ".join(part.id for part in parts), "  ", "  "
    titles = [
        describe(problem, (part,), theta) if isinstance(part, Mistake) else part.title for part in parts
    ]
    yield f"{' and '.join(titles)}.", "    ", ""
    yield f"To mend it: {' '.join(part.mend for part in parts)}", "    ", ""


def evidence_words(finding: Finding) -> str:
    """How often chance gives such numbers, in plain words."""
    bits = math.floor(finding.bits)
    if bits < 1:
        return "none; random errors look like this as often."
    odds = f"{2**bits:,}" if bits <= WRITTEN_OUT else f"2^{min(bits, CERTAIN)}"
    text = f"random errors would look like this in less than 1 of {odds} cases ({bits:,} bits)"
    if finding.named or finding.is_convention:
        return f"{text}."
    return f"{text}. To be sure takes 1 of {2 ** int(NAMED):,} ({NAMED:.0f} bits)."


def _slip_lines(found: Diagnosis) -> Iterator[str]:
    """Hints, not certainties."""
    if found.after:
        ids = " and ".join(mistake.id for mistake in found.after)
        yield f"The other entries are those of {ids}; headwork explain says more about it."
    one = "this" if len(found.slips) == 1 else "one of these"
    yield f"A hint, not a certainty; {one} would explain an entry:"
    yield from (f"- {slip.says}" for slip in found.slips)
