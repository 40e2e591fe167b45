"""How much an answer says for a hypothesis, in bits, so that chance is never taken for a mistake.

An entry that differs from the right one by Δ and agrees with a hypothesis to ±t would do so by chance,
under Gaussian noise of whatever size, with a probability of at most 2t · 1/(Δ√(2πe)) = 0.484 t/Δ: the
density of N(0, σ) at Δ is largest for σ = Δ. So it is worth log₂(Δ/(0.484 t)) bits; an entry that is
right is worth nothing. Then, since people and programs do not err like noise, four caps:

1. a plain value (few significant digits) or a copy of another right entry is worth its own length only;
2. a row of weights sums to 1, and a row of outputs lies in the hull of the values: only as many entries
   count as the row has degrees of freedom, the least telling ones;
3. NaN and infinities are one symbol, counted once;
4. log₂ of the number of hypotheses tried is subtracted.

docs/diagnosis.md derives and measures this.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array

NOISE = 2 / math.sqrt(2 * math.pi * math.e)  # 0.484: chance of ±t at distance Δ, per t/Δ
NAMED = 13.0  # bits from which a mistake is named: chance below 1 in 8,000 before the caps
SYMBOL = 20.0  # bits for NaN or inf where a finite number was due: noise never gives one
DIGIT = math.log2(10)


def evidence(
    answer: Array, right: Array, tolerance: Array, given: Array, freedom: Array | None = None
) -> float:
    """The bits that `answer` carries against being noise around `right`.

    answer right tolerance given  (…, rows, columns); only `given` entries count
    freedom                       (…, rows): degrees of freedom of each row, None where every entry is free
    """
    bits = entry_bits(answer, right, tolerance)
    bits = np.where(given, np.minimum(bits, length_bits(answer, right)), 0)
    odd = given & ~np.isfinite(answer) & ~(_same(answer, right))
    bits = np.where(np.isfinite(answer), bits, 0)
    total = bits.sum() if freedom is None else _least_telling(bits, given, freedom)
    return float(total + SYMBOL * odd.any())


def entry_bits(answer: Array, right: Array, tolerance: Array) -> Array:
    """log₂(Δ/(0.484 t)) of each entry, at least 0."""
    with np.errstate(all="ignore"):  # masked entries are −∞ on both sides
        ratio = np.abs(answer - np.where(np.isfinite(right), right, 0)) / (NOISE * tolerance)
        return np.where(ratio > 1, np.log2(np.maximum(ratio, 1)), 0)


def length_bits(answer: Array, right: Array) -> Array:
    """How many bits a value can carry: its significant digits and sign, or which right entry it copies."""
    digits = np.full(answer.shape, 17)
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log10(np.abs(np.where(answer == 0, 1, answer))))
        for count in range(12, 0, -1):
            unit = 10.0 ** (exponent - count + 1)
            plain = np.abs(answer / unit - np.round(answer / unit)) < 1e-9
            digits = np.where(plain, count, digits)
    length = np.where(answer == 0, 1.0, digits * DIGIT)
    copied = np.isin(answer, right[np.isfinite(right)]) & (answer != right)
    return np.where(copied, np.minimum(length, math.log2(max(right.size, 2))), length)


def _least_telling(bits: Array, given: Array, freedom: Array) -> float:
    """Of each row, the `freedom` entries with the fewest bits."""
    waiting = np.sort(np.where(given, bits, np.inf), axis=-1)
    counted = np.arange(bits.shape[-1]) < freedom[..., None]
    return float(np.where(counted & np.isfinite(waiting), waiting, 0).sum())


def _same(a: Array, b: Array) -> Array:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))
