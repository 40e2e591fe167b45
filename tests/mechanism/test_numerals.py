"""How numbers are written for people."""

import ml_dtypes
import numpy as np
import pytest

from headwork.mechanism.numerals import number_text, subscript, superscript

WRITTEN = [
    # value                        digits  text              why
    (4.0, 3, "4", "exact"),
    (-2.0, 3, "−2", "a minus, not a hyphen"),
    (0.5, 3, "0.5", "exact in fewer decimals"),
    (0.0900305731704, 3, "0.090", "rounded: the zero says to which digit"),
    (11.1073379, 3, "11.107", "e + 1 + e²"),
    (22175.0, 3, "22175", "exact"),
    (0.1 + 0.2, 3, "0.3", "0.30000000000000004 is 0.3 with rounding"),
    (0.9999999, 3, "1.000", "not 1"),
    (2 / 3, 0, "1", "no decimals"),
    (0.2447, 0, "0", "none, where it is 0 without them"),
    (-1e-9, 0, "0", "no power of ten either"),
    (-0.0, 3, "0", "no one writes minus zero"),
    (4.5398e-5, 3, "0.0000454", "not 0.000, which would be wrong"),
    (-4.5398e-5, 1, "−0.00005", "one significant digit"),
    (1.42e-17, 3, "1.42·10⁻¹⁷", "too small for decimals"),
    (2.5e300, 3, "2.5·10³⁰⁰", "too large"),
    (np.inf, 3, "∞", "a word would be longer"),
    (-np.inf, 3, "−∞", "masked"),
    (np.nan, 3, "NaN", "as everybody writes it"),
    (np.float32(0.1), 3, "0.1", "0.10000000149 is float32's 0.1"),
    (np.float32(1) / np.float32(3), 3, "0.333", "rounded"),
    (np.float16(0.2446), 4, "0.2446", "float16's own digits"),
    (ml_dtypes.bfloat16(0.5), 3, "0.5", "exact in bfloat16"),
    (ml_dtypes.bfloat16(0.1), 3, "0.100", "bfloat16's 0.1 is 0.10009765625"),
    (np.int64(7), 3, "7", "a whole number"),
]


@pytest.mark.parametrize(("value", "digits", "text", "why"), WRITTEN, ids=[row[2] for row in WRITTEN])
def test_a_number_is_written_as_people_write_it(value, digits, text, why):
    assert number_text(value, digits) == text, why


def test_a_number_that_is_not_zero_is_never_written_as_zero(rng):
    for value in 10.0 ** rng.uniform(-320, 2, 500):
        assert number_text(value).strip("0.") != "", value


def test_places_count_from_one():
    assert subscript(0, 2) == "₁₃"


def test_places_from_ten_on_are_kept_apart():
    assert subscript(1, 13) == "(2, 14)"


def test_powers_stand_high():
    assert superscript(-12) == "⁻¹²"
