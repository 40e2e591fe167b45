"""Why no numbers were found: the mistake that no draw shows, or the two that none tells apart."""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnosis.blind import blindspots
from ..diagnosis.distinct import numbers_of
from ..diagnosis.hiding import why_hidden
from ..diagnosis.wording import number, size_values
from ..mechanism.fields import field_named
from ..mistakes.lookup import mistake_named
from ..problem import Problem
from .exercises import Exercise
from .gate import Seen, hides, seen, step_questions

MOST_LOOKED_AT = 30  # draws: what stays hidden in all of these is no bad luck
MOST_NAMED = 3
LEAVE_OUT = "Leave out of separates what no draw can show, and one of two that none tells apart."


def why_none(refused: Sequence[Exercise]) -> str:
    """Which mistakes of its list kept every draw from being given out, and why.

    refused  the exercise with drawn numbers, once for each draw that went through the gate
    Raises FileError. Special cases: where no mistake is to blame alone, what the nearest draw left.
    """
    if not refused:
        return (
            "No draw was like its own numbers, with rows that differ, short exponents and about as much "
            "work, so that none could be held against the mistakes."
        )
    last, found = refused[-1], [seen(one) for one in refused[:MOST_LOOKED_AT]]
    hidden = [name for name in last.separates if all(name in (*one.hidden, *one.absent) for one in found)]
    pairs = [pair for pair in _pairs(found) if all(_stays_together(pair, one) for one in found)]
    said = [*(_hidden(last, name) for name in hidden), *(_together(last, pair) for pair in pairs)]
    return " ".join([*said[:MOST_NAMED], LEAVE_OUT]) if said else _nearest(found)


def _pairs(found: Sequence[Seen]) -> dict[tuple[str, str], None]:
    return dict.fromkeys(pair for one in found for pair in one.together)


def _stays_together(pair: tuple[str, str], one: Seen) -> bool:
    return pair in one.together or any(name in one.hidden for name in pair)


def _nearest(found: Sequence[Seen]) -> str:
    """Every mistake shows in some draw, and no draw shows all."""
    least = min(found, key=lambda one: len(one.hidden) + len(one.together))
    left = [*least.hidden, *(f"{a} with {b}" for a, b in least.together)]
    return (
        "Each of the mistakes shows in some draw, and all of them in none; the nearest draw left "
        f"{', '.join(left[:MOST_NAMED])}."
    )


# --- one mistake -----------------------------------------------------------------------------------


def _hidden(exercise: Exercise, name: str) -> str:
    steps = [one for one in step_questions(exercise) if hides(exercise, one, name)]
    if not steps:
        return f"{name} cannot be made at any step that is asked."
    question = steps[-1]  # exponentials, before the weights, may be given shifted or not
    problem, mistake = exercise.problem, mistake_named(name)
    made = numbers_of(problem, question.step, question.digits, ((mistake,),))
    reason = why_hidden(problem, made, question.step, mistake, question.digits)
    told = f"{name} ({mistake.title}) leaves the {field_named(question.step).title} right in every draw."
    return f"{told} {reason}".strip()


# --- two of them -----------------------------------------------------------------------------------


def _together(exercise: Exercise, pair: tuple[str, str]) -> str:
    titles = " and ".join(f"{name} ({mistake_named(name).title})" for name in pair)
    return f"{titles} give the same numbers in every draw. {_apart(exercise, pair)}".strip()


def _apart(exercise: Exercise, pair: tuple[str, str]) -> str:
    """What would tell the two apart: other sizes, another step, or nothing that was found."""
    problem, question = exercise.problem, step_questions(exercise)[-1]
    for group in blindspots(problem, question.step, question.digits, pair).alike:
        if group.apart is not None and not group.still:
            sizes = _sizes(problem, group.apart)
            return f"{f'Numbers with {sizes}' if sizes else 'Other numbers'} would tell them apart."
        if group.other_step:
            return f"They differ at the step {group.other_step}."
    step = field_named(question.step).title
    return f"With {_sizes(None, problem)} no input was found that tells them apart at the {step}."


def _sizes(before: Problem | None, problem: Problem) -> str:
    """The sizes of a problem, such as Tq = 1, Tk = 2; of two, those that differ."""
    known, sizes = size_values(before) if before else {}, size_values(problem)
    named = [name for name in sizes if known.get(name) != sizes[name] and not name.startswith("√")]
    return ", ".join(f"{name} = {number(sizes[name])}" for name in named)
