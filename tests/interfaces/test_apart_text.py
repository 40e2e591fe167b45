"""`headwork diagnose --apart`: numbers that tell apart what gives the same ones."""

import json
import re

import numpy as np
import pytest

from headwork import Problem, diagnose
from headwork.interfaces.cli import main

# Three tokens: Tk = Tq = 3, so that dividing by either gives the same weights. e^(s/3), by hand.
SCORES = np.array([[2.0, 0, 4], [0, 2, 0], [0, 4, 0]])
EXPS = np.exp(SCORES / 3)
DIVIDED_BY_3 = "; ".join(" ".join(f"{w:.3f}" for w in row) for row in EXPS / EXPS.sum(axis=1, keepdims=True))


@pytest.fixture
def headwork(monkeypatch, capsys):
    """The command line in this process: status, and standard output on one line."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str]:
        status = main(("diagnose", "scores", *arguments))
        return status, " ".join(capsys.readouterr().out.split())

    return run


def test_the_page_says_how_to_see_them(headwork):
    status, out = headwork(DIVIDED_BY_3, "--step", "weights")
    assert status == 1
    assert "scale-by-query-count-unrooted" in out
    assert "The same command with --apart shows numbers that tell them apart." in out
    assert "These numbers tell them apart" not in out


def test_they_are_shown_with_what_each_mistake_gives_there(headwork):
    _, out = headwork(DIVIDED_BY_3, "--step", "weights", "--apart")
    assert "--apart" not in out
    assert re.search(r"These numbers tell them apart: Q = \[.*\] K = \[.*\]", out)
    assert re.search(r"Weights where all is right: \[", out)
    first, other = (
        re.search(rf"{id}: (\[[^]]*\])", out)[1]
        for id in ("scale-by-key-count-unrooted", "scale-by-query-count-unrooted")
    )
    assert first != other


def test_the_numbers_shown_are_named_when_they_are_typed(headwork):
    """What is printed for one of them, diagnosed on the problem that is printed with it."""
    _, out = headwork(DIVIDED_BY_3, "--step", "weights", "--apart", "--json")
    near = json.loads(out)["apart"]["inputs"][0]
    problem = Problem.from_dict(near["problem"])
    for told in near["gives"]:
        found = diagnose(problem, np.round(told["numbers"], 3), "weights", 3)
        assert found.mistakes == tuple(map(tuple, told["ids"]))


def test_what_no_input_tells_apart_names_the_step_that_does(headwork):
    _, out = headwork("2 0 4; 0 2 0; 0 4 0", "--step", "scaled", "--apart")
    assert (
        "scale-missing and scale-after-softmax give the same scaled scores on every input that was tried; "
        "they differ at the step blended."
    ) in out


def test_with_one_explanation_nothing_is_offered(headwork):
    for more in ((), ("--apart",)):
        _, out = headwork("0.5 0 1; 0 0.5 0; 0 1 0", "--step", "scaled", *more)
        assert "tell" not in out
