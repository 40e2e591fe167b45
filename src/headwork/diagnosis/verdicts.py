"""What a number deserves: right, right so far, or not right. The rules of precision live here alone.

A question asks for some digits after the point. A number that says the right one to those digits is right,
however it is written: 0.5 for 0.500, 1/3 for 0.333, and more digits than were asked. Fewer digits that agree
as far as they go, rounded or cut off, are right so far.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .expression import Number
from .rounding import half_unit, is_decimal

RIGHT, FOLLOWS, SHORT, NOT_RIGHT, BLANK = "right", "follows", "short", "not right", "blank"
FLOAT_NOISE = 1e-12  # of the number itself: what float64 arithmetic may leave in the last places
# programs write −1e4, −1e9 or the dtype's lowest number for −∞; no score by hand is near
STANDS_FOR_INFINITY = -1e4
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def judge(values: Array, right: Array, tolerance: Array, places: Array, digits: int | None) -> Array:
    """The verdict on each number, an array of words; all arrays of one shape.

    right      the true numbers, within `tolerance`
    places     decimals written; inf where a number is meant exactly, NaN where nobody can know
    digits     decimals asked; None: numbers out of a computation, judged by the tolerance alone
    Special cases: an infinity or NaN is right where the same one is.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.where(_same_symbol(values, right), 0.0, np.abs(values - right))
        off = np.where(np.isnan(off), np.inf, off)
        noise = FLOAT_NOISE * np.abs(np.where(np.isfinite(right), right, 0))
        is_right = off <= tolerance + noise
        if digits is None:
            return np.where(is_right, RIGHT, NOT_RIGHT)
        is_brief = places < digits
        is_right = np.where(is_brief, off <= half_unit(digits) + noise, is_right)
        is_short = is_brief & _agrees_so_far(values, right, off, tolerance, places, digits)
    return np.where(is_right, RIGHT, np.where(is_short, SHORT, NOT_RIGHT))


def _same_symbol(values: Array, right: Array) -> Array:
    return np.asarray((values == right) | (np.isnan(values) & np.isnan(right)))


def _agrees_so_far(
    values: Array, right: Array, off: Array, tolerance: Array, places: Array, digits: int
) -> Array:
    """Rounded to fewer places, or cut off after them.

    A whole number says nothing about one below 1: 0 or 1 for 0.665 is another answer, not a shorter one.
    So is 3 for an exact 2.5.
    """
    unit = 10.0**-places
    is_rounded = off <= unit / 2 + tolerance - half_unit(digits)
    is_cut = (off < unit) & (np.abs(values) <= np.abs(right)) & (values * right > 0)
    says_something = (places >= 1) | ((np.abs(right) >= unit) & ~is_decimal(right, digits))
    return np.asarray((is_rounded | is_cut) & says_something)


def mark_number(truth: float, typed: Number, digits: int, *, exact: bool = False, slack: float = 0.0) -> str:
    """The verdict on one typed number: "right", "short" or "not right".

    truth   the right number; digits: decimals asked
    exact   the number itself is asked (a count, a shape): nothing is allowed for rounding
    slack   what the numbers it was worked out from allow beyond half a unit of the last digit
    """
    tolerance = 0.0 if exact else half_unit(digits) + slack
    places = np.inf if exact else written_places(typed)
    value, right, within, written = map(np.asarray, (typed.value, truth, tolerance, places))
    return str(judge(value, right, within, written, digits))


def written_places(typed: Number) -> float:
    """Decimals written: inf for a fraction or a root, NaN where they are unknown."""
    if typed.places is None:
        return np.inf if typed.exact else np.nan
    return typed.places


def short_note(digits: int) -> str:
    """What to do about an answer that is right so far."""
    if digits < 1:
        return "Right so far: give more digits."
    count = WORDS[digits] if digits < len(WORDS) else str(digits)
    return f"Right so far: give {count} digit{'s' if digits > 1 else ''} after the point."
