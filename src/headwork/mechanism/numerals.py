"""How a number is written for people: 4 and not 4.000, 0.090 with the zero that it was rounded to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DIGITS = 3  # decimals, where nobody says otherwise
TOO_LARGE = 1e15  # from here on decimals say nothing: a float64 has about 16 digits in all
ROUNDING = 8  # that many ε away from a short decimal, a number is that decimal: 0.1 + 0.2 is 0.3

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def number_text(value: Any, digits: int = DIGITS) -> str:
    """`value` (a Python or NumPy number) with that many decimals, or exactly where fewer say it exactly.

    Special cases: ∞, −∞ and NaN. A number that those decimals would show as zero keeps as many
    significant digits (0.0000454), unless no decimals are asked for; far smaller and very large ones get a
    power of ten.
    """
    number, slack = _as_written(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
    least = 10 ** -(digits + 4) if digits else 0.0  # where no decimals are asked for, 0.2 is 0
    if number != 0 and not least <= abs(number) < TOO_LARGE:
        return _with_power_of_ten(number, digits)
    text = f"{number:.{digits}f}"
    if abs(number - float(text)) <= slack * abs(number):
        text = _without_zeros(text)
    elif float(text) == 0 and digits:
        text = f"{number:.{digits - 1 - math.floor(math.log10(abs(number)))}f}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def _as_written(value: Any) -> tuple[float, float]:
    """The number as its dtype writes it (float32's 0.1 is 0.1), and how far it may be from what was meant."""
    if isinstance(value, np.float32 | np.float16):
        return float(str(value)), ROUNDING * 2.0**-23 if isinstance(value, np.float32) else 0.0
    return float(value), ROUNDING * 2.0**-52


def _with_power_of_ten(number: float, digits: int) -> str:
    mantissa, exponent = f"{number:.{max(digits - 1, 0)}e}".split("e")
    return f"{_without_zeros(mantissa)}·10{superscript(int(exponent))}".replace("-", "−")


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def superscript(number: int) -> str:
    """10⁻³ is "10" and superscript(−3)."""
    return str(number).translate(_SUPERSCRIPT)


def subscript(*places: int) -> str:
    """Places counted from 0 as people write them, from 1: ₁₃, or (2, 14) where digits would run together."""
    counted = [place + 1 for place in places]
    if max(counted, default=1) < 10:
        return "".join(map(str, counted)).translate(_SUBSCRIPT)
    return f"({', '.join(map(str, counted))})"
