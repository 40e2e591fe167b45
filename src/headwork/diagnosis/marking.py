"""Mark answers step by step: each against the right one and, where it differs, against what follows from the
learner's own step before, so that one slip costs one mark. What is not right comes with its explanation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import OptionError
from ..mechanism.fields import canonical, in_kind
from ..mechanism.masks import float_masks
from ..mechanism.tracing import run, seeds
from ..problem import Problem
from .answers import Answer, read_answers
from .following import OwnWork
from .right import known_tolerance, worked
from .sentences import marking_sentence, step_sentence
from .shifting import SUMS, unshifted, unshifted_rows
from .tolerance import EXACT, Precision, precision_of
from .verdicts import (
    BLANK,
    FOLLOWS,
    NOT_RIGHT,
    RIGHT,
    SHORT,
    STANDS_FOR_INFINITY,
    judge,
    short_note,
)

if TYPE_CHECKING:
    from .diagnosing import Diagnosis

MOST_DIGITS = 15  # a float64 has no more
STANDS = "Read as −∞, which a large negative number stands for."
NOTHING_LEFT = "It follows from your step before, which leaves nothing to work out: no mark for it."


@dataclass(frozen=True)
class EntryMark:
    """The mark of one entry.

    Fields
    index    counted from 0, in the step's own axes; text: as typed
    value    as read, NaN where blank; right: the right number
    verdict  "right", "follows", "short" (right so far), "not right" or "blank"
    note     what there is to say about this entry, or nothing
    """

    index: tuple[int, ...]
    text: str
    value: float
    right: float
    verdict: str
    note: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON: infinities and NaN are text, a blank has no value."""
        value = None if self.verdict == BLANK else _number(self.value)
        return {
            "index": list(self.index),
            "text": self.text,
            "value": value,
            "right": _number(self.right),
        } | {
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True, eq=False)
class StepMark:
    """The marks of one step; arrays have the shape in which people see that step.

    Fields
    step         name of the field
    values right the numbers as read, NaN where blank, and the right ones
    verdicts     one word for each entry, "" where nothing was asked; notes: by flat index
    texts        as typed, by flat index
    echo         one line for each row: what was read; remarks: how, where that could be missed
    assumed      how precisely it was judged, and why
    sentence     one plain sentence
    """

    step: str
    values: Array
    right: Array
    verdicts: Array
    notes: Mapping[int, str]
    texts: Mapping[int, str]
    echo: tuple[str, ...]
    remarks: tuple[str, ...]
    assumed: str
    sentence: str

    @cached_property
    def entries(self) -> tuple[EntryMark, ...]:
        """The marks of the entries that were asked, row by row."""
        return tuple(self._entries())

    def _entries(self) -> Iterator[EntryMark]:
        verdicts, values, right = self.verdicts.ravel(), self.values.ravel(), self.right.ravel()
        for at, index in enumerate(np.ndindex(self.verdicts.shape)):
            if verdicts[at]:
                text = self.texts.get(at, "" if verdicts[at] == BLANK else f"{values[at]:.6g}")
                yield EntryMark(
                    index,
                    text,
                    float(values[at]),
                    float(right[at]),
                    str(verdicts[at]),
                    self.notes.get(at, ""),
                )

    def count(self, *verdicts: str) -> int:
        """How many entries have one of these verdicts."""
        return int(np.isin(self.verdicts, verdicts).sum())

    @property
    def marks(self) -> int:
        """One for each entry that is right or follows."""
        return self.count(RIGHT, FOLLOWS)

    @property
    def out_of(self) -> int:
        """How many entries were asked."""
        return int((self.verdicts != "").sum())

    @property
    def verdict(self) -> str:
        """The least of the entries' verdicts."""
        return next(verdict for verdict in (NOT_RIGHT, BLANK, SHORT, FOLLOWS, RIGHT) if self.count(verdict))

    def to_dict(self) -> dict[str, Any]:
        """The step's marks as plain data."""
        return {
            "step": self.step,
            "verdict": self.verdict,
            "marks": self.marks,
            "out_of": self.out_of,
            "sentence": self.sentence,
            "assumed": self.assumed,
            "read": list(self.echo),
            "remarks": list(self.remarks),
            "entries": [entry.to_dict() for entry in self.entries],
        }


@dataclass(frozen=True, eq=False)
class Marking:
    """Somebody's answers, marked: one mark for each entry.

    Fields
    steps     a StepMark for each step answered, in the order of the pipeline
    sentence  one plain sentence about all of them
    problem answers digits  what was marked
    """

    steps: tuple[StepMark, ...]
    sentence: str
    problem: Problem
    answers: tuple[Answer, ...]
    digits: int | None

    @property
    def marks(self) -> int:
        """Entries that are right, or follow from the step before."""
        return sum(step.marks for step in self.steps)

    @property
    def out_of(self) -> int:
        """Entries that were asked."""
        return sum(step.out_of for step in self.steps)

    @property
    def first_not_right(self) -> str | None:
        """The first step with an entry that is not right."""
        return next((step.step for step in self.steps if step.verdict == NOT_RIGHT), None)

    @property
    def is_right(self) -> bool:
        """Whether every entry asked is right."""
        return all(step.verdict == RIGHT for step in self.steps)

    @property
    def assumed(self) -> str:
        """How precisely the steps were judged, and why."""
        return "; ".join(dict.fromkeys(step.assumed for step in self.steps))

    @cached_property
    def explanations(self) -> Mapping[str, Diagnosis]:
        """What is behind each step that has an entry that is not right, by step; looked for when first asked.

        What follows from the step before, right or not, is not explained again.
        """
        wrong = [step.step for step in self.steps if step.verdict == NOT_RIGHT]
        if not wrong:
            return {}
        from .diagnosing import diagnose_answers  # with the catalogue: half of the time to start

        found = {each.step: each for each in diagnose_answers(self.problem, self.answers, self.digits)}
        return {step: found[step] for step in wrong if found[step].verdict != RIGHT}

    def __getitem__(self, step: str) -> StepMark:
        """The marks of one step. Raises KeyError."""
        return {each.step: each for each in self.steps}[step]

    def to_dict(self) -> dict[str, Any]:
        """The whole marking as plain data."""
        return {
            "marks": self.marks,
            "out_of": self.out_of,
            "right": self.is_right,
            "first_not_right": self.first_not_right,
            "sentence": self.sentence,
            "assumed": self.assumed,
            "steps": [self._step_dict(step) for step in self.steps],
        }

    def _step_dict(self, step: StepMark) -> dict[str, Any]:
        found = self.explanations.get(step.step)
        return step.to_dict() | {"explanation": found and found.to_dict()}


def mark(problem: Problem, answers: Mapping[str, Any], digits: int | None = None) -> Marking:
    """Answers to one or several steps of a problem, marked entry by entry.

    problem  a Problem
    answers  {step: values}, or {"step": step, "values": values}. A step is a field of a trace ("scores",
             "weights", "output", …). Values have its shape, such as (Tq, Tk): typed text, nested lists, an
             array; or a row {"row": i, "values": […]}, an entry {"entry": [i, j], "value": x}, counted
             from 0, or a list of those
    digits   decimals asked. None: three for typed numbers; for arrays the decimals that all values have, at
             most six, or else the coarser arithmetic of the problem's dtype and theirs

    Special cases: None, "_" and "?" are not given. Exponentials count shifted by the row's maximum or not,
    each row in one way. A number of −10⁴ or below counts as −∞ where the right entry is masked.
    Raises AnswerError (unreadable, a shape that does not fit, a step that the problem does not have),
    UnknownNameError, OptionError.

    >>> work = Problem(query=[[2.0, 0.0]], key=[[1.0, 0.0], [0.0, 1.0]], value=[[1.0], [0.0]], scale=0.5)
    >>> marking = mark(work, {"scores": "2 1", "scaled": "1 0.5", "weights": "0.622 0.378"})
    >>> [step.verdict for step in marking.steps]
    ['not right', 'follows', 'follows']
    >>> marking.marks, marking.out_of
    (5, 6)
    """
    if not isinstance(problem, Problem):
        raise OptionError(f"problem is a {type(problem).__name__}; a headwork.Problem was expected.")
    marker = _Marker(problem, _checked(digits))
    read = read_answers(marker.work, answers)
    steps = tuple(map(marker.step, read))
    return Marking(steps, marking_sentence(problem, steps), problem, read, marker.digits)


def _checked(digits: Any) -> int | None:
    if digits is None:
        return None
    is_whole = isinstance(digits, int | np.integer) and not isinstance(digits, bool)
    if not is_whole or abs(int(digits)) > MOST_DIGITS:
        raise OptionError(
            f"digits is {digits!r}; a whole number from {-MOST_DIGITS} to {MOST_DIGITS} was expected: "
            f"how many decimals after the point."
        )
    return int(digits)


@dataclass(frozen=True)
class _Reference:
    """What an answer is compared with, and how far it may be; both in the shape of the answer."""

    values: Array
    tolerance: Array


class _Marker:
    """Marks one step after the other, and remembers the learner's own work."""

    def __init__(self, problem: Problem, digits: int | None) -> None:
        self.asked = problem  # in the arithmetic that was meant
        self.work = worked(problem)
        self.problem = self.work.problem
        self.digits = digits
        self.own = OwnWork(self.problem, self.work.fields)
        self.unshifted: Array | None = None  # rows whose exponentials are not shifted by the maximum

    def step(self, answer: Answer) -> StepMark:
        precision = precision_of(self.asked, answer, self.digits)
        answer, notes = self.with_infinities(answer)
        right = self.reference(answer, precision, self.problem, self.work.fields)
        verdicts = self.judged(answer, right, precision)
        if self.own.known and (verdicts == NOT_RIGHT).any():
            verdicts = self.followed(answer, verdicts, precision, notes)
        self.own.add(answer, right.values, precision, self.unshifted if answer.step in SUMS else None)
        verdicts = np.where(answer.asked, verdicts, "")
        if precision.digits is not None:
            notes |= {int(at): short_note(precision.digits) for at in np.flatnonzero(verdicts == SHORT)}
        sentence = step_sentence(self.problem, answer.step, verdicts, precision.digits)
        return StepMark(
            answer.step,
            answer.values,
            right.values,
            verdicts,
            notes,
            answer.texts,
            answer.echo,
            answer.remarks,
            precision.why,
            sentence,
        )

    def with_infinities(self, answer: Answer) -> tuple[Answer, dict[int, str]]:
        """A large negative number where −∞ belongs, read as −∞."""
        if answer.step != "masked":
            return answer, {}
        is_large = (answer.values <= STANDS_FOR_INFINITY) & np.isfinite(answer.values)
        stands = is_large & np.isneginf(self.work["masked"])
        notes = {int(at): STANDS for at in np.flatnonzero(stands)}
        values = np.where(stands, -np.inf, answer.values)
        return replace(answer, values=values), notes

    def judged(self, answer: Answer, reference: _Reference, precision: Precision) -> Array:
        verdicts = judge(
            answer.values, reference.values, reference.tolerance, answer.places, precision.digits
        )
        return np.where(answer.given, verdicts, BLANK)

    # --- what it is compared with ---------------------------------------------------------------

    def reference(
        self, answer: Answer, precision: Precision, problem: Problem, fields: Mapping[str, Array]
    ) -> _Reference:
        """What the problem gives, the right one or what is left of it; `fields` are all its results."""
        name = answer.step
        shifted = self.seen(answer, precision, problem, fields)
        if name in ("bias", "biased"):
            return _Reference(np.where(self.selected(answer), -np.inf, shifted.values), shifted.tolerance)
        has_own = "exponentials" in self.own.known
        if name not in SUMS or (has_own and problem is not self.problem):
            return shifted  # what follows from their own exponentials is shifted as those are
        other = unshifted(problem)
        plain = self.seen(answer, precision, other, run(other, seeds(other)))
        if not has_own:
            self.unshifted = self.rows_unshifted(answer, shifted, plain, precision)
        assert self.unshifted is not None
        rows = self.unshifted if name == "row_sum" else self.unshifted[..., None]
        return _Reference(
            np.where(rows, plain.values, shifted.values), np.where(rows, plain.tolerance, shifted.tolerance)
        )

    def seen(
        self, answer: Answer, precision: Precision, problem: Problem, fields: Mapping[str, Array]
    ) -> _Reference:
        """The step's result and its tolerance, in the shape of the answer."""
        name, shape = answer.step, answer.values.shape
        if problem is self.problem:
            tolerance = known_tolerance(self.asked, precision, name)
        else:
            tolerance = precision.tolerances(problem, fields, [name]).get(name, EXACT)
        whole = np.broadcast_to(
            fields[name], np.broadcast_shapes(fields[name].shape, self.work.fields[name].shape)
        )
        return _Reference(
            np.broadcast_to(in_kind(self.problem, name, whole), shape).astype(np.float64),
            np.broadcast_to(in_kind(self.problem, name, np.broadcast_to(tolerance, whole.shape)), shape),
        )

    def rows_unshifted(
        self, answer: Answer, shifted: _Reference, plain: _Reference, precision: Precision
    ) -> Array:
        """The rows that agree better when nothing is subtracted, in the shape of row quantities."""
        held = partial(canonical, self.problem, answer.step)
        agrees = [np.isin(self.judged(answer, each, precision), (RIGHT, SHORT)) for each in (shifted, plain)]
        rows = unshifted_rows(
            held(answer.values),
            (held(shifted.values), held(plain.values)),
            (held(agrees[0]), held(agrees[1])),
        )
        return in_kind(self.problem, "row_max", rows)

    def selected(self, answer: Answer) -> Array:
        """−∞ given where a float mask holds it: there it selects, and adding it says the same."""
        forbidden = np.zeros(1, bool)
        for mask in float_masks(self.problem):
            forbidden = forbidden | np.isneginf(mask)
        whole = np.broadcast_to(forbidden, self.problem.matrix_shape)
        return np.asarray(in_kind(self.problem, answer.step, whole) & np.isneginf(answer.values))

    # --- follow-through -------------------------------------------------------------------------

    def followed(self, answer: Answer, verdicts: Array, precision: Precision, notes: dict[int, str]) -> Array:
        """Entries that are not right, but are what follows from the learner's own steps before."""
        reference = self.reference(answer, precision, self.own.standing, self.own.fields())
        judged = np.where(verdicts == NOT_RIGHT, self.judged(answer, reference, precision), "")
        if not np.isin(judged, (RIGHT, SHORT)).any():
            return verdicts
        whole = self.own.leaves_nothing(answer.step, self.work.fields[answer.step].shape)
        nothing_left = in_kind(self.problem, answer.step, whole) & np.isin(judged, (RIGHT, SHORT))
        notes |= {int(at): NOTHING_LEFT for at in np.flatnonzero(nothing_left)}
        verdicts = np.where((judged == RIGHT) & ~nothing_left, FOLLOWS, verdicts)
        return np.where((judged == SHORT) & ~nothing_left, SHORT, verdicts)


def _number(value: float) -> float | str:
    if np.isfinite(value):
        return value
    return "nan" if np.isnan(value) else "inf" if value > 0 else "-inf"
