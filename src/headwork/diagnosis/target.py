"""What is to be explained: somebody's numbers at one step, the right ones, and how far they may differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Array
from ..problem import Problem
from .rounding import half_unit
from .verdicts import FLOAT_NOISE

Slack = Callable[
    [Problem, Mapping[str, Array]], Array
]  # the tolerance around what these fields give at the step

MANY = 64  # others from which on one entry is compared first


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
        if other.ndim == self.values.ndim + 1 and len(other) > MANY:
            return self._matches_many(other, np.broadcast_to(tolerance, self.values.shape))
        return np.asarray((self.same(other, tolerance) | ~self.given).all(axis=axes))

    @cached_property
    def telling(self) -> int:
        """The given entry that is farthest from the right one, in tolerances: its flat index."""
        with np.errstate(invalid="ignore"):  # inf − inf: a symbol is as far as can be where it is not right
            off = np.nan_to_num(np.abs(self.values - self.right) / np.maximum(self.tolerance, 1e-300))
        return int(np.argmax(np.where(self.given, off, -1)))

    def _matches_many(self, other: Array, tolerance: Array) -> Array:
        """The same for many others: most are ruled out by the entry that is farthest from the right one."""
        at = self.telling
        with np.errstate(invalid="ignore"):  # inf − inf: such entries are compared as symbols
            far = np.abs(other.reshape(len(other), -1)[:, at] - self.values.flat[at]) > tolerance.flat[at]
        agrees = ~far | ~self.given.flat[at]
        near = np.flatnonzero(agrees)
        same = self.same(other[near], tolerance) | ~self.given
        agrees[near] = same.reshape(len(near), self.values.size).all(axis=-1)
        return np.asarray(agrees)

    def misfit(self, other: Array) -> Array:
        """The farthest given entry from `other` (…, *shape), in tolerances; equal symbols are 0 apart."""
        with np.errstate(all="ignore"):  # inf − inf, and tolerances of 0
            apart = np.abs(other - self.values) / self.tolerance
        apart = np.where(self.same(other, self.tolerance * 0) | ~self.given, 0, apart)
        axes = tuple(range(other.ndim - self.values.ndim, other.ndim))
        return np.asarray(np.nan_to_num(apart, nan=np.inf).max(axis=axes))

    @property
    def tight(self) -> Array:
        """The tolerance of numbers that were carried in full and only written with the digits asked."""
        if self.digits is None:
            return self.tolerance
        return half_unit(self.digits) + FLOAT_NOISE * np.abs(
            np.where(np.isfinite(self.values), self.values, 0)
        )

    @property
    def is_right(self) -> bool:
        """An answer equal to the right one is right, whatever was done to get it."""
        return bool(self.matches(self.right, self.tolerance))
