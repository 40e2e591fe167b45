"""A rule for all cases together, and what is found: rules of which one holds, and the cases it explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..diagnosis.evidence import NAMED
from ..diagnosis.plan import RIGHT, Hypothesis
from ..mistakes.lookup import mistake_named
from ..mistakes.mistake import Mistake
from .comparing import Asked


@dataclass(frozen=True, eq=False)
class Rule:
    """A set of mistakes with the number in it, and how sure that number is.

    in_parts   the keys are worked in parts, cut in a way that nobody knows
    by_chance  it is dropout: which weights are dropped is another matter each time
    overflows  beside these mistakes no maximum is subtracted, so that exponentials leave the dtype's range
    """

    hypothesis: Hypothesis
    theta: float | None = None
    theta_error: float = 0.0
    in_parts: bool = False
    by_chance: bool = False
    overflows: bool = False

    def __add__(self, mistake: Mistake) -> Rule:
        return replace(self, hypothesis=(*self.hypothesis, mistake))

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from other rules."""
        return self.hypothesis, self.theta, self.in_parts, self.by_chance, self.overflows

    @property
    def mistakes(self) -> Hypothesis:
        """Everything that is said to be done wrong."""
        unguarded = mistake_named("softmax-without-max")
        more = self.overflows and unguarded not in self.hypothesis
        return (*self.hypothesis, unguarded) if more else self.hypothesis


NO_MISTAKE = Rule(RIGHT)


@dataclass(frozen=True, eq=False)
class Group:
    """Rules that give the same numbers on every case, the likeliest first."""

    rules: tuple[Rule, ...]
    bits: float

    @property
    def is_named(self) -> bool:
        """Whether chance is ruled out."""
        return self.bits >= NAMED


def named(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Those of the groups for which chance is ruled out."""
    return tuple(group for group in groups if group.is_named)


@dataclass(frozen=True, eq=False)
class Found:
    """What explains some of the cases: groups of rules of which one holds, and the cases."""

    groups: tuple[Group, ...]
    cases: tuple[Asked, ...]

    @property
    def first(self) -> Rule:
        """The likeliest rule."""
        return self.groups[0].rules[0]
