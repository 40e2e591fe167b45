"""What one number deserves, in a table."""

import pytest

from headwork.diagnosis.typed import read_number
from headwork.diagnosis.verdicts import mark_number, short_note

THIRD, PI = 1 / 3, 3.14159265358979

CASES = [
    # typed       truth       digits  verdict      source
    ("0.245", 0.24473, 3, "right", "rounded to three digits"),
    ("0.244", 0.24473, 3, "not right", "cut off: three digits were asked and the third is wrong"),
    ("0.24473", 0.24473, 3, "right", "more digits than asked"),
    ("0.2451", 0.24473, 3, "right", "more digits are judged at three: within half a unit"),
    ("0.2453", 0.24473, 3, "not right", "0.00057 away"),
    ("0.24", 0.24473, 3, "short", "agrees as far as it goes"),
    ("0.66", 0.66524, 3, "short", "cut off as far as it goes"),
    ("0.67", 0.66524, 3, "short", "rounded as far as it goes"),
    ("0.68", 0.66524, 3, "not right", "does not agree"),
    ("0.09", 0.09003, 3, "right", "says 0.090"),
    ("0.5", 0.5, 3, "right", "the truth is exact"),
    ("0.5", 0.4999, 3, "right", "says 0.500"),
    ("4", 4.0, 3, "right", "whole and exact"),
    ("3", PI, 3, "short", "a whole number that agrees as far as it goes"),
    ("3", 2.5, 3, "not right", "an exact 2.5 is written 2.5"),
    ("1", 0.66524, 3, "not right", "a whole number says nothing about one below 1"),
    ("0", 0.24473, 3, "not right", "a whole number says nothing about one below 1"),
    ("0", 0.0000454, 3, "right", "says 0.000"),
    ("1/3", THIRD, 3, "right", "a fraction is exact"),
    ("1/4", THIRD, 3, "not right", "another fraction"),
    ("2√2", 8**0.5, 3, "right", "a root is exact"),
    ("e^2", 7.38905609893065, 3, "right", "a power of e is exact"),
    ("26.9%", 0.2689, 3, "right", "26.9 % has three decimals"),
    ("-0.5", 0.5, 3, "not right", "the sign counts"),
    ("-0.0", 0.0, 3, "right", "−0 is 0"),
    ("-inf", float("-inf"), 3, "right", "the same infinity"),
    ("inf", float("-inf"), 3, "not right", "the other infinity"),
    ("-1e9", float("-inf"), 3, "not right", "a number is no infinity here"),
    ("5", float("-inf"), 3, "not right", "a number is no infinity"),
    ("nan", 0.5, 3, "not right", "no number"),
    ("22175", 22175.47, 0, "right", "no decimals asked"),
    ("22174", 22175.47, 0, "not right", "off by more than half"),
    ("22000", 22175.47, -3, "right", "to the thousands"),
    ("2.2e4", 22175.47, -3, "right", "to the thousands"),
    ("0.0156", 0.015625, 6, "short", "four of six digits"),
]


@pytest.mark.parametrize(("typed", "truth", "digits", "verdict", "source"), CASES)
def test_one_number(typed, truth, digits, verdict, source):
    assert mark_number(truth, read_number(typed), digits) == verdict, source


def test_slack_widens_and_exact_closes():
    typed = read_number("0.2453")
    assert mark_number(0.24473, typed, 3, slack=0.001) == "right"
    assert mark_number(1_000_000, read_number("1000000"), 3, exact=True) == "right"
    assert mark_number(1_000_000, read_number("1000000.0004"), 3, exact=True) == "not right"


def test_what_to_do_about_fewer_digits():
    assert short_note(3) == "Right so far: give three digits after the point."
    assert short_note(1) == "Right so far: give one digit after the point."
