"""What follows from somebody's own earlier steps, so that one slip costs one mark.

The steps answered so far take the place of the right ones, and the pipeline goes on from there. A step
that leaves nothing to work out (zeros, a constant row, a weight of 1) earns nothing for what follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Array
from ..mechanism.fields import canonical, canonical_axes, in_kind
from ..mechanism.resuming import resumed
from ..mechanism.tracing import run, seeds
from ..problem import Problem
from .answers import Answer
from .rounding import half_unit, written
from .tolerance import Precision

SPARSE = (
    "exponentials",
    "weights",
)  # fields that leave nothing to work out where all but one entry of a row are 0


class OwnWork:
    """The earlier steps as somebody answered them, in canonical shapes.

    Entries that were not given are filled with what follows from the steps before.
    """

    def __init__(self, problem: Problem, right: Mapping[str, Array]) -> None:
        self.problem = problem
        self.right = right
        self.known: dict[str, tuple[Array, Array]] = {}

    @property
    def standing(self) -> Problem:
        """What is left to work out: the problem with the answers so far in place of the right results."""
        return resumed(self.problem, self.known) if self.known else self.problem

    def fields(self) -> Mapping[str, Array]:
        """Every field that follows from the answers so far."""
        standing = self.standing
        return run(standing, seeds(standing)) if self.known else self.right

    def add(self, answer: Answer, right: Array, precision: Precision, unshifted: Array | None = None) -> None:
        """Go on from this answer; what they carried beyond the digits they wrote, nobody knows.

        right      the true values, as people see them; unshifted: rows whose exponentials were not shifted
        """
        filled = np.where(answer.given, answer.values, self._blank(answer, right))
        error = np.where(answer.given, _unwritten(answer, precision), 0)
        if unshifted is not None and unshifted.any():
            self._start_unshifted(unshifted)
        self.known[answer.step] = (
            canonical(self.problem, answer.step, filled),
            canonical(self.problem, answer.step, error),
        )

    def _blank(self, answer: Answer, right: Array) -> Array:
        if not self.known:
            return right
        return np.broadcast_to(in_kind(self.problem, answer.step, self.fields()[answer.step]), right.shape)

    def _start_unshifted(self, rows: Array) -> None:
        """Nothing is subtracted in these rows: sums and logarithms go on from there."""
        top = self.fields()["row_max"]
        _, error = self.known.get("row_max", (top, np.zeros(top.shape)))
        self.known["row_max"] = (np.where(canonical(self.problem, "row_max", rows), 0, top), error)

    def leaves_nothing(self, step: str, shape: tuple[int, ...]) -> Array:
        """Rows of a later step, bool of its canonical shape, for which the step before leaves no work."""
        found = np.zeros(shape, bool)
        names = [name for name in self.known if name != "row_max"]  # any maximum may be subtracted
        of_keys = [name for name in names if "Tk" in canonical_axes(self.problem, name)[:-1]]
        last = [name for name in names if name not in of_keys][-1:]
        for name in of_keys + last:
            is_trivial = _is_trivial(name, self.known[name][0]) & ~_is_trivial(name, self.right[name])
            found |= self._rows_of(is_trivial, name, step)
        return found

    def _rows_of(self, is_trivial: Array, name: str, step: str) -> Array:
        """The same for the rows of `step`, which may have joined the heads, or keys that every query uses."""
        axes, wanted = canonical_axes(self.problem, name), canonical_axes(self.problem, step)
        if "Tk" in axes[:-1]:
            return np.asarray(is_trivial.all())
        if axes[0] == "H" and wanted[0] != "H":
            return np.asarray(is_trivial.all(axis=-3))
        return is_trivial[..., None, :, :] if axes[0] != "H" and wanted[0] == "H" else is_trivial


def _unwritten(answer: Answer, precision: Precision) -> Array:
    """Half a unit of the last place written, at most that of the digits asked.

    0 for a whole number; 1/3 and √2 may be carried or rounded.
    """
    digits = precision.digits
    if digits is None:
        return np.zeros(answer.values.shape)
    places = np.where(np.isfinite(answer.places), np.maximum(answer.places, digits), digits)
    decimal = half_unit(0) * 10.0**-places
    as_asked = written(answer.values, 0.0, digits)
    is_whole = (answer.places == 0) & (answer.values == np.rint(answer.values))
    return np.where(is_whole, 0, np.where(np.isinf(answer.places), as_asked, decimal))


def _is_trivial(name: str, values: Array) -> Array:
    """Rows of zeros, of one number only, or with a single term: (…, T, 1)."""
    finite = np.isfinite(values)
    most = np.max(values, axis=-1, keepdims=True, initial=-np.inf, where=finite)
    least = np.min(values, axis=-1, keepdims=True, initial=np.inf, where=finite)
    is_constant = (most == least) & (np.count_nonzero(finite, axis=-1, keepdims=True) > 1)
    is_trivial = is_constant | ((most <= 0) & (least >= 0))
    if name in SPARSE:
        is_trivial = is_trivial | (np.count_nonzero(values, axis=-1, keepdims=True) <= 1)
    return np.asarray(is_trivial | (values == 1) if name == "row_sum" else is_trivial)
