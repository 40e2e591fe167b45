"""Find inputs that show a mistake, or tell two apart, by drawing problems like the given one and looking."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

from ..arrays import Array
from ..mistakes.mistake import Mistake
from ..problem import Problem
from .distinct import Numbers, alike, can_show, judged, makeable, numbers_of, step_of
from .hiding import other_step
from .plan import Hypothesis
from .similar import other_sizes, similar_problem
from .tolerance import DIGITS

ROUNDS = 2  # of draws with each choice of sizes
FAR = 1000  # numbers that reach so many times as far: exponentials overflow, rows saturate
MOST_DRAWS = 64  # fresh numbers: the best of so many, unless one is perfect before


def nearby_problems(problem: Problem) -> Iterator[Problem]:
    """Problems like the given one: with its own sizes, then with others."""
    dice = random.Random(0)
    for _ in range(ROUNDS):
        for sizes in other_sizes(problem):
            yield similar_problem(problem, dice, sizes)


def far_problems(problem: Problem) -> Iterator[Problem]:
    """The same with far larger numbers, as only those show some faults."""
    dice = random.Random(0)
    for _ in range(ROUNDS):
        yield similar_problem(problem, dice, next(other_sizes(problem)), FAR)


def separating_problem(
    problem: Problem,
    a: Hypothesis,
    b: Hypothesis,
    step: str | None = None,
    digits: int | None = DIGITS,
    fits: Callable[[Problem], bool] = lambda problem: True,
) -> Problem | None:
    """A problem like the given one on which two sets of mistakes show and differ; None where none was found.

    digits  decimals asked, or None: the problem's own arithmetic; fits: whether a problem will do
    """
    step = step_of(problem, step)
    for near in chain(nearby_problems(problem), far_problems(problem)):
        if fits(near) and all(can_show(near, step, mistake) for mistake in (*a, *b)):
            made = numbers_of(near, step, digits, (a, b))
            if made.shows.all() and not alike(made.values[:1], made.values[1:], made.sure).any():
                return near
    return None


# --- fresh numbers --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Together:
    """Two mistakes that give the same numbers.

    Fields
    a b         the mistakes; ever: whether some draw told them apart
    other_step  where they differ on these numbers, "" for nowhere
    """

    a: Mistake
    b: Mistake
    ever: bool
    other_step: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        return {"ids": [self.a.id, self.b.id], "ever": self.ever, "other_step": self.other_step}


@dataclass(frozen=True, eq=False)
class Fresh:
    """Fresh numbers and what they are proven to tell apart.

    Fields
    problem   like the one given; seed: the same seed gives the same numbers; draws: how many were looked at
    step      where answers are compared; digits: to how many decimals, None for the problem's own arithmetic
    shows     the mistakes that show; hides: those asked for that do not
    together  the pairs of those that show and give the same numbers here
    """

    problem: Problem
    seed: int
    draws: int
    step: str
    digits: int | None
    shows: tuple[Mistake, ...]
    hides: tuple[Mistake, ...]
    together: tuple[Together, ...]

    @property
    def is_proven(self) -> bool:
        """Every mistake asked for shows, and no two of them give the same numbers."""
        return not self.hides and not self.together

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, mistakes as ids."""
        return {
            "problem": self.problem.to_dict(),
            "seed": self.seed,
            "draws": self.draws,
            "step": self.step,
            "digits": self.digits,
            "shows": [mistake.id for mistake in self.shows],
            "hides": [mistake.id for mistake in self.hides],
            "together": [pair.to_dict() for pair in self.together],
            "proven": self.is_proven,
        }


def fresh_problem(
    problem: Problem,
    seed: int = 0,
    separate: Sequence[Mistake] = (),
    sizes: Mapping[str, int] | None = None,
    step: str | None = None,
    digits: int | None = DIGITS,
) -> Fresh:
    """Numbers like the problem's on which the mistakes asked for show and differ: the best of 64 draws.

    seed      a whole number; the same one gives the same numbers on every machine
    separate  the mistakes; none: the typical ones of such a problem
    sizes     shape letters to sizes, such as {"Tk": 5}; those left out stay
    step      None is the output; digits: decimals asked, None is the problem's own arithmetic
    Raises OptionError, ShapeError (sizes), UnknownNameError (step).
    """
    step = step_of(problem, step)
    first = similar_problem(problem, random.Random(seed), sizes)
    wanted = tuple(dict.fromkeys(separate)) or _typical(first, step, digits)
    dice, draws = random.Random(seed), 0
    best, ever = None, np.zeros((len(wanted), len(wanted)), dtype=bool)
    while draws < MOST_DRAWS and not (best and best.is_perfect):
        found = _tried(similar_problem(problem, dice, sizes), step, digits, wanted)
        best = found if best is None or found.score > best.score else best
        ever |= found.apart
        draws += 1
    assert best is not None
    return Fresh(
        problem=best.problem,
        seed=seed,
        draws=draws,
        step=step,
        digits=digits,
        shows=tuple(m for m, shows in zip(wanted, best.shows, strict=True) if shows),
        hides=tuple(m for m, shows in zip(wanted, best.shows, strict=True) if not shows),
        together=tuple(
            Together(a, b, bool(ever[i, j]), other_step(best.made.exact, step, [((a,), (b,))]))
            for (i, a), (j, b) in combinations(enumerate(wanted), 2)
            if best.shows[i] and best.shows[j] and not best.apart[i, j]
        ),
    )


def _typical(problem: Problem, step: str, digits: int | None) -> tuple[Mistake, ...]:
    candidates = judged(step, digits, problem.dtype.name)
    return tuple(m for m in makeable(problem, step, candidates) if m.typical and not m.convention)


@dataclass(frozen=True, eq=False)
class _Tried:
    """One draw: which mistakes show, and which two are apart."""

    problem: Problem
    made: Numbers
    shows: Array
    apart: Array

    @property
    def score(self) -> tuple[int, int]:
        return int(self.shows.sum()), int(self.apart.sum())

    @property
    def is_perfect(self) -> bool:
        count = len(self.shows)
        return self.score == (count, count * (count - 1))


def _tried(problem: Problem, step: str, digits: int | None, wanted: tuple[Mistake, ...]) -> _Tried:
    there = np.array([can_show(problem, step, mistake) for mistake in wanted], dtype=bool)
    singles = tuple((mistake,) for mistake, is_there in zip(wanted, there, strict=True) if is_there)
    made = numbers_of(problem, step, digits, singles)
    shows, apart = np.zeros(len(wanted), dtype=bool), np.zeros((len(wanted), len(wanted)), dtype=bool)
    shows[there] = made.shows
    apart[np.ix_(there, there)] = ~alike(made.values, made.values, made.sure)
    return _Tried(problem, made, shows, apart & shows[:, None] & shows)
