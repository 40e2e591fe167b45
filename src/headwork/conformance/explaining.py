"""Which rule gives the numbers of all cases together: those that are wrong, and those that are right as well.

One case alone is explained by chance, or by a rule that happens to agree with another there. A rule that
stands has to give every number that came back, wrong or right, on every case that it could be made on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ..arrays import Array
from ..diagnosis.consequences import Consequences, consequences_of
from ..diagnosis.cutting import rows_of, telling_rows
from ..diagnosis.evidence import NAMED
from ..diagnosis.families import solve
from ..diagnosis.freedom import bits_of
from ..diagnosis.plan import RIGHT, Hypothesis, compatible
from ..diagnosis.reach import FINAL
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
from ..mistakes.mistake import Mistake, Wrong
from ..mistakes.wrong_run import can_be_made, run_wrong
from .comparing import Asked

LOOSE = 64.0  # times the right numbers' tolerance, for a first look: a rule's own numbers may be far larger
MOST_CANDIDATES = 48  # the nearest ones are looked at on every case
MOST_TELLING = 12  # cases that are weighed, to begin with the one that says most
ENOUGH = 100.0  # bits: more of them make no rule surer
SMALL = 1500  # entries of a case that is weighed
# of the answer's distance from the right numbers: how near a rule has to be that narrow arithmetic blurs
NEAR = 0.2
PARTS = 3  # rules that explain some of the cases, to which a second one is added

Judged = Callable[[Asked], Array]  # which entries of a case's answer count


def strictly(asked: Asked) -> Array:
    """The entries that have to be right."""
    return ~asked.loose


def loosely(asked: Asked) -> Array:
    """The entries that are a matter of robustness."""
    return asked.loose


@dataclass(frozen=True, eq=False)
class Rule:
    """A set of mistakes with the number in it, and how sure that number is."""

    hypothesis: Hypothesis
    theta: float | None = None
    theta_error: float = 0.0

    def __add__(self, mistake: Mistake) -> Rule:
        return replace(self, hypothesis=(*self.hypothesis, mistake))


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
    _told: dict[tuple[int, Hypothesis, float | None], tuple[Array, Array] | None] = field(
        default_factory=dict
    )
    _weighed: list[tuple[float, Asked]] = field(default_factory=list)

    def target(self, asked: Asked) -> Target:
        """The answer to be explained, as far as it counts."""
        assert asked.target is not None
        return replace(asked.target, given=self.judged(asked))

    def hold(self, rule: Rule, cases: Iterable[Asked] | None = None) -> bool:
        """Whether the rule gives what came back on all of these cases; None: on every one."""
        every = (*self.failing, *self.passing) if cases is None else cases
        return all(self.holds(rule, asked) for asked in every)

    def holds(self, rule: Rule, asked: Asked) -> bool:
        """Whether the rule gives what came back."""
        told = self.told(rule, asked)
        return told is not None and bool(self.target(asked).matches(*told))

    def explained(self, rule: Rule) -> list[Asked]:
        """The failing cases on which it gives what came back."""
        return [asked for asked in self.failing if self.holds(rule, asked)]

    def told(self, rule: Rule, asked: Asked) -> tuple[Array, Array] | None:
        """What the rule gives on this case, and how far honest arithmetic may be off; kept."""
        key = (id(asked), rule.hypothesis, rule.theta)
        if key not in self._told:
            self._told[key] = prediction(rule, asked)
        return self._told[key]

    def on_their_paths(self) -> Cases:
        """The same, without right cases that ask for other features: a function may have a path for those
        alone."""
        paths = {each.case.needs for each in self.failing}
        passing = [each for each in self.passing if each.case.needs in paths]
        return Cases(self.failing, passing, self.judged, self._told, self._weighed)

    def left(self, explained: Sequence[Asked]) -> Cases:
        """The same, with those failing cases that are not explained yet."""
        failing = [each for each in self.failing if each not in explained]
        return Cases(failing, self.passing, self.judged, self._told)

    @property
    def telling(self) -> list[Asked]:
        """The failing cases, those that say most first; those that say enough with few numbers before all."""
        if not self._weighed:
            small = [each for each in self.failing if np.isfinite(each.values[each.case.step]).all()]
            small = [each for each in small if each.values[each.case.step].size <= SMALL] or list(
                self.failing
            )
            for asked in small[:MOST_TELLING]:
                self._weighed.append((bits_of(self.target(asked)), asked))
            self._weighed.sort(
                key=lambda pair: (-min(pair[0], ENOUGH), pair[1].values[pair[1].case.step].size)
            )
        weighed = [asked for _, asked in self._weighed]
        return weighed + [asked for asked in self.failing if asked not in weighed]

    @property
    def bits(self) -> float:
        """The evidence that the failing cases carry together."""
        return sum(bits for bits, _ in self._weighed if self.telling)


# --- what a rule gives ------------------------------------------------------------------------------


def prediction(rule: Rule, asked: Asked) -> tuple[Array, Array] | None:
    """The numbers that the rule gives at the case's step, and their tolerance; None where it has another
    shape.

    Where none of its mistakes can be made, it gives the right ones.
    """
    target = asked.target
    assert target is not None
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
    tolerance = _noise(asked, fields, values)
    others = []
    if there is not asked.exact and not narrow:
        others.append((2.0, run_wrong(there, made, rule.theta)))
    if rule.theta is not None and 0 < rule.theta_error < math.inf:
        others.append((1.0, run_wrong(asked.exact, made, rule.theta + rule.theta_error)))
    for times, other in others:
        beside = _shaped(other, target)
        with np.errstate(invalid="ignore"):
            tolerance += 0.0 if beside is None else times * largest(beside - values)
    return values, np.maximum(target.tolerance, tolerance)


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
        sizes.append(largest(fields["value_repeated"]))
    scaled = largest(fields["scaled"]) if "scaled" in fields else 0.0
    return rounding_noise(asked.case.dtype, scaled, max(sizes))


# --- the search -------------------------------------------------------------------------------------


def explain(cases: Cases, known: Sequence[Rule] = (), pairs: bool = True) -> tuple[Group, ...]:
    """The simplest rules that hold on every case, grouped by what they give; none where nothing does.

    known  rules that were found before, to which one more mistake may be added
    One mistake; and where the evidence names it, one with a number, dropout, one more than is known, two.
    """
    found = _singles(cases, Rule(RIGHT))
    if found:
        return found
    ways: list[Callable[[], tuple[Group, ...]]] = [
        lambda: _numbers(cases, Rule(RIGHT)),
        lambda: _dropped(cases),
    ]
    for rule in (*known, *_parts(cases)[:PARTS]):
        ways += [partial(_singles, cases, rule), partial(_numbers, cases, rule)]
    ways += [lambda: _pairs(cases), lambda: _blurred(cases)] if pairs else []
    tried = (tuple(group for group in way() if group.is_named) for way in ways)
    return next(filter(None, tried), ())


def _singles(cases: Cases, base: Rule) -> tuple[Group, ...]:
    """One mistake beside the base."""
    first = _first_unexplained(cases, base)
    if first is None:
        return ()
    candidates = list(_near(cases, first, base))
    return grouped(cases, [rule for rule in candidates if cases.hold(rule)], len(_beside(first, base)))


def _first_unexplained(cases: Cases, base: Rule) -> Asked | None:
    if not base.hypothesis:
        return next(iter(cases.telling), None)
    return next((asked for asked in cases.telling if not cases.holds(base, asked)), None)


def _beside(asked: Asked, base: Rule) -> tuple[Mistake, ...]:
    there = applicable(asked.exact, asked.case.step)
    return tuple(m for m in there if compatible((*base.hypothesis, m)))


def _near(cases: Cases, asked: Asked, base: Rule) -> Iterator[Rule]:
    """The rules with one more mistake that come near to the answer on this case, the nearest first."""
    target = cases.target(asked)
    others = _beside(asked, base)
    try:
        worked = _worked(asked, base, others)
    except (ValueError, IndexError):  # shapes that do not go together: one by one, then
        worked = None
    if worked is None:
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
    there = families(first.exact, first.case.step)
    rules = [m for m in there if not m.narrow and compatible((*base.hypothesis, m))]
    found = []
    for family in rules:
        here = tuple(m for m in base.hypothesis if can_be_made(first.exact, m))
        for _, solution in solve(cases.target(first), (beside(here, family),)):
            rule = Rule(
                (*base.hypothesis, family), plain_number(solution.theta, solution.error), solution.error
            )
            found += [rule] if cases.hold(rule) else []
    return grouped(cases, found, len(rules) * MOST_TELLING)


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
    """Dropout that was left on: which weights it drops is chance, each time anew."""
    found = [with_dropout(cases.target(asked)) for asked in cases.telling[:PARTS]]
    if not found or not all(found):
        return ()
    first = found[0][0]
    return (Group((Rule(first.readings[0], first.theta),), sum(each[0].bits for each in found)),)


def _parts(cases: Cases, base: Rule = Rule(RIGHT)) -> list[Rule]:
    """Mistakes that explain some of the failing cases and spoil no right one, those first that explain
    most."""
    rules: list[Rule] = []
    for asked in cases.telling[:PARTS]:
        if any(cases.holds(rule, asked) for rule in rules):
            continue
        near = (rule for rule in _near(cases, asked, base) if cases.holds(rule, asked))
        rules += [rule for rule in near if cases.hold(rule, cases.passing)][:PARTS]
    return sorted(rules, key=lambda rule: -len(cases.explained(rule)))


def explain_most(cases: Cases, known: Sequence[Rule] = ()) -> Found | None:
    """The rules that explain most of the cases, where none explains all: a function may have several faults.

    Half of the cases at least, or a few that leave no doubt; and every right one stays right.
    """
    candidates = [rule for base in (Rule(RIGHT), *known) for rule in _parts(cases, base)]
    best = max(candidates, key=lambda rule: len(cases.explained(rule)), default=None)
    if best is None:
        return None
    explained = cases.explained(best)
    if len(explained) < max(len(cases.failing) / 2, 1) and len(explained) < PARTS:
        return None
    mine = Cases(explained, cases.passing, cases.judged, cases._told)
    groups = grouped(
        mine, [rule for rule in candidates if mine.hold(rule)], len(_beside(explained[0], Rule(RIGHT)))
    )
    named = tuple(group for group in groups if group.is_named)
    return Found(named, tuple(explained)) if named else None


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
