"""Which steps a field depends on, so that a mistake that comes later is not tried."""

from __future__ import annotations

from functools import lru_cache

from ..mechanism.steps import STEPS
from ..mistakes.mistake import Mistake

# an answer called "weights" is what goes into the blend, one called "masked" what goes into the softmax
FINAL = {"weights": "attention", "masked": "logits"}


@lru_cache(maxsize=64)
def steps_before(field: str) -> frozenset[str]:
    """The names of the steps that come no later than the one that writes the field."""
    last = next(index for index, step in enumerate(STEPS) if FINAL.get(field, field) in step.writes)
    return frozenset(step.name for step in STEPS[: last + 1])


def reaches(mistake: Mistake, field: str) -> bool:
    """Whether the mistake can change the field: it rewrites the problem, or a step that comes before it."""
    return mistake.rewrite is not None or any(step in steps_before(field) for step in mistake.steps)
