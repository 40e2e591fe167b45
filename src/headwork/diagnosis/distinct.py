"""What mistakes give at one step of one problem, and which of those numbers are told apart for certain.

Two numbers count as different where even the least exact honest work, rounded as it may be, cannot take
one for the other: farther apart than the tolerance of a right answer and half a unit of the last digit
(for arrays: twice the tolerance).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Array
from ..errors import UnknownNameError
from ..mechanism.fields import INPUTS, canonical_axes
from ..mechanism.sampling import sample
from ..mechanism.steps import STEPS
from ..mechanism.tracing import Trace, check_memory, run, seeds
from ..mistakes.catalogue import CATALOGUE
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import can_be_made, run_wrong
from ..problem import Problem
from .consequences import asked_steps, execute
from .parts import consequence, follows
from .plan import RIGHT, Hypothesis, Plan, plan_for
from .reach import FINAL, reaches
from .rounding import half_unit
from .search import MOST_ENTRIES
from .shifting import SUMS, unshifted
from .tolerance import DIGITS, Precision, decimal_places, in_float64
from .verdicts import STANDS_FOR_INFINITY

NARROW = ("float16", "bfloat16", "float32")
# limits on which keys may be seen, and copies of the problem's own arrays: no numbers that somebody works out
NOT_ASKED = (*INPUTS, "allowed", "bias", "part_output", "part_logsumexp")
MOST_PLACES = 3  # decimals of the problem's own numbers, up to which it is one that people work by hand
MOST_WHOLE = (
    200_000  # entries of the score matrix, from which on what shows is first looked for in a few rows
)
ROWS = 16  # of them, at equal distances
FIRST_LOOK = 8  # entries that are compared first: most numbers that differ do so there


@dataclass(frozen=True, eq=False)
class Numbers:
    """What hypotheses give at one step.

    exact   the problem in float64; fields: what the right pipeline gives there
    right   (entries,), of all entries or, where all hypotheses' would be too many, of evenly spread ones
    values  (hypotheses, entries)
    sure    (entries,): the distance beyond which two numbers differ for certain
    shows   (hypotheses,): whether each differs from the right one, in any entry at all
    few     `exact`, with some of its rows only where it is large
    """

    hypotheses: tuple[Hypothesis, ...]
    exact: Problem
    fields: Mapping[str, Array]
    right: Array
    values: Array
    sure: Array
    shows: Array
    few: Problem

    def enough(self, mistakes: Iterable[Mistake]) -> Problem:
        """Where a difference between these can be looked for: in few rows, unless one of them needs all."""
        mixes = any(mistake.mixes_queries or mistake.rewrite is not None for mistake in mistakes)
        return self.exact if mixes else self.few


def step_of(problem: Problem, step: str | None) -> str:
    """The step that is meant: None is the output, or the weights where there is no value.

    Raises UnknownNameError where the problem has no such step.
    """
    few = sample(problem, np.arange(min(problem.Tq, 1)))  # names do not depend on the numbers
    work = Trace(few, run(few, seeds(few)))
    names = [name for name in work if name not in NOT_ASKED and name not in seeds(problem)]
    step = step or ("output" if "output" in names else names[-1])
    if step not in names:
        asked = [name for each in work.steps for name in each.writes if name in names]
        raise UnknownNameError(
            f"this problem has no numbers called {step[:60]!r} to look at. It has: {', '.join(asked)}."
        )
    return step


def usual_digits(problems: Iterable[Problem]) -> int | None:
    """The digits to which such problems are worked: three by hand, None for arithmetic in their own dtype."""
    return DIGITS if all(map(_is_by_hand, problems)) else None


def _is_by_hand(problem: Problem) -> bool:
    """Short decimals in float64 throughout."""
    arrays = [array for array in seeds(problem).values() if problem.dtype == np.float64]
    places = [decimal_places(array[np.isfinite(array)], "float64") for array in arrays]
    return bool(places) and all(count is not None and count <= MOST_PLACES for count in places)


@lru_cache(maxsize=64)
def judged(step: str, digits: int | None, dtype: str) -> tuple[Mistake, ...]:
    """The mistakes that can matter at that step: none with a free number, those of fewer bits only there."""
    is_narrow = digits is None and dtype in NARROW
    candidates = (m for m in CATALOGUE if is_narrow or not m.narrow)
    return tuple(m for m in candidates if m.parameter is None and reaches(m, step))


def makeable(problem: Problem, step: str, mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Those of the mistakes that the problem has a place for, and from which the step follows."""
    return tuple(mistake for mistake in mistakes if can_show(problem, step, mistake))


def can_show(problem: Problem, step: str, mistake: Mistake) -> bool:
    """Whether the problem has a place for the mistake, and the step follows from it."""
    if not can_be_made(problem, mistake):
        return False
    return mistake.rewrite is not None or step in _follow(mistake, asked_steps(problem))


@lru_cache(maxsize=4096)
def _follow(mistake: Mistake, asked: frozenset[str]) -> frozenset[str]:
    """The fields that follow from the mistake: without parts to merge, the logsumexp leads nowhere."""
    changed: set[str] = set()
    for step in STEPS:
        reads = mistake.version(step.name).reads if step.name in mistake.wrong else step.reads
        if step.name not in mistake.wrong and step.name not in asked:
            reads = reads[:1] if step.passes else ()
        if step.name in mistake.wrong or any(name in changed for name in reads):
            changed |= set(step.writes)
    return frozenset(name for name in (*changed, *FINAL) if FINAL.get(name, name) in changed)


def numbers_of(
    problem: Problem, step: str, digits: int | None, hypotheses: tuple[Hypothesis, ...]
) -> Numbers:
    """What the hypotheses give, worked out in slices so that large problems fit in memory.

    digits  decimals asked, or None: the problem's own arithmetic
    Raises TooLargeError.
    """
    check_memory(problem)
    exact = in_float64(problem)
    fields = run(exact, seeds(exact))
    field = fields[FINAL.get(step, step)]
    (right, sure), *others = _accepted(problem, exact, fields, step, digits)
    accepted = [(right, sure), *others]
    kept: Array | slice
    few = _few_rows(problem, step)
    if few is not None:
        kept = _entries_of(field.shape, few)
        values = _on_rows(problem, exact, step, hypotheses, fields, few)
        shows = _shows(values, [(each[kept], distance[kept]) for each, distance in accepted])
        quiet = np.flatnonzero(~shows)  # what does not show there is looked at in every row
        hidden = tuple(hypotheses[index] for index in quiet)
        for at, part in _in_slices(problem, exact, step, hidden, fields):
            shows[quiet[at]] = _shows(part, accepted)
    else:
        kept = _kept(right.size, len(hypotheses))
        shows = np.zeros(len(hypotheses), dtype=bool)
        values = np.zeros((len(hypotheses), right[kept].size))
        for at, part in _in_slices(problem, exact, step, hypotheses, fields):
            shows[at], values[at] = _shows(part, accepted), part[:, kept]
    values = _with_infinities(values, right[kept])
    part_exact = exact if few is None else sample(exact, few)
    return Numbers(hypotheses, exact, fields, right[kept], values, sure[kept], shows, part_exact)


def _in_slices(
    problem: Problem,
    exact: Problem,
    step: str,
    hypotheses: tuple[Hypothesis, ...],
    fields: Mapping[str, Array],
) -> Iterator[tuple[slice, Array]]:
    """What some hypotheses give at a time, (hypotheses, entries), and which they are."""
    shape = fields[FINAL.get(step, step)].shape
    batch = max(MOST_ENTRIES // max(array.size for array in fields.values()), 1)
    for start in range(0, len(hypotheses), batch):
        at = slice(start, start + batch)
        yield at, _results(problem, exact, step, hypotheses[at], shape)


def _shows(part: Array, accepted: Sequence[tuple[Array, Array]]) -> Array:
    """Which rows of (hypotheses, entries) differ in some entry from all that counts as right."""
    part = _with_infinities(part, accepted[0][0])
    wrong = np.ones(part.shape, dtype=bool)
    for right, sure in accepted:
        wrong &= differs(part, right, sure)
    return np.asarray(wrong.any(axis=-1))


def _with_infinities(part: Array, right: Array) -> Array:
    """A large negative number counts as −∞ where that is right."""
    return np.where(np.isneginf(right) & (part <= STANDS_FOR_INFINITY), -np.inf, part)


# --- some rows of a large problem -----------------------------------------------------------------


def _few_rows(problem: Problem, step: str) -> Array | None:
    """The rows in which what shows is first looked for; None where all of them are few enough."""
    is_small = math.prod(problem.matrix_shape) <= MOST_WHOLE or problem.known is not None
    if is_small or "Tq" not in canonical_axes(problem, step):
        return None
    return np.unique(np.linspace(0, problem.Tq - 1, ROWS).astype(np.int64))


def _entries_of(shape: tuple[int, ...], rows: Array) -> Array:
    """The flat indices of the entries in these rows."""
    return np.arange(math.prod(shape)).reshape(shape)[..., rows, :].ravel()


def _on_rows(
    problem: Problem,
    exact: Problem,
    step: str,
    hypotheses: tuple[Hypothesis, ...],
    fields: Mapping[str, Array],
    rows: Array,
) -> Array:
    """(hypotheses, entries of these rows): rules that mix queries see all of them, and other problems do."""
    apart = [any(m.mixes_queries or m.rewrite is not None for m in each) for each in hypotheses]
    by_row = tuple(each for each, is_apart in zip(hypotheses, apart, strict=True) if not is_apart)
    part, part_exact = sample(problem, rows), sample(exact, rows)
    right = run(part_exact, seeds(part_exact))
    shape = right[FINAL.get(step, step)].shape
    values = np.full((len(hypotheses), math.prod(shape)), np.nan)
    slices = [made for _, made in _in_slices(part, part_exact, step, by_row, right)]
    values[~np.array(apart, dtype=bool)] = np.concatenate([np.zeros((0, values.shape[1])), *slices])
    for index in np.flatnonzero(apart):
        way = problem if any(mistake.narrow for mistake in hypotheses[index]) else exact
        made = _mixed(way, step, hypotheses[index], fields if way is exact else {}, rows)
        if made is not None and made.shape == shape:
            values[index] = made.ravel()
    return values


def _mixed(
    problem: Problem, step: str, hypothesis: Hypothesis, fields: Mapping[str, Array], rows: Array
) -> Array | None:
    known: dict[str, Array] = {}
    if all(mistake.rewrite is None for mistake in hypothesis):
        changed = {name for mistake in hypothesis for name in follows(mistake, asked_steps(problem))}
        known = {name: array for name, array in fields.items() if name not in changed}
    return consequence(problem, hypothesis, FINAL.get(step, step), rows=rows, known=known)


def _accepted(
    problem: Problem, exact: Problem, fields: Mapping[str, Array], step: str, digits: int | None
) -> list[tuple[Array, Array]]:
    """The entries that count as right, each time with the distance from which others are wrong for certain.

    Exponentials and their sums count with the row's maximum subtracted, and without.
    """
    precision = Precision(digits, problem.dtype.name, "")
    ways = [(exact, fields)]
    if step in SUMS:
        plain = unshifted(exact)
        ways.append((plain, run(plain, seeds(plain))))
    accepted = []
    for way, found in ways:
        values, tolerance = (
            found[FINAL.get(step, step)],
            np.nan_to_num(precision.tolerances(way, found, [step])[step]),
        )
        sure = tolerance + (tolerance if digits is None else half_unit(digits))
        accepted.append((values.ravel(), np.broadcast_to(sure, values.shape).ravel()))
    return accepted


def _kept(entries: int, hypotheses: int) -> Array | slice:
    """Which entries are kept: all, or as many as memory has room for, evenly spread."""
    room = max(MOST_ENTRIES // max(hypotheses, 1), FIRST_LOOK)
    return slice(None) if entries <= room else np.linspace(0, entries - 1, room).astype(np.int64)


def _results(
    problem: Problem, exact: Problem, step: str, hypotheses: tuple[Hypothesis, ...], shape: tuple[int, ...]
) -> Array:
    """(hypotheses, entries); NaN where one gives another shape. Narrow ones run in their own dtype."""
    values = np.full((len(hypotheses), *shape), np.nan)
    alone = np.array([any(m.narrow or m.rewrite is not None for m in each) for each in hypotheses])
    stacked = tuple(each for each, is_alone in zip(hypotheses, alone, strict=True) if not is_alone)
    if stacked:
        known = seeds(exact)
        made = execute(exact, step, _plan(stacked, step, frozenset(known), asked_steps(exact)), known)
        values[~alone] = made.values[made.node][1:]
    for index in np.flatnonzero(alone):
        is_narrow = any(mistake.narrow for mistake in hypotheses[index])
        result = run_wrong(problem if is_narrow else exact, hypotheses[index])[FINAL.get(step, step)]
        if result.shape == shape:
            values[index] = result
    return values.reshape(len(hypotheses), -1)


@lru_cache(maxsize=32)
def _plan(
    hypotheses: tuple[Hypothesis, ...], target: str, known: frozenset[str], asked: frozenset[str]
) -> Plan:
    return plan_for((RIGHT, *hypotheses), FINAL.get(target, target), known, asked)


# --- comparing ------------------------------------------------------------------------------------


def differs(a: Array, b: Array, sure: Array) -> Array:
    """Where a and b (broadcast) are different for certain: far apart, or a symbol against a number."""
    with np.errstate(invalid="ignore"):  # inf − inf: compared as symbols
        far = np.abs(a - b) > sure
    symbols = ~(np.isfinite(a) & np.isfinite(b)) & (a != b) & ~(np.isnan(a) & np.isnan(b))
    return np.asarray(far | symbols)


def alike(a: Array, b: Array, sure: Array) -> Array:
    """(n, m): which rows of a (n, entries) and of b (m, entries) cannot be told apart for certain."""
    entries = a.shape[-1]
    first = np.linspace(0, entries - 1, min(FIRST_LOOK, entries)).astype(np.int64)
    near = np.ones((len(a), len(b)), dtype=bool)
    for entry in first:
        near &= ~differs(a[:, None, entry], b[None, :, entry], sure[entry])
    rows, columns = np.nonzero(near)
    step = max(MOST_ENTRIES // max(entries, 1), 1)
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        near[i, j] = ~differs(a[i], b[j], sure).any(axis=-1)
    return near
