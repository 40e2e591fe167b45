"""What a mistake gives on a part of a problem, without working out what that does not need.

On a large problem nothing is kept that has been used, and a rule that mixes queries is followed on all of
them only as far as its last step: what comes after that keeps to a query's row, and a few rows will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..mechanism.fields import FIELDS
from ..mechanism.sampling import one_head, rows_of_field, sample
from ..mechanism.steps import STEPS, Step
from ..mechanism.tracing import results, seeds
from ..mistakes.catalogue import CATALOGUE
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import can_be_made, wrong_results
from ..problem import Problem
from .plan import Hypothesis
from .reach import FINAL, reaches

Fields = Mapping[str, Array]
Seen = Callable[[str, Array], None]  # (name, array) -> None


def makeable(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The catalogue without what this problem cannot show, or what comes after this step."""
    return tuple(
        m
        for m in CATALOGUE
        if reaches(m, step)
        and not (problem.known is not None and m.rewrite is not None)
        and can_be_made(problem, m)
    )


def consequence(
    problem: Problem,
    hypothesis: Hypothesis,
    goal: str,
    *,
    rows: Array | None = None,
    known: Fields | None = None,
    theta: float | Array | None = None,
    seen: Seen = lambda *_: None,
) -> Array | None:
    """The field `goal` when these mistakes are made together; None where it cannot be worked out.

    rows   of the field, those queries only; the mistakes' own steps see all of them
    known  fields that are known already, and right under these mistakes
    theta  the number in the rule of the one among them that has a parameter
    seen   is shown each field on the way, by name
    """
    for mistake in hypothesis:
        problem = mistake.rewrite(problem) if mistake.rewrite is not None else problem
    fields = {**seeds(problem), **(known or {})}
    replaced = {step: mistake for mistake in hypothesis for step in mistake.wrong}
    asked = frozenset(step.name for step in STEPS if step.asked(problem))
    order = _order(hypothesis, goal, asked, frozenset(fields))
    cut_at = 1 + max((index for index, each in enumerate(order) if each.mixes), default=-1)
    with np.errstate(all="ignore"):  # overflow, inf − inf and ln 0 are results here, as in the trace
        for index, (step, needed, _) in enumerate(order):
            if rows is not None and index == cut_at:
                fields = {name: rows_of_field(problem, name, each, rows) for name, each in fields.items()}
                problem, rows = sample(problem, rows), None
            made = (
                wrong_results(problem, replaced[step.name], step.name, fields, theta)
                if step.name in replaced
                else results(problem, step, fields)
            )
            for name, array in zip(step.writes, made, strict=False):
                if name not in fields:
                    fields[name] = array
                    seen(name, array)
            fields = {name: array for name, array in fields.items() if name in needed}
    found = fields.get(goal)
    return found if rows is None or found is None else rows_of_field(problem, goal, found, rows)


def is_by_head(step: str) -> bool:
    """Whether a field is worked out for each head apart: from the scores on, but for masks and biases."""
    names = [field.name for field in FIELDS]
    return step not in ("bias", "allowed") and names.index(step) >= names.index("scores")


def own_step(step: str) -> str:
    """The step of one head that stands for a step of all: there is nothing to join."""
    return "output" if step in ("blended", "merged") else step


def by_heads(problem: Problem, heads: Problem, step: str, rows: Array, seen: Seen = lambda *_: None) -> Array:
    """The right field in these rows, in canonical shape, one head after the other.

    heads  `in_heads(problem)`; seen is shown each field of each head on the way, by name
    """
    made = np.zeros(0)
    for *batch, head in np.ndindex(*problem.batch, problem.H):
        piece = head_rows(heads, tuple(batch), head, step, rows, seen)
        if not made.size:
            made = np.empty((*problem.batch, *piece.shape[:-3], problem.H, *piece.shape[-2:]))
        made[(*batch, ..., head, slice(None), slice(None))] = piece[..., 0, :, :]
    if not (problem.merges and step in ("merged", "output")):
        return made
    joined = consequence(sample(problem, rows), (), step, known={"blended": made})
    assert joined is not None
    return joined


def head_rows(
    heads: Problem, batch: tuple[int, ...], head: int, step: str, rows: Array, seen: Seen = lambda *_: None
) -> Array:
    """The right field of one head in these rows, ([P,] 1, rows, width)."""
    own = own_step(step)
    piece = consequence(sample(one_head(heads, batch, head), rows), (), FINAL.get(own, own), seen=seen)
    assert piece is not None
    return piece.reshape(piece.shape[piece.ndim - 3 - ("part" in step) :])


class _Turn(NamedTuple):
    """A step, the fields that are needed after it, and whether it is a version that mixes queries."""

    step: Step
    needed: frozenset[str]
    mixes: bool


@lru_cache(maxsize=4096)
def _order(
    hypothesis: Hypothesis, goal: str, asked: frozenset[str], have: frozenset[str]
) -> tuple[_Turn, ...]:
    """The steps that lead to the goal, in order."""
    replaced = {step: mistake for mistake in hypothesis for step in mistake.wrong}
    needed = {goal}
    turns: list[_Turn] = []
    for step in reversed(STEPS):
        if needed.isdisjoint(step.writes) or have.issuperset(step.writes):
            continue
        if step.name in replaced:
            reads = replaced[step.name].version(step.name).reads
        elif step.name in asked or not step.reads:
            reads = step.reads
        elif step.passes:
            reads = step.reads[:1]
        else:
            continue
        turns.append(
            _Turn(step, frozenset(needed), step.name in replaced and replaced[step.name].mixes_queries)
        )
        needed |= set(reads)
    return tuple(reversed(turns))


@lru_cache(maxsize=4096)
def follows(mistake: Mistake, asked: frozenset[str]) -> frozenset[str]:
    """The fields that a mistake changes, or may."""
    changed: set[str] = set()
    for step in STEPS:
        reads = mistake.version(step.name).reads if step.name in mistake.wrong else step.reads
        if step.name not in mistake.wrong and step.name not in asked:
            reads = reads[:1] if step.passes else ()
        if step.name in mistake.wrong or any(name in changed for name in reads):
            changed |= set(step.writes)
    return frozenset(changed)
