"""Which arithmetic makes errors like these: TF32, bfloat16, float16, float32, and where in the pipeline.

Numbers that are right but for rounding are recognised in two ways: by being exactly those that the pipeline
gives with so few bits at one place, or, as sums may be taken in any order, by errors as large as that makes
on every case: no more on one, no less on another, and spread over the entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import DTYPES, Array
from ..diagnosis.reach import FINAL
from ..diagnosis.search import families, narrow_ones
from ..mistakes.mistake import Mistake, altered
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem, ignored_after
from .cases import Cases
from .comparing import Asked, reference
from .report import Arithmetic
from .rules import Rule

BITS = {"float32": 23, "tf32": 10, "bfloat16": 7, "float16": 10, "int8": 7, "fp8": 3}  # the longer name first
Held = Callable[[float, Callable[[float], Any]], float]
SCALES: dict[str, Held] = {  # what may be held in few bits: the scale that comes of it
    "the scale": lambda scale, held: float(held(scale)),
    "√d_k, which the scores are divided by,": lambda scale, held: 1 / float(held(1 / scale)),
}
MOST_UNITS = 4.0  # of float32, by which a scale is off that a few operations in float32 give
HALF = ("float16", "bfloat16")
MANY_KEYS = 1000  # whose sum in few bits loses some
OWN = ("scores", "row-sum", "softmax-all")  # that may be held in the inputs' own few bits
HELD = ("float32", "float16", "bfloat16")  # dtypes that a number may be rounded to on its own
TINY = {"float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}  # the smallest normal numbers
BAND = 4.0  # how many times larger or smaller than expected errors may be: sums differ in their order
SPREAD = 0.25  # of the entries have an error of more than a tenth of the usual one; a bug in one row has not
TENTH = 0.1
MOSTLY = 0.5  # of the cases have errors so spread: of saturated rows few entries move
FEWEST_CASES = 3  # that errors are compared on: the size of two is like many things
MOST_SAID = 2  # ways of working that make errors as large
MOST_CASES = 12  # failing cases that are looked at
SILENT = 8.0  # times the tolerance: where so much was to be expected, a right case speaks against it
# What no arithmetic was recognised for, but is small and everywhere: errors at most so many times those
# allowed
A_LITTLE = 4.0


def recognised(cases: Cases, known: Arithmetic | None = None) -> Arithmetic | None:
    """The arithmetic that explains the errors on every case, None where none does.

    known  what was recognised in another feature: then a single case will do
    """
    written = _written(cases)
    if written is not None:
        return written
    first = cases.most_telling
    if first is None or not all(np.isfinite(each.error or 0.0) for each in cases.failing):
        return None
    ways = [m for m in narrow_ones(first.problem, first.case.step) if m.parameter is None]
    exact = next((m for m in ways if cases.hold(Rule((m,)))), None)
    if exact is not None:
        return said([exact], exact=True)
    return _held_scale(cases) or _in_digits(cases, first) or _by_size(cases, ways, known)


def bits_of(way: Mistake) -> int:
    """The bits of its mantissa, 0 where its id does not say."""
    return next((number for name, number in BITS.items() if name in way.id), 0)


def overflowing(arithmetic: Arithmetic, cases: Sequence[Asked]) -> list[Asked]:
    """Those of the cases that came out as NaN or ∞ and hold numbers beyond the range of this arithmetic."""
    return [asked for asked in cases if asked.error == math.inf and _overflows(arithmetic, asked)]


def _overflows(arithmetic: Arithmetic, asked: Asked) -> bool:
    """Whether some step is infinite in a dtype like that: which step was narrow, sizes alone do not tell."""
    right = reference(asked.exact, asked.meant)
    ways = [way for way in narrow_ones(asked.problem, asked.case.step) if bits_of(way) == arithmetic.bits]
    return any(
        bool((~np.isfinite(array.astype(np.float64)) & np.isfinite(right[name])).any())
        for way in ways
        if way.parameter is None
        for name, array in run_wrong(asked.problem, (way,)).items()
        if name in right and right[name].shape == array.shape and array.dtype != bool
    )


def in_its_own(cases: Sequence[Asked]) -> tuple[Arithmetic | None, list[Asked]]:
    """Those of the cases whose errors come from scores or sums held in the inputs' own few bits; in words.

    Nobody has to hold them in more; of large scores and long rows the output is then off by much.
    """
    mine = [asked for asked in cases if asked.case.dtype in HALF and _is_of_its_own(asked)]
    if not mine:
        return None, []
    names = list(dict.fromkeys(asked.case.dtype for asked in mine))
    words = (
        f"the errors are no larger than scores held in {' and '.join(names)}, as the inputs are, make them."
    )
    return Arithmetic(
        f"scores-{names[0]}", BITS[names[0]], f"{words} Keep scores in float32 up to the softmax."
    ), mine


def _is_of_its_own(asked: Asked) -> bool:
    if asked.exact.Tk >= MANY_KEYS:  # so many terms added up in few bits: a sum that stands still at 256
        known_in_more = asked.case.feature == "dtypes"  # this very input is asked in more bits, too
        return known_in_more or (asked.error or 0.0) <= A_LITTLE * asked.allowed
    error = _errors(asked, asked.values[asked.case.step])
    ways = narrow_ones(asked.problem, asked.case.step)
    own = {f"{held}-{asked.case.dtype}" for held in OWN}
    made = (_made(way, asked) for way in ways if way.id in own)
    return any(each is not None and _size(error) <= BAND * _size(each) for each in made)


def _held_scale(cases: Cases) -> Arithmetic | None:
    """The right numbers for a scale that a dtype with fewer bits holds, where scores are scaled at all."""
    if any(_is_scaled_already(each.exact) for each in cases.every):
        return None
    ways = ((name, what, held) for name in HELD for what, held in SCALES.items())
    for name, what, held in ways:
        if all(_has_scale(each, name, held) for each in cases.every):
            return _of_scale(name, f"{what} rounded to {name}")
    if all(map(_is_scale_near, cases.every)):
        return _of_scale("float32", "a scale that is worked out in float32")
    return None


def _is_scaled_already(problem: Problem) -> bool:
    """Whether the problem starts from scores that are scaled, so that no scale can be tried."""
    return problem.given is not None and "scale" in ignored_after(problem.start)


def _of_scale(name: str, what: str) -> Arithmetic:
    said = f"these are exactly the numbers for {what} ({BITS[name]} bits)."
    return Arithmetic(f"scale-{name}", BITS[name], f"{said} Work it out in the dtype of the scores.")


def _has_scale(asked: Asked, name: str, held: Held) -> bool:
    return _is_wider(asked, name) and _gives(asked, held(scale_of(asked.exact), DTYPES[name].type))


def _is_scale_near(asked: Asked) -> bool:
    """Whether a scale a few units of float32 beside the right one gives these numbers: it is solved for."""
    if not _is_wider(asked, "float32") or asked.target is None:
        return False
    scale, unit = scale_of(asked.exact), 2.0 ** -BITS["float32"]
    judged = ~asked.loose
    with np.errstate(invalid="ignore"):
        change = (_with_scale(asked, scale * (1 + unit)) - asked.target.right)[judged]
        off = (asked.target.values - asked.target.right)[judged]
    if not np.isfinite(change).all() or not np.isfinite(off).all():
        return _gives(asked, scale)
    units = float((off * change).sum() / max(float((change * change).sum()), 1e-300))
    return abs(units) <= MOST_UNITS and _gives(asked, scale * (1 + units * unit))


def _is_wider(asked: Asked, name: str) -> bool:
    return asked.target is not None and DTYPES[asked.case.dtype].itemsize > DTYPES[name].itemsize


def scale_of(problem: Problem) -> float:
    """The scale that is meant."""
    return 1 / math.sqrt(problem.D or 1) if problem.scale is None else problem.scale


def _with_scale(asked: Asked, scale: float) -> Array:
    """The right numbers with another scale, in the shape of the answer."""
    assert asked.target is not None
    fields = reference(altered(asked.exact, scale=scale), asked.meant)
    values = fields[FINAL.get(asked.case.step, asked.case.step)].astype(np.float64)
    return np.broadcast_to(values, asked.target.right.shape)


def _gives(asked: Asked, scale: float) -> bool:
    """Whether the answer is right for that scale, where it has to be right."""
    assert asked.target is not None
    values, target = _with_scale(asked, scale), asked.target
    return bool((target.same(values, target.tolerance) | asked.loose).all())


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
    for name in HELD:
        if all(_is_written_in(asked, name) for asked in cases.every):
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


def said(ways: Sequence[Mistake], exact: bool) -> Arithmetic:
    """What is recognised, in words; ways: the likeliest first, of errors that others make as well."""
    way = ways[0]
    name, bits = next((name, number) for name, number in BITS.items() if name in way.id)
    who = ", or ".join(each.title for each in ways[:MOST_SAID])
    how = (
        f"these are exactly the numbers of somebody who {who}"
        if exact
        else f"the errors are as large as {name} makes them, as of somebody who {who}"
    )
    return Arithmetic(way.id, bits, f"{how} ({bits} bits of mantissa). {way.mend}")


@dataclass(frozen=True)
class _Fit:
    """How the errors compare with those that a way of working makes: the logarithms of their ratios.

    ratios  of cases where they reach many entries; others: of saturated rows, where few entries move
    """

    way: Mistake
    ratios: tuple[float, ...]
    others: tuple[float, ...]

    @property
    def is_good(self) -> bool:
        largest = max(map(abs, self.ratios), default=math.inf)
        return largest <= math.log(BAND) and max(map(abs, self.others), default=0.0) <= 2 * math.log(BAND)

    @property
    def distance(self) -> float:
        """How far the ratios are from one, and from each other."""
        return float(np.std(self.ratios) + 0.5 * abs(np.mean(self.ratios)))


def _by_size(cases: Cases, ways: Sequence[Mistake], known: Arithmetic | None) -> Arithmetic | None:
    failing = cases.telling[:MOST_CASES]
    spread = [asked for asked in failing if _is_spread(asked)]
    ways = [way for way in ways if not way.id.startswith("kv-cache")]  # too coarse to be known by size
    if len(spread) < FEWEST_CASES:
        ways = [way for way in ways if known is not None and bits_of(way) == known.bits]
    if len(spread) < MOSTLY * len(failing):
        return None
    others = [asked for asked in failing if asked not in spread]
    fits = (_fit(way, spread, others, cases.passing) for way in ways)
    good = [fit for fit in fits if fit is not None and fit.is_good]
    best = [fit.way for fit in sorted(good, key=lambda fit: fit.distance)]
    alike = [way for way in best if bits_of(way) == bits_of(best[0])]
    return said(alike, exact=False) if alike else None


def _is_spread(asked: Asked) -> bool:
    """Whether the error reaches many entries, as rounding does."""
    error = _errors(asked, asked.values[asked.case.step])
    return bool((error > TENTH * _size(error)).mean() >= SPREAD)


def _fit(
    way: Mistake, spread: Sequence[Asked], others: Sequence[Asked], passing: Sequence[Asked]
) -> _Fit | None:
    for asked in passing[:MOST_CASES]:
        made = _made(way, asked)
        if made is not None and _size(made) > SILENT * asked.allowed:
            return None
    ratios = [_ratio(way, asked) for asked in (*spread, *others)]
    if any(ratio is None for ratio in ratios):
        return None
    known = [ratio for ratio in ratios if ratio is not None]
    return _Fit(way, tuple(known[: len(spread)]), tuple(known[len(spread) :]))


def _ratio(way: Mistake, asked: Asked) -> float | None:
    """The logarithm of how many times larger the errors are than that way of working makes them."""
    made = _made(way, asked)
    if made is None or not (size := _size(made)) or not math.isfinite(size):
        return None
    return math.log(_size(_errors(asked, asked.values[asked.case.step])) / size)


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
