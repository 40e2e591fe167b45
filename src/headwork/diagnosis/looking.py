"""Look at an answer to a large problem: the right result, head by head and some rows at a time.

Nothing but the asked step is kept, and where an answer is clearly off nothing more is worked out until
somebody asks how much of it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.fields import canonical_axes
from ..mechanism.sampling import in_heads
from ..problem import Problem
from .parts import by_heads, consequence, head_rows, is_by_head
from .reach import FINAL
from .rounding import half_unit
from .target import Target
from .tolerance import OUTPUTS, Precision, in_dtype, in_float64, largest, rounding_noise

BLOCK = 500_000  # entries of a score matrix worked out at a time: few for the cache, enough for BLAS
FIRST = 4  # rows that are looked at first, at equal distances
CLEARLY = 64.0  # times the tolerance that these rows tell: no other row will excuse that
MOSTLY = 0.9  # of the entries
ROUGH = 4.0  # times the floor of a float32 tolerance; plain arithmetic stays well below one
MARGIN = 2.0  # a tolerance that a few rows tell is taken so many times


def blocks(problem: Problem, heads: int = 1) -> Iterator[Array]:
    """The numbers of the queries, as many at a time as a block holds of so many heads."""
    count = max(1, BLOCK // (heads * problem.Tk))
    for start in range(0, problem.Tq, count):
        yield np.arange(start, min(start + count, problem.Tq))


class Looking:
    """An answer in canonical shape beside the right result, as much of that as was worked out so far."""

    def __init__(self, problem: Problem, step: str, values: Array, precision: Precision) -> None:
        self.problem, self.step, self.values, self.precision = problem, step, values, precision
        self.exact = in_float64(problem)
        self.heads = in_heads(self.exact)
        self.right = values.copy()  # an entry that was not looked at says nothing, as if it were right
        self.has_rows = "Tq" in canonical_axes(problem, step)
        self.looked = np.zeros(problem.Tq, bool)
        self.off = self.scaled = self.largest = self.apart = 0.0

    def until_off(self) -> Target:
        """As much as it takes to see that the answer is off, or all of it where it is not."""
        first = np.unique(np.linspace(0, self.problem.Tq - 1, FIRST).astype(np.int64))
        self._look(first)
        self._look_in_its_own_arithmetic(first)
        for rows in blocks(self.problem) if self.has_rows else ():
            if self._is_clearly_off:
                return self._target(MARGIN)
            self._look(rows)
        return self._whole()

    def to_the_end(self) -> Target:
        """All of it."""
        look = self._look_roughly if self._is_mostly_off else self._look
        for rows in blocks(self.problem) if self.has_rows else ():
            left = rows[~self.looked[rows]]
            if left.size:
                look(left)
        return self._whole()

    def _whole(self) -> Target:
        if not self._is_clearly_off:
            for rows in blocks(self.problem) if self.has_rows else ():
                self._look_in_its_own_arithmetic(rows)
        return self._target()

    def own_tolerance(self, made: Array, logits: Array | None) -> float:
        """How far an answer may be from what a rule gives, which may be larger than the right numbers are.

        logits  what went into the softmax; None where nothing did
        """
        dtype, scaled = self.precision.dtype, 0.0 if logits is None else largest(logits)
        noise = rounding_noise(dtype, max(self.scaled, scaled), max(self.largest, largest(made)))
        grown = noise / (rounding_noise(dtype, self.scaled, self.largest) or 1.0)
        return self._half + MARGIN * self._error * max(grown, 1.0)

    def _target(self, margin: float = 1.0) -> Target:
        tolerance = np.broadcast_to(self._half + margin * self._error, self.right.shape)
        given = np.broadcast_to(True, self.right.shape)
        return Target(
            problem=self.problem,
            step=self.step,
            values=self.values,
            given=given,
            right=self.right,
            slack=lambda *_: tolerance,
            tolerance=tolerance,
            digits=self.precision.digits,
        )

    @property
    def _half(self) -> float:
        return 0.0 if self.precision.digits is None else half_unit(self.precision.digits)

    @property
    def _error(self) -> float:
        """What arithmetic makes, as far as the rows tell that were looked at."""
        return 2 * self.apart + rounding_noise(self.precision.dtype, self.scaled, self.largest)

    @property
    def _is_clearly_off(self) -> bool:
        return self.off > CLEARLY * (self._half + self._error)

    def _where(self, rows: Array) -> Any:
        return (..., rows, slice(None)) if self.has_rows else (...,)

    def _look(self, rows: Array) -> None:
        """Work out these rows, and see how far off they are."""
        right, values = self._worked(self.exact, self.heads, rows), self.values[self._where(rows)]
        self.right[self._where(rows)] = right
        with np.errstate(invalid="ignore"):  # inf − inf: compared as symbols
            off = np.abs(right - values)
        if not np.isfinite(off).all():
            off = np.where((right == values) | (np.isnan(right) & np.isnan(values)), 0, off)
        self.off = max(self.off, float(np.nan_to_num(off, nan=np.inf, posinf=np.inf).max(initial=0.0)))
        self.looked[rows] = True
        if self.step not in OUTPUTS:
            self.largest = max(self.largest, largest(right))

    # --- clearly off in float32 is off --------------------------------------------------------------

    @property
    def _is_mostly_off(self) -> bool:
        """Whether nearly every entry that was looked at is off, and so are most of the others, by far."""
        if self.problem.merges or not is_by_head(self.step) or self.step not in OUTPUTS:
            return False
        rows = np.flatnonzero(self.looked)
        off = np.abs(self.right[..., rows, :] - self.values[..., rows, :]) > self._rough_error
        return bool(off.mean() > MOSTLY)

    @cached_property
    def _rough_heads(self) -> Problem:
        return in_heads(in_dtype(self.exact, "float32"))

    @property
    def _rough_error(self) -> float:
        """What float32 may make of the right result, and a right answer of that: never more than this."""
        return self._half + self._error + ROUGH * rounding_noise("float32", self.scaled, self.largest)

    def _look_roughly(self, rows: Array) -> None:
        """Work out these rows in float32, and in float64 those that are not clearly off in every entry."""
        for *batch, head in np.ndindex(*self.problem.batch, self.problem.H):
            where = (*batch, ..., head, rows, slice(None))
            right = head_rows(self._rough_heads, tuple(batch), head, self.step, rows)[..., 0, :, :]
            with np.errstate(invalid="ignore"):
                clear = (np.abs(right - self.values[where]) > self._rough_error).all(axis=-1)
            unclear = rows[~clear.reshape(-1, len(rows)).all(axis=0)]
            self.right[where] = right
            if unclear.size:
                exact = head_rows(self.heads, tuple(batch), head, self.step, unclear, self._note)
                self.right[(*batch, ..., head, unclear, slice(None))] = exact[..., 0, :, :]
        self.looked[rows] = True

    def _look_in_its_own_arithmetic(self, rows: Array) -> None:
        """How far plain NumPy in the dtype that is meant is from float64; not asked where nothing is off."""
        there = in_dtype(self.exact, self.precision.dtype)
        if there is self.exact or self.off <= self._half + self._error:
            return
        plain = self._worked(there, in_heads(there), rows).astype(np.float64)
        with np.errstate(invalid="ignore"):
            self.apart = max(self.apart, largest(plain - self.right[self._where(rows)]))

    def _worked(self, problem: Problem, heads: Problem, rows: Array) -> Array:
        """The step in these rows."""
        if is_by_head(self.step):
            return by_heads(problem, heads, self.step, rows, self._note)
        made = consequence(problem, (), FINAL.get(self.step, self.step), rows=rows)
        assert made is not None
        return made

    def _note(self, name: str, array: Array) -> None:
        """What the tolerance depends on."""
        if name == "scaled":
            self.scaled = max(self.scaled, largest(array))
        if name == "value_repeated" and self.step in OUTPUTS:
            self.largest = max(self.largest, largest(array))
