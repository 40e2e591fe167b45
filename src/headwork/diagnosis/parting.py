"""Where a wrong rule and the right one part: one entry, in the numbers of the problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.arithmetic import (
    LARGEST_EXPONENT,
    Worked,
    entry_text,
    pieces_text,
    source_of,
    unshifted,
    worked,
)
from ..mechanism.fields import axes_of, field_named
from ..mechanism.numerals import DIGITS
from ..mechanism.tracing import Trace
from ..mistakes.example import apart, example_with
from ..problem import Problem
from .plan import Hypothesis
from .sentences import place_words
from .tolerance import in_float64

SAME = 1e-6  # of the numbers: the rule has to give what was answered, or it is no example of it


@dataclass(frozen=True)
class Parting:
    """The first result that a rule changes, at one entry.

    Fields
    where  the entry in words; right: how the right number comes about; wrong: what the rule gives there
    says   all of it in two sentences
    """

    where: str
    right: Worked
    wrong: Any
    says: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the entry counts from 0."""
        return {**self.right.to_dict(), "wrong": self.wrong, "where": self.where, "says": self.says}


def parting(
    problem: Problem,
    step: str,
    hypothesis: Hypothesis,
    theta: float | None,
    values: Array,
    wrong: Sequence[tuple[int, ...]],
) -> Parting | None:
    """Where the answer to a step, and the right way to it, part.

    values  what the rule gives for the step, in canonical shape
    wrong   entries of the answer that are not right, from 0: the example is one of them, or of their rows
    Special cases: None where the rule does not give these very numbers (what dropout drops is chance), and
    where it changes shapes.
    """
    example = example_with(in_float64(problem), hypothesis, theta)
    made = example.wrong.fields.get(step)
    if not example.fields or made is None or made.shape != values.shape or not _same(made, values):
        return None
    name = step if source_of(example.right, step) == example.fields[0] else example.fields[0]
    places = _places(problem, name, example.differs(name), step, wrong)
    index = tuple(int(at) for at in places[0])
    right = worked(example.right, name, index)
    where = ("" if name == step else f"the {field_named(name).title}, ") + place_words(
        problem, name, places[:1]
    )
    number = example.wrong[name][index]
    digits = _digits(right.value, number)
    text, other = _text(example.right, right, digits), entry_text(number, digits)
    is_convention = all(mistake.convention for mistake in hypothesis)
    rule = "Under that convention" if is_convention else "With this mistake"
    yours = ", as yours is" if name == step else ""
    return Parting(where, right, number, f"For example {where}: {text}. {rule} it is {other}{yours}.")


def _text(work: Trace, right: Worked, digits: int) -> str:
    """The arithmetic; of exponentials and their sums, also as people work them, nothing taken off."""
    if right.field == "row_sum":
        plain = unshifted(work, right.index)
        return right.text(digits) if plain is None else f"{right.text(digits)}, or {plain.text(digits)}"
    score = float(work["masked"][right.index]) if right.field == "exponentials" else math.inf
    if abs(score) > LARGEST_EXPONENT or work["row_max"][right.index[:-1]] == 0:
        return right.text(digits)
    power, number = pieces_text(("e^", score), digits), entry_text(math.exp(score), digits)
    return f"{right.text(digits)}, or not shifted {power} = {number}"


def _same(made: Array, values: Array) -> bool:
    size = np.max(np.abs(values), initial=0.0, where=np.isfinite(values))
    return bool((apart(made, values) <= SAME * (1 + size)).all())


def _places(
    problem: Problem, name: str, differs: Array, step: str, wrong: Sequence[tuple[int, ...]]
) -> Array:
    """The entries that differ, those of the answer first, then those in rows that it has wrong."""
    places = np.argwhere(differs)
    if name == step:
        is_own = np.isin(_flat(places, differs.shape), _flat(np.array(wrong), differs.shape))
    elif "Tq" in axes_of(problem, name)[-2:] and "Tq" in axes_of(problem, step)[-2:]:
        rows = {index[_row_axis(problem, step)] for index in wrong}
        is_own = np.isin(places[:, _row_axis(problem, name)], list(rows))
    else:
        return places
    return places[np.argsort(~is_own, kind="stable")]


def _flat(places: Array, shape: tuple[int, ...]) -> Array:
    return np.asarray(np.ravel_multi_index(tuple(places.reshape(-1, len(shape)).T), shape))


def _row_axis(problem: Problem, name: str) -> int:
    return -1 if axes_of(problem, name)[-1] == "Tq" else -2


def _digits(right: Any, wrong: Any) -> int:
    """Decimals that show the difference: three, or as many more as it takes."""
    return next((d for d in range(DIGITS, 12) if entry_text(right, d) != entry_text(wrong, d)), DIGITS)
