"""One input put to a function, and what came back held against float64's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array
from ..diagnosis.plan import Hypothesis
from ..diagnosis.reach import FINAL
from ..diagnosis.remembering import remembered
from ..diagnosis.target import Target
from ..diagnosis.tolerance import Precision, in_dtype, in_float64, largest
from ..mechanism.fields import canonical
from ..mechanism.heads import merge
from ..mechanism.masks import allowed_keys
from ..mechanism.tracing import run, seeds
from ..mistakes.lookup import mistake_named
from ..mistakes.wrong_run import can_be_made, run_wrong
from ..problem import Problem
from .asking import CannotAskError
from .battery import Case, as_packed
from .calls import Call, Outcome, Subject
from .interface import Interface
from .stated import Stated
from .translating import Finding

COMPARED = (
    "scaled",
    "value_repeated",
    "weights",
    "logsumexp",
    "output",
)  # and what their tolerances depend on
ROOM = 8.0  # times the floor: float64 is the reference itself, so that plain NumPy adds nothing to it there
SHORT_SUM = 64  # terms: in a sum of no more the order does not show beside everything else
NOT_RETURNED = ("crashed", "timed out", "out of memory")
MEANT = {  # what is stated -> the record of the catalogue that makes it so
    ("empty_rows", "nan"): "fully-masked-row-nan",
    ("empty_rows", "uniform"): "fully-masked-row-uniform",
    ("empty_rows", "unmasked"): "fully-masked-row-unmasked",
    ("logsumexp", "base 2"): "logsumexp-base-2",
}

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Asked:
    """One case, as the function was asked it, and what came of it.

    case       what was wanted; problem: the nearest one that it can be asked, in its dtype
    refused    why it could not be asked, "" where it was
    call outcome  what was said and what came back; None where it was not asked
    values     step -> what it gave, float64, in the canonical shape of the problem's field
    findings   what else there is to say about what came back
    meant      what is right here by what was stated, such as NaN in rows that may see nothing
    layout     how its arrays lay in memory, see calls.Call
    rows_said  somebody said what a row is that may see nothing, so that it is judged
    kept       what was worked out about it while it was being explained
    """

    case: Case
    problem: Problem
    refused: str = ""
    call: Call | None = None
    outcome: Outcome | None = None
    values: Mapping[str, Array] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    meant: Hypothesis = ()
    layout: str = "contiguous"
    rows_said: bool = False
    kept: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def exact(self) -> Problem:
        """The problem in float64."""
        return exact_of(self.problem)

    @cached_property
    def target(self) -> Target | None:
        """The answer beside the right numbers; None where there are no numbers to compare."""
        step = self.case.step
        if step not in self.values:
            return None
        right = reference(self.exact, self.meant)[FINAL.get(step, step)]
        values = self.values[step]
        right = np.broadcast_to(right, values.shape).astype(np.float64)
        tolerance = np.broadcast_to(allowances(self.exact, self.case.dtype)[step], values.shape)
        given = np.ones(values.shape, dtype=bool)
        return Target(self.exact, step, values, given, right, lambda *_: tolerance, tolerance)

    @cached_property
    def loose(self) -> Array:
        """The entries that are a matter of robustness: of queries that may see nothing, else of a lenient
        case."""
        assert self.target is not None
        empty = np.broadcast_to(~sees_something(self.exact, self.case.step), self.target.values.shape)
        if self.case.lenient and not empty.any():
            return np.ones_like(empty)
        return np.asarray(np.zeros_like(empty) if self.rows_said else empty)

    @cached_property
    def off(self) -> Array:
        """The entries that are not right, loose ones among them."""
        assert self.target is not None
        return ~self.target.same(self.target.right, self.target.tolerance)

    @property
    def is_wrong(self) -> bool:
        """Whether an entry is off that has to be right."""
        return self.target is not None and bool((self.off & ~self.loose).any())

    @property
    def is_weak(self) -> bool:
        """Whether an entry is off that is a matter of robustness."""
        return self.target is not None and bool((self.off & self.loose).any())

    @property
    def has_ended(self) -> bool:
        """Whether it crashed, hung or ran out of memory."""
        return self.outcome is not None and self.outcome.end in NOT_RETURNED

    @cached_property
    def error(self) -> float | None:
        """The largest distance of an entry that has to be right, inf where it is no number and should be
        one."""
        if self.target is None:
            return None
        judged = ~self.loose
        with np.errstate(invalid="ignore"):
            apart = np.abs(self.target.values - self.target.right)
        apart = np.where(self.target.same(self.target.right, 0 * self.target.tolerance), 0.0, apart)
        return float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0.0, where=judged))

    @property
    def allowed(self) -> float:
        """How far an entry may be off."""
        return 0.0 if self.target is None else float(self.target.tolerance.max(initial=0.0))

    @property
    def plain(self) -> float:
        """How far plain NumPy in the case's dtype is off, at most; 0 in float64, where it is the
        reference."""
        return plain_error(self.exact, self.case.dtype).get(FINAL.get(self.case.step, self.case.step), 0.0)

    def recall(self, key: object, work_out: Callable[[], Result]) -> Result:
        """What was kept under that key; worked out now where nothing was."""
        if key not in self.kept:
            self.kept[key] = work_out()
        found: Result = self.kept[key]
        return found


def ask(subject: Subject, interface: Interface, case: Case, layout: str = "contiguous") -> Asked:
    """Put a case to the function; never raises for what it does.

    layout  how the arrays lie in memory, see calls.Call
    """
    wanted = packed(case).problem if is_packed(interface) else case.problem
    problem = interface.suited(wanted)
    said = interface.stated
    meant = tuple(mistake for mistake in meant_by(said) if can_be_made(problem, mistake))
    want = "" if case.step in ("output", "gradients") else case.step
    try:
        call = interface.call_for(problem, want, layout=layout)
    except CannotAskError as error:
        return Asked(case, problem, refused=str(error))
    outcome = subject.call(call)
    answers = interface.answers(problem, outcome, want)
    values = {
        step: canonical(problem, step, array.astype(np.float64))
        for step, array in answers.values.items()
        if array.dtype.kind not in "bO"
    }
    return Asked(
        case, problem, "", call, outcome, values, answers.findings, meant, layout, bool(said.empty_rows)
    )


def meant_by(stated: Stated) -> Hypothesis:
    """The conventions of the catalogue that are right by what was stated: rows of NaN, a logsumexp in base
    2."""
    said = (("empty_rows", stated.empty_rows), ("logsumexp", stated.logsumexp))
    return tuple(mistake_named(MEANT[pair]) for pair in said if pair in MEANT)


def is_packed(interface: Interface) -> bool:
    """Whether its arrays hold joined heads, (B, T, H·D), so that it is the one to take them apart."""
    return "E" in interface.ways.layouts.get("query", "") and interface.ways.has("heads")


@lru_cache(maxsize=1024)
def packed(case: Case) -> Case:
    """The case with its heads joined, where it has several."""
    return as_packed(case) if case.problem.H > 1 and not case.problem.packed else case


# --- what is right ----------------------------------------------------------------------------------


@remembered()
def exact_of(problem: Problem) -> Problem:
    """The problem in float64, the same object for the same problem."""
    return in_float64(problem)


@remembered(lambda fields: sum(array.nbytes for array in fields.values()))
def reference(exact: Problem, meant: Hypothesis = ()) -> Mapping[str, Array]:
    """Every field, float64, kept."""
    return run_wrong(exact, meant) if meant else run(exact, seeds(exact))


@remembered()
def allowances(exact: Problem, dtype: str) -> Mapping[str, Array]:
    """How far honest arithmetic in the dtype may be off at each step, kept; see diagnosis/tolerance.py."""
    fields = {name: array for name, array in reference(exact).items() if name in COMPARED}
    with np.errstate(all="ignore"):
        found = Precision(None, dtype, "").tolerances(exact, fields)
    room = (ROOM if dtype == "float64" else 1.0) * _of_long_sums(exact, dtype)
    return {name: room * np.nan_to_num(array) for name, array in found.items()}


def _of_long_sums(exact: Problem, dtype: str) -> float:
    """How much farther off the sum of so many terms may be, added one after the other: docs/decisions.

    Fewer bits than float32 are added up in float32, whose error theirs hides.
    """
    return (
        max(1.0, math.sqrt(max(exact.Tk, exact.D or 1) / SHORT_SUM))
        if dtype in ("float64", "float32")
        else 1.0
    )


@remembered()
def plain_error(exact: Problem, dtype: str) -> Mapping[str, float]:
    """How far plain NumPy in the dtype is from float64, for each field."""
    there = in_dtype(exact, dtype)
    if there is exact:
        return {}
    plain, fields = run(there, seeds(there)), reference(exact)
    with np.errstate(invalid="ignore"):
        return {
            name: largest(plain[name].astype(np.float64) - fields[name])
            for name in ("output", "attention", "logsumexp")
            if name in plain and not math.isnan(float(np.sum(fields[name])))
        }


def sees_something(problem: Problem, step: str) -> Array:
    """Which entries of the step belong to a query that may see a key, or has a sink; broadcasts to its
    shape."""
    if problem.sink is not None:
        return np.ones((1, 1), dtype=bool)
    allowed = np.broadcast_to(allowed_keys(problem), problem.matrix_shape)
    seen = np.asarray(allowed.any(axis=-1, keepdims=True))
    if step != "output" or not problem.packed:
        return seen
    return merge(np.broadcast_to(seen, (*seen.shape[:-1], problem.Dv or 1)))
