"""What explains numbers that are not right, sentence by sentence: for marks, practice and diagnose."""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnosis.diagnosing import Diagnosis
from ..diagnosis.plan import Hypothesis
from ..diagnosis.search import Finding
from ..diagnosis.wording import describe
from ..mechanism.steps import STEPS
from ..mistakes.mistake import Mistake
from ..problem import Problem
from .formulas import formula_of
from .latex_text import plain_formula

MOST_OTHERS = 3  # other rules that give the same numbers, named in a sentence; diagnose has all of them
SOFTMAX = ("row-max", "row-sum")  # of two steps that are not right the mistake's formula is that of both
WITHOUT = ("before-softmax", "empty-rows", "after-softmax", "allow")  # steps that have words, not a formula


def explanation_texts(found: Diagnosis) -> Iterator[str]:
    """Everything that there is to say, in the problem's numbers."""
    yield found.sentence
    if found.findings:
        if found.example is not None:
            yield found.example.says
        yield from formula_texts(found.problem, found.findings[0])
        yield from _others(found)
        yield more_about(found.findings[0].readings[0])
    elif found.after:
        yield more_about(found.after)
    if found.slips:
        yield "That is a hint, not a certainty: other slips may give the same number."


def formula_texts(problem: Problem, finding: Finding) -> Iterator[str]:
    """The formula that gives the numbers and the one that is asked for, for each mistake."""
    for mistake in finding.readings[0]:
        wrong = plain_formula(mistake.formula)
        without = WITHOUT if len(mistake.steps) == 1 else (*WITHOUT, *SOFTMAX)
        steps = [step for step in STEPS if step.name in mistake.steps and step.name not in without]
        right = f" instead of {formula_of(steps[0], problem)}" if steps and "instead of" not in wrong else ""
        yield f"As a formula: {wrong}{right}."


def _others(found: Diagnosis) -> Iterator[str]:
    """What else gives these very numbers."""
    readings = [(finding, reading) for finding in found.findings for reading in finding.readings][1:]
    texts = [
        f"{describe(found.problem, reading, finding.theta_of(reading))} ({ids_of(reading)})"
        for finding, reading in readings
    ]
    if texts:
        more = f"; and {len(texts) - MOST_OTHERS} more" if len(texts) > MOST_OTHERS else ""
        yield f"The same numbers come to somebody who {'; or '.join(texts[:MOST_OTHERS])}{more}."


def ids_of(reading: Hypothesis) -> str:
    """Its ids."""
    return " and ".join(mistake.id for mistake in reading)


def more_about(reading: tuple[Mistake, ...]) -> str:
    """The command that says more."""
    commands = " and ".join(f"headwork explain {mistake.id}" for mistake in reading)
    return f"{commands} {'says' if len(reading) == 1 else 'say'} more."
