"""Why a query may not see a key, in words that count from 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..problem import Problem
from .positions import query_positions, valid_keys


def why_hidden(problem: Problem, batch: tuple[int, ...], h: int, i: int, j: int) -> tuple[str, ...]:
    """Each reason why query i may not see key j, places counted from 0; nothing where it may."""
    position = int(query_positions(problem)[(*batch, 0, i, 0)])
    return (
        *_by_position(problem, position, i, j),
        *_by_length(problem, int(valid_keys(problem)[batch]), j),
        *_by_mask(problem, (*batch, h, i, j)),
    )


def _by_position(problem: Problem, position: int, i: int, j: int) -> Iterator[str]:
    stands = f"query {i + 1}" if position == i else f"query {i + 1}, which stands at position {position + 1}"
    if problem.causal and j > position:
        yield f"key {j + 1} is after {stands}"
    left, right = problem.window or (None, None)
    if left is not None and position - j > left:
        yield f"key {j + 1} is more than {left} before {stands}"
    if right is not None and j - position > right:
        yield f"key {j + 1} is more than {right} after {stands}"


def _by_length(problem: Problem, valid: int, j: int) -> Iterator[str]:
    if problem.lengths is not None and j >= valid:
        yield f"key {j + 1} is padding, as {valid} {'key is' if valid == 1 else 'keys are'} valid"


def _by_mask(problem: Problem, place: tuple[int, ...]) -> Iterator[str]:
    shape = problem.matrix_shape
    for mask in problem.mask or ():
        entry = np.broadcast_to(mask, shape)[place]
        if mask.dtype == bool and not entry:
            yield f"the mask hides key {place[-1] + 1}"
        elif mask.dtype != bool and np.isneginf(entry):
            yield f"the mask is −∞ at key {place[-1] + 1}"
