"""Sinks that went wrong, worked by hand."""

from math import log, sqrt

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

# two scores 0 and a sink of ln 2: exponentials 1, 1 and 2, right weights 1/4 and 1/4
TWO = Problem(query=[[0.0] * 4], key=[[0.0] * 4] * 2, value=[[6.0], [12.0]], sink=log(2))
PARTS = Problem(query=[[0.0] * 4], key=[[0.0] * 4] * 2, value=[[6.0], [12.0]], sink=log(2), chunks=[1, 1])
CAPPED = Problem(query=[[0.0] * 4], key=[[0.0] * 4] * 2, value=[[6.0], [12.0]], sink=log(2), softcap=0.5)

WEIGHTS = [
    # mistake                θ         problem  weights                       source
    ("sink-ignored",         None,     TWO,     [1 / 2, 1 / 2],               "by hand"),
    ("sink-weight-given-back", None,   TWO,     [1 / 2, 1 / 2],               "by hand"),
    ("sink-not-exponentiated", None,   TWO,     [1 / (2 + 2 * log(2))] * 2,   "by hand: ½/(½ + ½ + ln 2)"),
    ("sink-scaled",          None,     TWO,     [1 / (2 + sqrt(2))] * 2,      "by hand: e^(ln 2/2) = √2"),
    ("sink-scaled-up",       None,     TWO,     [1 / 6] * 2,                  "by hand: e^(2 ln 2) = 4"),
    ("sink-capped",          None,     CAPPED,  [1 / (2 + np.exp(0.5 * np.tanh(2 * log(2))))] * 2, "by hand"),
    ("sink-to-first-key",    None,     TWO,     [3 / 4, 1 / 4],               "by hand: ¼ + ½"),
    ("sink-another-logit",   log(6),   TWO,     [1 / 8, 1 / 8],               "by hand: 1 + 1 + 6"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "problem", "weights", "source"), WEIGHTS)
def test_the_weights_are(
    mistake: str, theta: float | None, problem: Problem, weights: list[float], source: str
) -> None:
    assert made(problem, "weights", mistake, theta=theta) == pytest.approx(np.array([weights])), source


def test_a_one_added_to_shifted_exponentials() -> None:
    # by hand: scores ln 3 and 0, shifted exponentials 1 and 1/3, and 1 for the sink of 0
    problem = Problem(query=[[1.0]], key=[[log(3)], [0.0]], value=[[0.0]] * 2, scale=1.0, sink=0.0)
    weights = made(problem, "weights", "softmax-one-not-shifted")
    assert weights == pytest.approx(np.array([[3 / 7, 1 / 7]]))


def test_the_logsumexp_without_the_sink() -> None:
    assert made(TWO, "logsumexp", "sink-not-in-logsumexp") == pytest.approx(np.array([log(2)]))  # by hand
    assert made(TWO, "weights", "sink-not-in-logsumexp") == pytest.approx(np.array([[1 / 4, 1 / 4]]))


OUTPUTS = [
    # mistake                    output  source
    ("sink-in-every-part",       3.0,    "by hand: (6 + 12)/(1 + 1 + 2 + 2)"),
    ("sink-forgotten-in-merge",  9.0,    "by hand: (6 + 12)/(1 + 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "output", "source"), OUTPUTS)
def test_parts_merge_to(mistake: str, output: float, source: str) -> None:
    assert made(PARTS, "output", mistake) == pytest.approx(np.array([[output]])), source


PER_HEAD = [
    # mistake                sinks as exponentials  source
    ("sink-of-another-head", [3, 2],                "by hand"),
    ("sink-of-first-head",   [2, 2],                "by hand"),
    ("sink-per-kv-head",     [2, 2],                "by hand: both share key/value head 1"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "sinks", "source"), PER_HEAD)
def test_heads_use_the_sinks(mistake: str, sinks: list[float], source: str) -> None:
    shared = np.zeros((1, 1, 1))
    problem = Problem(query=np.zeros((2, 1, 1)), key=shared, value=shared, sink=[log(2), log(3)])
    weights = made(problem, "weights", mistake)
    assert weights.ravel() == pytest.approx(1 / (1 + np.array(sinks))), source
