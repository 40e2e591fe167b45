"""Which arithmetic makes errors like these: TF32, bfloat16, float16, float32, and where in the pipeline.

Numbers that are right but for rounding are recognised in two ways: by being exactly those that the pipeline
gives with so few bits at one place, or, as sums may be taken in any order, by errors as large as that makes
on every case: no more on one, no less on another, and spread over the entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import DTYPES, Array
from ..diagnosis.reach import FINAL
from ..diagnosis.search import families, narrow_ones
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from .comparing import Asked
from .explaining import Cases, Rule
from .report import Arithmetic

BITS = {"float32": 23, "tf32": 10, "float16": 10, "bfloat16": 7, "int8": 7, "fp8": 3}
TINY = {"float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}  # the smallest normal numbers
BAND = 4.0  # how many times larger or smaller than expected errors may be: sums differ in their order
SPREAD = 0.25  # of the entries have an error of more than a tenth of the usual one; a bug in one row has not
TENTH = 0.1
MOST_CASES = 12  # failing cases that are looked at
SILENT = 8.0  # times the tolerance: where so much was to be expected, a right case speaks against it
# What no arithmetic was recognised for, but is small and everywhere: errors at most so many times those
# allowed
A_LITTLE = 4.0


def recognised(cases: Cases) -> Arithmetic | None:
    """The arithmetic that explains the errors on every case, None where none does."""
    written = _written(cases)
    if written is not None:
        return written
    first = next(iter(cases.telling), None)
    if first is None or not all(np.isfinite(each.error or 0.0) for each in cases.failing):
        return None
    ways = [m for m in narrow_ones(first.problem, first.case.step) if m.parameter is None]
    exact = next((m for m in ways if cases.hold(Rule((m,)))), None)
    if exact is not None:
        return said(exact, exact=True)
    return _in_digits(cases, first) or _by_size(cases, ways)


def _in_digits(cases: Cases, first: Asked) -> Arithmetic | None:
    """Numbers rounded to so many decimals on the way."""
    for way in families(first.problem, first.case.step):
        if not way.narrow or way.parameter is None:
            continue
        for theta in way.parameter.values(first.problem):
            rule = Rule((way,), theta)
            if cases.holds(rule, first) and cases.hold(rule):
                bits = round(theta * math.log2(10))
                where = f"who {way.title} ({way.parameter.symbol} = {theta:g})"
                return Arithmetic(
                    way.id, bits, f"these are exactly the numbers of somebody {where}. {way.mend}"
                )
    return None


def _written(cases: Cases) -> Arithmetic | None:
    """The right numbers, written in a dtype with fewer bits."""
    for name in ("float32", "float16", "bfloat16"):
        if all(_is_written_in(asked, name) for asked in (*cases.failing, *cases.passing)):
            said = (
                f"these are the right numbers, rounded to {name} ({BITS[name]} bits of mantissa) at the end."
            )
            return Arithmetic(f"output-{name}", BITS[name], said)
    return None


def _is_written_in(asked: Asked, name: str) -> bool:
    """Whether every number is one of that dtype, the right one or the next."""
    target, kind = asked.target, DTYPES[name]
    if target is None or DTYPES[asked.case.dtype].itemsize <= kind.itemsize:
        return False
    with np.errstate(all="ignore"):
        held = target.values.astype(kind).astype(np.float64)
        unit = 2.0 ** -BITS[name] * np.abs(target.right) + TINY[name]
        near = (np.abs(target.values - target.right) <= unit + target.tolerance) & (held == target.values)
    return bool((near | ~target.given | asked.loose | (held == target.right)).all())


def said(way: Mistake, exact: bool) -> Arithmetic:
    """What is recognised, in words."""
    _name, bits = next(pair for pair in BITS.items() if pair[0] in way.id)
    how = "these are exactly the numbers" if exact else "the errors are as large as those"
    return Arithmetic(
        way.id, bits, f"{how} of somebody who {way.title} ({bits} bits of mantissa). {way.mend}"
    )


@dataclass(frozen=True)
class _Fit:
    """How the errors compare with those that a way of working makes: the logarithms of their ratios."""

    way: Mistake
    ratios: tuple[float, ...]

    @property
    def is_good(self) -> bool:
        return bool(self.ratios) and max(map(abs, self.ratios)) <= math.log(BAND)

    @property
    def distance(self) -> float:
        """How far the ratios are from one, and from each other."""
        return float(np.std(self.ratios) + 0.5 * abs(np.mean(self.ratios)))


def _by_size(cases: Cases, ways: Sequence[Mistake]) -> Arithmetic | None:
    failing = cases.telling[:MOST_CASES]
    if not all(map(_is_spread, failing)):
        return None
    fits = (_fit(way, failing, cases.passing) for way in ways)
    good = [fit for fit in fits if fit is not None and fit.is_good]
    best = min(good, key=lambda fit: fit.distance, default=None)
    return None if best is None else said(best.way, exact=False)


def _is_spread(asked: Asked) -> bool:
    """Whether the error reaches many entries, as rounding does."""
    error = _errors(asked, asked.values[asked.case.step])
    return bool((error > TENTH * _size(error)).mean() >= SPREAD)


def _fit(way: Mistake, failing: Sequence[Asked], passing: Sequence[Asked]) -> _Fit | None:
    for asked in passing[:MOST_CASES]:
        made = _made(way, asked)
        if made is not None and _size(made) > SILENT * asked.allowed:
            return None
    ratios = []
    for asked in failing:
        made = _made(way, asked)
        if made is None or not (size := _size(made)) or not math.isfinite(size):
            return None
        ratios.append(math.log(_size(_errors(asked, asked.values[asked.case.step])) / size))
    return _Fit(way, tuple(ratios))


def _made(way: Mistake, asked: Asked) -> Array | None:
    """The errors of that way of working on this case."""
    if not way.applies(asked.problem):
        return None
    fields = run_wrong(asked.problem, (way,))
    return _errors(asked, fields[FINAL.get(asked.case.step, asked.case.step)].astype(np.float64))


def _errors(asked: Asked, values: Array) -> Array:
    assert asked.target is not None
    with np.errstate(invalid="ignore"):
        error = np.abs(values - asked.target.right)[~asked.loose]
    return np.asarray(error[np.isfinite(error)])


def _size(errors: Array) -> float:
    return float(np.sqrt(np.mean(errors**2))) if errors.size else 0.0


def is_a_little(cases: Cases) -> bool:
    """Whether the errors are a few times those allowed, and spread over the entries."""
    return all(
        (asked.error or 0.0) <= A_LITTLE * asked.allowed
        and asked.case.dtype in ("float32", "float64")
        and _is_spread(asked)
        for asked in cases.failing
    )
