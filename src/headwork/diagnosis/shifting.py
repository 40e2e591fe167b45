"""Exponentials and their sums count with the row's maximum subtracted, or without it.

Both ways give the same weights. People choose row by row.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..mechanism.resuming import resumed
from ..problem import Problem
from .remembering import remembered

SUMS = ("exponentials", "row_sum")  # the steps at which the two ways differ


@remembered()
def unshifted(problem: Problem) -> Problem:
    """The same problem, worked with nothing subtracted: 0 stands for each row's maximum."""
    nothing = np.zeros((*problem.matrix_shape[:-1], 1))
    return resumed(problem, {"row_max": (nothing, nothing)})


def unshifted_rows(answer: Array, ways: tuple[Array, Array], agrees: tuple[Array, Array]) -> Array:
    """(…, 1), bool: the rows that agree better with nothing subtracted, in more entries, or else by less.

    answer  (…, Tk), or (…, 1) where it is the sums; NaN where not given
    ways    the right numbers, shifted and not; agrees: where the answer agrees with each
    """
    counts = [each.sum(axis=-1, keepdims=True) for each in agrees]
    with np.errstate(all="ignore"):  # inf − inf: such entries count where they agree
        far = [np.nan_to_num(np.abs(answer - right)).sum(axis=-1, keepdims=True) for right in ways]
    return np.asarray((counts[1] > counts[0]) | ((counts[1] == counts[0]) & (far[1] < far[0])))
