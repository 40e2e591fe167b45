"""Which keys each query may see, and what is added to its scores."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..problem import Problem
from .positions import alibi, distances, valid_keys


def is_masked(problem: Problem) -> bool:
    """Whether anything limits which keys may be seen."""
    return bool(problem.causal) or any(x is not None for x in (problem.mask, problem.window, problem.lengths))


def is_biased(problem: Problem) -> bool:
    """Whether anything is added to the scaled scores: ALiBi or a float mask."""
    return problem.alibi is not None or bool(float_masks(problem))


def float_masks(problem: Problem) -> list[Array]:
    """The masks that are added."""
    return [mask for mask in problem.mask or () if mask.dtype != bool]


def allowed_keys(problem: Problem) -> Array:
    """True where query i may attend to key j; broadcasts to (…, H, Tq, Tk).

    All of these must allow it: boolean masks; float masks (−inf forbids); causal, j ≤ p_i;
    the window, p_i − left ≤ j ≤ p_i + right; lengths, j < n. In given masked scores −inf forbids.
    """
    allowed = np.ones((1, 1, 1), dtype=bool)
    for mask in problem.mask or ():
        allowed = allowed & (mask if mask.dtype == bool else ~np.isneginf(mask))
    if problem.causal:
        allowed = allowed & (distances(problem) >= 0)
    if problem.window is not None:
        allowed = allowed & in_window(problem)
    if problem.lengths is not None:
        allowed = allowed & (np.arange(problem.Tk) < valid_keys(problem)[..., None, None, None])
    if problem.start == "masked":
        allowed = ~np.isneginf(problem.given["masked"])
    return allowed


def in_window(problem: Problem) -> Array:
    """p_i − left ≤ j ≤ p_i + right, shape (…, 1, Tq, Tk); None is no bound."""
    back = distances(problem)
    left, right = problem.window or (None, None)
    inside = np.ones_like(back, dtype=bool)
    if left is not None:
        inside &= back <= left
    if right is not None:
        inside &= back >= -right
    return inside


def total_bias(problem: Problem) -> Array:
    """ALiBi plus the float masks; broadcasts to (…, H, Tq, Tk).

    −inf in a float mask forbids (see `allowed_keys`), so it adds 0 here: −inf + NaN would be NaN.
    """
    bias = np.zeros((1, 1, 1), dtype=problem.work_dtype)
    if problem.alibi is not None:
        bias = bias + alibi(problem).astype(problem.work_dtype)
    for mask in float_masks(problem):
        bias = bias + np.where(np.isneginf(mask), 0, mask).astype(problem.work_dtype)
    return bias
