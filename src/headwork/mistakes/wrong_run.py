"""Run the pipeline with some of its steps replaced by wrong versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from ..arrays import Array
from ..mechanism.steps import STEPS
from ..mechanism.tracing import results, seeds
from ..problem import Problem
from .mistake import Mistake

# For each step, the first one that writes a field of its own: merge-parts and blend both give the blend.
FIRST = {
    step.name: next(index for index, other in enumerate(STEPS) if set(other.writes) & set(step.writes))
    for step in STEPS
}


def run_wrong(
    problem: Problem,
    mistakes: Sequence[Mistake],
    theta: float | Array | None = None,
    right: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Every field, as the pipeline holds it, when these mistakes are made together.

    mistakes  no two of them replace the same step
    theta     the number in the rule of the one among them that has a parameter
    right     every field of the right pipeline, where it is known: what comes before the mistakes is the same
    A replaced step always runs, also where the problem does not ask for it; fields that the problem
    gives stay as they are.
    """
    for mistake in mistakes:
        if mistake.rewrite is not None:
            problem, right = mistake.rewrite(problem), None
    by_step = {step: mistake for mistake in mistakes for step in mistake.wrong}
    fields = seeds(problem) | before(mistakes, right or {})
    with np.errstate(all="ignore"):
        for step in STEPS:
            if step.name not in by_step:
                arrays = results(problem, step, fields)
            elif any(name not in fields for name in step.writes):
                arrays = wrong_results(problem, by_step[step.name], step.name, fields, theta)
            else:
                continue
            for name, array in zip(step.writes, arrays, strict=False):
                fields.setdefault(name, array)
    return fields


def before(mistakes: Sequence[Mistake], right: Mapping[str, Array]) -> dict[str, Array]:
    """Those fields of the right pipeline that come before the mistakes."""
    steps = STEPS[: first_replaced(mistakes)]
    return {name: right[name] for step in steps for name in step.writes if name in right}


def first_replaced(mistakes: Iterable[Mistake]) -> int:
    """How many steps come before all of the mistakes."""
    return min((FIRST[step] for mistake in mistakes for step in mistake.wrong), default=len(STEPS))


def wrong_results(
    problem: Problem,
    mistake: Mistake,
    step: str,
    fields: Mapping[str, Array],
    theta: float | Array | None = None,
) -> tuple[Array, ...]:
    """What the wrong version of a step gives, or nothing where a field that it reads is absent."""
    version = mistake.version(step)
    if any(name not in fields for name in version.reads):
        return ()
    number = () if mistake.parameter is None else (theta,)
    made = version.run(problem, *number, *(fields[name] for name in version.reads))
    return made if isinstance(made, tuple) else (made,)


def can_be_made(problem: Problem, mistake: Mistake) -> bool:
    """Whether the problem can show it, and works out every step that it replaces from fields that it has."""
    if not mistake.applies(problem):
        return False
    asked = frozenset(step.name for step in STEPS if step.asked(problem))
    return _is_worked_out(mistake, frozenset(seeds(problem)), asked)


@lru_cache(maxsize=4096)
def _is_worked_out(mistake: Mistake, given: frozenset[str], asked: frozenset[str]) -> bool:
    have = set(given)
    for step in STEPS:
        replaced = step.name in mistake.wrong
        reads = mistake.version(step.name).reads if replaced else step.reads
        missing = any(name not in have for name in reads)
        known = all(name in have for name in step.writes)
        if replaced and (missing or known):
            return False
        if replaced or step.name in asked or not reads:
            have |= set() if missing else set(step.writes)
        elif step.passes and reads[0] in have:
            have.add(step.writes[0])
    return True
