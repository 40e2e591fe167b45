"""A check as JUnit XML, which continuous integration reads: a test for each feature."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .. import __version__
from ..conformance.report import FINE, Check, FeatureReport, Weakness
from .check_text import case_text, feature_page, name_of

WIDTH = 100  # columns of the texts inside
# What XML 1.0 (section 2.2) has no place for, not even escaped: control characters and lone surrogates.
REFUSED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(check: Check, *, strict: bool = False) -> str:
    """The XML as text.

    What is wrong is a failure, what could not be run an error, and what is not supported skipped.
    strict  matters of robustness are failures, too; otherwise they are passed tests with something to say
    """
    suite = Element("testsuite", name=f"headwork check {check.name}".strip(), time=f"{check.seconds:.3f}")
    properties = SubElement(suite, "properties")
    for name, value in (("headwork", __version__), ("verdict", check.verdict), ("sentence", check.sentence)):
        SubElement(properties, "property", name=name, value=value)
    for report in check.features:
        _add_feature(suite, check, report)
    for weakness in check.weaknesses:
        _add_weakness(suite, check, weakness, strict)
    kinds = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for attribute, tag in kinds.items():
        suite.set(attribute, str(sum(1 for _ in suite.iter(tag))))
    root = Element("testsuites", {name: suite.get(name, "") for name in (*kinds, "time")})
    root.append(suite)
    for element in root.iter():
        _make_safe(element)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _add_feature(suite: Element, check: Check, report: FeatureReport) -> None:
    seconds = sum(case.seconds for case in report.cases)
    test = _test(suite, check, report.feature.title, f"{seconds:.3f}")
    if report.verdict == "not supported":
        SubElement(test, "skipped", message=report.sentence)
    elif report.verdict in FINE:
        SubElement(test, "system-out").text = "\n".join(
            (f"{report.verdict}: {report.sentence}", *_cases(report))
        )
    else:
        tag = "failure" if report.verdict == "wrong" else "error"
        problem = SubElement(test, tag, message=report.sentence, type=name_of(report) or report.verdict)
        problem.text = "\n".join((*feature_page(check, report, WIDTH), "", *_cases(report)))


def _cases(report: FeatureReport) -> Iterator[str]:
    """The inputs that came out otherwise than right, each on a line."""
    yield from (case_text(case) for case in report.cases if case.verdict != "right")


def _add_weakness(suite: Element, check: Check, weakness: Weakness, strict: bool) -> None:
    test = _test(suite, check, f"Robustness: {weakness.id}", "0.000")
    said = "\n".join((weakness.said, *weakness.where))
    if strict:
        SubElement(test, "failure", message=weakness.said, type=weakness.id).text = said
    else:
        SubElement(test, "system-out").text = said


def _test(suite: Element, check: Check, name: str, time: str) -> Element:
    return SubElement(suite, "testcase", classname=check.name or "function", name=name, time=time)


def _make_safe(element: Element) -> None:
    """Write what XML cannot hold as Python does: \\x1b."""
    for name, value in element.items():
        element.set(name, safe(value))
    element.text = safe(element.text) if element.text else element.text


def safe(text: str) -> str:
    """The text with what XML cannot hold as Python writes it: \\x1b."""
    return REFUSED.sub(lambda match: ascii(match.group())[1:-1], text)
