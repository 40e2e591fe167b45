"""A check as JUnit XML: what continuous integration reads from it."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from checks_made import case_reports, checked, raising, reported, unscaled

from headwork.conformance.features import FEATURES, feature_named
from headwork.conformance.report import FeatureReport, Weakness
from headwork.interfaces.check_junit import junit_text, safe


def read(check, **options):
    """The one suite of the XML, read back."""
    root = ElementTree.fromstring(junit_text(check, **options))
    assert root.tag == "testsuites"
    (suite,) = root
    assert {name: root.get(name) for name in COUNTS} == {name: suite.get(name) for name in COUNTS}
    return suite


COUNTS = ("tests", "failures", "errors", "skipped")
TAGS = [
    # verdict            what stands in the test
    ("right",            "system-out"),
    ("convention",       "system-out"),
    ("rounding",         "system-out"),
    ("not supported",    "skipped"),
    ("wrong",            "failure"),
    ("could not be run", "error"),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "tag"), TAGS)
def test_each_feature_is_a_test(verdict, tag):
    suite = read(reported(basic=verdict))
    test = suite.find("testcase")
    assert test.attrib == {"classname": "attention", "name": "Query, key and value", "time": "0.000"}
    assert [child.tag for child in test] == [tag]
    assert len(suite.findall("testcase")) == len(FEATURES) == int(suite.get("tests"))


def test_failures_errors_and_skipped_tests_are_counted():
    suite = read(reported(basic="wrong", causal="wrong", window="could not be run", scale="right"))
    counts = [int(suite.get(name)) for name in COUNTS]
    assert counts == [len(FEATURES), 2, 1, len(FEATURES) - 4]


def test_a_mistake_is_the_type_of_its_failure_and_the_report_its_text():
    failure = read(checked(unscaled)).find("testcase/failure")
    assert failure.get("type") == "scale-missing"
    assert failure.get("message").startswith("It left the scores unscaled: ")
    assert "Why it is not right: " in failure.text
    assert "The smallest input on which it fails" in failure.text
    assert "basic/sizes-differ (" in failure.text


def test_matters_of_robustness_fail_only_where_one_is_strict():
    check = replace(reported(basic="right"), weaknesses=(Weakness("prints", "it prints", ("basic/square",)),))
    (said,) = read(check).findall("testcase[@name='Robustness: prints']/system-out")
    assert said.text == "it prints\nbasic/square"
    (failed,) = read(check, strict=True).findall("testcase[@name='Robustness: prints']/failure")
    assert failed.get("message") == "it prints"
    assert read(check, strict=True).get("failures") == "1"


def test_a_function_that_cannot_be_called_is_an_error_in_every_feature():
    assert read(checked(raising)).get("errors") == str(len(FEATURES))


UNSAFE = [
    # text            in XML             reason
    ("a\x00b",        r"a\x00b",         "control characters are not in XML 1.0, section 2.2"),
    ("\x1b[1m",       r"\x1b[1m",        "the same"),
    ("\ud800",        r"\ud800",         "half of a pair is no character"),
    ("\ufffe",        r"\ufffe",         "no character either"),
    ("<&\">'\t\n√😀", "<&\">'\t\n√😀",   "these are escaped by the writer, or fine"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "safely", "reason"), UNSAFE)
def test_what_xml_has_no_place_for_is_written_as_python_does(text, safely, reason):
    assert safe(text) == safely
    report = FeatureReport(feature_named("basic"), "wrong", text, case_reports("wrong", None, text))
    failure = read(reported(basic=report)).find("testcase/failure")
    assert failure.get("message") == safely
    assert " ".join(safely.split()) in " ".join(failure.text.split())
