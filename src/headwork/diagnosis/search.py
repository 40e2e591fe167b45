"""Look for the smallest set of mistakes that gives exactly somebody's numbers.

One mistake beats two, and a plain rule beats one with a number solved for. Hypotheses that give equal
numbers here are one finding with several readings. Nothing is named that chance explains (evidence.py),
and nothing at all on an answer that is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Array
from ..mechanism.steps import STEPS
from ..mechanism.tracing import seeds
from ..mistakes.catalogue import CATALOGUE
from ..mistakes.dropout import dropout_explains
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .consequences import Consequences, consequences
from .evidence import NAMED, evidence
from .families import solve
from .freedom import freedom, most_telling
from .plan import Hypothesis
from .reach import reaches, steps_before
from .target import Target

LOOSE = 4.0  # times the right result's tolerance: how far a candidate may be before its own tolerance is worked out
MOST_CANDIDATES = 64  # exact tolerances are worked out for the nearest ones only
MOST_ENTRIES = 4_000_000  # numbers that all hypotheses of a search may hold together
SINGLES, PAIRS, TRIPLES = 1, 2, 3
FEWEST_BITS = {SINGLES: -math.inf, PAIRS: 6.0, TRIPLES: NAMED}  # a fact worth telling; three mistakes only when named
DROPPED = ("weights", "blended", "output")  # where dropout can be read off
SOLVED = 3.0  # bits that must be left once a number was solved for; with fewer, any answer would have such a number


@dataclass(frozen=True)
class Finding:
    """One explanation: all hypotheses that give these very numbers with the fewest mistakes.

    readings   sets of mistakes that are one here, the most typical first
    bits       evidence against chance; named: enough of it
    theta      the number that the answer revealed, where the rule has one, and its uncertainty
    """

    readings: tuple[Hypothesis, ...]
    values: Array
    bits: float
    theta: float | None = None
    theta_error: float = 0.0

    @property
    def named(self) -> bool:
        return self.bits >= NAMED

    @property
    def is_convention(self) -> bool:
        """Whether one reading needs no mistake at all: good systems differ there."""
        return any(all(mistake.convention for mistake in reading) for reading in self.readings)


def simple_explanations(target: Target) -> tuple[Finding, ...]:
    """One mistake; else one with a number to solve for; else dropout. None where there is none."""
    return _of_size(target, SINGLES) or _with_a_number(target) or _with_dropout(target)


def joint_explanations(target: Target) -> tuple[Finding, ...]:
    """Two mistakes; else three of those that learners make by hand, if the evidence names them."""
    return _of_size(target, PAIRS) or _of_size(target, TRIPLES)


@lru_cache(maxsize=64)
def applicable(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The mistakes without a free number that this problem can show at this step."""
    return tuple(m for m in makeable(problem, step) if m.parameter is None and not m.narrow)


@lru_cache(maxsize=64)
def narrow_ones(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The ways to work in fewer bits that this problem can show at this step."""
    return tuple(m for m in makeable(problem, step) if m.parameter is None and m.narrow)


@lru_cache(maxsize=64)
def families(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The rules with a free number that this problem can show at this step."""
    return tuple(m for m in makeable(problem, step) if m.parameter is not None)


@lru_cache(maxsize=64)
def makeable(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """The catalogue without what this problem cannot show, or what comes after this step.

    A mistake can be made where its steps are worked out, not given, and everything they read is there.
    """
    given = set(seeds(problem))
    have = set(run_wrong(problem, ()))
    worked = {s.name: not given & set(s.writes) for s in STEPS}
    return tuple(
        m
        for m in CATALOGUE
        if reaches(m, step)
        and not (problem.rows is not None and (m.mixes_queries or m.rewrite is not None))
        and all(worked[name] and have.issuperset(m.version(name).reads) for name in m.steps)
        and m.applies(problem)
    )


@lru_cache(maxsize=32)
def known_consequences(problem: Problem, step: str, most: int) -> Consequences:
    """What all sets of up to `most` mistakes give here; kept, as it does not depend on the answer."""
    mistakes = applicable(problem, step)
    if most == TRIPLES:
        mistakes = tuple(mistake for mistake in mistakes if mistake.typical)
    return consequences(problem, step, mistakes, most)


def _of_size(target: Target, size: int) -> tuple[Finding, ...]:
    """The findings with sets of that many mistakes; small problems work out pairs along with the singles."""
    count = len(applicable(target.problem, target.step))
    room = MOST_ENTRIES // max(target.values.size, 1)
    if count ** min(size, PAIRS) > room or (size == TRIPLES and bits_of(target) < NAMED + 3 * math.log2(count)):
        return ()
    together = PAIRS if size < TRIPLES and count**PAIRS <= room else size
    made = known_consequences(target.problem, target.step, together)
    findings = _found(target, made, size)
    return tuple(finding for finding in findings if finding.bits >= FEWEST_BITS[size])


def narrow_explanations(target: Target) -> tuple[Finding, ...]:
    """Ways of working in fewer bits that give exactly these numbers."""
    ways = narrow_ones(target.problem, target.step)
    return _found(target, consequences(target.problem, target.step, ways), SINGLES) if ways else ()


def _found(target: Target, made: Consequences, size: int) -> tuple[Finding, ...]:
    survivors = _survivors(target, made, made.size == size)
    return _grouped(target, made, survivors, made.tried(size)) if survivors else ()


def _survivors(target: Target, made: Consequences, among: Array) -> list[int]:
    """The hypotheses that agree within their own tolerance."""
    close = target.matches(made.values, LOOSE * target.tolerance)[made.node]
    return [
        int(index)
        for index in np.flatnonzero(close & among)[:MOST_CANDIDATES]
        if _agrees(target, made, index)
    ]


def _agrees(target: Target, made: Consequences, index: int) -> bool:
    fields = run_wrong(target.problem, made.hypotheses[index])
    return bool(target.matches(made.values[made.node[index]], target.slack(target.problem, fields)))


def _grouped(target: Target, made: Consequences, survivors: Sequence[int], tried: int) -> tuple[Finding, ...]:
    """The survivors with the fewest mistakes; those with equal numbers are one finding."""
    groups: list[list[int]] = []
    for index in survivors:
        group = next((group for group in groups if _equal(made, index, group[0])), None)
        if group is None:
            groups.append([index])
        else:
            group.append(index)
    fewest = min((cost(made.hypotheses[index]) for index in survivors), default=(0, 0))
    kept = [group for group in groups if min(cost(made.hypotheses[index]) for index in group) == fewest]
    return tuple(_finding(target, made, group, tried) for group in kept)


def _equal(made: Consequences, a: int, b: int) -> bool:
    return bool(
        np.allclose(
            made.values[made.node[a]], made.values[made.node[b]], rtol=1e-9, atol=1e-12, equal_nan=True
        )
    )


def cost(hypothesis: Hypothesis) -> tuple[int, int]:
    """How much a hypothesis asks one to believe: its mistakes, then its conventions, which cost nothing."""
    conventions = sum(mistake.convention for mistake in hypothesis)
    return len(hypothesis) - conventions, conventions


def _finding(target: Target, made: Consequences, group: Sequence[int], tried: int) -> Finding:
    hypotheses = [made.hypotheses[index] for index in group]
    size = min(len(hypothesis) for hypothesis in hypotheses)
    readings = sorted((h for h in hypotheses if len(h) == size), key=lambda h: _oddity(h, target.step))
    bits = bits_of(target) - math.log2(max(tried, 1))
    return Finding(tuple(readings), made.values[made.node[group[0]]], bits)


def _oddity(hypothesis: Hypothesis, step: str) -> tuple[bool, bool]:
    """What to name last: rules that also change a later step, and those that learners do not make by hand."""
    later = any(name not in steps_before(step) for mistake in hypothesis for name in mistake.steps)
    return later, not all(mistake.typical for mistake in hypothesis)


def bits_of(target: Target) -> float:
    """The evidence that the answer carries, before what was tried is subtracted."""
    return evidence(target.values, target.right, target.tolerance, target.given, freedom(target))


def _with_a_number(target: Target) -> tuple[Finding, ...]:
    """Rules with a number that the answer reveals; the number takes the place of the most telling entry."""
    rules = families(target.problem, target.step)
    solved = [(rule, solution) for rule in rules for solution in solve(target, rule)]
    if not solved:
        return ()
    bits = bits_of(target) - math.log2(len(rules)) - most_telling(target)
    if bits < SOLVED:
        return ()
    return tuple(
        Finding(((rule,),), solution.values, bits, solution.theta, solution.error)
        for rule, solution in solved
    )


def _with_dropout(target: Target) -> tuple[Finding, ...]:
    """Dropout that was left on: which weights it dropped is chance, and costs a bit each."""
    fields = run_wrong(target.problem, ())
    value = None if target.step == "weights" else fields.get("value_repeated")
    if target.step not in DROPPED or not target.given.all() or (target.step != "weights" and value is None):
        return ()
    if target.problem.merges and target.step == "output":
        return ()
    found = dropout_explains(target.values, fields["attention"], target.tolerance, value)
    if found is None:
        return ()
    bits = bits_of(target) - found.choices - most_telling(target)
    return (Finding(((found.mistake,),), target.values, bits, found.p),) if bits >= SOLVED else ()
