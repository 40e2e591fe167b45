"""A learner's function is called on the cases of its track, apart from this process, and what comes back is
held against the right numbers.

A first version passes when it does what the track asks. What production would add is looked at too, and
told, never a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..arrays import DTYPES, Array
from ..conformance.battery import Case
from ..conformance.calls import Call, Outcome
from ..conformance.comparing import Asked
from ..conformance.gradients import NAMES as GRADIENTS, reference, tolerances
from ..conformance.limits import Limits
from ..conformance.runner import Runner
from ..conformance.targets import Target
from ..errors import CannotRunError, HeadworkError
from ..mechanism.fields import canonical
from ..mechanism.tracing import trace
from .cases import CaseNumbers, numbers_of
from .naming import Gradients, Named, name_gradients, name_rules
from .tracks import Beyond, CodeCase, Track

# A case takes milliseconds; what is imported may be torch on a slow disk.
LIMITS = Limits(seconds=5.0, first_seconds=30.0, load_seconds=20.0)
NOT_WRITTEN = "NotImplementedError"  # what a stub raises
HOPELESS = ("timed out", "crashed", "out of memory")  # ends after which no other case is tried
RIGHT, NOT_RIGHT, STOPPED, NOT_ASKED = "right", "not right", "stopped", "not asked"


@dataclass(frozen=True, eq=False)
class Result:
    """One array of an answer: what was expected and what came.

    Fields
    name      "output", "weights" or "query", "key", "value" of gradients
    expected  the right numbers; got: None where there are none to compare; off: entries that are not right
    """

    name: str
    expected: Array
    got: Array | None
    off: Array | None

    @property
    def is_right(self) -> bool:
        """Whether every entry is right."""
        return self.off is not None and not self.off.any()


@dataclass(frozen=True, eq=False)
class Tried:
    """One case, and what came of it.

    Fields
    case     which; numbers: its numbers
    verdict  right, not right (numbers or no numbers), stopped (no answer came) or not asked
    said     what happened, for a person; "" where the numbers say it
    results  the arrays that were asked for, beside those that came
    printed  what the function printed; notes: what else there is to know of the call
    asked    as the engine that explains sees it; None where it is not asked
    dtype    that the numbers were judged in
    """

    case: CodeCase
    numbers: CaseNumbers
    verdict: str
    said: str = ""
    results: tuple[Result, ...] = ()
    printed: str = ""
    notes: tuple[str, ...] = ()
    asked: Asked | None = None
    dtype: str = "float64"

    @property
    def first_off(self) -> Result | None:
        """The first array that is not right."""
        return next((each for each in self.results if not each.is_right), None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        off = self.first_off
        seen = off is not None and off.got is not None
        return {
            "id": self.case.id,
            "why": self.case.why,
            "verdict": self.verdict,
            "said": self.said,
            "expected": off.expected if off is not None and seen else None,
            "got": off.got if off is not None and seen else None,
            "printed": self.printed,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Extra:
    """Something that production would add, and whether it is there.

    Fields
    beyond  what; is_there
    """

    beyond: Beyond
    is_there: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        said = self.beyond.good if self.is_there else self.beyond.says
        return {"id": self.beyond.case.id, "there": self.is_there, "says": said, "see": self.beyond.see}


@dataclass(frozen=True, eq=False)
class CodeCheck:
    """What came of checking one file.

    Fields
    track    what was to be written; path: the learner's file; library: whose arrays it was given
    tried    each case; extras: what production would add, only where every case is right
    failure  why nothing could be tried, "" where it could; is_begun: False where the stub's line still raises
    named    what gives the numbers that came back, the likeliest first
    printed  what was printed while the file was imported; seconds: how long it took
    """

    track: Track
    path: Path
    library: str = "numpy"
    tried: tuple[Tried, ...] = ()
    extras: tuple[Extra, ...] = ()
    failure: str = ""
    is_begun: bool = True
    named: tuple[Named, ...] = ()
    printed: str = ""
    seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """Whether it does what the exercise asks."""
        return bool(self.tried) and all(each.verdict == RIGHT for each in self.tried)

    @property
    def passed(self) -> int:
        """How many cases are right."""
        return sum(each.verdict == RIGHT for each in self.tried)

    @property
    def first_failing(self) -> Tried | None:
        """The first case that is not right."""
        return next((each for each in self.tried if each.verdict in (NOT_RIGHT, STOPPED)), None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "track": self.track.id,
            "function": self.track.function,
            "file": str(self.path),
            "library": self.library,
            "right": self.is_right,
            "begun": self.is_begun,
            "passed": self.passed,
            "cases": [each.to_dict() for each in self.tried],
            "failure": self.failure,
            "named": [each.to_dict() for each in self.named],
            "beyond": [each.to_dict() for each in self.extras],
            "seconds": round(self.seconds, 3),
        }


def check_code(track: Track, path: Path, limits: Limits = LIMITS) -> CodeCheck:
    """Whether the function in a file does what its track asks, and if not, which mistake gives its numbers.

    track   what was to be written; path: the learner's file
    limits  time and memory of a call
    Special cases: whatever the file does (hangs, exits, cannot be read as Python) is a finding, not an
    error. Raises nothing.
    """
    started = perf_counter()
    with Runner(Target("file", str(path.absolute()), track.function), limits) as runner:
        try:
            library = runner.signature.library or "numpy"
        except CannotRunError as error:
            outcome: Outcome = error.outcome
            return CodeCheck(track, path, failure=outcome.said, printed=outcome.printed)
        except HeadworkError as error:
            return CodeCheck(track, path, failure=str(error))
        return replace(_checked(track, path, runner, library), seconds=perf_counter() - started)


def _checked(track: Track, path: Path, runner: Runner, library: str) -> CodeCheck:
    tried = tuple(_tried(track, runner, library))
    found = CodeCheck(track, path, library, tried)
    if tried[0].verdict == STOPPED and tried[0].said.startswith(NOT_WRITTEN):
        return CodeCheck(track, path, library, tried, is_begun=False)
    if found.is_right:
        extras = tuple(_extra(track, runner, library, beyond) for beyond in track.beyond)
        return CodeCheck(track, path, library, tried, extras)
    return CodeCheck(track, path, library, tried, named=_named(track, tried))


def _named(track: Track, tried: tuple[Tried, ...]) -> tuple[Named, ...]:
    if track.gives == "gradients":
        return name_gradients([_gradients_of(each) for each in tried if each.first_off is not None])
    return name_rules([each.asked for each in tried if each.asked is not None])


def _gradients_of(tried: Tried) -> Gradients:
    got = {each.name: _headed(each.got) for each in tried.results if each.got is not None}
    return Gradients(tried.numbers.problem, _lead(tried.numbers), got, tried.dtype)


# --- the cases ------------------------------------------------------------------------------------


def _tried(track: Track, runner: Runner, library: str) -> Iterator[Tried]:
    """Each case; after one that hangs or crashes, and in a stub, the others are not asked."""
    has_stopped = False
    for case in track.cases:
        numbers = numbers_of(track, case)
        if has_stopped:
            yield Tried(case, numbers, NOT_ASKED)
            continue
        outcome = runner.call(_call(numbers, library))
        one = judged(track, case, numbers, outcome)
        has_stopped = outcome.end in HOPELESS or one.said.startswith(NOT_WRITTEN)
        yield one


def _call(numbers: CaseNumbers, library: str) -> Call:
    return Call(positional=tuple(numbers.arguments.values()), library=library)


def judged(track: Track, case: CodeCase, numbers: CaseNumbers, outcome: Outcome) -> Tried:
    """One case, held against the right numbers.

    track, case, numbers  what was asked; outcome: what came of the call
    Raises nothing. Special cases: of several arrays where one is asked for, the first counts; lists of
    numbers or of rows are put together.
    """
    if not outcome.is_fine:
        return Tried(case, numbers, STOPPED, outcome.said, printed=outcome.printed)
    names = GRADIENTS if track.gives == "gradients" else (track.gives,)
    outcome = put_together(outcome, _shapes(track, numbers))
    notes = tuple(_notes(numbers, outcome, len(names)))
    if len(outcome.outputs) < len(names):
        came, wanted = _count(len(outcome.outputs)), _count(len(names))
        said = f"It returned {came}, and {wanted} are asked for: {_listed(names)}."
        return Tried(case, numbers, NOT_RIGHT, said, printed=outcome.printed, notes=notes)
    arrays = outcome.outputs[: len(names)]
    results, asked = _compared(track, case, numbers, arrays)
    pairs = zip(results, arrays, strict=True)
    said = " ".join(_shape_words(each, array) for each, array in pairs if each.got is None)
    verdict = RIGHT if all(each.is_right for each in results) else NOT_RIGHT
    return Tried(case, numbers, verdict, said, results, outcome.printed, notes, asked, _dtype(*arrays))


def _shapes(track: Track, numbers: CaseNumbers) -> list[tuple[int, ...]]:
    """The shape of each array that is asked for."""
    if track.gives == "gradients":
        return [numbers.arguments[name].shape for name in GRADIENTS]
    return [trace(numbers.problem)[track.gives].shape]


def put_together(outcome: Outcome, shapes: Sequence[tuple[int, ...]]) -> Outcome:
    """Nested lists come as their numbers or rows, one array each; here as the arrays that they make.

    outcome  of a call; shapes: of the arrays that are asked for
    Raises nothing. Special cases: the same where they do not make these. A list of one row comes as that row.
    """
    outputs, sizes = outcome.outputs, [prod(shape) for shape in shapes]
    only_row = len(outputs) == len(shapes) == 1 and (1, *outputs[0].shape) == shapes[0]
    if not only_row and (len(outputs) <= len(shapes) or sum(each.size for each in outputs) != sum(sizes)):
        return outcome
    numbers = np.concatenate([each.reshape(-1) for each in outputs])
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return replace(
        outcome, outputs=tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    )


def _compared(
    track: Track, case: CodeCase, numbers: CaseNumbers, arrays: tuple[Array, ...]
) -> tuple[tuple[Result, ...], Asked | None]:
    if track.gives == "gradients":
        return tuple(_gradient_results(numbers, arrays)), None
    step, problem = track.gives, numbers.problem
    expected = trace(problem)[step]
    if arrays[0].shape != expected.shape or arrays[0].dtype.kind not in "fiub":
        return (Result(step, expected, None, None),), None
    got, dtype = arrays[0].astype(np.float64), _dtype(arrays[0])
    battery_case = Case(case.id, track.id, case.why, problem, dtype, step, frozenset(), False, {})
    asked = Asked(battery_case, problem, values={step: canonical(problem, step, got)}, rows_said=True)
    return (Result(step, expected, got, asked.off.reshape(expected.shape)),), asked


def _gradient_results(numbers: CaseNumbers, arrays: tuple[Array, ...]) -> Iterator[Result]:
    problem, cotangent = numbers.problem, _lead(numbers)
    expected = reference(problem, cotangent)
    slack = tolerances(problem, cotangent, _dtype(*arrays))
    for name, array in zip(GRADIENTS, arrays, strict=True):
        right = expected[name].reshape(numbers.arguments[name].shape)
        if array.shape != right.shape:
            yield Result(name, right, None, None)
        else:
            got = array.astype(np.float64)
            yield Result(name, right, got, ~(np.abs(got - right) <= slack[name]))


def _lead(numbers: CaseNumbers) -> Array:
    assert numbers.d_output is not None
    return _headed(numbers.d_output)


def _headed(array: Array) -> Array:
    """With an axis of heads, where it has none."""
    return array if array.ndim > 2 else array[None]


def _dtype(*arrays: Array) -> str:
    """What the numbers are judged in: the least exact of their own dtypes, float64 where it is no float's."""
    known = [array.dtype.name for array in arrays if array.dtype.name in DTYPES]
    return min(known, key=lambda name: DTYPES[name].itemsize if name != "bfloat16" else 1, default="float64")


# --- what production would add --------------------------------------------------------------------


def _extra(track: Track, runner: Runner, library: str, beyond: Beyond) -> Extra:
    numbers = numbers_of(track, beyond.case)
    outcome = runner.call(_call(numbers, library))
    return Extra(beyond, judged(track, beyond.case, numbers, outcome).verdict == RIGHT)


# --- in words -------------------------------------------------------------------------------------


def _notes(numbers: CaseNumbers, outcome: Outcome, asked: int) -> Iterator[str]:
    names = tuple(numbers.arguments)
    for place in outcome.changed:
        name = names[place] if isinstance(place, int) else place
        yield f"It changes its argument {name}: whoever calls it finds other numbers there afterwards."
    if len(outcome.outputs) > asked:
        yield f"It returned {_count(len(outcome.outputs))}; only the first {asked} counted here."
    dtypes = dict.fromkeys(array.dtype.name for array in outcome.outputs[:asked])
    if outcome.is_fine and set(dtypes) - {"float64"}:
        yield f"It was given float64 and returned {_listed(tuple(dtypes))}."
    yield from outcome.side_effects


def _shape_words(result: Result, array: Array) -> str:
    if array.shape == result.expected.shape:
        return f"The {result.name} holds {array.dtype.name}; numbers were expected."
    got, expected = _shape(array), _shape(result.expected)
    return f"The {result.name} has shape {got}; {expected} was expected."


def _shape(array: Array) -> str:
    return " × ".join(map(str, array.shape)) or "() (one number)"


def _count(count: int) -> str:
    return "1 array" if count == 1 else f"{count} arrays"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
