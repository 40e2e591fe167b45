"""What tells explanations apart that give the same numbers, as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Array
from ..diagnosis.apart import Apart, Input, Together
from ..diagnosis.plan import Hypothesis
from ..mechanism.fields import field_named
from .input_text import MOST as MOST_NUMBERS, array_text, input_lines

Line = tuple[str, str, str]  # text, margin, hang
PLACES = 3  # after the point, where nobody said how many


def apart_lines(apart: Apart) -> Iterator[Line]:
    """Each input with what the explanations give there; then those that no input tells apart."""
    for number, each in enumerate(apart.inputs):
        yield f"{'These numbers tell' if number == 0 else 'And these'} them apart:", "", ""
        yield from _input_lines(apart, each)
    for pair in apart.together:
        yield _together_text(apart, pair), "", ""


def _input_lines(apart: Apart, given: Input) -> Iterator[Line]:
    yield from ((line, "  ", "    ") for line in input_lines(given.problem))
    title = field_named(apart.step).title.capitalize()
    yield f"{title} where all is right:{_numbers(apart, given.right)}", "  ", "    "
    for group, numbers in zip(given.groups, given.numbers, strict=True):
        yield f"{_names(group)}:{_numbers(apart, numbers)}", "  ", "    "


def _numbers(apart: Apart, array: Array) -> str:
    if array.size > MOST_NUMBERS:
        return " other ones (--json has them)"
    return f" {array_text(np.round(array, PLACES if apart.digits is None else apart.digits) + 0.0)}"


def _together_text(apart: Apart, pair: Together) -> str:
    names = f"{_names((pair.a,))} and {_names((pair.b,))}"
    same = f"{names} give the same {field_named(apart.step).title} on every input that was tried"
    if not pair.other_step:
        return f"{same}, and the same numbers at every other step here."
    return f"{same}; they differ at the step {pair.other_step}."


def _names(group: tuple[Hypothesis, ...]) -> str:
    names = [" and ".join(mistake.id for mistake in each) for each in group]
    return " or ".join(names)
