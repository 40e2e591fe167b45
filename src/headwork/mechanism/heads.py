"""Split packed arrays into heads, share key/value heads among query heads, and join the heads again."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def split(x: Array, heads: int) -> Array:
    """(…, T, heads·width) to (…, heads, T, width): head h takes columns h·width … (h+1)·width − 1."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).swapaxes(-3, -2)


def merge(x: Array) -> Array:
    """(…, H, T, width) to (…, T, H·width), the inverse of `split`."""
    *lead, H, T, width = x.shape
    return x.swapaxes(-3, -2).reshape(*lead, T, H * width)


def repeat(x: Array, H: int) -> Array:
    """(…, Hkv, T, width) to (…, H, T, width): query head h uses key/value head ⌊h·Hkv/H⌋."""
    return x if x.shape[-3] == H else np.repeat(x, H // x.shape[-3], axis=-3)
