"""A problem in which somebody's own results stand for some of the steps: the work goes on from them."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from ..arrays import Array
from ..problem import Problem


def resumed(problem: Problem, known: Mapping[str, tuple[Array, Array]]) -> Problem:
    """The same problem; each field of `known` is (values, error) in canonical shape, and is not worked out.

    error  how far what they went on with may be from what they wrote, broadcasts to the values
    """
    other = copy.copy(problem)
    # a Problem is frozen for everybody else
    object.__setattr__(other, "known", {**(problem.known or {}), **known})
    return other
