"""headwork bench: the numbers it races are right, and what it says about them is what was measured."""

import numpy as np
import pytest

from headwork import trace
from headwork.interfaces.bench.implementations import NAMES, as_numpy, prepare
from headwork.interfaces.bench.racing import Measured, race, workers
from headwork.interfaces.bench.regimes import REGIMES, Regime, drawn, largest_error
from headwork.interfaces.bench.table import table, time_text

NEEDS = {"onnxruntime MHA": "onnxruntime"}
SMALL = [
    Regime("dense", "", B=2, H=4, Tq=33, D=8),
    Regime("causal", "", H=4, Tq=33, D=8, causal=True),
    Regime("offset", "", H=4, Tq=9, Tk=33, D=8, causal=True),
    Regime("window", "", H=4, Tq=33, D=8, causal=True, window=5),
    Regime("grouped", "", H=4, Hkv=2, Tq=1, Tk=33, D=8),
    Regime("float-mask", "", H=4, Tq=33, D=8, mask="float"),
    Regime("bool-mask", "", H=4, Tq=33, D=8, mask="bool"),
    Regime("width", "", H=4, Tq=33, D=8, Dv=16),
    Regime("float64", "", H=4, Tq=33, D=8, causal=True, dtype="float64"),
    Regime("backward", "", H=4, Tq=33, D=8, causal=True, backward=True),
]


@pytest.mark.parametrize("regime", SMALL, ids=lambda regime: regime.id)
@pytest.mark.parametrize("name", NAMES)
def test_every_implementation_is_given_the_same_problem(name: str, regime: Regime):
    """What comes out is right, or there would be nothing to compare. Source: the trace, in float64."""
    if name != "headwork":
        pytest.importorskip(NEEDS.get(name, name))
    arrays = drawn(regime)
    call = prepare(name, regime, arrays)
    if call is None:
        assert name in ("jax", "numpy", "onnxruntime", "onnxruntime MHA")  # torch and ours do every regime
        return
    output = as_numpy(name, regime, call())
    options = {"window": (regime.window, None)} if regime.window is not None else {}
    inputs = [arrays[part].astype(float) for part in ("query", "key", "value")]
    right = trace(*inputs, mask=arrays.get("mask"), causal=regime.causal, **options).output
    np.testing.assert_allclose(output, right, atol=1e-5, rtol=0)
    assert largest_error(regime, arrays, output) < 1e-5
    assert largest_error(regime, arrays, output + 0.01) == pytest.approx(0.01, rel=0.01)


def test_a_race_times_each_and_says_who_cannot():
    regime = Regime("small", "", H=2, Tq=8, D=4, backward=True, threads=1)
    with workers(["headwork", "numpy"], 1) as started:
        measured = race(regime, started, rounds=2)
    assert list(measured.seconds) == ["headwork"]
    assert 0 < measured.seconds["headwork"] < 10
    assert measured.missing == {"numpy": "not offered"}
    assert (measured.best, measured.ratio) == ("", None)


class Steady:
    """A worker whose turns always take as long."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds, self.asked = name, seconds, 0

    def ask(self, order: dict) -> dict:
        self.asked += "time" in order
        return {"can": True, "error": 0.0, "seconds": self.seconds}


def test_who_is_far_behind_is_not_asked_again_and_we_always_are():
    ours, torch, jax, numpy = entered = [
        Steady("headwork", 40.0),
        Steady("torch", 10.0),
        Steady("jax", 29.0),
        Steady("numpy", 31.0),
    ]
    measured = race(REGIMES[0], entered, rounds=5)
    assert [each.asked for each in (ours, torch, jax, numpy)] == [5, 5, 5, 2]
    assert measured.seconds == {"headwork": 40.0, "torch": 10.0, "jax": 29.0, "numpy": 31.0}


def test_the_ratio_is_to_the_fastest_of_the_others():
    measured = Measured(REGIMES[0], {"headwork": 0.002, "torch": 0.003, "numpy": 0.01}, {"headwork": 1e-7})
    assert measured.best == "torch"
    assert measured.ratio == pytest.approx(1.5)
    assert "1.50 ×" in list(table([measured]))[1]


def test_an_operator_counts_what_a_causal_mask_leaves():
    """By hand: 4 queries see 1 + 2 + 3 + 4 = 10 keys; 2 products of 2 · 10 · 8 operations each."""
    assert Regime("", "", H=1, Tq=4, D=8, causal=True).multiplications == 320


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (2e-6, "2 µs"), (3e-7, "0.3 µs")]
)
def test_times_have_their_unit(seconds: float, text: str):
    assert time_text(seconds).replace("\xa0", " ") == text


def test_ids_are_unique():
    ids = [regime.id for regime in REGIMES]
    assert len(ids) == len(set(ids))
