"""Look for the smallest set of mistakes that gives exactly somebody's numbers.

One mistake beats two, and a plain rule beats one with a number solved for. Hypotheses that give equal
numbers here are one finding with several readings. Nothing is named that chance explains (evidence.py),
and nothing at all on an answer that is right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import numpy as np

from ..arrays import Array
from ..mechanism.steps import STEPS
from ..mechanism.tracing import seeds
from ..mistakes.catalogue import CATALOGUE
from ..mistakes.dropout import dropout_explains
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .consequences import Consequences, asked_steps, consequences
from .evidence import NAMED, enough
from .families import Solution, solve
from .freedom import bits_of, most_telling
from .plan import Hypothesis
from .reach import reaches, steps_before
from .remembering import remembered
from .right import right_fields
from .target import Target

LOOSE = 4.0  # times the right result's tolerance: how far off a candidate may be, before its own is known
SAME = 1e-3  # times the tolerance: numbers that close cannot be told apart, as with a fill of 0 and of 1e-9
MOST_CANDIDATES = 64  # exact tolerances are worked out for the nearest ones only
FEW_ENTRIES = 100_000  # of the score matrices of all sets of three: less work than calls of their own
MOST_ENTRIES = 4_000_000  # numbers that all hypotheses of a search may hold together
SINGLES, PAIRS, TRIPLES = 1, 2, 3
# a fact worth telling; three mistakes only when named
FEWEST_BITS = {SINGLES: -math.inf, PAIRS: 6.0, TRIPLES: NAMED}
A_CONVENTION = (0, 1)  # what it costs: no mistake
DROPPED = ("weights", "blended", "output")  # where dropout can be read off
SOLVED = 3.0  # bits left once a number was solved for; with fewer, any answer would have such a number


@dataclass(frozen=True)
class Finding:
    """One explanation: all hypotheses that give these very numbers with the fewest mistakes.

    readings   sets of mistakes that are one here, the most typical first
    bits       evidence against chance; needed: how much of it names a mistake
    theta      the number that the answer revealed, where the rule has one, and its uncertainty
    thetas     of several readings with a number each; theta is that of the first
    exact      the numbers are these to the last digit asked, not only within what rounding on the way allows
    """

    readings: tuple[Hypothesis, ...]
    values: Array
    bits: float
    theta: float | None = None
    theta_error: float = 0.0
    exact: bool = False
    needed: float = NAMED
    thetas: Mapping[Hypothesis, float | None] = field(default_factory=dict)

    def theta_of(self, reading: Hypothesis) -> float | None:
        """The number in the rule of one of the readings."""
        return self.thetas.get(reading, self.theta)

    @property
    def named(self) -> bool:
        """Whether chance is ruled out."""
        return self.bits >= self.needed

    @property
    def is_narrow(self) -> bool:
        """Whether the rule is the right one, in fewer bits or digits."""
        return all(mistake.narrow for reading in self.readings for mistake in reading)

    @property
    def is_convention(self) -> bool:
        """Whether one reading needs no mistake at all: good systems differ there."""
        return any(all(mistake.convention for mistake in reading) for reading in self.readings)


def simple_explanations(target: Target) -> tuple[Finding, ...]:
    """One mistake; else arithmetic in fewer bits; else a rule with a number to solve for; else dropout."""
    return (
        _of_size(target, SINGLES)
        or narrow_explanations(target)
        or _with_a_number(target)
        or with_dropout(target)
    )


def joint_explanations(target: Target) -> tuple[Finding, ...]:
    """Two mistakes; else three of those that learners make by hand, if the evidence names them."""
    return _of_size(target, PAIRS) or _of_size(target, TRIPLES)


@remembered()
def applicable(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The mistakes without a free number that this problem can show at this step."""
    return tuple(m for m in makeable(problem, step) if m.parameter is None and not m.narrow)


@remembered()
def narrow_ones(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The ways to work in fewer bits that this problem can show at this step."""
    return tuple(m for m in makeable(problem, step) if m.parameter is None and m.narrow)


@remembered()
def families(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The rules with a free number that this problem can show at this step."""
    return tuple(m for m in makeable(problem, step) if m.parameter is not None)


@remembered()
def makeable(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The catalogue without what this problem cannot show, or what comes after this step."""
    placed = _placed(step, frozenset(seeds(problem)), asked_steps(problem), problem.Dv is not None)
    return tuple(
        m
        for m in placed
        if not (problem.rows is not None and (m.mixes_queries or m.rewrite is not None))
        and not (problem.known is not None and m.rewrite is not None)
        and m.applies(problem)
    )


@lru_cache(maxsize=256)
def _placed(step: str, given: frozenset[str], asked: frozenset[str], has_value: bool) -> tuple[Mistake, ...]:
    """What can be made where its steps are worked out, not given, and everything they read is there."""
    worked = {s.name for s in STEPS if given.isdisjoint(s.writes)}
    have = set(given)
    for each in STEPS:
        if each.name in asked and have.issuperset(each.reads):
            have.update(name for name in each.writes if has_value or name != "value")
        elif each.name not in asked and each.passes and have.issuperset(each.reads[:1]):
            have.update(each.writes)
    return tuple(
        m
        for m in CATALOGUE
        if reaches(m, step)
        and worked.issuperset(m.steps)
        and all(have.issuperset(m.version(name).reads) for name in m.steps)
    )


@remembered(lambda made: made.values.nbytes)
def known_consequences(problem: Problem, step: str, most: int) -> Consequences:
    """What all sets of up to `most` mistakes give here, three of those only that learners make by hand.

    It does not depend on the answer, and is kept.
    """
    mistakes = applicable(problem, step)
    if _at_once(problem, step):
        return _all_at_once(problem, step).up_to(most)
    return consequences(problem, step, _typical(mistakes) if most == TRIPLES else mistakes, most)


@remembered(lambda made: made.values.nbytes)
def _all_at_once(problem: Problem, step: str) -> Consequences:
    mistakes = applicable(problem, step)
    return consequences(problem, step, mistakes, PAIRS, _typical(mistakes))


def _typical(mistakes: Sequence[Mistake]) -> tuple[Mistake, ...]:
    return tuple(mistake for mistake in mistakes if mistake.typical)


def _at_once(problem: Problem, step: str) -> bool:
    """Whether all sets of three are so few numbers that calls of their own would take longer."""
    count = len(_typical(applicable(problem, step)))
    return math.comb(count, TRIPLES) * math.prod(problem.matrix_shape) <= FEW_ENTRIES


def _of_size(target: Target, size: int) -> tuple[Finding, ...]:
    """The findings with sets of that many mistakes."""
    count = len(applicable(target.problem, target.step))
    if too_many(count, size, target.values.size):
        return ()
    is_known = _at_once(target.problem, target.step)
    if size == TRIPLES and not is_known and not _tells_three_apart(target, count):
        return ()
    if is_known:
        made = _all_at_once(target.problem, target.step)
    else:
        made = known_consequences(target.problem, target.step, size)
    findings = found_among(target, made, size)
    if findings and size == TRIPLES and not _tells_three_apart(target, count):
        return ()
    return tuple(finding for finding in findings if finding.bits >= FEWEST_BITS[size])


def too_many(count: int, size: int, entries: int) -> bool:
    """Whether the sets of so many mistakes are more than are worked out together; of three, few are."""
    return math.comb(count, min(size, PAIRS)) * entries > MOST_ENTRIES


def _tells_three_apart(target: Target, count: int) -> bool:
    """Whether the answer says enough to name three of so many mistakes."""
    return bits_of(target) >= NAMED + 3 * math.log2(max(count, 1))


def narrow_explanations(target: Target) -> tuple[Finding, ...]:
    """Ways of working in fewer bits that give exactly these numbers, where they are an array's."""
    if target.digits is not None:
        return ()
    ways = narrow_ones(target.problem, target.step)
    return found_among(target, consequences(target.problem, target.step, ways), SINGLES) if ways else ()


def found_among(
    target: Target, made: Consequences, size: int, rivals: int | None = None
) -> tuple[Finding, ...]:
    """The findings with sets of that many mistakes.

    rivals  how many results chance could have hit, where these are not all that were tried
    """
    survivors = _survivors(target, made, made.size == size)
    if not survivors:
        return ()
    return _grouped(target, made, survivors, _rivals(target, made, size) if rivals is None else rivals)


def _rivals(target: Target, made: Consequences, size: int) -> int:
    """How many different results chance could have hit: those that are right just where the answer is."""
    nodes = made.values[np.unique(made.node[made.size == size])]
    is_right = target.same(target.right, target.tolerance)
    with np.errstate(invalid="ignore"):  # inf − inf: compared as symbols
        off = np.abs(nodes - target.right)
    alike = (nodes == target.right) | (np.isnan(nodes) & np.isnan(target.right))
    stays = alike | (off <= 2 * target.tolerance)
    changes = ~alike & ~(off <= SAME * target.tolerance)
    fits = np.where(is_right, stays, changes) | ~target.given
    return int(fits.reshape(len(nodes), -1).all(axis=-1).sum())


def _survivors(target: Target, made: Consequences, among: Array) -> list[int]:
    """The hypotheses that agree within their own tolerance, of the nearest ones."""
    near = target.matches(made.values, LOOSE * target.tolerance)
    if not near.any():
        return []
    close = np.flatnonzero(near[made.node] & among)
    if len(close) > MOST_CANDIDATES:
        nearest = np.argsort(target.misfit(made.values[made.node[close]]), kind="stable")
        close = np.sort(close[nearest[:MOST_CANDIDATES]])
    return [index for index in map(int, close) if _agrees(target, made, index)]


def _agrees(target: Target, made: Consequences, index: int) -> bool:
    fields = run_wrong(target.problem, made.hypotheses[index], right=right_fields(target.problem))
    return bool(target.matches(made.values[made.node[index]], target.slack(target.problem, fields)))


def _grouped(target: Target, made: Consequences, survivors: Sequence[int], tried: int) -> tuple[Finding, ...]:
    """The survivors with the fewest mistakes, exact ones if there are any; equal numbers are one finding.

    Beside a convention, mistakes that give the same to the last digit are told: nobody can see which it was.
    """
    groups: list[list[int]] = []
    for index in survivors:
        group = next((group for group in groups if _equal(target, made, index, group[0])), None)
        if group is None:
            groups.append([index])
        else:
            group.append(index)
    exact = [group for group in groups if target.matches(made.values[made.node[group[0]]], target.tight)]
    groups = exact or groups
    fewest = min((cost(made.hypotheses[index]) for group in groups for index in group), default=(0, 0))
    if fewest != A_CONVENTION or not exact:
        groups = [group for group in groups if min(cost(made.hypotheses[i]) for i in group) == fewest]
    return tuple(_finding(target, made, group, tried) for group in groups)


def _equal(target: Target, made: Consequences, a: int, b: int) -> bool:
    """Whether two hypotheses give the same numbers, or numbers that this answer could never tell apart."""
    return _close(target, made.values[made.node[a]], made.values[made.node[b]])


def _close(target: Target, one: Array, other: Array) -> bool:
    atol = 1e-12 + SAME * target.tolerance
    return bool(np.isclose(one, other, rtol=1e-9, atol=atol, equal_nan=True).all())


def cost(hypothesis: Hypothesis) -> tuple[int, int]:
    """How much a hypothesis asks one to believe: its mistakes, then its conventions, which cost nothing."""
    conventions = sum(mistake.convention for mistake in hypothesis)
    return len(hypothesis) - conventions, conventions


def _finding(target: Target, made: Consequences, group: Sequence[int], tried: int) -> Finding:
    hypotheses = [made.hypotheses[index] for index in group]
    size = min(len(hypothesis) for hypothesis in hypotheses)
    readings = sorted(
        (h for h in hypotheses if len(h) == size), key=lambda h: (cost(h), _oddity(h, target.step))
    )
    values = made.values[made.node[group[0]]]
    exact = bool(target.matches(values, target.tight))
    bits = bits_of(target, exact) - math.log2(max(tried, 1))
    return Finding(tuple(readings), values, bits, exact=exact, needed=needed(target))


def needed(target: Target) -> float:
    """The bits from which a mistake is named on this problem."""
    return enough(target.problem.Tq, target.problem.Tk)


def _oddity(hypothesis: Hypothesis, step: str) -> tuple[bool, bool]:
    """What to name last: rules that also change a later step, and those that learners do not make by hand."""
    later = any(name not in steps_before(step) for mistake in hypothesis for name in mistake.steps)
    return later, not all(mistake.typical for mistake in hypothesis)


def _with_a_number(target: Target) -> tuple[Finding, ...]:
    """Rules with a number that the answer reveals."""
    rules = families(target.problem, target.step)
    return solved_findings(target, rules, len(rules))


def solved_findings(target: Target, rules: Sequence[Mistake], tried: int) -> tuple[Finding, ...]:
    """The findings of rules with a number, of so many that were tried."""

    @cache
    def says_something() -> bool:  # any answer with an entry or two that are off has such a number
        bits = max(bits_of(target), bits_of(target, exact=True))
        return bits - math.log2(tried) - most_telling(target) >= SOLVED

    solved = solve(target, tuple(rules), says_something)
    findings = [_solved_finding(target, rule, found, tried) for rule, found in solved]
    return _merged(target, [finding for finding in findings if finding.bits >= SOLVED])


def _merged(target: Target, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Rules that give equal numbers, each with a number of its own, as one finding: a divisor, a base."""
    merged: list[Finding] = []
    for finding in findings:
        at = next((i for i, one in enumerate(merged) if _close(target, one.values, finding.values)), None)
        if at is None:
            merged.append(finding)
            continue
        both = (merged[at], finding)
        thetas = {reading: each.theta_of(reading) for each in both for reading in each.readings}
        readings = tuple(reading for each in both for reading in each.readings)
        bits = min(each.bits for each in both)
        merged[at] = replace(merged[at], readings=readings, bits=bits, thetas=thetas)
    return tuple(merged)


def _solved_finding(target: Target, rule: Mistake, found: Solution, tried: int) -> Finding:
    exact = bool(target.matches(found.values, target.tight))
    bits = bits_of(target, exact) - math.log2(tried) - _used_up(target, rule)
    return Finding(((rule,),), found.values, bits, found.theta, found.error, exact, needed(target))


def _used_up(target: Target, rule: Mistake) -> float:
    """The bits that the number takes: a whole one is one of a few, any other takes the most telling entry."""
    assert rule.parameter is not None
    if rule.parameter.whole:
        return math.log2(max(len(rule.parameter.values(target.problem)), 1))
    return most_telling(target)


def with_dropout(target: Target) -> tuple[Finding, ...]:
    """Dropout that was left on: which weights it dropped is chance, and costs a bit each."""
    fields = right_fields(target.problem)
    value = None if target.step == "weights" else fields.get("value_repeated")
    if target.step not in DROPPED or not target.given.all() or (target.step != "weights" and value is None):
        return ()
    if target.problem.merges and target.step == "output":
        return ()
    found = dropout_explains(target.values, fields["attention"], target.tolerance, value)
    if found is None:
        return ()
    bits = bits_of(target) - found.choices - most_telling(target)
    finding = Finding(((found.mistake,),), target.values, bits, found.p, needed=needed(target))
    return (finding,) if bits >= SOLVED else ()
