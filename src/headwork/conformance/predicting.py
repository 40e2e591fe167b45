"""What a rule gives on a case, and how far honest arithmetic may be off from that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..arrays import Array
from ..diagnosis.plan import Hypothesis
from ..diagnosis.target import Target
from ..diagnosis.tolerance import OUTPUTS, in_dtype, largest, rounding_noise
from ..mistakes.wrong_run import can_be_made, run_wrong
from .answer_shape import in_its_shape
from .comparing import ROOM, Asked
from .left_open import cut_somehow, dropped_somehow
from .rules import Rule
from .symbols import ANYWHERE, beyond_range, overflows_in, undivided, with_symbols


def prediction(rule: Rule, asked: Asked) -> tuple[Array, Array] | None:
    """The numbers that the rule gives at the case's step, and their tolerance; None where it has another
    shape.

    Where none of its mistakes can be made, it gives the right ones.
    """
    target = asked.target
    assert target is not None
    if rule.in_parts:
        return cut_somehow(rule.hypothesis, asked, target)
    if rule.by_chance:
        return dropped_somehow(asked, target)
    made = made_here(asked, joined(asked.meant, rule.hypothesis))
    if not made:
        return target.right, target.tolerance
    try:
        return _made(rule, asked, target, made)
    except (ValueError, IndexError):  # two mistakes whose shapes do not go together: nobody can make both
        return None


def made_here(asked: Asked, hypothesis: Hypothesis) -> Hypothesis:
    """Those of the mistakes that can be made on this case."""
    return tuple(mistake for mistake in hypothesis if can_be_made(asked.exact, mistake))


def joined(meant: Hypothesis, hypothesis: Hypothesis) -> Hypothesis:
    """What is meant here, but for the steps in which the hypothesis has something else."""
    touched = sum(mistake.touches for mistake in hypothesis)
    return (*(mistake for mistake in meant if not mistake.touches & touched), *hypothesis)


def _made(rule: Rule, asked: Asked, target: Target, made: Hypothesis) -> tuple[Array, Array] | None:
    problem = in_dtype(asked.exact, asked.case.dtype) if _is_narrow(made) else asked.exact
    fields = run_wrong(problem, made, rule.theta)
    values = _values(rule, asked, target, fields)
    if values is None:
        return None
    tolerance = _noise(asked, fields, values)
    for times, other in _runs_beside(rule, asked, made):
        beside = in_its_shape(other, target)
        if beside is not None:
            values = np.where(np.isfinite(beside), values, with_symbols(values, target, ANYWHERE))
            with np.errstate(invalid="ignore"):
                tolerance += times * largest(beside - values)
    return values, np.maximum(target.tolerance, tolerance)


def _is_narrow(hypothesis: Hypothesis) -> bool:
    return any(mistake.narrow for mistake in hypothesis)


def _values(rule: Rule, asked: Asked, target: Target, fields: Mapping[str, Array]) -> Array | None:
    """The numbers in the shape of the answer, with its NaN, ∞ and 0 where exponentials leave the range."""
    values = in_its_shape(fields, target)
    if values is None:
        return None
    values = with_symbols(values, target, undivided(fields))
    if not rule.overflows:
        return values
    beyond = beyond_range(fields, asked.case.dtype)
    return with_symbols(values, target, beyond) if overflows_in(target, beyond) else None


def _runs_beside(rule: Rule, asked: Asked, made: Hypothesis) -> Iterator[tuple[float, Mapping[str, Array]]]:
    """The same in the case's dtype, and with the number as far off as it may be; how often that counts."""
    there = in_dtype(asked.exact, asked.case.dtype)
    if there is not asked.exact and not _is_narrow(made):
        yield 2.0, run_wrong(there, made, rule.theta)  # twice what plain NumPy is off, as for right numbers
    if rule.theta is not None and 0 < rule.theta_error < math.inf:
        yield 1.0, run_wrong(asked.exact, made, rule.theta + rule.theta_error)


def _noise(asked: Asked, fields: Mapping[str, Array], values: Array) -> float:
    """The floor of the tolerance, by what the rule itself makes of the scores."""
    sizes = [largest(values)]
    if asked.case.step in OUTPUTS and "value_repeated" in fields:
        size = largest(fields["value_repeated"])
        sizes += [size, size * _mass(fields)]
    scaled = largest(fields["scaled"]) if "scaled" in fields else 0.0
    room = ROOM if asked.case.dtype == "float64" else 1.0
    return room * rounding_noise(asked.case.dtype, scaled, max(sizes))


def _mass(fields: Mapping[str, Array]) -> float:
    """The most that the weights of a row add up to: 1, unless a rule is wrong; the rounding of a blend grows
    with it."""
    if "attention" not in fields:
        return 1.0
    with np.errstate(all="ignore"):
        return largest(np.abs(fields["attention"]).sum(axis=-1))
