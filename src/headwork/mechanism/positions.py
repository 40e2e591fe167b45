"""Where queries and keys stand, and what depends on it: rotary positions (RoPE) and ALiBi."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..problem import Problem, Rope


def valid_keys(problem: Problem) -> Array:
    """How many keys each batch element has, shape batch: `lengths`, else Tk."""
    if problem.lengths is not None:
        return np.asarray(problem.lengths)
    return np.full(problem.batch, problem.Tk)


def query_positions(problem: Problem) -> Array:
    """p_i = i + offset, shape (…, 1, Tq, 1); offset None means n − Tq: the last query meets the last key."""
    offset = problem.offset if problem.offset is not None else valid_keys(problem) - problem.Tq
    return np.asarray(problem.row_numbers[:, None] + offset[..., None, None, None])


def distances(problem: Problem) -> Array:
    """p_i − j, shape (…, 1, Tq, Tk): how far back key j stands from query i; negative is ahead."""
    return query_positions(problem) - np.arange(problem.Tk)


def alibi(problem: Problem) -> Array:
    """−m_h·|p_i − j|, shape (…, H, Tq, Tk).  Source: Press et al. 2022, section 3."""
    return np.asarray(-problem.alibi[:, None, None] * np.abs(distances(problem)))


def rotate(x: Array, positions: Array, rope: Rope) -> Array:
    """Each row of x (…, T, D) turned by its position (…, T, 1): pair i by position · base^(−2i/dim).

    Features from `dim` on stay as they are.  Source: Su et al. 2021, equation 34.
    """
    first, second = pairs(rope)
    angle = positions * rope.base ** (-np.arange(0, rope.dim, 2) / rope.dim)
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    shape = np.broadcast_shapes(x.shape[:-1], angle.shape[:-1])
    turned = np.broadcast_to(x, (*shape, x.shape[-1])).copy()
    turned[..., first] = x[..., first] * cos - x[..., second] * sin
    turned[..., second] = x[..., first] * sin + x[..., second] * cos
    return turned


def pairs(rope: Rope) -> tuple[Array, Array]:
    """Indices of the first and second feature of each pair."""
    index = np.arange(rope.dim // 2)
    return (2 * index, 2 * index + 1) if rope.pairing == "interleaved" else (index, index + rope.dim // 2)
