"""Evidence of several answered steps for one explanation.

A step is judged around what follows from the steps before it, as somebody answered them. What follows says
nothing new, so only what a later step shows beyond that is added: a key beside a query, a digit that the
weights did not show. An explanation that a later step contradicts is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..arrays import Array
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .freedom import bits_of
from .plan import Hypothesis
from .reach import FINAL
from .search import Finding
from .target import Target


def pooled(problem: Problem, finding: Finding, later: Sequence[Target]) -> Finding | None:
    """The finding with those of its readings that explain the later steps too, and the evidence of all.

    problem  on which the finding was made
    later    the steps answered after it, each on the problem that goes on from the answers before
    None where no reading explains them all.
    """
    told = {each: _told(problem, each, finding.theta_of(each), later) for each in finding.readings}
    kept = [(reading, bits) for reading, bits in told.items() if bits is not None]
    if not kept:
        return None
    most = max(bits for _, bits in kept)
    return replace(
        finding,
        readings=tuple(reading for reading, bits in kept if bits == most),
        bits=finding.bits + most,
    )


def _told(
    problem: Problem, reading: Hypothesis, theta: float | None, later: Sequence[Target]
) -> float | None:
    """The bits that the later steps add, or None where one of them is not what the reading gives."""
    bits = 0.0
    for target in later:
        added = _adds(problem, reading, theta, target)
        if added is None:
            return None
        bits += added
    return bits


def _adds(problem: Problem, reading: Hypothesis, theta: float | None, target: Target) -> float | None:
    """What one later step adds: its numbers worked out from the start, or from those written before."""
    starts = [problem] if any(mistake.rewrite for mistake in reading) else [problem, target.problem]
    for start in starts:
        fields = run_wrong(start, reading, theta)
        made: Array | None = fields.get(FINAL.get(target.step, target.step))
        if made is None or made.shape != target.values.shape:
            continue
        if target.matches(made, target.tight):
            return bits_of(target, exact=True)
        if target.matches(made, target.slack(start, fields)):
            return bits_of(target)
    return None
