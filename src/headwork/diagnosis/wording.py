"""What a finding says, in the words of the problem: its sizes and its numbers."""

from __future__ import annotations

import math
import re

from ..mistakes.mistake import Mistake
from ..problem import Problem
from .plan import Hypothesis
from .search import Finding

# the sizes that titles and formulas name, longest first so that √d_k is not read as d_k
SIZE = re.compile(r"√d_k|√d_v|√d_model|√Tk|√Tq|d_model|d_k|d_v|\bTk\b|\bTq\b|\bHkv\b|\bH\b")


def size_values(problem: Problem) -> dict[str, float]:
    """The problem's sizes under the names that people use."""
    D, Dv = problem.D, problem.Dv
    sizes: dict[str, float | None] = {"d_k": D, "d_v": Dv, "d_model": None if D is None else D * problem.H}
    sizes |= {"Tk": problem.Tk, "Tq": problem.Tq, "H": problem.H, "Hkv": problem.Hkv}
    known = {name: float(value) for name, value in sizes.items() if value is not None}
    return known | {f"√{name}": math.sqrt(value) for name, value in known.items()}


def describe(problem: Problem, hypothesis: Hypothesis, theta: float | None = None) -> str:
    """What was done, with the sizes: "divided by d_k instead of √d_k (d_k = 4, √d_k = 2)"."""
    return " and ".join(_one(problem, mistake, theta) for mistake in hypothesis)


def _one(problem: Problem, mistake: Mistake, theta: float | None) -> str:
    values = size_values(problem)
    named = dict.fromkeys(SIZE.findall(mistake.title))
    facts = [f"{name} = {number(values[name])}" for name in named if name in values]
    if mistake.parameter is not None and theta is not None:
        size = _which_size(values, theta) if mistake.steps == ("scale",) else ""
        facts.insert(0, f"{mistake.parameter.symbol} = {number(theta)}{size}")
    return f"{mistake.title} ({', '.join(facts)})" if facts else mistake.title


def _which_size(values: dict[str, float], theta: float) -> str:
    """Of a divisor: " = d_k", or that it is no size of the problem."""
    same = [name for name, value in values.items() if math.isclose(abs(theta), value, rel_tol=1e-3)]
    return f" = {'−' if theta < 0 else ''}{same[0]}" if same else ", which is no size of this problem"


def number(value: float) -> str:
    """A number for a sentence: four significant digits, whole numbers without a point."""
    return f"{value:.4g}"


def finding_sentence(problem: Problem, finding: Finding) -> str:
    """One finding as a sentence, with how to mend it."""
    first = finding.readings[0]
    what = describe(problem, first, finding.theta_of(first))
    mend = " ".join(mistake.mend for mistake in first if not mistake.convention)
    if finding.is_convention:
        same = "These are the right numbers under another convention"
        return f"{same}: somebody {what}. Good systems differ here."
    if finding.named:
        return f"You {what}: these are exactly the numbers that gives. {mend}".rstrip()
    return f"These are also the numbers of somebody who {what}. {mend}".rstrip()
