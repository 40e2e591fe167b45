"""NaN, ∞ and 0 that need no rule of their own: what IEEE gives where exponentials leave the dtype's range."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Array
from ..diagnosis.target import Target
from .answer_shape import rows_in_its_shape

# logarithms of the smallest and the largest numbers above 0; half precision is worked in float32
RANGE = {"float64": (-744.0, 709.0), **dict.fromkeys(("float32", "float16", "bfloat16"), (-87.0, 88.0))}
ANYWHERE = np.ones(1, bool)  # a row of no problem in particular: all of the answer
NOWHERE = np.zeros(1, bool)


def with_symbols(values: Array, target: Target, rows: Array) -> Array:
    """The values, but NaN, ∞ and 0 of the answer where its exponentials left the range.

    rows  (…, H, Tq, 1): where they did; of another shape, anywhere if somewhere
    """
    odd = _odd(target)
    if not rows.any() or not odd.any():
        return values
    where = rows_in_its_shape(rows, target)
    return np.where(odd if where is None else odd & where, target.values, values)


def overflows_in(target: Target, rows: Array) -> bool:
    """Whether NaN, ∞ or 0 came back in each of these rows, as without a maximum it must."""
    odd, where = _odd(target), rows_in_its_shape(rows, target)
    if where is None:
        return bool(odd.any())
    return bool((odd.any(axis=-1) | ~where.any(axis=-1)).all())


def _odd(target: Target) -> Array:
    return np.asarray(~np.isfinite(target.values) | (target.values == 0))


def undivided(fields: Mapping[str, Array]) -> Array:
    """The rows whose sum is 0 although they see something: 0/0 is NaN, and only an empty row's is 0."""
    if "row_sum" not in fields or "logits" not in fields:
        return NOWHERE
    return np.asarray((fields["row_sum"] == 0) & (fields["logits"] > -np.inf).any(axis=-1, keepdims=True))


def beyond_range(fields: Mapping[str, Array], dtype: str) -> Array:
    """The rows with scores whose exponentials are infinite in the dtype, or all 0."""
    if "logits" not in fields:
        return NOWHERE
    top = fields["logits"].max(axis=-1, keepdims=True)
    low, high = RANGE[dtype]
    return np.asarray(((top > high) | (top < low)) & (top > -np.inf))
