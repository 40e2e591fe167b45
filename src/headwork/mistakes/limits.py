"""What limits the keys that a query may see, piece by piece, so that a mistake can spoil one of them."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..mechanism.masks import float_masks, in_window
from ..mechanism.positions import distances, valid_keys
from ..problem import Problem

KINDS = ("mask", "float_mask", "causal", "window", "lengths")


def limits(problem: Problem) -> dict[str, Array]:
    """Each limit that the problem has, True where it lets the key be seen; broadcasts to (…, H, Tq, Tk)."""
    found: dict[str, Array] = {}
    if has_bool_mask(problem):
        found["mask"] = bool_mask(problem)
    if float_masks(problem):
        found["float_mask"] = joined(
            {str(i): ~np.isneginf(mask) for i, mask in enumerate(float_masks(problem))}
        )
    if problem.causal:
        found["causal"] = distances(problem) >= 0
    if problem.window is not None:
        found["window"] = in_window(problem)
    if problem.lengths is not None:
        found["lengths"] = np.arange(problem.Tk) < lengths_of(problem)
    return found


def joined(pieces: dict[str, Array]) -> Array:
    """True where all of them let the key be seen."""
    allowed = np.ones((1, 1, 1), dtype=bool)
    for piece in pieces.values():
        allowed = allowed & piece
    return allowed


def replacing(problem: Problem, **changed: Array) -> Array:
    """The keys that may be seen when these limits are other than they should be."""
    return joined(limits(problem) | changed)


def without(problem: Problem, *kinds: str) -> Array:
    """The keys that may be seen when limits of these kinds are forgotten."""
    return joined({kind: piece for kind, piece in limits(problem).items() if kind not in kinds})


def bool_masks(problem: Problem) -> list[Array]:
    """The masks of true and false."""
    return [mask for mask in problem.mask or () if mask.dtype == bool]


def has_bool_mask(problem: Problem) -> bool:
    """Whether there is a mask of true and false."""
    return bool(bool_masks(problem))


def has_float_mask(problem: Problem) -> bool:
    """Whether there is a mask that is added."""
    return bool(float_masks(problem))


def bool_mask(problem: Problem) -> Array:
    """All masks of true and false together, at their full shape (…, H, Tq, Tk)."""
    return full(problem, joined({str(i): mask for i, mask in enumerate(bool_masks(problem))}))


def full(problem: Problem, mask: Array) -> Array:
    """The mask at its full shape (…, H, Tq, Tk); no copy is made."""
    return np.broadcast_to(mask, problem.matrix_shape)


def lengths_of(problem: Problem) -> Array:
    """Valid keys of each batch element, (…, 1, 1, 1)."""
    return valid_keys(problem)[..., None, None, None]
