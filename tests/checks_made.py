"""Checks for tests of what shows them: real ones of small functions, made once, and made-up ones of every verdict."""

from dataclasses import replace
from functools import cache

import numpy as np

from headwork.conformance.battery import draw_battery
from headwork.conformance.calls import Call, Signature
from headwork.conformance.checking import check
from headwork.conformance.features import FEATURES
from headwork.conformance.interface import Interface
from headwork.conformance.report import CaseReport, Check, Failing, FeatureReport
from headwork.conformance.stated import Stated
from headwork.conformance.ways import Ways
from headwork.problem import Problem


def attention(q, k, v):
    return _softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


def unscaled(q, k, v, is_causal=False):
    scores = q @ np.swapaxes(k, -1, -2)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return _softmax(scores) @ v


def upper_left(q, k, v, is_causal=False):
    return unscaled(q / np.sqrt(q.shape[-1]), k, v, is_causal)


def raising(q, k, v):
    raise ValueError("\x1b[31mno\x07 such\ud800 kernel")


def picky(q, k, v, is_causal=False):
    if q.shape[-2] != k.shape[-2]:
        raise ValueError("q and k must have the same length")
    return upper_left(q, k, v, is_causal)


def _softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@cache
def checked(function, **stated) -> Check:
    """What a check finds, in one dtype."""
    return check(function, dtypes="float64", **stated)


# --- made up --------------------------------------------------------------------------------------


@cache
def cases(feature: str = "basic"):
    """The first two inputs of a feature."""
    return draw_battery(lambda each: each in ("basic", feature))[:2]


def case_reports(verdict: str, error: float | None = 1.5e-16, said: str = ""):
    return tuple(CaseReport(case, verdict, error, 1e-15, 1e-16, said) for case in cases())


def reported(**verdicts: str | FeatureReport) -> Check:
    """A check in which these features have these verdicts, and all others are not supported."""
    given = {name.replace("_", "-"): value for name, value in verdicts.items()}
    reports = tuple(_report(feature, given.get(feature.id, "not supported")) for feature in FEATURES)
    worst = next((each for each in reports if each.verdict in ("wrong", "could not be run")), reports[0])
    interface = Interface(Signature("attention", "function", "numpy", None), Stated(), Ways(()), ("float64",))
    return Check("attention", worst.verdict, "This is what to do.", interface, reports, calls=3, seconds=1.25)


def _report(feature, given):
    if not isinstance(given, str):
        return replace(given, feature=feature)
    said = "It has no parameter for that." if given == "not supported" else f"{feature.title} is {given}."
    asked = () if given == "not supported" else case_reports(given)
    off = tuple(each.case.id for each in asked if given == "wrong")
    return FeatureReport(feature, given, said, asked, unexplained=off)


def failing(expected, got, size: int = 1) -> Failing:
    """A smallest failing input with `size` keys, of zeros."""
    key = np.zeros((1, 1, size, 1))
    problem = Problem(query=np.zeros((1, 1, 1, 1)), key=key, value=key)
    sizes = {"B": 1, "H": 1, "Hkv": 1, "Tq": 1, "Tk": size, "D": 1, "Dv": 1}
    case = replace(cases()[0], problem=problem, sizes=sizes)
    return Failing(case, Call(), (), np.array([expected]), np.array([got]), 1e-15, "It is wrong.")
