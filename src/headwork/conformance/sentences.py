"""What a check says in sentences: about each feature, and one at the end that a person can act on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .features import feature_named
from .interface import Interface
from .report import CaseReport, Explanation, FeatureReport, Weakness
from .robustness import LAYOUTS

MOST_NAMED = 3  # inputs, or other readings, that a sentence lists
STEPS = {"logsumexp": "the scores", "weights": "the softmax", "output": "the blend"}
# feature -> the conventions of an interface that it is about, with the value that Headwork itself has
OWN = {
    "scale": (("scale", "multiplies"),),
    "mask-bool": (("mask", "attend"),),
    "causal": (("causal", "lower_right"),),
    "window": (("window", "others"),),
    "logsumexp": (("logsumexp", "natural"),),
}
SAYS = {  # how Found names the same things
    "mask": "mask", "causal": "causal", "window": "window", "logsumexp": "logsumexp", "scale": "scale",
}  # fmt: skip


def feature_sentence(report: FeatureReport, interface: Interface) -> str:
    """What there is to say about a feature, for a person."""
    if report.sentence:
        return report.sentence[:1].upper() + report.sentence[1:]
    if report.verdict == "wrong":
        return _wrong(report)
    if report.verdict == "rounding":
        said = (
            f"Right but for rounding: {report.arithmetic.said} "
            if report.arithmetic
            else "Right but for rounding. "
        )
        return said + _exactness(report)
    if report.explanations:
        return report.explanations[0].sentence
    if report.follows:
        return f"Right by the convention of “{feature_named(report.follows).title}”."
    if report.verdict == "convention":
        own = "; ".join(other_conventions(report.feature.id, interface))
        return f"Right, by its own convention: {own}. {_exactness(report)}"
    return f"Right. {_exactness(report)}"


def _wrong(report: FeatureReport) -> str:
    if report.follows and not report.explanations:
        also = _rest(report)
        only = "" if also else "only "
        return f"Wrong {only}because “{feature_named(report.follows).title}” is.{also}"
    if report.gradients:
        first = report.gradients[0]
        return f"It {first.title}. {first.why} {first.mend}"
    if report.explanations:
        return _named(report.explanations) + _overflow(report) + _rest(report)
    if report.arithmetic is not None:
        return _overflow(report).lstrip() + _rest(report)
    failing = [case for case in report.cases if case.verdict == "wrong"]
    if not failing and report.broken:
        return f"A law is broken: {report.broken[0].said}."
    odd = [case.case.id.partition("/")[2] for case in failing]
    if failing and all(name in LAYOUTS for name in odd):
        return f"It gives wrong numbers for {LAYOUTS[odd[0]]}, and right ones for the same numbers in a row."
    where = f" The first wrong step is {STEPS[report.first_step]}." if report.first_step else ""
    count = f"{len(failing)} of {len(report.cases)} inputs"
    return (
        f"{count} came out wrong, and no rule of the catalogue gives these numbers.{where} {_worst(failing)}"
    )


def _named(found: Sequence[Explanation]) -> str:
    """Each finding once; those of the same cases are other readings of one."""
    by_cases: dict[tuple[str, ...], list[Explanation]] = {}
    for each in found:
        by_cases.setdefault(each.cases, []).append(each)
    said = []
    for alike in by_cases.values():
        first = alike[0]
        others = [" and ".join(ids) for each in alike for ids in each.ids if ids != first.ids[0]]
        also = f" The same numbers come from {', '.join(others[:MOST_NAMED])}." if others else ""
        said.append(first.sentence + also)
    return " ".join(said)


def _overflow(report: FeatureReport) -> str:
    """What narrow arithmetic makes of scores that it cannot hold, and of all others."""
    if report.arithmetic is None:
        return ""
    ids, said = report.arithmetic.overflows, report.arithmetic.said
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    where = f"It overflows to NaN or ∞ where all scores are finite: {', '.join(ids[:MOST_NAMED])}{more}. "
    return f" {where if ids else ''}{said[:1].upper()}{said[1:]}"


def _rest(report: FeatureReport) -> str:
    """The inputs that are wrong beside what is explained."""
    ids = report.unexplained
    if not ids:
        return ""
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return f" Not explained by that: {', '.join(ids[:MOST_NAMED])}{more}."


def _worst(failing: Sequence[CaseReport]) -> str:
    worst = failing[0]
    if worst.error is None:
        error = worst.said.rstrip(".") or "nothing came back that could be compared"
    else:
        error = "NaN or ∞ where numbers were due" if worst.error == math.inf else f"off by {worst.error:.2g}"
    return f"First: {worst.case.id} ({worst.case.why}), {error}."


def _exactness(report: FeatureReport) -> str:
    compared = [case for case in report.cases if case.error is not None]
    worst, ratios = report.worst, [case.ratio for case in compared if case.ratio]
    if worst is None:
        return ""
    ratio = f", at most {max(ratios):.2g} times plain NumPy's" if ratios else ""
    return f"{len(compared)} inputs; the largest error is {worst.error:.2g}{ratio}."


def other_conventions(feature: str, interface: Interface) -> tuple[str, ...]:
    """In which of its conventions the function differs from Headwork, where nobody said it should not."""
    differs = [name for name, own in OWN.get(feature, ()) if interface.conventions.get(name, own) != own]
    found = (f for f in interface.found if f.what in differs and f.how != "stated" and f.value != "")
    return tuple(dict.fromkeys(f.said for f in found if f.value == interface.conventions.get(f.what)))


def check_sentence(
    name: str, verdict: str, features: Sequence[FeatureReport], found: Sequence[Weakness]
) -> str:
    """One sentence about the whole that a person can act on."""
    named, weaknesses = name or "This function", len(found)
    if verdict == "wrong":
        wrong = [each for each in features if each.verdict == "wrong"]
        root = next((each for each in wrong if not each.follows), wrong[0])
        where = "" if root.feature.id == "basic" else f" in “{root.feature.title}”"
        if not root.explanations and any(each.id == "not-repeatable" for each in found):
            return f"{named} is wrong{where}: the same call twice gives different numbers."
        return f"{named} is wrong{where}: {_lowered(root.sentence)}"
    if verdict == "could not be run":
        root = next(each for each in features if each.verdict == "could not be run")
        where = "" if root.feature.id == "basic" else f" on “{root.feature.title}”"
        return f"{named} could not be run{where}: {_lowered(root.sentence)}"
    done = sum(each.verdict in ("right", "convention", "rounding") for each in features)
    inputs = sum(case.error is not None for each in features for case in each.cases)
    rest = f" Robustness: {weaknesses} thing{'s' if weaknesses > 1 else ''} to know." if weaknesses else ""
    if verdict == "rounding":
        root = next(each for each in features if each.verdict == "rounding")
        return f"{named} is {_lowered(root.sentence)}{rest}"
    how = "right by conventions of its own" if verdict == "convention" else "right"
    return f"{named} is {how} in all {done} features that it has, on {inputs} inputs.{rest}"


def _lowered(sentence: str) -> str:
    """Without the capital of a sentence; names such as ValueError keep theirs."""
    first = sentence.partition(" ")[0]
    return sentence if first[1:].lower() != first[1:] else sentence[:1].lower() + sentence[1:]
