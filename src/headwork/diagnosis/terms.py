"""The terms of a softmax row as intervals, and how far its weights, its logsumexp and its blend can go.

Honest work knows the exponentials of a row up to an error each, and may round their sum. Everything after
is a ratio of such sums. A ratio a/(a + b) grows with a and falls with b, and a ratio of sums that are
linear in each term is extreme where every term is at an end of its interval, so the bounds are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Array

ROOM = 100_000  # numbers, of as many columns of the values as that are worked out together


@dataclass(frozen=True)
class Terms:
    """The terms of each row's sum, (…, H, Tq, Tk), up to one common factor.

    Fields
    exact  the true terms
    least  the least and
    most   the most they can be when they are carried in full
    half   what writing one of them down can add to that; 0 where nothing is rounded
    """

    exact: Array
    least: Array
    most: Array
    half: Array

    @cached_property
    def low(self) -> Array:
        """The least they can be as written."""
        return np.asarray(np.maximum(self.least - self.half, 0))

    @cached_property
    def high(self) -> Array:
        """The most they can be as written."""
        return np.asarray(self.most + self.half)

    @cached_property
    def total(self) -> Array:
        """The true sum, (…, H, Tq, 1)."""
        return np.asarray(np.sum(self.exact, axis=-1, keepdims=True))

    @cached_property
    def several(self) -> Array:
        """Where there is something to add up, so that a sum can be rounded, (…, H, Tq, 1)."""
        return np.asarray(np.count_nonzero(self.exact, axis=-1, keepdims=True) > 1)


def share_errors(terms: Terms) -> Array:
    """Bound on |ẽ_j / s̃ − e_j / s| for each term e_j of the sum s.

    Either e_j is rounded, and its sum with the other rounded terms is a decimal already; or it is carried
    in full, and the sum is rounded once more.
    """
    low, high = terms.low, terms.high
    least_of_others = np.sum(low, axis=-1, keepdims=True) - low
    most_of_others = np.sum(high, axis=-1, keepdims=True) - high
    sum_half = np.where(terms.several, terms.half, 0)
    share = terms.exact / terms.total
    most = np.maximum(_share(high, least_of_others), _share(terms.most, least_of_others - sum_half))
    least = np.minimum(_share(low, most_of_others), _share(terms.least, most_of_others + sum_half))
    return np.where(terms.exact == 0, 0, np.maximum(most - share, share - least))


def _share(part: Array, others: Array) -> Array:
    return np.where(part > 0, part / (part + others), 0)


def log_errors(terms: Terms) -> Array:
    """Bound on |ln s̃ − ln s|, (…, H, Tq, 1)."""
    low = np.sum(terms.low, axis=-1, keepdims=True)
    high = np.sum(terms.high, axis=-1, keepdims=True)
    return np.asarray(np.maximum(np.log(high / terms.total), np.log(terms.total / low)))


def mean_errors(terms: Terms, value: Array) -> Array:
    """Bound on |Σ ẽ_j v_j / s̃ − Σ e_j v_j / s|, (…, H, Tq, Dv), value (…, H, Tk, Dv) exact.

    Much less than Σ|v_j| times the error of a share: what one share gains the others lose.
    """
    sum_half = np.where(terms.several, np.max(terms.half, axis=-1, keepdims=True), 0)
    room = np.sum(terms.low, axis=-1, keepdims=True) - sum_half
    mean = (terms.exact @ value) / terms.total
    width = max(ROOM // terms.exact.size, 1)
    columns = [value[..., start : start + width] for start in range(0, value.shape[-1], width)]
    spread = np.concatenate([_spread(terms, some) for some in columns], axis=-1)
    return np.asarray(spread + (np.abs(mean) + spread) * sum_half / room)


def _spread(terms: Terms, value: Array) -> Array:
    """Where the sum is not rounded: keys of small values low and the others high, or the reverse."""
    columns = np.swapaxes(value, -1, -2)[..., None, :]  # (…, H, Dv, 1, Tk)
    order = np.argsort(columns, axis=-1)
    v = np.take_along_axis(columns, order, axis=-1)
    order = order.reshape(*(1,) * (terms.exact.ndim + 1 - order.ndim), *order.shape)
    exact, low, high = (
        np.take_along_axis(x[..., None, :, :], order, axis=-1) for x in (terms.exact, terms.low, terms.high)
    )
    mean = np.sum(exact * v, axis=-1) / np.sum(exact, axis=-1)
    most = np.max(_means(low, high, v), axis=-1)
    least = np.min(_means(high, low, v), axis=-1)
    return np.swapaxes(np.maximum(most - mean, mean - least), -1, -2)  # (…, H, Dv, Tq) turned


def _means(first: Array, rest: Array, v: Array) -> Array:
    """The weighted mean of v where the first t terms are from `first`, the others from `rest`, t = 0 … n."""
    return _steps(first * v, rest * v) / _steps(first, rest)


def _steps(first: Array, rest: Array) -> Array:
    nothing = np.zeros((*first.shape[:-1], 1))
    ahead = np.concatenate([nothing, np.cumsum(first, axis=-1)], axis=-1)
    behind = np.concatenate([nothing, np.cumsum(rest[..., ::-1], axis=-1)], axis=-1)[..., ::-1]
    return np.asarray(ahead + behind)
