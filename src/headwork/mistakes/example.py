"""A mistake at work on a problem: right and wrong numbers, where they first differ and at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.fields import FIELDS
from ..mechanism.numerals import DIGITS
from ..mechanism.tracing import Trace, seeds
from ..problem import Problem
from .mistake import Mistake, Parameter
from .wrong_run import run_wrong

MOST_DIGITS = 12
MOST_TRIED = 12
EXACT = 1e-9  # closer numbers are the same, worked out in another order
USED = {"masked": "logits", "weights": "attention"}  # a wrong pipeline may do something to them before
# what may be seen shows in the masked scores, what is added in the biased ones
NOT_SHOWN = ("allowed", "bias")


@dataclass(frozen=True, eq=False)
class Example:
    """A problem worked out, and worked out with a mistake.

    Fields
    theta        the number in the rule, None where it has none
    right wrong  the two, each with the fields that both have
    fields       the results that differ, in the order of the pipeline; none where the mistake hides
    """

    theta: float | None
    right: Trace
    wrong: Trace
    fields: tuple[str, ...]

    @property
    def problem(self) -> Problem:
        """What was worked out."""
        return self.right.problem

    def differs(self, name: str) -> Array:
        """Which entries of a field differ."""
        return apart(self.right[name], self.wrong[name]) > EXACT

    def digits(self, name: str) -> int:
        """Decimals that show the difference: three, where they do."""
        largest = float(apart(self.right[name], self.wrong[name]).max())
        if not 0 < largest < 10.0**-DIGITS:
            return DIGITS
        return min(1 - math.floor(math.log10(largest)), MOST_DIGITS)

    @property
    def ends(self) -> tuple[str, ...]:
        """The first and the last of the fields."""
        return tuple(dict.fromkeys((*self.fields[:1], *self.fields[-1:])))

    def to_dict(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """As plain data: these fields, or the ends."""
        names = self.ends if names is None else names
        fields = {name: {"right": self.right[name], "wrong": self.wrong[name]} for name in names}
        return {"problem": self.problem.to_dict(), "theta": self.theta, "fields": fields}


def example_of(mistake: Mistake, problem: Problem | None = None) -> Example:
    """The mistake on a problem, or on its witness; a rule with a number with one that shows."""
    problem = mistake.witness.draw() if problem is None else problem
    if mistake.parameter is None:
        return example_with(problem, (mistake,))
    tried = [example_with(problem, (mistake,), theta) for theta in _numbers(problem, mistake.parameter)]
    return max(tried, key=lambda example: len(example.fields))


def example_with(problem: Problem, mistakes: Sequence[Mistake], theta: float | None = None) -> Example:
    """Mistakes made together on a problem; theta is the number in the rule of one of them."""
    right, wrong = (_as_used(run_wrong(problem, made, theta)) for made in ((), mistakes))
    seen = _seen(problem, right, wrong)
    whole = {name: np.broadcast_to(wrong[name].astype(np.float64), right[name].shape) for name in seen}
    return Example(theta, Trace(problem, right), Trace(problem, whole), tuple(seen))


def _as_used(fields: dict[str, Array]) -> dict[str, Array]:
    """The masked scores as they go into the softmax, and the weights as they go into the blend."""
    return fields | {name: fields[used] for name, used in USED.items() if used in fields}


def _numbers(problem: Problem, parameter: Parameter) -> list[float]:
    """Numbers to try, short ones first: 3, or what is nearest to it among those that the rule may have."""
    values = list(parameter.values(problem))
    nearest = min(values, key=lambda value: abs(value - 3))
    short = float(f"{nearest:.1g}")
    may_be = not parameter.whole and min(values) <= short <= max(values) and short != parameter.right(problem)
    return [*([short] if may_be else []), nearest, *values[:MOST_TRIED]]


def _seen(problem: Problem, right: Mapping[str, Array], wrong: Mapping[str, Array]) -> list[str]:
    """The fields in which the difference shows, in pipeline order."""
    left_out = (*seeds(problem), *NOT_SHOWN)
    names = (field.name for field in FIELDS if field.name not in left_out)
    return [
        name
        for name in names
        if name in right
        and name in wrong
        and _fits(right[name], wrong[name])
        and (apart(right[name], wrong[name]) > EXACT).any()
    ]


def _fits(right: Array, wrong: Array) -> bool:
    return all(m == n or n == 1 for m, n in zip(right.shape, wrong.shape, strict=False))


def apart(a: Array, b: Array) -> Array:
    """The distance of each two entries; infinite where one is a number and the other is none."""
    with np.errstate(invalid="ignore", over="ignore"):  # inf − inf: compared as symbols
        off = np.abs(a.astype(np.float64) - b.astype(np.float64))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
