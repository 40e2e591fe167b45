"""Which rule gives the numbers of all cases together: those that are wrong, and those that are right as well.

One case alone is explained by chance, or by a rule that happens to agree with another there. A rule that
stands has to give every number that came back, wrong or right, on every case that it could be made on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from ..arrays import Array
from ..diagnosis.consequences import Consequences, consequences_of
from ..diagnosis.cutting import rows_of, telling_rows
from ..diagnosis.evidence import NAMED, SYMBOL
from ..diagnosis.families import solve
from ..diagnosis.freedom import bits_of
from ..diagnosis.plan import RIGHT, Hypothesis, compatible
from ..diagnosis.reach import FINAL
from ..diagnosis.remembering import remembered
from ..diagnosis.search import (
    MOST_ENTRIES,
    PAIRS,
    SAME,
    SINGLES,
    applicable,
    cost,
    families,
    known_consequences,
    narrow_ones,
    with_dropout,
)
from ..diagnosis.target import Target
from ..diagnosis.tolerance import OUTPUTS, in_dtype, largest, rounding_noise
from ..mechanism.heads import merge
from ..mistakes.dropout import MOST_KEYS as MOST_DROPPED
from ..mistakes.lookup import mistake_named
from ..mistakes.mistake import Mistake, Wrong, altered
from ..mistakes.wrong_run import can_be_made, run_wrong
from ..problem import Problem
from .comparing import ROOM, Asked

LOOSE = 64.0  # times the right numbers' tolerance, for a first look: a rule's own numbers may be far larger
MOST_CANDIDATES = 48  # the nearest ones are looked at on every case
MOST_TELLING = 12  # cases that are weighed, to begin with the one that says most
ENOUGH = 100.0  # bits: more of them make no rule surer
SMALL = 1500  # entries of a case that is weighed
# of the answer's distance from the right numbers: how near a rule has to be that narrow arithmetic blurs
NEAR = 0.2
TOLD = 6.0  # bits from which NaN and ∞ alone are told to be what a rule gives; fewer say nothing of it
SYMBOLS = 5.0  # bits for NaN or ∞ where finite numbers were due, wherever they are
SOME = 0.125  # of the failing cases: on fewer, other rules agree with what was done by chance
PARTS = 3  # rules that explain some of the cases, to which a second one is added

MOST_FIRST = 2  # cases of few keys on which rules for parts are looked for
MOST_CUT = 9  # keys that are cut in two or three parts in every way
FEWEST_CUT = 2  # cases of so few keys that a rule for parts must explain, if there are

# logarithms of the smallest and the largest numbers above 0; half precision is worked in float32
RANGE = {"float64": (-744.0, 709.0), **dict.fromkeys(("float32", "float16", "bfloat16"), (-87.0, 88.0))}

Judged = Callable[[Asked], Array]  # which entries of a case's answer count


def strictly(asked: Asked) -> Array:
    """The entries that have to be right."""
    return ~asked.loose


def loosely(asked: Asked) -> Array:
    """The entries that are a matter of robustness."""
    return asked.loose


@dataclass(frozen=True, eq=False)
class Rule:
    """A set of mistakes with the number in it, and how sure that number is.

    in_parts   the keys are worked in parts, cut in a way that nobody knows
    by_chance  it is dropout: which weights are dropped is another matter each time
    overflows  beside these mistakes no maximum is subtracted, so that exponentials leave the dtype's range
    """

    hypothesis: Hypothesis
    theta: float | None = None
    theta_error: float = 0.0
    in_parts: bool = False
    by_chance: bool = False
    overflows: bool = False

    def __add__(self, mistake: Mistake) -> Rule:
        return replace(self, hypothesis=(*self.hypothesis, mistake))

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from other rules."""
        return self.hypothesis, self.theta, self.in_parts, self.by_chance, self.overflows

    @property
    def mistakes(self) -> Hypothesis:
        """Everything that is said to be done wrong."""
        unguarded = mistake_named("softmax-without-max")
        more = self.overflows and unguarded not in self.hypothesis
        return (*self.hypothesis, unguarded) if more else self.hypothesis


@dataclass(frozen=True, eq=False)
class Group:
    """Rules that give the same numbers on every case, the likeliest first."""

    rules: tuple[Rule, ...]
    bits: float

    @property
    def is_named(self) -> bool:
        """Whether chance is ruled out."""
        return self.bits >= NAMED

    @property
    def is_convention(self) -> bool:
        """Whether one of them needs no mistake at all."""
        return any(all(mistake.convention for mistake in rule.hypothesis) for rule in self.rules)


@dataclass(frozen=True, eq=False)
class Found:
    """What explains some of the cases: groups of rules of which one holds, and the cases."""

    groups: tuple[Group, ...]
    cases: tuple[Asked, ...]

    @property
    def first(self) -> Rule:
        """The likeliest rule."""
        return self.groups[0].rules[0]


@dataclass(eq=False)
class Cases:
    """The cases of a feature: the wrong ones that are to be explained, and the right ones that must stay
    so."""

    failing: Sequence[Asked]
    passing: Sequence[Asked]
    judged: Judged = strictly

    def target(self, asked: Asked) -> Target:
        """The answer to be explained, as far as it counts."""
        assert asked.target is not None
        return replace(asked.target, given=self.judged(asked))

    def hold(self, rule: Rule, cases: Iterable[Asked] | None = None) -> bool:
        """Whether the rule gives what came back on all of these cases; None: on every one."""
        every = (*self.failing, *self.passing) if cases is None else cases
        small_first = sorted(every, key=lambda asked: math.prod(asked.exact.matrix_shape))
        return all(self.holds(rule, asked) for asked in small_first)

    def holds(self, rule: Rule, asked: Asked) -> bool:
        """Whether the rule gives what came back."""
        told = self.told(rule, asked)
        return told is not None and bool(self.target(asked).matches(*told))

    def explained(self, rule: Rule) -> list[Asked]:
        """The failing cases on which it gives what came back."""
        return [asked for asked in self.failing if self.holds(rule, asked)]

    def told(self, rule: Rule, asked: Asked) -> tuple[Array, Array] | None:
        """What the rule gives on this case, and how far honest arithmetic may be off; kept."""
        if rule.key not in asked.kept:
            asked.kept[rule.key] = prediction(rule, asked)
        found: tuple[Array, Array] | None = asked.kept[rule.key]
        return found

    def on_their_paths(self) -> Cases:
        """The same, without right cases that ask for other features: a function may have a path for those
        alone."""
        paths = {each.case.needs for each in self.failing}
        passing = [each for each in self.passing if each.case.needs in paths]
        return Cases(self.failing, passing, self.judged)

    def left(self, explained: Sequence[Asked]) -> Cases:
        """The same, with those failing cases that are not explained yet."""
        failing = [each for each in self.failing if each not in explained]
        return Cases(failing, self.passing, self.judged)

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
    def telling(self) -> list[Asked]:
        """The failing cases, those that say most first."""
        first = [asked for _, asked in self.weighed]
        return first + [asked for asked in self.failing if asked not in first]

    @property
    def bits(self) -> float:
        """The evidence that the failing cases carry together."""
        return sum(bits for bits, _ in self.weighed) + self._symbol_bits

    @property
    def is_finite(self) -> bool:
        """Whether some failing case has numbers throughout."""
        return any(math.isfinite(asked.error or 0.0) for asked in self.failing)

    @property
    def _symbol_bits(self) -> float:
        """What NaN and ∞ say: which rows of which cases they fill. That all is NaN is no news of any rule."""
        symbols = [rows for rows in map(_symbols, self.failing) if rows.any()]
        if not symbols:
            return 0.0
        where = [min(_ways_bits(rows.size, int(rows.sum())), SYMBOL) for rows in symbols]
        return SYMBOLS + _ways_bits(len(self.failing) + len(self.passing), len(symbols)) + sum(where)


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


# --- what a rule gives ------------------------------------------------------------------------------


def prediction(rule: Rule, asked: Asked) -> tuple[Array, Array] | None:
    """The numbers that the rule gives at the case's step, and their tolerance; None where it has another
    shape.

    Where none of its mistakes can be made, it gives the right ones.
    """
    target = asked.target
    assert target is not None
    if rule.in_parts:
        return _cut_somehow(rule, asked, target)
    if rule.by_chance:
        return _dropped_somehow(asked, target)
    made = tuple(m for m in joined(asked.meant, rule.hypothesis) if can_be_made(asked.exact, m))
    if not made:
        return target.right, target.tolerance
    try:
        return _prediction(rule, asked, target, made)
    except (ValueError, IndexError):  # two mistakes whose shapes do not go together: nobody can make both
        return None


def _prediction(rule: Rule, asked: Asked, target: Target, made: Hypothesis) -> tuple[Array, Array] | None:
    narrow = any(mistake.narrow for mistake in made)
    there = in_dtype(asked.exact, asked.case.dtype)
    fields = run_wrong(there if narrow else asked.exact, made, rule.theta)
    values = _shaped(fields, target)
    if values is None:
        return None
    values = _with_symbols(values, target, _undivided(fields))
    if rule.overflows:
        beyond = _beyond(fields, asked.case.dtype)
        if not _overflows_in(target, beyond):
            return None
        values = _with_symbols(values, target, beyond)
    tolerance = _noise(asked, fields, values)
    others = []
    if there is not asked.exact and not narrow:
        others.append((2.0, run_wrong(there, made, rule.theta)))
    if rule.theta is not None and 0 < rule.theta_error < math.inf:
        others.append((1.0, run_wrong(asked.exact, made, rule.theta + rule.theta_error)))
    for times, other in others:
        beside = _shaped(other, target)
        if beside is not None:
            values = np.where(np.isfinite(beside), values, _with_symbols(values, target, np.ones(1, bool)))
            with np.errstate(invalid="ignore"):
                tolerance += times * largest(beside - values)
    return values, np.maximum(target.tolerance, tolerance)


def _with_symbols(values: Array, target: Target, rows: Array) -> Array:
    """The values, but NaN, ∞ and 0 of the answer where its exponentials left the range: IEEE's own results.

    rows  (…, H, Tq, 1): where they did; of another shape, anywhere if somewhere
    """
    odd = _odd(target)
    if not rows.any() or not odd.any():
        return values
    where = _in_shape(rows, target)
    return np.where(odd if where is None else odd & where, target.values, values)


def _overflows_in(target: Target, rows: Array) -> bool:
    """Whether NaN, ∞ or 0 came back in each of these rows, as without a maximum it must."""
    odd, where = _odd(target), _in_shape(rows, target)
    if where is None:
        return bool(odd.any())
    return bool((odd.any(axis=-1) | ~where.any(axis=-1)).all())


def _odd(target: Target) -> Array:
    return np.asarray(~np.isfinite(target.values) | (target.values == 0))


def _in_shape(rows: Array, target: Target) -> Array | None:
    """Rows of the score matrix as entries of the answer; None where they are those of another problem."""
    problem, shape = target.problem, target.values.shape
    if target.step == "output" and problem.packed and rows.shape == (*problem.matrix_shape[:-1], 1):
        rows = merge(np.broadcast_to(rows, (*rows.shape[:-1], problem.Dv or 1)))
    fits = rows.ndim == len(shape) and all(a in (1, n) for a, n in zip(rows.shape, shape, strict=True))
    return np.broadcast_to(rows, shape) if fits else None


def _undivided(fields: Mapping[str, Array]) -> Array:
    """The rows whose sum is 0 although they see something: 0/0 is NaN, and only an empty row's is 0."""
    if "row_sum" not in fields or "logits" not in fields:
        return np.zeros(1, bool)
    return np.asarray((fields["row_sum"] == 0) & (fields["logits"] > -np.inf).any(axis=-1, keepdims=True))


def _beyond(fields: Mapping[str, Array], dtype: str) -> Array:
    """The rows with scores whose exponentials are infinite in the dtype, or all 0."""
    if "logits" not in fields:
        return np.zeros(1, bool)
    top = fields["logits"].max(axis=-1, keepdims=True)
    low, high = RANGE[dtype]
    return np.asarray(((top > high) | (top < low)) & (top > -np.inf))


def _cut_somehow(rule: Rule, asked: Asked, target: Target) -> tuple[Array, Array] | None:
    """What the rule gives with the keys cut in the way that fits; of more keys than can be tried, what
    came back."""
    if asked.exact.Tk > MOST_CUT:
        return target.values, target.tolerance
    for problem in cut_in_parts(asked.exact):
        if all(can_be_made(problem, mistake) for mistake in rule.hypothesis):
            values = _shaped(run_wrong(problem, rule.hypothesis), target)
            if values is not None and target.matches(values, target.tolerance):
                return values, target.tolerance
    return None


@remembered()
def cut_in_parts(problem: Problem) -> tuple[Problem, ...]:
    """The problem with its keys in two or three parts, in every way."""
    Tk = problem.Tk
    places = [places for count in (1, 2) for places in combinations(range(1, Tk), count)]
    cuts = [np.diff((0, *each, Tk)).tolist() for each in places]
    return tuple(altered(problem, chunks=parts) for parts in cuts) if problem.chunks is None else ()


def joined(meant: Hypothesis, hypothesis: Hypothesis) -> Hypothesis:
    """What is meant here, but for the steps in which the hypothesis has something else."""
    touched = sum(mistake.touches for mistake in hypothesis)
    return (*(mistake for mistake in meant if not mistake.touches & touched), *hypothesis)


def _shaped(fields: Mapping[str, Array], target: Target) -> Array | None:
    """The step's numbers in the shape of the answer, None where they have another one."""
    array, shape = fields.get(FINAL.get(target.step, target.step)), target.values.shape
    if array is None or array.shape == shape:
        return array if array is None else array.astype(np.float64)
    if array.size == target.values.size:
        return array.astype(np.float64).reshape(shape)
    if array.ndim == len(shape) and all(a in (1, n) for a, n in zip(array.shape, shape, strict=True)):
        return np.broadcast_to(array, shape).astype(np.float64)
    return None


def _noise(asked: Asked, fields: dict[str, Array], values: Array) -> float:
    """The floor of the tolerance, by what the rule itself makes of the scores."""
    sizes = [largest(values)]
    if asked.case.step in OUTPUTS and "value_repeated" in fields:
        size = largest(fields["value_repeated"])
        sizes += [size, size * _mass(fields)]
    scaled = largest(fields["scaled"]) if "scaled" in fields else 0.0
    room = ROOM if asked.case.dtype == "float64" else 1.0
    return room * rounding_noise(asked.case.dtype, scaled, max(sizes))


def _mass(fields: Mapping[str, Array]) -> float:
    """The most that the weights of a row add up to: 1, unless a rule is wrong; the rounding of a blend grows
    with it."""
    if "attention" not in fields:
        return 1.0
    with np.errstate(all="ignore"):
        return largest(np.abs(fields["attention"]).sum(axis=-1))


# --- the search -------------------------------------------------------------------------------------


def explain(cases: Cases, known: Sequence[Rule] = (), pairs: bool = True) -> tuple[Group, ...]:
    """The simplest rules that hold on every case, grouped by what they give; none where nothing does.

    known  rules that were found before, to which one more mistake may be added
    One mistake; and where the evidence names it, one with a number, dropout, one more than is known, two.
    """
    found = _singles(cases, Rule(RIGHT))
    if found and (cases.is_finite or max(group.bits for group in found) >= TOLD):
        return found
    ways: list[Callable[[], tuple[Group, ...]]] = [
        lambda: _numbers(cases, Rule(RIGHT)),
        lambda: _dropped(cases),
    ]
    for rule in (*known, *_parts(cases)[:PARTS]):
        ways += [partial(_singles, cases, rule), partial(_numbers, cases, rule)]
    tried = (tuple(group for group in way() if group.is_named) for way in ways)
    return next(filter(None, tried), ()) or (explain_with_two(cases) if pairs else ())


def explain_with_two(cases: Cases) -> tuple[Group, ...]:
    """Two mistakes that nobody thought of before, or one in arithmetic of fewer bits, that hold on every
    case."""
    tried = (tuple(group for group in way(cases) if group.is_named) for way in (_pairs, _blurred))
    return next(filter(None, tried), ())


def _singles(cases: Cases, base: Rule) -> tuple[Group, ...]:
    """One mistake beside the base."""
    first = _first_unexplained(cases, base)
    if first is None:
        return ()
    held = [rule for rule in _near(cases, first, base) if cases.hold(rule)]
    return grouped(cases, held, len(_beside(first, base)))


def _first_unexplained(cases: Cases, base: Rule) -> Asked | None:
    if not base.hypothesis:
        return next(iter(cases.telling), None)
    return next((asked for asked in cases.telling if not cases.holds(base, asked)), None)


def _beside(asked: Asked, base: Rule) -> tuple[Mistake, ...]:
    there = applicable(asked.exact, asked.case.step)
    return tuple(m for m in there if compatible((*base.hypothesis, m)))


def _near(cases: Cases, asked: Asked, base: Rule) -> list[Rule]:
    """The rules with one more mistake that come near to the answer on this case, the nearest first; kept."""
    key = "near", cases.judged, base.key
    if key not in asked.kept:
        asked.kept[key] = list(_nearest_rules(cases, asked, base))
    found: list[Rule] = asked.kept[key]
    return found


def _nearest_rules(cases: Cases, asked: Asked, base: Rule) -> Iterator[Rule]:
    target = cases.target(asked)
    others = _beside(asked, base)
    try:
        worked = _worked(asked, base, others)
    except (ValueError, IndexError):  # shapes that do not go together: one by one, then
        worked = None
    if worked is None:
        others = others if math.prod(asked.exact.matrix_shape) <= SMALL else ()
        yield from (rule for rule in map(base.__add__, others) if cases.holds(rule, asked))
        return
    last = {hypothesis: hypothesis[-1] for hypothesis in worked.hypotheses if hypothesis}
    for index in _nearest(target, worked):
        yield base + last[worked.hypotheses[index]]


def _worked(asked: Asked, base: Rule, others: Sequence[Mistake]) -> Consequences | None:
    """What each of the others gives beside what can be made of the base; None where not worked out
    together."""
    if base.theta is not None:
        return None
    if not base.hypothesis and not asked.meant:
        return known_consequences(asked.exact, asked.case.step, SINGLES)
    here = tuple(m for m in base.hypothesis if can_be_made(asked.exact, m))
    sets = tuple(joined(asked.meant, (*here, mistake)) for mistake in others)
    return consequences_of(asked.exact, asked.case.step, (RIGHT, *sets))


def _nearest(target: Target, worked: Consequences, least: int = 1) -> list[int]:
    """The hypotheses of at least so many mistakes that come near, the nearest first."""
    values = worked.values
    near = target.matches(values, LOOSE * target.tolerance)[worked.node] & (worked.size >= least)
    close = np.flatnonzero(near)
    order = np.argsort(target.misfit(values[worked.node[close]]), kind="stable")
    return [int(index) for index in close[order[:MOST_CANDIDATES]]]


def _numbers(cases: Cases, base: Rule) -> tuple[Group, ...]:
    """A rule with a number that the answers reveal, beside the base."""
    first = _first_unexplained(cases, base)
    if first is None or base.theta is not None:
        return ()
    tried, solved = _solved(cases, first, base)
    return grouped(cases, [rule for rule in solved if cases.hold(rule)], tried * MOST_TELLING)


def _solved(cases: Cases, asked: Asked, base: Rule) -> tuple[int, list[Rule]]:
    """How many rules with a number were tried beside the base, and those that give what came back here;
    kept."""
    key = "solved", cases.judged, base.key
    if key not in asked.kept:
        there = families(asked.exact, asked.case.step)
        rules = [m for m in there if not m.narrow and compatible((*base.hypothesis, m))]
        asked.kept[key] = len(rules), list(_with_numbers(cases, asked, base, rules))
    found: tuple[int, list[Rule]] = asked.kept[key]
    return found


def _with_numbers(cases: Cases, asked: Asked, base: Rule, rules: Sequence[Mistake]) -> Iterator[Rule]:
    here = tuple(m for m in base.hypothesis if can_be_made(asked.exact, m))
    for family in rules:
        for _, found in solve(cases.target(asked), (beside(here, family),)):
            number = plain_number(found.theta, found.error)
            yield Rule((*base.hypothesis, family), number, found.error)


def beside(hypothesis: Hypothesis, family: Mistake) -> Mistake:
    """The rule with a number, and the other mistakes made along with it: one record, to be solved for the
    number."""
    if not hypothesis:
        return family
    wrong = {step: mistake.version(step) for mistake in hypothesis for step in mistake.wrong}
    with_number = {
        step: Wrong(lambda problem, theta, *read, run=version.run: run(problem, *read), version.reads)
        for step, version in wrong.items()
    }
    return replace(family, wrong={**with_number, **family.wrong})


def plain_number(theta: float, error: float) -> float:
    """The number with the fewest digits that is as good."""
    for digits in range(1, 8):
        plain = float(f"{theta:.{digits}g}")
        if abs(plain - theta) <= error:
            return plain
    return theta


def _dropped(cases: Cases) -> tuple[Group, ...]:
    """Dropout that was left on: which weights it drops is chance, each time anew.

    It can be read off where few keys are, and has to be there in most of those cases.
    """
    readable = [asked for asked in cases.failing if _shows_dropout(asked)]
    found = [with_dropout(cases.target(asked)) for asked in readable[:PARTS]]
    if 2 * sum(map(bool, found)) <= PARTS:
        return ()
    found += [with_dropout(cases.target(asked)) for asked in readable[PARTS:]]
    known = [each[0] for each in found if each]
    first = known[0]
    if 2 * len(known) <= len(readable):
        return ()
    rule = Rule(first.readings[0], first.theta, by_chance=True)
    return (Group((rule,), sum(each.bits for each in known)),)


def _shows_dropout(asked: Asked) -> bool:
    """Whether it could be read off: in weights, or in a blend of few values."""
    is_finite = bool(np.isfinite(asked.values[asked.case.step]).all())
    return is_finite and (asked.case.step == "weights" or asked.exact.Tk <= MOST_DROPPED)


def _dropped_somehow(asked: Asked, target: Target) -> tuple[Array, Array] | None:
    """What dropout gives: what came back, where it may have, and the right numbers where nothing was
    dropped."""
    if not asked.is_wrong:
        return target.right, target.tolerance
    is_possible = not _shows_dropout(asked) or bool(with_dropout(target))
    return (target.values, target.tolerance) if is_possible else None


def _parts(cases: Cases, base: Rule = Rule(RIGHT), most: int = PARTS) -> list[Rule]:
    """Mistakes that explain some of the failing cases and spoil no right one, those first that explain most.

    most  of the cases that say most, on which they are looked for
    """
    rules: list[Rule] = []
    for asked in cases.telling[:most]:
        if any(cases.holds(rule, asked) for rule in rules):
            continue
        near = (rule for rule in _near(cases, asked, base) if cases.holds(rule, asked))
        rules += [rule for rule in near if cases.hold(rule, cases.passing)][:PARTS]
    return sorted(rules, key=lambda rule: -len(cases.explained(rule)))


def explain_in_parts(cases: Cases) -> Found | None:
    """A mistake in putting parts of the keys together, as flash and split-key kernels do.

    Where few keys are, every way to cut them is tried; the others are taken along.
    """
    # a wrong factor of exponentials makes numbers of saturated rows that no two ways to add up agree on
    small = sorted(filter(_is_cut, cases.telling), key=lambda asked: asked.error or 0.0)
    tries = (_in_parts(cases, first, small) for first in small[:MOST_FIRST])
    return next(filter(None, tries), None)


def _in_parts(cases: Cases, first: Asked, small: Sequence[Asked]) -> Found | None:
    """The same, where the rule gives what came back on the first of the cases with few keys."""
    rules, tried = _rules_in_parts(cases, first)
    best = max(rules, key=lambda rule: len(cases.explained(rule)), default=None)
    if best is None or sum(cases.holds(best, asked) for asked in small) < min(FEWEST_CUT, len(small)):
        return None
    if len(small) < FEWEST_CUT and not cases.hold(best, filter(_is_cut, cases.passing)):
        return None
    explained = cases.explained(best)
    mine = Cases(explained, [], cases.judged)
    groups = grouped(mine, [rule for rule in rules if mine.hold(rule)], tried)
    named = tuple(group for group in groups if group.is_named)
    return Found(named, tuple(explained)) if named else None


def _rules_in_parts(cases: Cases, first: Asked) -> tuple[list[Rule], int]:
    """The rules for parts that come near to the answer on this case, and how many were tried."""
    plain, tried = applicable(first.exact, first.case.step), 0
    found: dict[Hypothesis, None] = {}
    for problem in cut_in_parts(first.exact):
        sets = tuple((m,) for m in applicable(problem, first.case.step) if m not in plain)
        target = replace(cases.target(first), problem=problem)
        worked = consequences_of(problem, first.case.step, (RIGHT, *sets))
        found |= dict.fromkeys(worked.hypotheses[index] for index in _nearest(target, worked))
        tried += len(sets)
    return [Rule(hypothesis, in_parts=True) for hypothesis in found], tried


def _is_cut(asked: Asked) -> bool:
    """Whether every way to cut its keys can be tried."""
    return 1 < asked.exact.Tk <= MOST_CUT and not asked.meant


def explain_finite(cases: Cases) -> Found | None:
    """One mistake that explains every case that came out as numbers, where others came out as NaN or ∞."""
    finite = [asked for asked in cases.failing if math.isfinite(asked.error or 0.0)]
    if not finite or len(finite) == len(cases.failing):
        return None
    mine = Cases(finite, cases.passing, cases.judged)
    named = tuple(group for group in _singles(mine, Rule(RIGHT)) if group.is_named)
    if not named:
        return None
    return Found(named, tuple(cases.explained(named[0].rules[0])))


def explain_overflow(cases: Cases, known: Sequence[Rule]) -> Found | None:
    """What was found before, where no case is left that came out as numbers: beside it, exponentials
    overflow.

    Every number that did come back is what the rule gives, and NaN, ∞ or 0 stands only where some score is
    beyond the range of exponentials.
    """
    rules = [replace(rule, overflows=True) for rule in known if not (rule.in_parts or rule.by_chance)]
    if not rules or cases.is_finite:
        return None
    best = max(rules, key=lambda rule: len(cases.explained(rule)))
    explained = cases.explained(best)
    if not explained or not cases.hold(best, cases.passing):
        return None
    mine = Cases(explained, cases.passing, cases.judged)
    return Found((Group((best,), mine.bits - math.log2(len(rules))),), tuple(explained))


def explain_most(cases: Cases, known: Sequence[Rule] = ()) -> Found | None:
    """The rules that explain most of the cases, where none explains all: a function may have several faults.

    Half of the cases, all those that are finite, or fewer with numbers that leave no doubt; and every right
    one stays right.
    """
    bases = (Rule(RIGHT), *known)
    candidates = [rule for base in bases for rule in _parts(cases, base, 2 * PARTS)] or _some_numbers(cases)
    best = max(candidates, key=lambda rule: len(cases.explained(rule)), default=None)
    if best is None:
        return None
    explained = cases.explained(best)
    finite = [asked for asked in cases.failing if math.isfinite(asked.error or 0.0)]
    mine = Cases(explained, cases.passing, cases.judged)
    are_few = len(explained) < min(len(cases.failing) / 2, len(finite), PARTS)
    if are_few and (mine.bits < ENOUGH or len(explained) < SOME * len(cases.failing)):
        return None
    held = [rule for rule in candidates if mine.hold(rule)]
    groups = grouped(mine, held, len(_beside(explained[0], Rule(RIGHT))))
    named = tuple(group for group in groups if group.is_named)
    return Found(named, tuple(explained)) if named else None


def _some_numbers(cases: Cases) -> list[Rule]:
    """Rules with a number that explain some of the failing cases and spoil no right one."""
    found: list[Rule] = []
    for asked in cases.telling[:PARTS]:
        _, solved = _solved(cases, asked, Rule(RIGHT))
        found += [rule for rule in solved if cases.holds(rule, asked) and cases.hold(rule, cases.passing)]
    return found


def _pairs(cases: Cases) -> tuple[Group, ...]:
    """Two mistakes."""
    first = next(iter(cases.telling), None)
    if first is None or first.meant:
        return ()
    target = cases.target(first)
    count = len(applicable(first.exact, first.case.step))
    if count**PAIRS * target.values.size > MOST_ENTRIES:
        target = rows_of(target, telling_rows(target))
    if count**PAIRS * target.values.size > MOST_ENTRIES:
        return ()
    worked = known_consequences(target.problem, target.step, PAIRS)
    rules = [Rule(worked.hypotheses[index]) for index in _nearest(target, worked, PAIRS)]
    return grouped(cases, [rule for rule in rules if cases.hold(rule)], worked.tried(PAIRS))


def _blurred(cases: Cases) -> tuple[Group, ...]:
    """A mistake made in arithmetic of fewer bits."""
    first = next(iter(cases.telling), None)
    if first is None or first.meant:
        return ()
    target = cases.target(first)
    worked = known_consequences(first.exact, first.case.step, SINGLES)
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(_distances(worked.values, target.values, target.given), nan=np.inf)[worked.node]
        off = _distances(target.right[None], target.values, target.given)[0]
    nearest = [int(index) for index in np.argsort(apart, kind="stable")[:PARTS] if apart[index] < NEAR * off]
    ways = [way for way in narrow_ones(first.problem, first.case.step) if way.parameter is None]
    rules = (
        Rule((*worked.hypotheses[index], way))
        for index in nearest
        for way in ways
        if worked.hypotheses[index]
    )
    found = [rule for rule in rules if compatible(rule.hypothesis) and cases.hold(rule)]
    return grouped(cases, found, len(worked.hypotheses) * len(ways))


def _distances(values: Array, answer: Array, given: Array) -> Array:
    """The root of the mean square of how far each of the values is from the answer."""
    apart = np.where(given, values - answer, 0.0).reshape(len(values), -1)
    return np.asarray(np.sqrt(np.mean(apart**2, axis=-1)))


# --- what is found ----------------------------------------------------------------------------------


def grouped(cases: Cases, rules: Sequence[Rule], tried: int) -> tuple[Group, ...]:
    """The rules with the fewest mistakes; those that give the same numbers everywhere are one group."""
    groups: list[list[Rule]] = []
    for rule in rules:
        group = next((group for group in groups if _alike(cases, group[0], rule)), None)
        if group is None:
            groups.append([rule])
        else:
            group.append(rule)
    least = min((_cost(group) for group in groups), default=(0, 0))
    bits = cases.bits - math.log2(max(tried, 1))
    kept = [group for group in groups if _cost(group) == least]
    return tuple(Group(tuple(sorted(group, key=_oddity)), bits) for group in kept)


def _cost(group: Sequence[Rule]) -> tuple[int, int]:
    return min(cost(rule.hypothesis) for rule in group)


def _alike(cases: Cases, one: Rule, other: Rule) -> bool:
    """Whether two rules give the same numbers on every case."""
    for asked in (*cases.failing, *cases.passing):
        told = cases.told(one, asked), cases.told(other, asked)
        if told[0] is None or told[1] is None:
            return False
        atol = 1e-12 + SAME * float(told[0][1].max(initial=0.0))
        if not np.isclose(told[0][0], told[1][0], rtol=1e-9, atol=atol, equal_nan=True).all():
            return False
    return True


def _oddity(rule: Rule) -> tuple[tuple[int, int], bool, int]:
    """What to name last: more mistakes, rules that nobody makes by hand, and those of many steps."""
    steps = sum(len(mistake.steps) for mistake in rule.hypothesis)
    return cost(rule.hypothesis), not all(m.typical for m in rule.hypothesis), steps
