"""Scores capped wrongly, worked by hand."""

from math import tanh

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

# scaled score 4 (raw 8, scale 1/2), cap 2
SCORE = Problem(query=[[8.0]], key=[[1.0]], value=[[6.0]], scale=0.5, softcap=2.0)

CAPPED = [
    # mistake                      θ     capped score    source
    ("softcap-ignored",            None, 4,              "by hand"),
    ("softcap-before-scale",       None, tanh(4),        "by hand: 2·tanh(8/2)/2"),
    ("softcap-not-multiplied-back", None, tanh(2),       "by hand"),
    ("softcap-not-divided",        None, 2 * tanh(4),    "by hand"),
    ("softcap-divided-only",       None, 2,              "by hand"),
    ("softcap-times-score",        None, 4 * tanh(2),    "by hand"),
    ("softcap-clipped-hard",       None, 2,              "by hand"),
    ("softcap-another-cap",        8.0,  8 * tanh(0.5),  "by hand"),
    ("softcap-saturates-early",    1.0,  2 * tanh(4),    "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "theta", "capped", "source"), CAPPED)
def test_the_score_becomes(mistake: str, theta: float | None, capped: float, source: str) -> None:
    assert made(SCORE, "capped", mistake, theta=theta) == pytest.approx(np.array([[capped]])), source


def test_a_masked_score_capped_is_minus_the_cap() -> None:
    problem = Problem(query=[[4.0]], key=[[1.0]] * 2, mask=[[True, False]], scale=1.0, softcap=2.0)
    assert made(problem, "masked", "softcap-after-mask").tolist() == [[4, -np.inf]]
    weights = made(problem, "weights", "softcap-after-mask")
    high, low = np.exp(2 * tanh(2)), np.exp(-2)  # by hand
    assert weights == pytest.approx(np.array([[high, low]]) / (high + low))


def test_a_bias_capped_with_the_score() -> None:
    problem = Problem(query=[[4.0]], key=[[1.0]] * 2, mask=[[1.0, -np.inf]], scale=1.0, softcap=2.0)
    assert made(problem, "masked", "softcap-after-bias") == pytest.approx(
        np.array([[2 * tanh(2.5), -np.inf]])  # by hand: (4 + 1)/2
    )


def test_weights_and_outputs_capped() -> None:
    assert made(SCORE, "weights", "softcap-on-weights") == pytest.approx(np.array([[2 * tanh(0.5)]]))
    assert made(SCORE, "output", "softcap-on-output") == pytest.approx(np.array([[2 * tanh(3)]]))  # by hand
