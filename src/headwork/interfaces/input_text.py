"""The numbers of a problem on a few lines, as they can be typed again: Q = [2 0; 0 2]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import ARRAYS, Problem
from .show import size_text

MOST = 120  # numbers that are written out; larger problems are told by their sizes
NAMES = {"query": "Q", "key": "K", "value": "V"}
LISTS = (*ARRAYS, "given", "mask", "sink", "alibi", "lengths", "offset")


def input_lines(problem: Problem, most: int = MOST) -> Iterator[str]:
    """One line for each array and option; only the sizes where that would be more than `most` numbers."""
    record = problem.to_dict()
    if sum(_count(record.get(name)) for name in LISTS) > most:
        yield size_text(problem)
        return
    for name, value in record.items():
        if name != "dtype" or value != "float64":
            yield from _lines(name, value)


def _count(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_count, value.values() if isinstance(value, dict) else value))
    return 0 if value is None else int(np.size(value))


def _lines(name: str, value: Any) -> Iterator[str]:
    if name == "given":
        yield from (line for step, array in value.items() for line in _lines(step, array))
    elif name == "mask":
        yield from (f"mask = {_array(each['mask'])}" for each in value)
    else:
        text = _array(value) if isinstance(value, np.ndarray) else _option(value)
        yield f"{NAMES.get(name, name)} = {text}"


def _array(array: Array) -> str:
    """Rows end with ; and a matrix, if there are several, with |."""
    if array.ndim == 0:
        return _entry(array[()])
    if array.ndim == 1:
        return f"[{' '.join(map(_entry, array))}]"
    matrices = array.reshape(-1, *array.shape[-2:])
    return " | ".join(f"[{'; '.join(' '.join(map(_entry, row)) for row in matrix)}]" for matrix in matrices)


def _entry(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return f"{float(value):.15g}".replace("-", "−").replace("inf", "∞")


def _option(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_option(item)}" for key, item in value.items())
    if isinstance(value, tuple | list):
        return f"[{' '.join('none' if item is None else _option(item) for item in value)}]"
    return "yes" if value is True else str(value)
