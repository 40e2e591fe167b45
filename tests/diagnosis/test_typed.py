"""What people type is read exactly, or refused with a reason. Values are by hand or from `math`."""

import json
import math
import re
import time
from decimal import Decimal
from math import e, exp, inf, log, nan, pi, sqrt

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from headwork.diagnosis.typed import (
    Entries,
    Number,
    entries_from_array,
    entries_from_json,
    read_entries,
    read_number,
)
from headwork.errors import AnswerError

# ---------------------------------------------------------------- one number

NUMBERS = [
    # typed, value, places, exact, source
    ("0.269", 0.269, 3, False, "as typed"),
    ("0.090", 0.09, 3, False, "a zero at the end is a digit"),
    (".5", 0.5, 1, False, "as typed"),
    ("5.", 5, 0, True, "NumPy writes 5. for 5"),
    ("22175", 22175, 0, True, "an integer is exact and has no decimals"),
    ("2.0", 2, 1, False, "one decimal"),
    ("0,269", 0.269, 3, False, "decimal comma"),
    ("1,234", 1.234, 3, False, "decimal comma by rule, never a thousand"),
    ("-0.5", -0.5, 1, False, "as typed"),
    ("−0.5", -0.5, 1, False, "U+2212"),
    ("–2", -2, 0, True, "en dash"),
    ("- 5", -5, 0, True, "a sign apart"),
    ("+3", 3, 0, True, "as typed"),
    ("1.2e-3", 0.0012, 4, False, "1 + 3 decimals"),
    ("1.20e-3", 0.0012, 5, False, "2 + 3 decimals"),
    ("1,2E-3", 0.0012, 4, False, "1 + 3 decimals"),
    ("1.2e3", 1200, -2, False, "known to the hundreds"),
    ("2e3", 2000, -3, False, "known to the thousands"),
    ("1.2×10^-3", 0.0012, 4, False, "1 + 3 decimals"),
    ("1.2 × 10^(-3)", 0.0012, 4, False, "1 + 3 decimals"),
    ("1.2*10**-3", 0.0012, 4, False, "1 + 3 decimals"),
    ("6.7·10⁻³", 0.0067, 4, False, "1 + 3 decimals"),
    (r"1.2 \times 10^{-3}", 0.0012, 4, False, "LaTeX"),
    ("26.9%", 0.269, 3, False, "1 + 2 decimals, rounded once"),
    ("26,9 %", 0.269, 3, False, "1 + 2 decimals"),
    ("50%", 0.5, 2, False, "0 + 2 decimals"),
    ("(0.5)", 0.5, 1, False, "parentheses around one number say nothing"),
    ("0{,}5", 0.5, 1, False, "LaTeX's decimal comma"),
    ("١٢", 12, 0, True, "Arabic-Indic digits"),
    ("１．５", 1.5, 1, False, "full-width digits"),
    ("\u200b0.5\xa0", 0.5, 1, False, "blanks that cannot be seen"),
    ("1/2", 0.5, None, True, "fraction"),
    ("-3/4", -0.75, None, True, "fraction"),
    ("1 / 3", 1 / 3, None, True, "fraction"),
    ("½", 0.5, None, True, "fraction in one character"),
    ("-2¾", -2.75, None, True, "two and three quarters"),
    (r"\frac{1}{2}", 0.5, None, True, "LaTeX"),
    (r"-\dfrac{\sqrt{2}}{2}", -sqrt(2) / 2, None, True, "LaTeX"),
    (r"\frac12", 0.5, None, True, "TeX takes one digit each"),
    ("√2", sqrt(2), None, True, "math"),
    ("sqrt(2)", sqrt(2), None, True, "math"),
    ("sqrt 2", sqrt(2), None, True, "math"),
    ("2√3", 2 * sqrt(3), None, True, "math"),
    ("√2√3", sqrt(2) * sqrt(3), None, True, "math"),
    ("1/√2", 1 / sqrt(2), None, True, "math"),
    ("√2/2", sqrt(2) / 2, None, True, "math"),
    ("√(3)/2", sqrt(3) / 2, None, True, "math"),
    ("3/(2√2)", 3 / (2 * sqrt(2)), None, True, "math"),
    ("√4²", 4, None, True, "(√4)² and √(4²) are both 4"),
    ("e", e, None, True, "math"),
    ("e^2", exp(2), None, True, "math.exp, not e**2, which is one bit off"),
    ("e²", exp(2), None, True, "math"),
    ("𝑒²", exp(2), None, True, "copied from a PDF"),
    ("e^{-2}", exp(-2), None, True, "LaTeX"),
    ("exp(2)", exp(2), None, True, "math"),
    ("e^-1", exp(-1), None, True, "math"),
    ("1/e", 1 / e, None, True, "math"),
    ("2e^2", 2 * exp(2), None, True, "math"),
    ("e^2/(e^2+1)", exp(2) / (exp(2) + 1), None, True, "math"),
    ("1/(1 + e)", 1 / (1 + e), None, True, "math"),
    ("π", pi, None, True, "math"),
    ("ln 2", log(2), None, True, "math"),
    ("ln(2)", log(2), None, True, "math"),
    ("1 + 2", 3, None, True, "a sum"),
    ("5 - 2 - 1", 2, None, True, "sums go left to right"),
    ("-2^2", -4, None, True, "the power binds more than the sign"),
    ("2^3^2", 512, None, True, "powers go right to left"),
    ("8/4/2", 1, None, True, "quotients go left to right"),
    ("1.5√2", 1.5 * sqrt(2), None, False, "a decimal inside: precision unknown"),
    ("0.1+0.2", 0.1 + 0.2, None, False, "a decimal inside: precision unknown"),
    ("exp(0,5)", exp(0.5), None, False, "a decimal inside: precision unknown"),
    ("inf", inf, None, True, "a symbol"),
    ("-inf", -inf, None, True, "a symbol"),
    ("−∞", -inf, None, True, "a symbol"),
    ("-Infinity", -inf, None, True, "a symbol"),
    ("+inf", inf, None, True, "a symbol"),
    (r"-\infty", -inf, None, True, "LaTeX"),
    ("e^-∞", 0, None, True, "the weight of a masked key"),
    ("NaN", nan, None, True, "a symbol"),
]


@pytest.mark.parametrize(
    ("typed", "value", "places", "exact", "source"), NUMBERS, ids=[c[0] for c in NUMBERS]
)
def test_number_says(typed, value, places, exact, source):
    number = read_number(typed)
    assert (number.places, number.exact) == (places, exact), source
    assert number.value == value or (math.isnan(value) and math.isnan(number.value)), source
    assert number.text == typed.strip()


NO_NUMBERS = [
    ("", '"" is empty; a number was expected. Write numbers such as 0.25'),
    ("2..0", 'I could not read "2..0". Write numbers such as 0.25, 1/4, √2, e\\^2, -inf.'),
    ("1/0", '"1/0" divides by zero'),
    ("0^-1", "divides by zero"),
    ("1e400", "too large or too small for a float64"),
    ("9e308", "too large or too small for a float64"),
    ("1e-400", "too large or too small for a float64"),
    ("0e999999999", "too large or too small for a float64"),
    ("9^9^9", "too large or too small for a float64"),
    ("1e200*1e200", "too large or too small for a float64"),
    ("exp(1000)", "too large or too small for a float64"),
    ("√(-1)", "has no real value"),
    ("(-8)^(1/3)", "has no real value"),
    ("ln(0)", "has no real value"),
    ("inf-inf", "has no real value"),
    ("1,2,3", '"1,2,3" has two commas: write blanks between entries: 1 2 3'),
    ("1,234.5", '"1,234.5" has a comma and a point; write one decimal mark'),
    ("22.175,4", "has a comma and a point"),
    ("1/2,1/3", 'could be the two entries "1/2" and "1/3"'),
    ("0,5√2", "or one with a decimal comma"),
    ("1/2√3", "could mean two things; add parentheses or a *"),
    ("√2e", "could mean two things"),
    ("ln 2^2", "could mean two things"),
    (r"2\frac{1}{2}", "could mean two things"),
    ("log(2)", "logarithm to base e or 10; write ln for base e"),
    ("2.5½", "could not read"),
    ("1 -2", "could not read"),
    ("1 2", "could not read"),
    ("--1", "could not read"),
    ("e2", "could not read"),
    ("1_000", "could not read"),
    ("0x10", "could not read"),
    ("x₂", "could not read"),
    ("①", "could not read"),
    ("(1}", "could not read"),
    ("__import__('os')", "could not read"),
    ("\x00", re.escape(r'could not read "\x00"')),
    ("\ud800", re.escape(r'could not read "\ud800"')),
    ("1" * 81, "has 81 characters; one number has at most 80"),
    ("(" * 80, "could not read"),
    ("-" * 80, "could not read"),
    ("^2" * 40, "could not read"),
]


@pytest.mark.parametrize(("typed", "message"), NO_NUMBERS, ids=[ascii(c[0]) for c in NO_NUMBERS])
def test_no_number_is_refused_with_a_reason(typed, message):
    with pytest.raises(AnswerError, match=message) as refusal:
        read_number(typed)
    str(refusal.value).encode()  # a lone surrogate would break the terminal


def test_deep_nesting_is_read():
    assert read_number("√" * 79 + "1").value == 1
    assert read_number("(" * 39 + "1" + ")" * 39).value == 1
    assert read_number("2^" * 2 + "-1^" * 20 + "1").value == 2**0.5


# ---------------------------------------------------------------- tables from text

EYE = [[1, 0], [0, 1]]
SCORES = [[2, 0, 4], [0, 2, 0]]
IN_LIST = "commas read as separators inside [ ]"
BRACKETS = "brackets ignored"
EMPTY = "empty cells read as not given"

TABLES = [
    # typed, rows (None: not given), remarks
    ("0.5", [[0.5]], ()),
    ("2 0 4; 0 2 0", SCORES, ()),
    ("2 0 4\n0 2 0\n", SCORES, ()),
    ("2 0 4;\r\n\r\n0 2 0;", SCORES, ()),
    ("1;2;3", [[1], [2], [3]], ()),
    ("1 -2", [[1, -2]], ()),
    ("1, 2, 3", [[1, 2, 3]], ()),
    ("1 ,2 , 3,", [[1, 2, 3]], ()),
    ("1, √2, e^2", [[1, sqrt(2), exp(2)]], ()),
    ("0,5 0,25", [[0.5, 0.25]], ("decimal commas",)),
    ("0,5, 0,25", [[0.5, 0.25]], ("decimal commas",)),
    ("(0,5 0,5)", [[0.5, 0.5]], ("decimal commas",)),
    ("0,5 0.25", [[0.5, 0.25]], ("decimal commas",)),
    ("1,5", [[1.5]], ("decimal commas",)),
    ("0.5, 0.25", [[0.5, 0.25]], ()),
    ("0.5,0.25", [[0.5, 0.25]], ("commas read as separators",)),
    ("1,-2,√2", [[1, -2, sqrt(2)]], ("commas read as separators",)),
    ("[1, 2, 3]", [[1, 2, 3]], (BRACKETS,)),
    ("[1,2,3]", [[1, 2, 3]], (IN_LIST, BRACKETS)),
    ("[2,0]", [[2, 0]], (IN_LIST, BRACKETS)),
    ("[1/2,1/3]", [[1 / 2, 1 / 3]], (IN_LIST, BRACKETS)),
    ("[0,5 0,5]", [[0.5, 0.5]], ("decimal commas", BRACKETS)),
    ("[0,090]", [[0.09]], ("decimal commas", BRACKETS)),
    ("[[0,5 0,5],[1,2 3]]", [[0.5, 0.5], [1.2, 3]], ("decimal commas", BRACKETS)),
    ("[[2,0,4],[0,2,0]]", SCORES, (IN_LIST, BRACKETS)),
    ("[[2,0,4], [0,2,0]]", SCORES, (IN_LIST, BRACKETS)),
    ("[2,0,4;0,2,0]", SCORES, (IN_LIST, BRACKETS)),
    ("[2 0 4; 0 2 0]", SCORES, (BRACKETS,)),
    ("[1 0]\n[0 1]", EYE, (BRACKETS,)),
    ("[1 0], [0 1]", EYE, (BRACKETS,)),
    ("(1 0; 0 1)", EYE, ()),
    ("(1 0)\n(0 1)", EYE, ()),
    ("(1 -2)\n(3 4)", [[1, -2], [3, 4]], ()),
    ("[[2. 0. 4.]\n [0. 2. 0.]]", SCORES, (BRACKETS,)),
    ("[[2. 0.\n  4.]\n [0. 2.\n  0.]]", SCORES, (BRACKETS,)),
    ("array([[2., 0., 4.],\n       [0., 2., 0.]])", SCORES, (BRACKETS,)),
    ("np.array([[2., 0., 4.], [0., 2., 0.]], dtype=float32)", SCORES, (BRACKETS,)),
    ("tensor([[1., -inf]], device='cuda:0', dtype=torch.float16)", [[1, -inf]], (BRACKETS,)),
    (r"\begin{bmatrix} 2 & 0 & 4 \\ 0 & 2 & 0 \end{bmatrix}", SCORES, ()),
    ("$$\\left(\\begin{array}{cc}\n1 & \\frac{1}{2} \\\\[2pt]\n\\sqrt{2} & 0{,}5\n\\end{array}\\right)$$",
     [[1, 0.5], [sqrt(2), 0.5]], ("decimal commas",)),
    ("2\t0\t4\n0\t2\t0\n", SCORES, ()),
    ("0,5\t\t1\n2\t3\t\n", [[0.5, None, 1], [2, 3, None]], ("decimal commas", EMPTY)),
    ("\t1 0\n\t0 1", EYE, ()),
    ("\t1\n\t2", [[1], [2]], ()),
    ("2 | 0 | 4\n0 | 2 | 0", SCORES, ()),
    ("| 1 | 0 |\n| 0 | 1 |", EYE, ()),
    ("0.5 _ ? 2", [[0.5, None, None, 2]], ()),
    ("1 - 2", [[1, None, 2]], ("- alone read as not given",)),
    ("1 – 2", [[1, None, 2]], ("- alone read as not given",)),
    ("1 … 2", [[1, None, 2]], ("... alone read as not given",)),
    ("1\xa02\u200b3", [[1, 2, 3]], ()),
    ("1 / 2 3", [[0.5, 3]], ()),
    ("1/(1 + e) e/(1 + e)", [[1 / (1 + e), e / (1 + e)]], ()),
    ("1/(1 + e), 0.5", [[1 / (1 + e), 0.5]], ()),
    ("ln 2 0 √ 2", [[log(2), 0, sqrt(2)]], ()),
    ("5 % 3%", [[0.05, 0.03]], ()),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "rows", "remarks"), TABLES, ids=[ascii(c[0]) for c in TABLES])
def test_table_says(typed, rows, remarks):
    entries = read_entries(typed)
    expected = np.array(rows, float)  # None becomes NaN
    assert entries.shape == expected.shape
    np.testing.assert_array_equal(entries.values, expected)
    np.testing.assert_array_equal(entries.given, ~np.isnan(expected))
    assert entries.remarks == remarks


NO_TABLES = [
    ("", "There is no entry to read. Write numbers apart by blanks"),
    (" \n;\t;", "There is no entry to read"),
    ("[]", "There is no entry to read"),
    ("()\n()", "There is no entry to read"),
    ("()", "There is no entry to read"),
    ("1 2 3; 4 5", "row 2 has 2 entries and row 1 has 3; every row needs the same number. "
                   r"I read row 1 as 1 \| 2 \| 3 and row 2 as 4 \| 5. Write _"),
    ("1 2; 3", "row 2 has 1 entry and row 1 has 2;"),
    ("1 2 3 4 5 6 7 8 9; 1", r"7 \| 8 \| … and row 2"),
    ("2..0 1", r'I could not read "2..0" \(row 1, entry 1\). Write numbers such as 0.25, 1/4, '
               r"√2, e\^2, -inf; entries apart by blanks, rows by ;"),
    ("1 2; 3 x", r'could not read "x" \(row 2, entry 2\)'),
    ("1 1/0", r'"1/0" \(row 1, entry 2\) divides by zero'),
    ("1,2,3", r'"1,2,3" \(row 1, entry 1\) has two commas: write blanks between entries: 1 2 3'),
    ("2,0,4;0,2,0", "has two commas"),
    ("[0,090,0,910]", "has 3 commas"),
    ("0.245,0.09,1", "has a comma and a point"),
    ("1/2,1/3", "could be the two entries"),
    ("[1,2, 3]", 'In row 1, "1,2" could be one entry with a decimal comma or two entries'),
    ("1 2, 3 4", 'row 1 has commas between entries, and blanks too in "1 2"'),
    ("0.5, 2,3", 'Commas stand between entries and inside "2,3", and "0.5" has a point'),
    ("1, , 3", "row 1 has a comma with no entry beside it. Write _"),
    ("√2,,2", "row 1 has a comma with no entry beside it"),
    (",", "row 1 has a comma with no entry beside it"),
    ("1 0 | 2", r'could not read "1 0" \(row 1, entry 1\)'),
    ("[1 2", r'a "]" is missing'),
    ("1 2]", r'a "\[" is missing'),
    ("[[[1]]]", "3 levels of square brackets; text is read as one table"),
    ("2 [3 4]", 'could not read "2" beside the brackets'),
    ("[1, [2, 3]]", "beside the brackets"),
    ("1 2 " * 250_001, "has 1000004 characters; at most 1000000"),
    ("1 " * 100_001, "has 100001 entries; at most 100000"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "message"), NO_TABLES, ids=[ascii(c[0][:30]) for c in NO_TABLES])
def test_no_table_is_refused_with_a_reason(typed, message):
    with pytest.raises(AnswerError, match=message):
        read_entries(typed)


SLOW = [
    " ",
    "\t",
    "[",
    "]",
    "(",
    "{",
    "-",
    ",",
    "|",
    "√",
    "\\",
    "array([",
    "],a=",
    "[1,",
    "1 ",
    "1,",
    "ä",
    "²",
    ";",
    " /",
]


@pytest.mark.parametrize(("start", "end"), [("1", "\t0 x"), ("tensor([", "0 ]x")], ids=["bare", "wrapped"])
@pytest.mark.parametrize("piece", SLOW, ids=ascii)
def test_a_long_text_is_refused_in_seconds(start, end, piece):
    began = time.process_time()
    with pytest.raises(AnswerError):
        read_entries(start + piece * (900_000 // len(piece)) + end)
    assert time.process_time() - began < 10  # about 1 s; a pattern that backtracks would take hours


# ---------------------------------------------------------------- the record


def test_echo_shows_what_was_read():
    assert (
        read_entries("0,245 0,090 _; -√2 1/2 1e-3").echo()
        == "row 1: 0.245 | 0.090 | _\nrow 2: -√2 | 1/2 | 1e-3"
    )
    assert read_entries("1 2; 0,269 0,731").row_text(1) == "0.269 | 0.731"


def test_places_give_half_a_unit():
    entries = read_entries("0.25 7 1/3 1.2e3 0.5√2 _")
    np.testing.assert_array_equal(entries.places, [[2, 0, inf, -2, nan, nan]])
    np.testing.assert_array_equal(entries.exact, [[False, True, True, False, False, False]])
    np.testing.assert_array_equal(0.5 * 10**-entries.places, [[0.005, 0.5, 0, 50, nan, nan]])


def test_rows_of_more_axes_lie_one_after_the_other():
    entries = entries_from_json([[["1", "2"]], [["3", None]]])
    assert entries.shape == (2, 1, 2)
    assert [[n and n.text for n in row] for row in entries.rows] == [["1", "2"], ["3", None]]
    assert entries.echo() == "row 1: 1 | 2\nrow 2: 3 | _"


# ---------------------------------------------------------------- JSON and arrays

JSON = [
    # text, shape, values, places, exact
    ("0.250", (1, 1), [[0.25]], [[3]], [[False]]),
    ("[1, 0.50]", (1, 2), [[1, 0.5]], [[0, 2]], [[True, False]]),
    ('[["1/2", "0,5"], [null, "_"]]', (2, 2), [[0.5, 0.5], [nan, nan]], [[inf, 1], [nan, nan]],
     [[True, False], [False, False]]),
    ('["", "-inf"]', (1, 2), [[nan, -inf]], [[nan, inf]], [[False, True]]),
    ('"1 2; 3 4"', (2, 2), [[1, 2], [3, 4]], [[0, 0], [0, 0]], [[True, True], [True, True]]),
    ("[[[1]], [[-Infinity]]]", (2, 1, 1), [[[1]], [[-inf]]], [[[0]], [[inf]]], [[[True]], [[True]]]),
    ("1.5e-3", (1, 1), [[0.0015]], [[4]], [[False]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shape", "values", "places", "exact"), JSON, ids=[c[0] for c in JSON])
def test_json_keeps_its_digits(text, shape, values, places, exact):
    entries = entries_from_json(json.loads(text, parse_float=str))
    assert entries.shape == shape
    np.testing.assert_array_equal(entries.values, values)
    np.testing.assert_array_equal(entries.places, places)
    np.testing.assert_array_equal(entries.exact, exact)


def test_json_says_decimal_commas():
    assert entries_from_json([["0,5"]]).remarks == ("decimal commas",)


def test_a_real_float_has_unknown_precision():
    assert entries_from_json([0.5, np.float32(0.25)]).numbers == (Number("0.5", 0.5), Number("0.25", 0.25))
    assert entries_from_json([Decimal("0.50"), np.int64(2)]).numbers == (
        Number("0.50", 0.5, 2),
        Number("2", 2.0, 0, True),
    )


NO_JSON = [
    ([], "The list is empty; it needs at least one entry"),
    ([[1], []], r"The list at \[1\] is empty"),
    (
        [[1, 2], [3]],
        r"\[1\] has shape \(1,\) and \[0\] has \(2,\); every row needs",
    ),
    ([1, [2]], r"\[1\] has shape \(1,\)"),
    ([[1, "x"]], r'could not read "x" \(at \[0\]\[1\]\)'),
    ([True], r"at \[0\] is True; a number, a text or null was expected"),
    ({"a": 1}, "The entry given is a dict"),
    ([b"1"], "is a bytes"),
    ([10**400], r"The entry at \[0\] is too large for a float64"),
    ([10**5000], "too large"),
    (["1 2"], "could not read"),
    ([0] * 100_001, "at most 100000"),
    ([[[[[[[[[[1]]]]]]]]]], "nested more than 8 deep"),
]


@pytest.mark.parametrize(("values", "message"), NO_JSON, ids=[f"case {i}" for i in range(len(NO_JSON))])
def test_no_json_is_refused_with_a_reason(values, message):
    with pytest.raises(AnswerError, match=message):
        entries_from_json(values)


def test_a_list_that_holds_itself_is_refused():
    values: list[object] = []
    values.append(values)
    with pytest.raises(AnswerError, match="nested more than 8 deep"):
        entries_from_json(values)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_float_arrays_have_unknown_precision_and_keep_their_shape(dtype):
    entries = entries_from_array(np.array([[[0.5, -inf]]], dtype))
    assert entries == Entries((Number("0.5", 0.5), Number("-inf", -inf, None, True)), (1, 1, 2))


def test_other_arrays():
    assert entries_from_array(np.array(3)).numbers == (Number("3", 3.0, 0, True),)
    assert entries_from_array(np.array(3)).values.shape == ()
    assert entries_from_array(np.array(3)).echo() == "row 1: 3"
    assert entries_from_array(np.array([["1/2", "0.50"]])).places.tolist() == [[inf, 2]]
    assert entries_from_array(np.array([None, 2], object)).given.tolist() == [False, True]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 0)), r"shape \(2, 0\), so no entry"),
        (np.array([True]), "holds bool; real numbers were expected"),
        (np.array([1j]), "holds complex128"),
        (np.array(["x"]), r'could not read "x" \(at \[0\]\)'),
        (np.zeros(100_001), "at most 100000"),
    ],
)
def test_arrays_that_are_no_answer_are_refused(array, message):
    with pytest.raises(AnswerError, match=message):
        entries_from_array(array)


# ---------------------------------------------------------------- laws

ALPHABET = "0123456789.,;eE+-−*/^√∞½²⁻πinfsqrtxplna()[]{}|&_?%\\ \t\n\r\x00×·…\u200b\ud800١"
TYPED = st.text(st.sampled_from(ALPHABET), max_size=60) | st.text(st.characters(), max_size=60)
PIECES = st.lists(
    st.sampled_from(["1", "0,5", "2.5", ",", " ", ";", "[", "]", "√", "1/2", "(", ")", "-", "|", "e", "\t"])
)


@given(TYPED | PIECES.map("".join))
@example("|")
@example("&")
@example("[()]")
@example("0e308%")
def test_any_text_is_read_or_refused_and_its_echo_reads_back(text):
    try:
        entries = read_entries(text)
    except AnswerError as refusal:
        str(refusal).encode()
        return
    assert len(entries.rows) == entries.shape[0] > 0
    assert entries.shape[1] > 0
    again = read_entries(re.sub("(?m)^row [0-9]+: ", "", entries.echo()))
    assert again.shape == entries.shape
    np.testing.assert_array_equal(again.values, entries.values)
    np.testing.assert_array_equal(again.places, entries.places)
    np.testing.assert_array_equal(again.exact, entries.exact)


@given(TYPED)
def test_any_text_is_one_number_or_refused(text):
    try:
        number = read_number(text)
    except AnswerError:
        return
    assert isinstance(number.value, float)
    assert number.places is None or math.isfinite(10.0**-number.places)


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


@given(NESTED)
def test_any_json_is_read_or_refused(values):
    try:
        entries = entries_from_json(values)
    except AnswerError:
        return
    assert len(entries.numbers) == math.prod(entries.shape)


@given(
    st.decimals(-9999, 9999, allow_nan=False, allow_infinity=False, places=4),
    st.integers(0, 12),
    st.booleans(),
)
def test_a_formatted_decimal_keeps_its_value_and_places(decimal, places, comma):
    text = f"{decimal:.{places}f}"
    number = read_number(text.replace(".", ",") if comma else text)
    assert number.value == float(text)
    assert number.places == places
    assert number.exact == (places == 0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints_is_read_to_the_last_bit(value):
    assert read_number(repr(value)).value == value
    assert read_entries(f"array([[{value!r}, 1.0]])").values[0, 0] == value
