"""Which laws a function breaks: asked on a few of the cases on which its numbers are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..arrays import Array
from ..problem import Problem
from .asking import CannotAskError
from .battery import Case
from .calls import Subject
from .interface import Interface
from .laws import LAWS, Law, cases_for
from .report import Broken


def broken_laws(
    subject: Subject, interface: Interface, cases: Sequence[Case], known: Mapping[Problem, Array]
) -> Iterator[Broken]:
    """Each law that does not hold, with the first case on which it does not.

    cases  those on which the numbers are right; known: the outputs that are at hand, (B, H, Tq, Dv)
    """
    for law in LAWS:
        if interface.supports(law.feature):
            found = (_broken(subject, interface, law, case, known) for case in cases_for(law, cases))
            yield from [each for each in found if each is not None][:1]


def _broken(
    subject: Subject, interface: Interface, law: Law, case: Case, known: Mapping[Problem, Array]
) -> Broken | None:
    asked = law.problems(case)
    outputs = []
    for problem in asked:
        output = known.get(problem)
        if output is None:
            output = _output(subject, interface, problem)
        if output is None:  # it is not asked such problems; the battery says so
            return None
        outputs.append(output)
    where = law.violations(case, outputs)
    if not where.any():
        return None
    expected = law.expected(case, outputs)
    first = tuple(map(int, np.argwhere(where)[0]))
    place = ", ".join(
        f"{axis} {i + 1}" for axis, i in zip(("sample", "head", "row", "column"), first, strict=False)
    )
    said = (
        f"{law.says}; here {where.sum():,} of {where.size:,} entries differ, the first one ({place}) is "
        f"{outputs[-1][first]:.6g} in place of {expected[first]:.6g}"
    )
    return Broken(law, case, said)


def _output(subject: Subject, interface: Interface, problem: Problem) -> Array | None:
    if interface.suited(problem) is not problem or not interface.sizes.take(sizes_of(problem)):
        return None
    try:
        outcome = subject.call(interface.call_for(problem))
    except CannotAskError:
        return None
    return interface.answers(problem, outcome).values.get("output")


def sizes_of(problem: Problem) -> dict[str, int]:
    """Its sizes by their letters."""
    sizes = {"B": problem.batch[0] if problem.batch else 1, "H": problem.H, "Hkv": problem.Hkv}
    return sizes | {"Tq": problem.Tq, "Tk": problem.Tk, "D": problem.D or 1, "Dv": problem.Dv or 1}
