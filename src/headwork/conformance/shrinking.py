"""The smallest input on which a function is still wrong in the same way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import HeadworkError
from ..mechanism.fields import in_kind
from ..problem import Problem
from .backward import folded
from .calls import Subject
from .cases import Cases
from .comparing import Asked, ask
from .interface import Interface
from .lawful import sizes_of
from .layouts import laid_out
from .report import Failing
from .rules import Group

MOST_CALLS = 60
MOST_SECONDS = 3.0
PARTS: dict[str, tuple[tuple[str, int], ...]] = {  # letter: the arrays that have it, and at which axis
    "B": (("query", 0), ("key", 0), ("value", 0), ("lengths", 0), ("offset", 0)),
    "Tk": (("key", -2), ("value", -2)),
    "Tq": (("query", -2),),
    "Dv": (("value", -1),),
    "D": (("query", -1), ("key", -1)),
}
MASK_AXES = {"B": -4, "H": -3, "Tq": -2, "Tk": -1}


def smallest(
    subject: Subject, interface: Interface, failing: Sequence[Asked], groups: Sequence[Group]
) -> Asked:
    """The failing case with the fewest numbers, made smaller as long as it fails in the same way."""
    best = min(failing, key=lambda each: each.values[each.case.step].size)
    deadline, calls, again = perf_counter() + MOST_SECONDS, 0, True
    while again:
        again = False
        for problem in _smaller(best.case.problem):
            if calls >= MOST_CALLS or perf_counter() > deadline:
                return best
            if not interface.sizes.take(sizes_of(problem)):
                continue
            case = replace(best.case, problem=problem, sizes=sizes_of(problem))
            tried = ask(subject, interface, case, best.layout)
            calls += 1
            if _is_the_same(tried, best, groups):
                best, again = tried, True
                break
    return best


def _is_the_same(asked: Asked, best: Asked, groups: Sequence[Group]) -> bool:
    """Whether it is wrong there, with NaN or ∞ where it was so, and by one of the rules if there are any."""
    if not asked.is_wrong or (best.error == math.inf and asked.error != math.inf):
        return False
    cases = Cases([asked], [])
    return not groups or any(cases.holds(rule, asked) for group in groups for rule in group.rules)


def _smaller(problem: Problem) -> Iterator[Problem]:
    """The problem with one size less, or half: from the left and from the top, where nobody is told apart."""
    sizes = sizes_of(problem)
    for letter in ("B", "H", "Tk", "Tq", "Dv", "D"):
        step = sizes["H"] // sizes["Hkv"] if letter == "H" else 1
        for size in dict.fromkeys((step, sizes[letter] // 2 // step * step, sizes[letter] - step)):
            if 0 < size < sizes[letter]:
                try:
                    yield _cut(problem, letter, size)
                except HeadworkError:  # nothing is left to see, or sizes that do not go together
                    continue


def _cut(problem: Problem, letter: str, size: int) -> Problem:
    record: dict[str, Any] = problem.to_dict()
    if letter == "H":
        groups = size * problem.Hkv // problem.H
        record |= {"query": problem.query[..., :size, :, :]}
        record |= {name: getattr(problem, name)[..., :groups, :, :] for name in ("key", "value")}
        record |= {name: record[name][:size] for name in ("alibi", "sink") if name in record}
    for name, axis in PARTS.get(letter, ()):
        if name in record and np.ndim(record[name]) > 0:
            record[name] = _first(record[name], axis, size)
    if letter == "Tk" and "lengths" in record:
        record["lengths"] = np.minimum(record["lengths"], size)
    if "mask" in record and letter in MASK_AXES:
        record["mask"] = [{"mask": _first(each["mask"], MASK_AXES[letter], size)} for each in record["mask"]]
    return Problem.from_dict(record)


def _first(array: Array, axis: int, size: int) -> Array:
    if -axis > array.ndim or array.shape[axis] == 1:
        return array
    return array.take(np.arange(size), axis=axis)


def failing_of(asked: Asked, interface: Interface, said: str) -> Failing:
    """The case as it is reported, with what was expected and what came, in the function's own layout."""
    assert asked.target is not None
    assert asked.call is not None
    names = tuple(a.name for a in interface.ways.arguments if a.parameter.kind not in ("*args", "**kwargs"))
    expected, got = (
        _in_its_layout(asked, interface, values) for values in (asked.target.right, asked.target.values)
    )
    return Failing(
        asked.case, asked.call, names[: len(asked.call.positional)], expected, got, asked.allowed, said
    )


def _in_its_layout(asked: Asked, interface: Interface, values: Array) -> Array:
    ways, step = interface.ways, asked.case.step
    shown = in_kind(asked.exact, step, values)
    if step != "output" or asked.problem.packed:
        return shown
    return laid_out(folded(ways, shown), ways.layouts["output"])
