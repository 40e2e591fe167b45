"""Among mistakes that all give somebody's numbers, those that an exercise is about come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..diagnosis.diagnosing import Diagnosis
from ..diagnosis.plan import Hypothesis
from ..diagnosis.search import Finding
from ..diagnosis.wording import finding_sentence


def typical_first(found: Diagnosis, typical: Sequence[str]) -> Diagnosis:
    """The same diagnosis, its explanations in the order of an exercise.

    found    of a step; typical: ids of the mistakes that the exercise is about, in its order
    Raises nothing. Special cases: a mistake that is named stays, since chance is ruled out there.
    """
    if found.verdict != "consistent" or not typical:
        return found
    findings = sorted(
        (_reordered(each, typical) for each in found.findings), key=lambda f: _rank(f.readings[0], typical)
    )
    before, after = (finding_sentence(found.problem, each) for each in (found.findings[0], findings[0]))
    return replace(found, findings=tuple(findings), sentence=found.sentence.replace(before, after))


def _reordered(finding: Finding, typical: Sequence[str]) -> Finding:
    readings = sorted(finding.readings, key=lambda reading: _rank(reading, typical))
    return replace(finding, readings=tuple(readings), theta=finding.theta_of(readings[0]))


def _rank(reading: Hypothesis, typical: Sequence[str]) -> int:
    """The place of a single mistake among the typical ones; behind them for all others."""
    is_typical = len(reading) == 1 and reading[0].id in typical
    return typical.index(reading[0].id) if is_typical else len(typical)
