"""Dropout that was left on: what cannot be computed from the problem, but can be read off the answer.

Which weights were dropped is chance, so no wrong version of a step can give the numbers. But each weight
is either 0 or the right one times one constant, 1/(1 − p): `dropout_explains` solves for that constant
and for what was kept. The records' own wrong versions drop a fixed pattern, to show what it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..problem import Problem
from .mistake import Mistake, Parameter, Reading
from .recipe import Recipe

PAPER = "Srivastava et al. 2014, section 4; Vaswani et al. 2017, section 5.4"
NAMED = (*(1 / (1 - p) for p in (0.1, 0.2, 0.25, 0.3, 0.5)), 1.0)  # the usual factors, tried first
FACTORS = tuple(map(float, np.geomspace(0.03, 17, 50)))  # close enough that few answers lie between them
MOST_KEYS = 6  # of a row of outputs: 2^6 ways to keep its weights
MOST_CHOICES = 20_000  # rows times ways
SAMPLE_P = 0.25
SHOWN = Recipe(Tq=3, Tk=4)
ZERO_VALUES = Recipe(Tq=3, Tk=4, fixed={"value": [[0.0] * 4] * 4})


@dataclass(frozen=True, eq=False)
class Dropout:
    """What was dropped.

    factor   what kept weights are multiplied by; p = 1 − 1/factor where they are rescaled
    keep     (…, H, Tq, Tk), True = kept; a weight of 0 counts as kept
    rescaled whether the factor is not 1
    choices  the number of yes-or-no choices that were open: what the answer must pay for, in bits
    """

    factor: float
    keep: Array
    choices: int

    @property
    def rescaled(self) -> bool:
        return abs(self.factor - 1) > 1e-6

    @property
    def p(self) -> float:
        """The share that is dropped on average, as the factor tells it; without a factor, as was counted."""
        return 1 - 1 / self.factor if self.rescaled else 1 - float(self.keep.mean())

    @property
    def mistake(self) -> Mistake:
        """The record that says what went wrong."""
        return DROPOUT_AT_INFERENCE if self.rescaled else DROPOUT_NOT_RESCALED


def dropout_explains(
    answer: Array, weights: Array, tolerance: Array | float, value: Array | None = None
) -> Dropout | None:
    """The dropout that gives this answer to weights or, with `value`, to outputs; None where none does.

    answer     (…, H, Tq, Tk), or (…, H, Tq, Dv) where value (…, H, Tk, Dv) is given
    weights    (…, H, Tq, Tk), the right ones
    tolerance  how far each entry of the answer may be off, broadcasts to it
    Special cases: nothing dropped is no dropout (`dropout-scaled-nothing-dropped` is that); outputs of more
    than 6 keys are not tried; rows of the answer with NaN or infinities are never explained.
    """
    answer, weights = np.asarray(answer, dtype=float), np.asarray(weights, dtype=float)
    tolerance = np.broadcast_to(np.asarray(tolerance, dtype=float), answer.shape)
    if not np.isfinite(answer).all() or not np.isfinite(weights).all():
        return None
    if value is None:
        return _in_weights(answer, weights, tolerance)
    return _in_outputs(answer, weights, tolerance, np.asarray(value, dtype=float))


def _in_weights(answer: Array, weights: Array, tolerance: Array) -> Dropout | None:
    """Each weight is 0 or the right one times one factor."""
    dropped = np.abs(answer) <= tolerance
    known = ~dropped & (weights > 0)
    if not known.any() or (~dropped & (weights == 0)).any():
        return None
    low = float(((answer - tolerance)[known] / weights[known]).max())
    high = float(((answer + tolerance)[known] / weights[known]).min())
    if low > high or high < 1 - 1e-9:
        return None
    factor = _usual(low, high)
    missed = dropped & (weights * factor > tolerance)
    if not missed.any():
        return None
    return Dropout(factor, ~missed, choices=int((weights > 0).sum()))


def _usual(low: float, high: float) -> float:
    """A usual factor between the two, or their middle."""
    return next((factor for factor in NAMED if low <= factor <= high), (low + high) / 2)


def _in_outputs(answer: Array, weights: Array, tolerance: Array, value: Array) -> Dropout | None:
    """Each row of the output is one factor times what some of its weights give."""
    Tk = weights.shape[-1]
    if Tk > MOST_KEYS or weights[..., 0].size * 2**Tk > MOST_CHOICES:
        return None
    patterns = (np.arange(2**Tk)[:, None] >> np.arange(Tk)) & 1  # (2^Tk, Tk)
    given = np.einsum("pk,...qk,...kv->...qpv", patterns, weights, value)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = _intervals(answer[..., None, :], given, tolerance[..., None, :])
    if not (low <= high).any(axis=-1).all():
        return None
    for factor in _candidates(low.reshape(-1, 2**Tk), high.reshape(-1, 2**Tk)):
        fits = (low <= factor) & (factor <= high)
        if fits.any(axis=-1).all():
            return _kept(low, high, fits, patterns, weights)
    return None


def _intervals(answer: Array, given: Array, tolerance: Array) -> tuple[Array, Array]:
    """From where to where a factor makes the answer of `given`, in every column; nowhere: low > high."""
    one, other = (answer - tolerance) / given, (answer + tolerance) / given
    free = given == 0
    fits = np.abs(answer) <= tolerance
    low = np.where(free, np.where(fits, 1 - 1e-9, np.inf), np.minimum(one, other)).max(axis=-1)
    high = np.where(free, np.where(fits, np.inf, -np.inf), np.maximum(one, other)).min(axis=-1)
    return np.maximum(low, 1 - 1e-9), high


def _candidates(low: Array, high: Array) -> Iterator[float]:
    """The usual factors, then every lower end: the least factor that will do is one of them.

    Only those that the row with the fewest open choices allows.
    """
    yield from NAMED
    is_open = low <= high
    row = int(is_open.sum(axis=-1).argmin())
    for factor in np.unique(low[is_open]):
        if ((low[row] <= factor) & (factor <= high[row])).any():
            yield float(factor)


def _kept(low: Array, high: Array, fits: Array, patterns: Array, weights: Array) -> Dropout | None:
    """Of the patterns that fit a row, the one that keeps most; and the factor that all of them allow."""
    chosen = np.where(fits, patterns.sum(axis=-1), -1).argmax(axis=-1)[..., None]
    keep = patterns[chosen[..., 0]].astype(bool) | (weights == 0)
    ends = np.take_along_axis(low, chosen, axis=-1).max(), np.take_along_axis(high, chosen, axis=-1).min()
    return None if keep.all() else Dropout(_usual(*ends), keep, choices=int((weights > 0).sum()))


def sample_pattern(problem: Problem) -> Array:
    """A fixed pattern that drops every third weight along the diagonals, to show what dropout does."""
    return np.asarray((problem.row_numbers[:, None] + np.arange(problem.Tk)) % 3 != 2)


def dropped(problem: Problem, weights: Array) -> Array:
    """Some weights dropped, the others divided by 1 − p."""
    return np.where(sample_pattern(problem), weights / (1 - SAMPLE_P), 0)


DROPOUT_AT_INFERENCE = Mistake(
    id="dropout-at-inference",
    title="left dropout on",
    formula=r"W \odot \mathrm{keep}/(1 - p)",
    why=(
        "Some weights are 0 and all others are 1/(1 − p) of the right ones; which ones is chance, so the "
        "same input gives another output each time."
    ),
    mend="Set dropout_p to 0 outside training: functions do not see that a model is in evaluation mode.",
    hides_when="p is 0, or no weight happens to be dropped; in the output also where all values are 0",
    source="pytorch/pytorch#124464",
    wrong={"after-softmax": dropped},
    witness=SHOWN,
    blind_spot=ZERO_VALUES,
)

DROPOUT_NOT_RESCALED = Mistake(
    id="dropout-not-rescaled",
    title="left dropout on, without dividing by 1 − p",
    formula=r"W \odot \mathrm{keep}",
    why=(
        "Some weights are 0 and the others as they should be, so rows sum to less than 1; which ones is "
        "chance."
    ),
    mend="Set dropout to 0 outside training; in training divide what is kept by 1 − p.",
    hides_when="p is 0, or no weight happens to be dropped; in the output also where all values are 0",
    source=PAPER,
    wrong={"after-softmax": lambda problem, weights: np.where(sample_pattern(problem), weights, 0)},
    witness=SHOWN,
    blind_spot=ZERO_VALUES,
)

DROPOUT_NOTHING_DROPPED = Mistake(
    id="dropout-scaled-nothing-dropped",
    title="multiplied every weight by one number, as dropout does with what it keeps",
    formula=r"\theta W,\; \theta = 1/(1 - p)",
    why=(
        "Dividing by 1 − p makes up for what dropout takes in training; where nothing is dropped, rows sum "
        "to more than 1."
    ),
    mend="Divide only what dropout left over, in training.",
    hides_when="p is 0; in the output also where all values are 0",
    source=PAPER,
    wrong={"after-softmax": lambda problem, theta, weights: theta * weights},
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (*NAMED[:-1], 0.9, 0.8, 0.75, 0.7, 0.5, 0.25, 4.0, 10.0, *FACTORS),
        right=lambda problem: 1.0,
    ),
    readings=(
        Reading(
            id="dropout-scaled-down",
            title="multiplied the weights by 1 − p outside training",
            why=(
                "That was the first recipe for dropout; where training divides by 1 − p already, it is done "
                "twice, and rows sum to less than 1."
            ),
            mend="Leave the weights as they are outside training.",
            source=PAPER,
        ),
    ),
    witness=SHOWN,
    blind_spot=ZERO_VALUES,
)

MISTAKES: tuple[Mistake, ...] = (
    DROPOUT_AT_INFERENCE,
    DROPOUT_NOT_RESCALED,
    DROPOUT_NOTHING_DROPPED,
)
