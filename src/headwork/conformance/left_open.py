"""What a rule gives that leaves something open: how the keys are cut in parts, which weights are dropped.

Where all that it may give can be looked through, one of it has to be what came back; else that is believed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..arrays import Array
from ..diagnosis.plan import Hypothesis
from ..diagnosis.remembering import remembered
from ..diagnosis.search import with_dropout
from ..diagnosis.target import Target
from ..mistakes.dropout import MOST_KEYS as MOST_DROPPED
from ..mistakes.mistake import altered
from ..mistakes.wrong_run import can_be_made, run_wrong
from ..problem import Problem
from .answer_shape import in_its_shape
from .comparing import Asked

MOST_CUT = 9  # keys that are cut in two or three parts in every way


def cut_somehow(hypothesis: Hypothesis, asked: Asked, target: Target) -> tuple[Array, Array] | None:
    """What the mistakes give with the keys cut in the way that fits; of more keys than can be tried, what
    came back."""
    if asked.exact.Tk > MOST_CUT:
        return target.values, target.tolerance
    for problem in cut_in_parts(asked.exact):
        if all(can_be_made(problem, mistake) for mistake in hypothesis):
            values = in_its_shape(run_wrong(problem, hypothesis), target)
            if values is not None and target.matches(values, target.tolerance):
                return values, target.tolerance
    return None


@remembered()
def cut_in_parts(problem: Problem) -> tuple[Problem, ...]:
    """The problem with its keys in two or three parts, in every way; none where it says how to cut them."""
    if problem.chunks is not None:
        return ()
    Tk = problem.Tk
    places = [places for count in (1, 2) for places in combinations(range(1, Tk), count)]
    return tuple(altered(problem, chunks=np.diff((0, *each, Tk)).tolist()) for each in places)


def dropped_somehow(asked: Asked, target: Target) -> tuple[Array, Array] | None:
    """What dropout gives: what came back, where it may have, and the right numbers where nothing was
    dropped."""
    if not asked.is_wrong:
        return target.right, target.tolerance
    is_possible = not shows_dropout(asked) or bool(with_dropout(target))
    return (target.values, target.tolerance) if is_possible else None


def shows_dropout(asked: Asked) -> bool:
    """Whether it could be read off: in weights, or in a blend of few values."""
    is_finite = bool(np.isfinite(asked.values[asked.case.step]).all())
    return is_finite and (asked.case.step == "weights" or asked.exact.Tk <= MOST_DROPPED)
