"""What tells explanations apart that give the same numbers: other numbers, on which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.fields import in_kind
from ..mechanism.tracing import seeds
from ..problem import Problem
from .distinct import alike, can_show, numbers_of, usual_digits
from .hiding import other_step
from .large import is_large
from .plan import Hypothesis
from .reach import FINAL
from .separating import far_problems, nearby_problems
from .tolerance import in_float64

MOST = 12  # explanations that are told apart: nobody reads more
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Input:
    """Numbers like the ones given, on which some of the explanations show and differ.

    Fields
    problem  to be worked up to the same step
    groups   the explanations; those that give the same numbers there stand together
    numbers  what each group gives there, in the shape of the problem's arrays
    right    the right numbers there; one of the groups may give them too
    """

    problem: Problem
    groups: tuple[tuple[Hypothesis, ...], ...]
    numbers: tuple[Array, ...]
    right: Array

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        told = [
            {"ids": [_ids(each) for each in group], "numbers": numbers}
            for group, numbers in zip(self.groups, self.numbers, strict=True)
        ]
        return {"problem": self.problem.to_dict(), "right": self.right, "gives": told}


@dataclass(frozen=True, eq=False)
class Together:
    """Two that no input tells apart at this step, and the step where they differ here, "" for nowhere."""

    a: Hypothesis
    b: Hypothesis
    other_step: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        return {"ids": [_ids(self.a), _ids(self.b)], "other_step": self.other_step}


@dataclass(frozen=True, eq=False)
class Apart:
    """Explanations of one answer, and what tells them apart.

    Fields
    step      where they are compared; digits: to how many decimals, None for the problem's own arithmetic
    inputs    as few as tell apart all that can be told apart, the best first
    together  the pairs that no input tells apart at this step
    """

    step: str
    digits: int | None
    inputs: tuple[Input, ...]
    together: tuple[Together, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "step": self.step,
            "digits": self.digits,
            "inputs": [each.to_dict() for each in self.inputs],
            "together": [each.to_dict() for each in self.together],
        }


def _ids(hypothesis: Hypothesis) -> list[str]:
    return [mistake.id for mistake in hypothesis]


def tell_apart(problem: Problem, explanations: Sequence[Hypothesis], step: str) -> Apart:
    """Inputs that tell explanations apart; rules with a number of their own are left out.

    Looks at a few problems like the given one, of its own sizes and of others, small ones first.
    """
    plain = [each for each in explanations if is_plain(each)][:MOST]
    digits = usual_digits([problem])
    left = set(combinations(range(len(plain)), 2))
    draws: list[_Draw] = []
    nearby = sorted(nearby_problems(problem), key=_length) if left else []
    for near in chain(nearby, far_problems(problem)) if left else ():
        draws.append(_drawn(near, plain, step, digits))
        if draws[-1].apart == left and draws[-1].all_show:
            break
    chosen = []
    while left and (best := max(draws, key=lambda draw: draw.use_for(left))).apart & left:
        chosen.append(best)
        left -= best.apart
    here = draws[0].problem if draws and is_large(problem) else problem
    together = [(plain[a], plain[b]) for a, b in sorted(left)]
    return Apart(
        step,
        digits,
        tuple(_input(draw, plain, step) for draw in chosen),
        tuple(Together(a, b, other_step(in_float64(here), step, [(a, b)])) for a, b in together),
    )


def _length(problem: Problem) -> int:
    """How many numbers there are to type."""
    return sum(array.size for array in seeds(problem).values())


def is_plain(explanation: Hypothesis) -> bool:
    """Whether its rules have no number of their own that an answer must reveal."""
    return all(mistake.parameter is None for mistake in explanation)


@dataclass(frozen=True, eq=False)
class _Draw:
    """One problem, the explanations that can be made there, what they give, and which two are apart."""

    problem: Problem
    there: tuple[int, ...]
    shows: Array
    values: Array
    right: Array
    apart: set[Pair]

    @property
    def all_show(self) -> bool:
        return bool(self.shows.all())

    def use_for(self, left: set[Pair]) -> tuple[int, int]:
        """How many of these pairs it tells apart, and how many explanations are not right there."""
        return len(self.apart & left), int(self.shows.sum())


def _drawn(problem: Problem, plain: Sequence[Hypothesis], step: str, digits: int | None) -> _Draw:
    there = tuple(i for i, each in enumerate(plain) if all(can_show(problem, step, m) for m in each))
    made = numbers_of(problem, step, digits, tuple(plain[i] for i in there))
    differ = ~alike(made.values, made.values, made.sure) & (made.shows[:, None] | made.shows)
    apart = {(there[i], there[j]) for i, j in np.argwhere(differ).tolist() if i < j}
    return _Draw(problem, there, made.shows, made.values, made.fields[FINAL.get(step, step)], apart)


def _input(draw: _Draw, plain: Sequence[Hypothesis], step: str) -> Input:
    """The draw with equal explanations put together."""
    groups: list[list[int]] = []
    for at, name in enumerate(draw.there):
        known = (group for group in groups if (draw.there[group[0]], name) not in draw.apart)
        group = next(known, None)
        if group is None:
            groups.append([at])
        else:
            group.append(at)
    arrays = (draw.right, *(draw.values[group[0]].reshape(draw.right.shape) for group in groups))
    right, *numbers = (in_kind(draw.problem, step, array) for array in arrays)
    told = tuple(tuple(plain[draw.there[at]] for at in group) for group in groups)
    return Input(draw.problem, told, tuple(numbers), right)
