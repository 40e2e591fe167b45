"""What a problem really gives and how far an answer may be from it, worked out once and kept: several answers
are usual."""

from __future__ import annotations

from collections.abc import Mapping

from ..arrays import Array
from ..mechanism.tracing import Trace, check_memory, run, seeds
from ..problem import Problem
from .remembering import remembered
from .tolerance import EXACT, Precision, in_float64


def _bytes(fields: Mapping[str, Array]) -> int:
    return sum(array.nbytes for array in fields.values())


@remembered(_bytes)
def right_fields(problem: Problem) -> Mapping[str, Array]:
    """Every field of the right pipeline, in the problem's own arithmetic, kept."""
    return run(problem, seeds(problem))


@remembered(lambda work: _bytes(work.fields))
def worked(problem: Problem) -> Trace:
    """The problem in float64, kept.

    Raises TooLargeError where it would not fit.
    """
    exact = in_float64(problem)
    check_memory(exact)
    return Trace(exact, right_fields(exact))


@remembered(lambda found: found.nbytes)
def known_tolerance(problem: Problem, precision: Precision, step: str) -> Array:
    """The tolerance at a step of the right pipeline, kept; broadcasts to its canonical shape."""
    work = worked(problem)
    return precision.tolerances(work.problem, work.fields, [step]).get(step, EXACT)
