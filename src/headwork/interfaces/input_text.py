"""The numbers of a problem on a few lines, as they can be typed again: Q = [2 0; 0 2]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import ARRAYS, Problem
from .show import size_text

DIGITS = 15  # significant ones: what was typed comes back as it was
MOST = 120  # numbers that are written out; larger problems are told by their sizes
NAMES = {"query": "Q", "key": "K", "value": "V"}
LISTS = (*ARRAYS, "given", "mask", "sink", "alibi", "lengths", "offset")


def input_lines(problem: Problem, most: int = MOST, digits: int = DIGITS) -> Iterator[str]:
    """One line for each array and option; only the sizes where that would be more than `most` numbers.

    digits  significant ones of a number
    """
    record = problem.to_dict()
    if sum(_count(record.get(name)) for name in LISTS) > most:
        yield size_text(problem)
        return
    for name, value in record.items():
        if name != "dtype" or value != "float64":
            yield from _lines(name, value, digits)


def _count(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_count, value.values() if isinstance(value, dict) else value))
    return 0 if value is None else int(np.size(value))


def _lines(name: str, value: Any, digits: int) -> Iterator[str]:
    if name == "given":
        yield from (line for step, array in value.items() for line in _lines(step, array, digits))
    elif name == "mask":
        yield from (f"mask = {array_text(each['mask'], digits)}" for each in value)
    else:
        text = array_text(value, digits) if isinstance(value, np.ndarray) else _option(value)
        yield f"{NAMES.get(name, name)} = {text}"


def array_text(array: Array, digits: int = DIGITS) -> str:
    """Rows end with ; and a matrix, if there are several, with |."""
    if array.ndim == 0:
        return _entry(array[()], digits)
    matrices = array.reshape(-1, *array.shape[-2:]) if array.ndim > 1 else array.reshape(1, 1, -1)
    rows = ([" ".join(_entry(value, digits) for value in row) for row in matrix] for matrix in matrices)
    return " | ".join(f"[{'; '.join(matrix)}]" for matrix in rows)


def _entry(value: Any, digits: int) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return f"{float(value):.{digits}g}".replace("-", "−").replace("inf", "∞")


def _option(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_option(item)}" for key, item in value.items())
    if isinstance(value, tuple | list):
        return f"[{' '.join('none' if item is None else _option(item) for item in value)}]"
    return "yes" if value is True else str(value)
