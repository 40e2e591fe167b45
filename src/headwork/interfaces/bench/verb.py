"""headwork bench: in about a minute, attention here beside what else is installed."""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec
from itertools import count

from ...mechanism.engines import engine
from ..json_text import json_text
from ..progress_line import ProgressLine
from ..text import spelled, width_of_page, wrapped
from .implementations import NAMES
from .machine import matrix_rate
from .racing import OURS, Measured, race, workers
from .regimes import REGIMES, Regime
from .table import table, time_text

ROUNDS = 7
NEEDS = {"onnxruntime": ("onnxruntime", "onnx"), "onnxruntime MHA": ("onnxruntime", "onnx")}


def run_bench(*, json: bool, plain: bool) -> int:
    """Measure the short form and print it; the exit status.

    json  data; plain: for a screen reader, one line for each figure
    """
    threads = min(2, os.cpu_count() or 1)
    measured = _measured(installed(), threads)
    rate = matrix_rate()
    if json:
        regimes = [one.to_dict() for one in measured]
        print(
            json_text({"engine": engine().engine_name(), "matrix_product_gflops": rate, "regimes": regimes})
        )
        return 0
    lines = map(_spoken, measured) if plain else table(measured)
    print("\n".join(lines))
    print(_closing(measured, rate, threads, plain))
    return 0


def installed() -> tuple[str, ...]:
    """The implementations that can be measured here, ours first."""
    return tuple(n for n in NAMES if all(find_spec(module) for module in NEEDS.get(n, (n,))))


def _measured(names: tuple[str, ...], threads: int) -> list[Measured]:
    regimes = [regime for regime in REGIMES if regime.is_short]
    steps = count()
    with ProgressLine("starting the other libraries") as progress, workers(names, threads) as started:

        def advance(regime: Regime) -> None:
            progress(next(steps), len(regimes) * ROUNDS, regime.says)

        return [race(regime, started, ROUNDS, partial(advance, regime)) for regime in regimes]


def _spoken(one: Measured) -> str:
    ours = f"{one.regime.says}: headwork {time_text(one.seconds[OURS])}"
    if not one.best:
        return spelled(ours)
    return spelled(f"{ours}, {one.best} {time_text(one.seconds[one.best])}, {one.ratio:.2f} times as fast")


def _closing(measured: list[Measured], rate: float, threads: int, plain: bool) -> str:
    worst = max(one.errors[OURS] for one in measured)
    text = (
        f"Ratio: the time of the fastest other one over ours. Medians of {ROUNDS} turns on {threads} "
        f"threads. Every output agrees with float64 to {worst:.0e}. A matrix product runs at "
        f"{rate:.0f} GFLOP/s here. Other programs that run at the same time make all of this less sure."
    )
    return "\n" + wrapped(spelled(text) if plain else text, width_of_page(), "", "")
