"""How much an answer says for a hypothesis, in bits, so that chance is never taken for a mistake.

An entry that differs from the right one by Δ and agrees with a hypothesis to ±t would do so by chance,
under Gaussian noise of whatever size, with a probability of at most 2t · 1/(Δ√(2πe)) = 0.484 t/Δ: the
density of N(0, σ) at Δ is largest for σ = Δ. So it is worth log₂(Δ/(0.484 t)) bits; an entry that is
right is worth nothing. Then, since people and programs do not err like noise, five caps:

1. a plain value (few significant digits, or a simple fraction) is worth its own length only, a copy of
   another right entry, or of a wrong one that stands before it, says only which one;
2. a row of weights sums to 1, and a row of outputs lies in the hull of the values: only as many entries
   count as the row has degrees of freedom, the least telling ones;
3. right entries, rows, columns or heads that only changed places say only what stands where;
4. NaN and infinities are one symbol, counted once;
5. log₂ of the number of hypotheses tried is subtracted.

docs/diagnosis.md derives and measures this.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..arrays import Array

NOISE = 2 / math.sqrt(2 * math.pi * math.e)  # 0.484: chance of ±t at distance Δ, per t/Δ
NAMED = 13.0  # bits from which a mistake is named: chance below 1 in 8,000
NAMED_BY_HAND = 10.0  # and where there are at most
FEW_TOKENS = 3  # queries and keys: fewer entries can be off, or change places, in fewer ways
SYMBOL = 20.0  # bits for NaN or inf where a finite number was due: noise never gives one
DIGIT = math.log2(10)
MOST_BELOW = 12  # the largest denominator of a simple fraction
SAME_DIGITS = 12  # of the largest value: what agrees so far is one value, worked out twice
MOST_COMPARED = 2_000_000  # numbers: more that changed places say enough by themselves


def enough(queries: int, keys: int) -> float:
    """The bits from which a mistake is named."""
    return NAMED_BY_HAND if max(queries, keys) <= FEW_TOKENS else NAMED


def evidence(
    answer: Array,
    right: Array,
    tolerance: Array,
    given: Array,
    freedom: Array | None = None,
    joined: bool = False,
) -> float:
    """The bits that `answer` carries against being noise around `right`.

    answer right tolerance given  (…, rows, columns); only `given` entries count
    freedom                       (…, rows): degrees of freedom of each row, None where every entry is free
    joined                        rows of all heads stand side by side as one
    """
    tolerance = np.broadcast_to(tolerance, answer.shape)
    odd = given & ~np.isfinite(answer) & ~(_same(answer, right))
    noise = np.where(given & np.isfinite(answer), entry_bits(answer, right, tolerance), 0)
    copied = (noise > 0) & copies(answer, right, tolerance)
    bits = np.minimum(noise, length_bits(answer, right, tolerance, copied, noise > 0))
    total = float(bits.sum() if freedom is None else _least_telling(bits, given, freedom))
    if copied.any() and (copied == (noise > 0)).all():
        total = min(total, moved_bits(answer, right, tolerance, given, joined))
    return total + SYMBOL * bool(odd.any())


def entry_bits(answer: Array, right: Array, tolerance: Array) -> Array:
    """log₂(Δ/(0.484 t)) of each entry, at least 0."""
    with np.errstate(all="ignore"):  # masked entries are −∞ on both sides
        ratio = np.abs(answer - np.where(np.isfinite(right), right, 0)) / (NOISE * tolerance)
        return np.where(ratio > 1, np.log2(np.maximum(ratio, 1)), 0)


def length_bits(answer: Array, right: Array, tolerance: Array, copied: Array, wrong: Array) -> Array:
    """How many bits a value can carry: its own length, which right entry it copies, or which wrong one.

    copied wrong  the entries that are copies of right ones, and those that are not right
    """
    length = plain_bits(answer, tolerance)
    length = np.where(copied, np.minimum(length, math.log2(max(right.size, 2))), length)
    first, kinds = _repeated(answer, wrong)
    return np.where(first, length, np.minimum(length, math.log2(max(kinds, 1))))


def plain_bits(answer: Array, tolerance: Array) -> Array:
    """The length of a value: of its significant digits, or of numerator and denominator; one bit for 0."""
    length = np.where(answer == 0, 1.0, digits_of(answer) * DIGIT)
    for below in range(2, MOST_BELOW + 1):
        with np.errstate(invalid="ignore"):  # symbols are no fractions
            above = np.round(answer * below)
            near = (np.abs(answer - above / below) <= tolerance) & (above % below != 0)
        bits = 1 + np.log2(np.maximum(np.abs(above), 1) * below)
        length = np.where(near, np.minimum(length, bits), length)
    return length


def digits_of(answer: Array) -> Array:
    """The significant digits of each value, 17 where there are more than 12."""
    digits = np.full(answer.shape, 17)
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log10(np.abs(np.where(answer == 0, 1, answer))))
        for count in range(12, 0, -1):
            unit = 10.0 ** (exponent - count + 1)
            plain = np.abs(answer / unit - np.round(answer / unit)) < 1e-9
            digits = np.where(plain, count, digits)
    return digits


def copies(answer: Array, right: Array, tolerance: Array) -> Array:
    """Which entries are right ones in another place, within their tolerance."""
    known = np.sort(right[np.isfinite(right)], axis=None)
    if not known.size:
        return np.zeros(answer.shape, dtype=bool)
    at = np.searchsorted(known, answer)
    below, above = known[np.maximum(at - 1, 0)], known[np.minimum(at, known.size - 1)]
    with np.errstate(invalid="ignore"):  # symbols are no copies
        return np.asarray(np.minimum(np.abs(answer - below), np.abs(answer - above)) <= tolerance)


def _repeated(answer: Array, wrong: Array) -> tuple[Array, int]:
    """Where a value among the wrong ones stands for the first time, and how many there are."""
    values = answer[wrong]
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    kinds, where = np.unique(np.round(values / largest, SAME_DIGITS), return_index=True)
    first = np.zeros(answer.shape, dtype=bool)
    first.flat[np.flatnonzero(wrong)[where]] = True
    return first, len(kinds)


def _least_telling(bits: Array, given: Array, freedom: Array) -> float:
    """Of each row, the `freedom` entries with the fewest bits."""
    waiting = np.sort(np.where(given, bits, np.inf), axis=-1)
    counted = np.arange(bits.shape[-1]) < freedom[..., None]
    return float(np.where(counted & np.isfinite(waiting), waiting, 0).sum())


# --- what only changed places ---------------------------------------------------------------------


def moved_bits(answer: Array, right: Array, tolerance: Array, given: Array, joined: bool = False) -> float:
    """The bits of saying what stands where; infinite where it takes more than moving right entries.

    What moves are entries, rows, columns or heads: each by itself, or the same ones in every head. Of joined
    heads, a row is all of it: its parts do not move by themselves, unless by a wrong rule.
    """
    arrays = [each.reshape(-1, *each.shape[-2:]) for each in (answer, right, tolerance, given)]
    ways = zip(*(_lines(array, joined) for array in arrays), strict=True)
    return min(_bits_of_lines(*lines) for lines in ways)


def _lines(array: Array, joined: bool) -> Iterator[Array]:
    """The ways to take (heads, rows, columns) apart into lines, (lines, entries) each."""
    heads, rows, columns = array.shape
    yield array.reshape(-1, 1)
    yield array.reshape(heads, -1)
    yield array.swapaxes(0, 1).reshape(rows, -1)
    yield array.swapaxes(1, 2).reshape(heads * columns, -1)
    yield np.moveaxis(array, 2, 0).reshape(columns, -1)
    if not joined:
        yield array.reshape(heads * rows, -1)


def _bits_of_lines(answer: Array, right: Array, tolerance: Array, given: Array) -> float:
    """log₂ of the ways for as many lines to be others, if that is all that is wrong."""
    wrong = np.asarray(~(_near(answer, right, tolerance) | ~given).all(axis=-1))
    if wrong.sum() * answer.size > MOST_COMPARED:
        return math.inf
    line, room, is_given = (each[wrong][:, None] for each in (answer, tolerance, given))
    same = np.asarray((_near(line, right, room) | ~is_given).all(axis=-1))
    if not same.any(axis=-1).all():
        return math.inf
    inside = same[:, wrong]
    among_themselves = bool(inside.any(axis=0).all() and inside.any(axis=1).all())
    return ways_to_move(len(answer), int(wrong.sum()), among_themselves)


def ways_to_move(count: int, moved: int, among_themselves: bool) -> float:
    """log₂ of the ways in which `moved` of so many lines become others: by changing places, or as copies."""
    if not among_themselves:
        return moved * math.log2(count)
    orders = math.lgamma(count + 1) - math.lgamma(count - moved + 1)  # which ones, and m! for their order
    return max(orders - 1, 0.0) / math.log(2)  # one order of e leaves none in its place (de Montmort 1708)


def _near(a: Array, b: Array, tolerance: Array) -> Array:
    with np.errstate(invalid="ignore"):  # inf − inf: compared as symbols
        return np.asarray(np.abs(a - b) <= tolerance) | _same(a, b)


def _same(a: Array, b: Array) -> Array:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))
