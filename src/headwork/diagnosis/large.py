"""Explain answers to large problems in about the time and memory of working the problem out.

Whatever explains an answer explains its worst row in one head, so every rule is first tried there
(glance.py): that costs next to nothing and leaves few. Those are tried on a few rows of all heads, and
what is still left is confirmed on every row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np

from ..arrays import Array
from ..mechanism.sampling import in_heads, one_head, sample
from ..mistakes.wrong_run import can_be_made
from ..problem import Problem
from .consequences import consequences_of
from .cutting import cut, head_index, heads_of, is_apart, rows_of, telling_rows
from .families import solve
from .freedom import bits_of
from .glance import Glance
from .looking import blocks
from .parts import consequence, makeable, own_step
from .plan import RIGHT, Hypothesis
from .reach import FINAL
from .rounding import half_unit
from .search import (
    FEWEST_BITS,
    MOST_ENTRIES,
    PAIRS,
    Finding,
    applicable,
    found_among,
    joint_explanations,
    needed,
    simple_explanations,
    solved_findings,
    too_many,
)
from .target import Target
from .tolerance import largest

LARGE = 2_000_000  # entries of the score matrix from which on a problem is not kept whole
LARGE_KEYS = 8_000_000  # numbers in keys and values: every rule about them would have its own
WIDE = 256.0  # times the error of the right result: what a rule may be off before its own error is known
NARROW = 1e-5  # of the largest number: what the order of a sum changes in arithmetic of few bits


def is_large(problem: Problem) -> bool:
    """Whether the score matrix is too large to keep every step, or the keys and values to copy them."""
    keys = math.prod(problem.batch) * problem.Hkv * problem.Tk * ((problem.D or 0) + (problem.Dv or 0))
    return math.prod(problem.matrix_shape) > LARGE or keys > LARGE_KEYS


def is_wide(target: Target) -> bool:
    """Whether every single mistake on every row would be too many numbers."""
    count = len(applicable(target.problem, target.step))
    return count * math.prod(target.problem.matrix_shape) > MOST_ENTRIES


def explanations(target: Target) -> tuple[Finding, ...]:
    """One mistake, or what else is simple; where all rows are too many, all that the telling rows find."""
    return large_explanations(target) if is_wide(target) else simple_explanations(target)


def by_rows_if_many(target: Target) -> tuple[Finding, ...]:
    """Two mistakes or more; where all rows would be too many for all pairs, on the telling ones first."""
    if is_wide(target):
        return ()  # tried along with the single ones
    count = len(applicable(target.problem, target.step))
    if not too_many(count, PAIRS, target.values.size) or target.problem.rows is not None:
        return joint_explanations(target)
    return _confirmed(target, joint_explanations(rows_of(target, telling_rows(target))))


Own = Callable[
    [Array, Array | None], float
]  # the tolerance around what a rule gives, by that and what went into the softmax


def large_explanations(target: Target, own: Own | None = None) -> tuple[Finding, ...]:
    """The findings that survive on every row, of the simplest kind that there is.

    own  the tolerance of a hypothesis; None: the right result's
    """
    search = _Search(target, own)
    kinds = (search.singles, search.narrow, search.numbers, search.mixing, search.pairs)
    return next((found for kind in kinds if (found := _confirmed(target, kind(), own))), ())


class _Search:
    """What explains a few rows of an answer."""

    def __init__(self, target: Target, own: Own | None) -> None:
        self.target = target
        self.own = own
        half = 0.0 if target.digits is None else half_unit(target.digits)
        self.error = 0.0 if own is None else own(target.values, None) - half  # a rule must be as large
        self.glance = Glance(target, WIDE * self.error)
        self.every = makeable(target.problem, target.step)
        self.by_row = tuple(m for m in self.every if not m.mixes_queries and m.rewrite is None)
        self.plain = tuple(m for m in self.by_row if m.parameter is None and not m.narrow)

    @cached_property
    def rows(self) -> Target:
        rows, own = rows_of(self.target, telling_rows(self.target)), self.own
        return rows if own is None else _with_slack(rows, own)

    def singles(self) -> tuple[Finding, ...]:
        """One mistake."""
        return self._found([(mistake,) for mistake in self.plain])

    def narrow(self) -> tuple[Finding, ...]:
        """Arithmetic in fewer bits, where the numbers are an array's."""
        if self.target.digits is not None:
            return ()
        ways = [(m,) for m in self.by_row if m.parameter is None and m.narrow]
        return self._found(ways, NARROW * largest(self.target.values))

    def numbers(self) -> tuple[Finding, ...]:
        """A rule with a number that the answer reveals."""
        rules = [mistake for mistake in self.by_row if mistake.parameter is not None]
        likely = [rule for rule in rules if solve(self.glance.place((rule,)), (rule,))]
        return solved_findings(self.rows, likely, len(rules))

    def mixing(self) -> tuple[Finding, ...]:
        """Rules that must see all rows, or that solve another problem."""
        rules = [m for m in self.every if m not in self.by_row and m.parameter is None and not m.narrow]
        likely = [mistake for mistake in rules if self.glance.mixes_to(mistake)]
        return tuple(
            Finding(
                ((mistake,),),
                self.rows.values,
                bits_of(self.rows) - math.log2(len(rules)),
                needed=needed(self.rows),
            )
            for mistake in likely
        )

    def pairs(self) -> tuple[Finding, ...]:
        """Two mistakes, neither of which mixes queries."""
        count = len(self.plain)
        if not too_many(count, PAIRS, self.rows.values.size):
            return joint_explanations(self.rows)
        found = self._on_rows(self.glance.pairs(self.plain), count * (count - 1) // 2)
        return tuple(finding for finding in found if finding.bits >= FEWEST_BITS[PAIRS])

    def _found(self, hypotheses: Sequence[Hypothesis], extra: float = 0.0) -> tuple[Finding, ...]:
        return self._on_rows(self.glance.survivors(hypotheses, extra), len(hypotheses))

    def _on_rows(self, likely: Sequence[Hypothesis], tried: int) -> tuple[Finding, ...]:
        """Of hypotheses of one size that give the worst row, those that give all rows that are tried."""
        if not likely:
            return ()
        made = consequences_of(self.rows.problem, self.target.step, (RIGHT, *likely))
        rows = replace(self.rows, tolerance=self.rows.tolerance + WIDE * self.error)  # its own decides
        return found_among(rows, made, len(likely[0]), tried)


def _with_slack(target: Target, own: Own) -> Target:
    field = FINAL.get(target.step, target.step)
    return replace(target, slack=lambda _, fields: np.array(own(fields[field], fields.get("logits"))))


# --- every row ------------------------------------------------------------------------------------


def _confirmed(target: Target, findings: Iterable[Finding], own: Own | None = None) -> tuple[Finding, ...]:
    """The findings with those of their readings that hold on every row."""
    confirmed = []
    for finding in findings:
        held = tuple(each for each in finding.readings if _holds(target, each, finding.theta_of(each), own))
        confirmed += [replace(finding, readings=held)] if held else []
    return tuple(confirmed)


def _holds(target: Target, hypothesis: Hypothesis, theta: float | None, own: Own | None) -> bool:
    for part, made, logits in _pieces(target, hypothesis, theta):
        if made is None or made.size != part.values.size:
            return False
        tolerance = part.tolerance if own is None else np.array(own(made, logits))
        if not part.matches(made.reshape(part.values.shape), tolerance):
            return False
    return True


Piece = tuple[Target, Array | None, Array | None]


def _pieces(target: Target, hypothesis: Hypothesis, theta: float | None) -> Iterator[Piece]:
    """Parts of the answer, a head or a block of rows at a time, with what the mistakes give there.

    The last is what went into the softmax, where that was worked out.
    """
    problem, mixes = target.problem, any(mistake.mixes_queries for mistake in hypothesis)
    batches = [tuple(at) for at in np.ndindex(*problem.batch)]
    if _can_be_made_in(target, hypothesis, batches[0]):
        yield from _by_head(target, hypothesis, theta, mixes, batches)
    elif mixes and _can_be_made_in(target, hypothesis, None):
        yield from _by_head(target, hypothesis, theta, mixes, [None])
    elif mixes:
        yield target, *_made(problem, hypothesis, target.step, theta)
    else:
        for mistake in hypothesis:
            if mistake.rewrite is not None:
                problem, hypothesis = mistake.rewrite(problem), RIGHT
        for rows in blocks(problem, math.prod(problem.batch) * problem.H):
            made = _made(sample(problem, rows), hypothesis, target.step, theta)
            yield cut(target, (..., rows, slice(None))), *made


Batch = tuple[int, ...] | None  # None: all batch elements


def _can_be_made_in(target: Target, hypothesis: Hypothesis, batch: Batch) -> bool:
    """Whether these mistakes can be made in one head as in all."""
    if not is_apart(target) or any(mistake.rewrite is not None for mistake in hypothesis):
        return False
    first = one_head(in_heads(target.problem), batch, 0)
    return all(can_be_made(first, mistake) for mistake in hypothesis)


def _by_head(
    target: Target, hypothesis: Hypothesis, theta: float | None, mixes: bool, batches: Sequence[Batch]
) -> Iterator[Piece]:
    problem, step = target.problem, own_step(target.step)
    heads, answer = in_heads(problem), heads_of(target)
    for batch, head in product(batches, range(problem.H)):
        one = one_head(heads, batch, head)
        for rows in [np.arange(problem.Tq)] if mixes else blocks(problem):
            made = _made(one if mixes else sample(one, rows), hypothesis, step, theta)
            yield cut(answer, head_index(target, batch, head, rows)), *made


def _made(
    problem: Problem, hypothesis: Hypothesis, step: str, theta: float | None
) -> tuple[Array | None, Array | None]:
    seen: dict[str, Array] = {}
    made = consequence(
        problem,
        hypothesis,
        FINAL.get(step, step),
        theta=theta,
        seen=lambda name, array: seen.update({name: array} if name == "logits" else {}),
    )
    return made, seen.get("logits")
