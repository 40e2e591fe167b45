"""The cases of a feature: whether a rule gives what came back on them, and the evidence that they carry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Array
from ..diagnosis.evidence import SYMBOL
from ..diagnosis.freedom import bits_of
from ..diagnosis.target import Target
from .comparing import Asked
from .predicting import prediction
from .rules import Rule

MOST_TELLING = 12  # cases that are weighed, to begin with the one that says most
ENOUGH = 100.0  # bits: more of them make no rule surer
SMALL = 1500  # entries of a case that is weighed
SYMBOLS = 5.0  # bits for NaN or ∞ where finite numbers were due, wherever they are

Judged = Callable[[Asked], Array]  # which entries of a case's answer count


def strictly(asked: Asked) -> Array:
    """The entries that have to be right."""
    return ~asked.loose


@dataclass(eq=False)
class Cases:
    """The cases of a feature: the wrong ones that are to be explained, and the right ones that must stay
    so."""

    failing: Sequence[Asked]
    passing: Sequence[Asked]
    judged: Judged = strictly

    @property
    def every(self) -> tuple[Asked, ...]:
        """All of them, the wrong ones first."""
        return *self.failing, *self.passing

    def target(self, asked: Asked) -> Target:
        """The answer to be explained, as far as it counts."""
        assert asked.target is not None
        return replace(asked.target, given=self.judged(asked))

    # --- what a rule explains -------------------------------------------------------------------------

    def hold(self, rule: Rule, cases: Iterable[Asked] | None = None) -> bool:
        """Whether the rule gives what came back on all of these cases; None: on every one."""
        some = self.every if cases is None else cases
        small_first = sorted(some, key=lambda asked: math.prod(asked.exact.matrix_shape))
        return all(self.holds(rule, asked) for asked in small_first)

    def holds(self, rule: Rule, asked: Asked) -> bool:
        """Whether the rule gives what came back."""
        told = self.told(rule, asked)
        return told is not None and bool(self.target(asked).matches(*told))

    def explained(self, rule: Rule) -> list[Asked]:
        """The failing cases on which it gives what came back."""
        return [asked for asked in self.failing if self.holds(rule, asked)]

    def best(self, rules: Iterable[Rule]) -> Rule | None:
        """The first of the rules that explain the most of the failing cases; None where there are none."""
        return max(rules, key=lambda rule: len(self.explained(rule)), default=None)

    def told(self, rule: Rule, asked: Asked) -> tuple[Array, Array] | None:
        """What the rule gives on this case, and how far honest arithmetic may be off; kept."""
        return asked.recall(rule.key, lambda: prediction(rule, asked))

    # --- fewer of them --------------------------------------------------------------------------------

    def on_their_paths(self) -> Cases:
        """The same, without right cases that ask for other features: a function may have a path for those
        alone."""
        paths = {each.case.needs for each in self.failing}
        return replace(self, passing=[each for each in self.passing if each.case.needs in paths])

    def left(self, explained: Sequence[Asked]) -> Cases:
        """The same, with those failing cases that are not explained yet."""
        return replace(self, failing=[each for each in self.failing if each not in explained])

    @property
    def finite(self) -> list[Asked]:
        """The failing cases that came out as numbers where numbers were due."""
        return [asked for asked in self.failing if math.isfinite(asked.error or 0.0)]

    @property
    def telling(self) -> list[Asked]:
        """The failing cases, those that say most first."""
        first = [asked for _, asked in self.weighed]
        return first + [asked for asked in self.failing if asked not in first]

    @property
    def most_telling(self) -> Asked | None:
        """The failing case that says most, where there is one."""
        return next(iter(self.telling), None)

    # --- evidence -------------------------------------------------------------------------------------

    @cached_property
    def weighed(self) -> list[tuple[float, Asked]]:
        """Some of the failing cases with their evidence in bits, those that say enough with few numbers
        first."""
        numbers = {asked: asked.values[asked.case.step] for asked in self.failing}
        small = [each for each, x in numbers.items() if x.size <= SMALL and np.isfinite(x).all()]
        some = (small or self.failing)[:MOST_TELLING]
        found = [(bits_of(_numbers_of(self.target(asked))), asked) for asked in some]
        return sorted(found, key=lambda pair: (-min(pair[0], ENOUGH), numbers[pair[1]].size))

    @property
    def bits(self) -> float:
        """The evidence that the failing cases carry together."""
        return sum(bits for bits, _ in self.weighed) + self._symbol_bits

    @property
    def _symbol_bits(self) -> float:
        """What NaN and ∞ say: which rows of which cases they fill. That all is NaN is no news of any rule."""
        symbols = [rows for rows in map(_symbols, self.failing) if rows.any()]
        if not symbols:
            return 0.0
        where = [min(_ways_bits(rows.size, int(rows.sum())), SYMBOL) for rows in symbols]
        return SYMBOLS + _ways_bits(len(self.every), len(symbols)) + sum(where)


def _numbers_of(target: Target) -> Target:
    """The answer without what is NaN or ∞ and should be a number."""
    return replace(target, given=target.given & (np.isfinite(target.values) | ~np.isfinite(target.right)))


def _symbols(asked: Asked) -> Array:
    """Which rows hold NaN or ∞ that should be numbers."""
    assert asked.target is not None
    odd = ~np.isfinite(asked.target.values) & np.isfinite(asked.target.right) & ~asked.loose
    return np.asarray(odd.any(axis=-1))


def _ways_bits(count: int, some: int) -> float:
    """log₂ of the ways to choose some of so many."""
    return math.log2(math.comb(count, some))
