"""Diagnose answers to large problems in about the time and memory of working the problem out.

The right result is worked out block by block of rows, and only the asked step is kept. Mistakes are tried
on a few rows, those that are farthest off among them; what a mistake must see all rows for is tried on
one head. What survives is confirmed on every row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..mechanism.fields import canonical_axes
from ..mechanism.sampling import sample, single_head
from ..mechanism.tracing import run, seeds
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .plan import Hypothesis
from .reach import FINAL
from .search import (
    MOST_ENTRIES,
    PAIRS,
    Finding,
    applicable,
    bits_of,
    joint_explanations,
    makeable,
    simple_explanations,
)
from .target import Target
from .tolerance import Precision, in_float64

LARGE = 2_000_000  # entries of the score matrix from which on a problem is not kept whole
BLOCK = 500_000  # entries of the score matrix that are worked out at a time: it stays in the cache
WORST, SPREAD = 2, 2  # rows that are tried: those farthest off, and some at equal distances


def is_large(problem: Problem) -> bool:
    """Whether the score matrix is too large to keep every step."""
    return math.prod(problem.matrix_shape) > LARGE


def blocks(problem: Problem) -> Iterator[Array]:
    """The numbers of the queries, as many at a time as a block holds."""
    count = max(1, BLOCK * problem.Tq // max(math.prod(problem.matrix_shape), 1))
    for start in range(0, problem.Tq, count):
        yield np.arange(start, min(start + count, problem.Tq))


def large_target(problem: Problem, step: str, values: Array, precision: Precision) -> Target:
    """What is to be explained, the right result worked out block by block; `values` in canonical shape."""
    exact = in_float64(problem)
    rights, tolerances = [], []
    for rows in blocks(problem):
        part = sample(exact, rows)
        fields = run(part, seeds(part))
        rights.append(fields[step])
        tolerances.append(np.broadcast_to(precision.tolerances(part, fields)[step], fields[step].shape))
    right = np.concatenate(rights, axis=-2)
    if precision.digits is None:  # one number for the whole case
        tolerance = np.broadcast_to(max(float(each.max(initial=0.0)) for each in tolerances), right.shape)
    else:
        tolerance = np.concatenate(tolerances, axis=-2)
    given = np.broadcast_to(True, right.shape)
    return Target(problem, step, values, given, right, lambda *_: tolerance, tolerance, precision.digits)


def large_explanations(target: Target) -> tuple[Finding, ...]:
    """The findings that survive on every row: rules that keep to a query's row, else those that mix rows."""
    return (
        _by_rows(target, simple_explanations)
        or _mixing_explanations(target)
        or _by_rows(target, joint_explanations)
    )


def _mixing_explanations(target: Target) -> tuple[Finding, ...]:
    """Rules that must see all rows, or solve another problem: one after the other."""
    part = rows_of(target, telling_rows(target))
    mixing = tuple(
        m for m in makeable(target.problem, target.step) if m.mixes_queries or m.rewrite is not None
    )
    return tuple(
        Finding(((mistake,),), part.values, bits_of(part) - math.log2(len(mixing)))
        for mistake in mixing
        if mistake.parameter is None and not mistake.narrow and _mixes_to(target, mistake)
    )


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
    if count**PAIRS * target.values.size <= MOST_ENTRIES or target.problem.rows is not None:
        return joint_explanations(target)
    return _by_rows(target, joint_explanations)


def _by_rows(target: Target, search: Callable[[Target], tuple[Finding, ...]]) -> tuple[Finding, ...]:
    """What a search finds on the telling rows, and every row confirms."""
    found = search(rows_of(target, telling_rows(target)))
    return tuple(each for finding in found if (each := _confirmed(target, finding)) is not None)


def telling_rows(target: Target) -> Array:
    """The rows that are farthest off, and some others."""
    with np.errstate(invalid="ignore"):  # a symbol where a number is due is as far off as can be
        off = np.nan_to_num(np.abs(target.values - target.right), nan=np.inf, posinf=np.inf)
    axes = tuple(axis for axis in range(off.ndim) if axis != off.ndim - 2)
    worst = np.argsort(-off.max(axis=axes))[:WORST]
    even = np.linspace(0, target.problem.Tq - 1, SPREAD, dtype=np.int64)
    return np.unique(np.concatenate([worst, even]))


def rows_of(target: Target, rows: Array) -> Target:
    """The same target with a few rows of problem and answer, judged by the right result's tolerance."""
    cut = {name: getattr(target, name)[..., rows, :] for name in ("values", "given", "right", "tolerance")}
    return replace(target, problem=sample(target.problem, rows), slack=lambda *_: cut["tolerance"], **cut)


def _confirmed(target: Target, finding: Finding) -> Finding | None:
    """The finding with those of its readings that hold on every row."""
    readings = tuple(reading for reading in finding.readings if _holds(target, reading, finding.theta))
    return replace(finding, readings=readings) if readings else None


def _holds(target: Target, hypothesis: Hypothesis, theta: float | None) -> bool:
    field = FINAL.get(target.step, target.step)
    for rows in blocks(target.problem):
        part = rows_of(target, rows)
        made = run_wrong(part.problem, hypothesis, theta)[field]
        if not part.matches(made, part.tolerance):
            return False
    return True


def _mixes_to(target: Target, mistake: Mistake) -> bool:
    """Whether a rule that mixes queries gives the answer: first on one head, where they can be told apart."""
    problem, field = target.problem, FINAL.get(target.step, target.step)
    if problem.query is not None and not problem.packed and canonical_axes(problem, target.step)[0] == "H":
        batch = (0,) * len(problem.batch)
        where = (*batch, slice(0, 1))
        cut = {name: getattr(target, name)[where] for name in ("values", "given", "right", "tolerance")}
        one = replace(target, problem=single_head(problem, batch, 0), **cut)
        if mistake.applies(one.problem) and not _gives(one, mistake, field):
            return False
    return _gives(target, mistake, field)


def _gives(target: Target, mistake: Mistake, field: str) -> bool:
    made = run_wrong(target.problem, (mistake,)).get(field)
    return (
        made is not None
        and made.shape == target.values.shape
        and bool(target.matches(made, target.tolerance))
    )
