"""Why a mistake cannot be seen on an input, and at which other step two that look alike differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Array
from ..mechanism.fields import field_named
from ..mechanism.steps import STEPS
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .consequences import asked_steps
from .distinct import NOT_ASKED, Numbers, differs
from .parts import consequence
from .plan import Hypothesis
from .reach import FINAL
from .wording import SIZE, number, size_values

EXACT = 1e-9  # relative: closer numbers are the same number, worked out in another order
ROWS = ("row_max", "row_sum", "logsumexp")  # beside the way from the scores to the output
Fields = Mapping[str, Array]


def never_hides(mistake: Mistake) -> bool:
    """Wherever it can be made, it shows."""
    return mistake.blind_spot is None or mistake.hides_when.startswith("never")


def why_hidden(
    problem: Problem, made: Numbers | None, step: str, mistake: Mistake, digits: int | None
) -> str:
    """When the mistake hides, the sizes that this speaks of, and what happens to the numbers here.

    made  what mistakes give on the problem, or None where this one has no place there
    """
    here = _sizes(problem, f"{mistake.title} {mistake.hides_when}")
    here += [] if made is None else _what_happens(made, step, mistake, digits)
    when = [] if never_hides(mistake) else [f"It hides when {mistake.hides_when}."]
    return " ".join([*when, *([f"Here: {'; '.join(here)}."] if here else [])])


def _sizes(problem: Problem, text: str) -> list[str]:
    values = size_values(problem)
    named = [name for name in dict.fromkeys(SIZE.findall(text)) if name in values]
    return [", ".join(f"{name} = {number(values[name])}" for name in named)] if named else []


def _what_happens(made: Numbers, step: str, mistake: Mistake, digits: int | None) -> list[str]:
    """Where the numbers come together again, or how little they differ."""
    final, title = FINAL.get(step, step), field_named(step).title
    right, wrong = made.fields[final], consequence(made.exact, (mistake,), final)
    if wrong is None or wrong.shape != right.shape:
        return []
    if _differ(right, wrong):
        gap = np.where(np.isfinite(right), np.abs(right - wrong), 0).max()
        return [f"it changes the {title} by {gap:.1g} at most, too little {_precision(digits)}"]
    problem = made.enough([mistake])
    fields = made.fields if problem is made.exact else run_wrong(problem, ())
    given = run_wrong(problem, (mistake,))
    names = [n for n in _written(made.exact) if n not in ROWS and _both_differ(fields, given, n)]
    return (
        [f"it changes the {field_named(names[-1]).title} and still gives the same {title}"] if names else []
    )


def _written(exact: Problem) -> list[str]:
    """The fields that the problem's own steps write, in order."""
    asked = asked_steps(exact)
    return [name for step in STEPS if step.name in asked for name in step.writes]


def _precision(digits: int | None) -> str:
    if digits is None:
        return "for this arithmetic"
    return f"to be sure at {digits} decimal{'' if digits == 1 else 's'}"


def other_step(exact: Problem, step: str, pairs: Sequence[tuple[Hypothesis, Hypothesis]]) -> str:
    """The step nearest to `step` where each of these pairs differs; "" where there is none."""
    given = {each: run_wrong(exact, each) for pair in pairs for each in pair}
    for name in (name for name in reversed(_written(exact)) if name not in (step, *NOT_ASKED)):
        if all(_both_differ(given[a], given[b], name) for a, b in pairs):
            return name
    return ""


def _both_differ(a: Fields, b: Fields, name: str) -> bool:
    last = FINAL.get(name, name)
    return last in a and last in b and _differ(a[last], b[last])


def _differ(a: Array, b: Array) -> bool:
    if a.dtype == bool:
        return bool((a != b).any())
    return a.shape != b.shape or bool(differs(a, b, EXACT * np.maximum(np.abs(a), 1)).any())
