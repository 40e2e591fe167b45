"""How far an answer may be from the right one: by the digits asked, or by the arithmetic of an array.

The worst trap of marking: half a unit of the last digit refuses most right answers that were worked out
by hand, and a fixed 1e-3 accepts mistakes. See rounding.py for digits. An array's tolerance is what plain
NumPy makes in the same dtype, twice, and a floor for the order in which sums are taken.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import ml_dtypes
import numpy as np

from ..arrays import DTYPES, Array
from ..mechanism.tracing import run, seeds
from ..problem import Problem
from .rounding import Errors, error_bounds, half_unit
from .verdicts import STANDS_FOR_INFINITY

if TYPE_CHECKING:
    from .answers import Answer

DIGITS = 3  # after the point, where nobody says otherwise
MOST_PLACES = 6  # an array of decimals with more places is no table that somebody rounded
# A unit of the last place must be this many times the dtype's own grain, since every float16 below 1 is a
# decimal of six places.
ABOVE_GRAIN = 64
BY_HAND = 10_000  # entries of the score matrix: nobody rounds more by hand, so programs round at the end only
FIRST_LOOK = 1000  # entries
EXACT = np.zeros(1)  # the tolerance of what is true or false
OUTPUTS = ("part_output", "blended", "merged", "output")
# what is a score, or the logarithm of a sum of their exponentials
SCORES = (
    *("scores", "scaled", "capped", "bias", "biased", "masked", "row_max"),
    *("logsumexp", "part_logsumexp"),
)
FILL = -STANDS_FOR_INFINITY
Size = TypeVar("Size", float, Array)


@dataclass(frozen=True)
class Precision:
    """How precisely an answer is judged.

    Fields
    digits  decimals after the point, or None: by the arithmetic of
    dtype   "float64", "float32", "float16" or "bfloat16"
    why     a sentence: asked for, or what was assumed and from what
    """

    digits: int | None
    dtype: str
    why: str

    def tolerances(
        self, problem: Problem, fields: Mapping[str, Array], only: Collection[str] | None = None
    ) -> Errors:
        """The tolerance at each field, broadcasting to its canonical shape.

        fields  what the pipeline gives for this problem, or a wrong one does, float64
        only    the fields that are wanted; all of them if None
        """
        exact = {name: EXACT for name, array in fields.items() if array.dtype == bool}
        if self.digits is None:
            return exact | array_tolerances(problem, fields, self.dtype)
        half = half_unit(self.digits)
        if fields.get("masked", EXACT).size > BY_HAND:
            errors = array_tolerances(problem, fields, self.dtype)
            return exact | {name: half + error for name, error in errors.items()}
        wanted = None if only is None else [name for name in only if name not in exact]
        errors = error_bounds(problem, fields, self.digits, wanted)
        return exact | {name: np.maximum(error, half) for name, error in errors.items()}


def in_float64(problem: Problem) -> Problem:
    """The same problem in float64 arithmetic, whatever dtype it means."""
    return in_dtype(problem, "float64")


def in_dtype(problem: Problem, dtype: str) -> Problem:
    """The same problem in another arithmetic."""
    return problem if problem.dtype == DTYPES[dtype] else problem.cast(DTYPES[dtype])


def asked_precision(digits: int) -> Precision:
    """Judged at the digits that a question asks for."""
    return Precision(digits, "float64", f"judged at {_digits(digits)} after the point, as asked")


def typed_precision() -> Precision:
    """Judged at three digits: nobody said how many."""
    return Precision(
        DIGITS, "float64", f"judged at {_digits(DIGITS)} after the point, as no number of digits was asked"
    )


def precision_of(problem: Problem, answer: Answer, digits: int | None) -> Precision:
    """How precisely an answer is judged: as asked, else as it was written, or by the coarser arithmetic."""
    if digits is not None:
        return asked_precision(digits)
    if answer.dtype is None:
        return typed_precision()
    return array_precision(answer.values, array_dtype(problem, answer))


def array_dtype(problem: Problem, answer: Answer) -> str:
    """The coarser arithmetic of the problem's and the answer's."""
    names = list(DTYPES)
    return names[max(names.index(problem.dtype.name), names.index(answer.dtype or "float64"))]


def array_precision(values: Array, dtype: str) -> Precision:
    """Judged at the decimals that all values have, at most six; otherwise as arithmetic in the dtype.

    values  the numbers given, any shape
    """
    finite = values[np.isfinite(values)].astype(np.float64)
    places = decimal_places(finite, dtype)
    if places == 0:
        return Precision(
            DIGITS, dtype, f"whole numbers, taken as exact and judged at {_digits(DIGITS)} after the point"
        )
    if places is not None:
        return Precision(
            places,
            dtype,
            f"judged at {_digits(places)} after the point, as every number given has at most that many",
        )
    return Precision(None, dtype, f"judged as {dtype} arithmetic, as the numbers given are no short decimals")


def decimal_places(values: Array, dtype: str) -> int | None:
    """The least number of decimals, at most six, that writes every value; None if there is none."""
    grain = _epsilon(dtype) * largest(values)
    # most long arrays are no decimals, and show it at once
    looks = [values[:FIRST_LOOK], values] if len(values) > FIRST_LOOK else [values]
    for places in range(MOST_PLACES + 1):
        if 10.0**-places < ABOVE_GRAIN * grain:
            return None
        if all(_are_decimals(each, np.round(each, places), dtype, grain) for each in looks):
            return places
    return None


def _are_decimals(values: Array, rounded: Array, dtype: str, grain: float) -> bool:
    """Whether the values are these decimals: in few bits they must be exactly the nearest ones there are.

    A bfloat16 has a grain of 1/128 near 1, so that 0.996 would pass for 1.
    """
    kind = DTYPES[dtype]
    if kind.itemsize == 2:
        return bool((rounded.astype(kind) == values.astype(kind)).all())
    return bool((np.abs(rounded - values) <= grain).all())


def array_tolerances(problem: Problem, fields: Mapping[str, Array], dtype: str) -> Errors:
    """2·max|plain − reference| + max|value|·(ε + ε_work·(1 + max|scaled|)) for each field, over the case.

    plain is the pipeline in the dtype, reference the one in float64; value is the values' array at the
    outputs and the field itself elsewhere. The factor two alone refuses right answers of tiny problems.
    Scores are worked out in at least float32, so it is that arithmetic's ε that large scores magnify. They
    magnify it in their exponentials; up to there, and in logarithms again, 1 stands in place of max|scaled|.
    """
    apart = _apart_in(problem, dtype)
    scaled, reach = largest(fields.get("scaled", EXACT)), _reach(problem, fields)
    return {
        name: np.asarray(2 * apart.get(name, 0.0) + rounding_noise(dtype, 1.0, _sizes(field, reach)))
        if name in SCORES
        else np.array(
            2 * apart.get(name, 0.0)
            + rounding_noise(dtype, scaled, largest(fields["value_repeated"] if name in OUTPUTS else field))
        )
        for name, field in fields.items()
        if field.dtype != bool
    }


def _reach(problem: Problem, fields: Mapping[str, Array]) -> float:
    """How large the products can be that add up to a score, before and after the scale: max‖q‖·max‖k‖.

    A score of 0 may be a sum of large numbers, and is as inexact as they are.
    """
    if not {"query_rotated", "key_rotated"} <= set(fields):
        return 1.0
    finite = (
        np.where(np.isfinite(fields[name]), fields[name], 0) for name in ("query_rotated", "key_rotated")
    )
    with np.errstate(over="ignore"):
        norms = [largest(np.linalg.norm(array, axis=-1)) for array in finite]
    return max(1.0, norms[0] * norms[1] * max(1.0, abs(problem.scale or 0.0)))


def _sizes(field: Array, reach: float) -> Array:
    """The size by which each score is judged: a fill of −10⁹ is inexact, and not what stands beside it."""
    size = np.where(np.isfinite(field), np.abs(field), 0)
    return np.maximum(np.where(size < FILL, largest(size[size < FILL]), size), reach)


def rounding_noise(dtype: str, scaled: float, values: Size) -> Size:
    """max|value|·(ε + ε_work·(1 + max|scaled|)), the floor of a tolerance."""
    narrow, wide = _epsilon(dtype), min(_epsilon(dtype), _epsilon("float32"))
    return values * (narrow + wide * (1 + scaled))


def _epsilon(dtype: str) -> float:
    return float(ml_dtypes.finfo(DTYPES[dtype]).eps)  # type: ignore[no-untyped-call]


def largest(values: Array) -> float:
    """The largest size of a finite number among them."""
    most = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if math.isfinite(most):
        return most
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


def _apart_in(problem: Problem, dtype: str) -> dict[str, float]:
    """How far plain NumPy in the dtype is from float64, at most, for each field."""
    there = in_dtype(problem, dtype)
    if there is problem:
        return {}
    plain, reference = run(there, seeds(there)), run(problem, seeds(problem))
    with np.errstate(invalid="ignore"):
        off = {name: plain[name].astype(np.float64) - reference[name] for name in reference}
        fills = {name: np.abs(reference[name]) >= FILL for name in SCORES if name in reference}
    return {
        name: largest(np.where(fills[name], 0, each) if name in fills else each) for name, each in off.items()
    }


def _digits(count: int) -> str:
    return "1 digit" if count == 1 else f"{count} digits"
