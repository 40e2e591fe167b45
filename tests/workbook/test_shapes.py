"""Shapes are read as people type them, and nothing else is taken for one."""

import pytest

from headwork.workbook.shapes import read_shape, shape_text

READ = [
    # typed         sizes       why
    ("3 × 5", (3, 5), "as it is printed"),
    ("3x5", (3, 5), "with a letter"),
    ("3X5", (3, 5), "with a capital"),
    ("3*5", (3, 5), "as a product"),
    ("(3, 5)", (3, 5), "as NumPy writes it"),
    ("[3, 5]", (3, 5), "in square brackets"),
    ("3,5", (3, 5), "with a comma alone"),
    ("3 by 5", (3, 5), "in words"),
    ("3 5", (3, 5), "with a blank"),
    ("  3   ×  5 ", (3, 5), "with blanks around"),
    ("(3,)", (3,), "one axis, as NumPy writes it"),
    ("7", (7,), "one axis"),
    ("2×3×4", (2, 3, 4), "three axes"),
    ("３×５", (3, 5), "wide digits of an East Asian keyboard"),
    ("03 × 5", (3, 5), "with a zero in front"),
]

REFUSED = [
    "",
    "  ",
    "x",
    "3x",
    "x5",
    "3 × ",
    "()",
    "(3, 5",
    "3.0 × 5",
    "-3 × 5",
    "three by five",
    "3²",
    "٣×٥",
]
REFUSED += ["9" * 5000, "1 " * 5000, "3 × 5 × a", "3 ×× 5", "\x00"]


@pytest.mark.parametrize(("typed", "sizes", "why"), READ)
def test_a_shape_is_read_as_people_type_it(typed, sizes, why):
    assert read_shape(typed) == sizes, why


@pytest.mark.parametrize("typed", REFUSED)
def test_what_is_no_shape_is_refused(typed):
    assert read_shape(typed) is None


def test_a_shape_is_written_as_it_is_printed():
    assert shape_text((3, 5)) == "3 × 5"
