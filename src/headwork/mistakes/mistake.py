"""What a mistake is: a wrong version of one or more steps of the pipeline, with what to say about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..arrays import Array
from ..mechanism.steps import STEPS
from ..problem import Problem
from .recipe import Recipe

WrongStep = Callable[..., Any]  # (problem, *fields read) -> the field written, or a tuple of them
READS = {step.name: step.reads for step in STEPS}


@dataclass(frozen=True)
class Wrong:
    """A wrong version of one step that reads other fields than the right one does."""

    run: WrongStep
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """Another rule that always gives the same numbers as the mistake it is listed under."""

    id: str
    title: str
    why: str
    mend: str
    source: str = ""


@dataclass(frozen=True)
class Parameter:
    """A number in the wrong rule that the answer itself reveals: any factor, base, fill value.

    symbol      as the formula writes it
    values      values to try first, from which the search refines; drawn for this problem
    right       the value that the right rule has, or None; a hit there is no mistake
    whole       only whole numbers make sense
    """

    symbol: str
    values: Callable[[Problem], tuple[float, ...]]
    right: Callable[[Problem], float | None] = lambda problem: None
    whole: bool = False


def always(problem: Problem) -> bool:
    """Every problem can show it."""
    return True


@dataclass(frozen=True, kw_only=True, eq=False)  # a record is itself: plans are cached by it
class Mistake:
    """One wrong rule.

    id          kebab-case; title: a phrase in the past tense, for "you …" and for a list
    formula     LaTeX of the wrong rule; why it is wrong; mend: how to put it right
    hides_when  in words: the problems on which it gives the right numbers
    source      where it was seen or where the right rule stands
    wrong       step name -> wrong version (problem, *the fields that the step reads) -> the field written;
                leading axes pass through; Wrong(run, reads) reads other fields. With a parameter, the
                version is (problem, θ, *fields); θ comes as a number or as an array that broadcasts
    rewrite     instead of `wrong`, for a mistake that changes shapes: the problem that was solved instead
    witness     a problem on which it must show; blind_spot: one on which it must not
    applies     whether a problem can show it at all
    convention  good systems differ here: reported, not judged
    readings    rules that always give the same numbers, each with an id of its own
    parameter   the number that the answer reveals
    typical     learners make it by hand; those are named first
    narrow      arithmetic in fewer bits: reported as rounding, not as a wrong rule
    mixes_queries  a query's row depends on other queries, so that a sample of rows does not show it
    """

    id: str
    title: str
    formula: str
    why: str
    mend: str
    hides_when: str
    source: str
    witness: Recipe
    blind_spot: Recipe | None
    wrong: Mapping[str, WrongStep | Wrong] = field(default_factory=dict)
    rewrite: Callable[[Problem], Problem] | None = None
    applies: Callable[[Problem], bool] = always
    convention: bool = False
    readings: tuple[Reading, ...] = ()
    parameter: Parameter | None = None
    typical: bool = False
    narrow: bool = False
    mixes_queries: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Its own id and those of its other readings."""
        return (self.id, *(reading.id for reading in self.readings))

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The steps it replaces, in pipeline order; none where it rewrites the problem."""
        return tuple(step.name for step in STEPS if step.name in self.wrong)

    @cached_property
    def touches(self) -> int:
        """Its steps as bits, all of them where it rewrites the problem: two that share none go together."""
        if self.rewrite is not None:
            return (1 << len(STEPS)) - 1
        return sum(1 << index for index, step in enumerate(STEPS) if step.name in self.wrong)

    def version(self, step: str) -> Wrong:
        """The wrong version of that step with the fields it reads."""
        wrong = self.wrong[step]
        return wrong if isinstance(wrong, Wrong) else Wrong(wrong, READS[step])


def skip(problem: Problem, x: Array, *_: Array) -> Array:
    """The step is left out: its first input is handed on."""
    return x


def altered(problem: Problem, **values: Any) -> Problem:
    """The same problem with other fields, checked again; None takes a field away. For `rewrite`."""
    return Problem.from_dict(problem.to_dict() | values)
