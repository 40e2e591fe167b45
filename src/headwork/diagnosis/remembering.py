"""Remember what was worked out for a problem, up to so many bytes: many small problems, few large ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from ..problem import ARRAYS

Given = ParamSpec("Given")
Result = TypeVar("Result")

MOST_BYTES = (
    64 * 2**20
)  # for each function: thousands of exercises, and no large problem that outstays its use
SMALL = 1000  # bytes of a problem's record, and of a result that is no array


def small(result: object) -> int:
    """The size of a result that is small beside its problem."""
    return SMALL


def remembered(
    size: Callable[[Any], int] = small,
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """A decorator: a function of a problem keeps its latest results, with their problems, up to MOST_BYTES.

    size  the bytes that a result holds
    """

    def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
        kept: OrderedDict[tuple[Any, ...], tuple[Result, int]] = OrderedDict()
        total = 0  # kept up to date: adding up thousands of sizes takes longer than most results
        lock = Lock()

        @wraps(function)
        def recall(*args: Given.args, **named: Given.kwargs) -> Result:
            nonlocal total
            key = (*args, *named.items())
            with lock:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key][0]
            result = function(*args, **named)
            held = size(result) + bytes_of(args[0])
            with lock:
                if key not in kept:  # another thread may have been faster
                    kept[key] = result, held
                    total += held
                while total > MOST_BYTES:
                    total -= kept.popitem(last=False)[1][1]
            return result

        return recall

    return decorate


def bytes_of(problem: object) -> int:
    """The bytes of a problem's arrays, and something for the rest."""
    arrays = (getattr(problem, name) for name in ARRAYS)
    return SMALL + sum(int(array.nbytes) for array in arrays if array is not None)
