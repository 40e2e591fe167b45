"""What is to be explained: somebody's numbers at one step, the right ones, and how far honest work may differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..problem import Problem

Slack = Callable[
    [Problem, Mapping[str, Array]], Array
]  # the tolerance around what these fields give at the step


@dataclass(frozen=True, eq=False)
class Target:
    """One step's answer, in canonical shape.

    values given  the numbers and which of them were given; right: the true ones
    slack         the tolerance around any pipeline's result for this step; tolerance: around the right one
    digits        the decimals asked, None where the numbers are an array's
    """

    problem: Problem
    step: str
    values: Array
    given: Array
    right: Array
    slack: Slack
    tolerance: Array
    digits: int | None = None

    def same(self, other: Array, tolerance: Array) -> Array:
        """Where the answer agrees with `other` (…, *shape): within the tolerance, or the same symbol."""
        with np.errstate(invalid="ignore"):  # inf − inf: such entries are compared as symbols
            near = np.abs(other - self.values) <= tolerance
        return np.asarray(near | (other == self.values) | (np.isnan(other) & np.isnan(self.values)))

    def matches(self, other: Array, tolerance: Array) -> Array:
        """Whether all given entries agree with `other` (…, *shape)."""
        axes = tuple(range(other.ndim - self.values.ndim, other.ndim))
        return np.asarray((self.same(other, tolerance) | ~self.given).all(axis=axes))

    @property
    def is_right(self) -> bool:
        """An answer equal to the right one is right, whatever was done to get it."""
        return bool(self.matches(self.right, self.tolerance))
