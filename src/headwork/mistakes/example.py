"""A mistake at work on its witness: right and wrong numbers, where they first differ and at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
# what may be seen shows in the masked scores, what is added in the biased ones
NOT_SHOWN = ("allowed", "bias")


@dataclass(frozen=True, eq=False)
class Example:
    """A mistake on its witness.

    Fields
    theta        the number in the rule, None where it has none
    right wrong  the problem worked out, and worked out with the mistake
    fields       where to look: the first field that differs, and the last
    """

    theta: float | None
    right: Trace
    wrong: Trace
    fields: tuple[str, ...]

    @property
    def problem(self) -> Problem:
        """The witness."""
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

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        fields = {name: {"right": self.right[name], "wrong": self.wrong[name]} for name in self.fields}
        return {"problem": self.problem.to_dict(), "theta": self.theta, "fields": fields}


def example_of(mistake: Mistake) -> Example:
    """The mistake on its witness."""
    problem = mistake.witness.draw()
    right = run_wrong(problem, ())
    theta, wrong = _most_telling(problem, mistake, right)
    seen = _seen(problem, right, wrong)
    whole = {name: np.broadcast_to(wrong[name].astype(np.float64), right[name].shape) for name in seen}
    return Example(
        theta, Trace(problem, right), Trace(problem, whole), tuple(dict.fromkeys((seen[0], seen[-1])))
    )


def _most_telling(
    problem: Problem, mistake: Mistake, right: Mapping[str, Array]
) -> tuple[float | None, Mapping[str, Array]]:
    """The wrong fields; of a rule with a number, with one that shows in most fields."""
    if mistake.parameter is None:
        return None, run_wrong(problem, (mistake,))
    tried = [(theta, run_wrong(problem, (mistake,), theta)) for theta in _numbers(problem, mistake.parameter)]
    return max(tried, key=lambda one: len(_seen(problem, right, one[1])))


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
