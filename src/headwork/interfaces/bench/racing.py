"""All implementations in one interleaved run: each in a process of its own, one call at a time, in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .regimes import LONGEST, Regime

REST = 0.05  # seconds between two turns, in which the threads of the last go to sleep: OpenBLAS' take 30 ms
LEAST = 0.1  # seconds that a turn lasts at least
TRIED = 2  # rounds that everybody runs in
FAR = 3.0  # times the fastest: who takes that long is not asked again, or most of a race would be spent on it
OURS = "headwork"


@dataclass(frozen=True)
class Measured:
    """What one regime took.

    Fields
    regime   which; seconds: the median of its turns, by implementation
    errors   the largest error of the output against float64; missing: why an implementation has no time
    """

    regime: Regime
    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The fastest of the others, or "" where there is none."""
        others = {name: time for name, time in self.seconds.items() if name != OURS}
        return min(others, key=others.__getitem__, default="")

    @property
    def ratio(self) -> float | None:
        """How many times as long the fastest of the others takes."""
        return self.seconds[self.best] / self.seconds[OURS] if self.best else None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "regime": self.regime.to_dict(),
            "milliseconds": {name: 1e3 * time for name, time in self.seconds.items()},
            "errors": self.errors,
            "missing": self.missing,
            "best": self.best,
            "ratio": self.ratio,
        }


class Worker:
    """A process that runs one implementation."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        count = str(threads)
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        # A core type that somebody set for another reason would slow NumPy down.
        left = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headwork.interfaces.bench.worker", name, count],
            env={**left, **dict.fromkeys(names, count)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer to an order; {"can": False} where the process has died of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"can": False, "why": "the process ended"}
        return answer

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def workers(names: Sequence[str], threads: int) -> Iterator[list[Worker]]:
    """One process for each implementation, ended at the end."""
    started = [Worker(name, threads) for name in names]
    try:
        yield started
    finally:
        for worker in started:
            worker.close()


def race(
    regime: Regime, started: Sequence[Worker], rounds: int, each: Callable[[], None] = lambda: None
) -> Measured:
    """The median time of each implementation over so many rounds of turns.

    each  called after every round, for progress
    Special cases: one that is far behind after the first rounds has the median of those.
    """
    prepared = {worker: worker.ask({"prepare": regime.to_dict()}) for worker in started}
    running = [worker for worker, answer in prepared.items() if answer["can"]]
    turns: dict[str, list[float]] = {worker.name: [] for worker in running}
    for at in range(rounds):
        first = at % max(len(running), 1)  # nobody always comes after the same one
        for worker in [*running[first:], *running[:first]]:
            time.sleep(REST)
            turns[worker.name].append(worker.ask({"time": LEAST})["seconds"])
        if at + 1 >= TRIED:
            running = [worker for worker in running if _keeps_up(worker.name, turns)]
        each()
    return Measured(
        regime,
        {name: statistics.median(times) for name, times in turns.items()},
        {worker.name: answer["error"] for worker, answer in prepared.items() if answer["can"]},
        {worker.name: answer["why"] for worker, answer in prepared.items() if not answer["can"]},
    )


def _keeps_up(name: str, turns: dict[str, list[float]]) -> bool:
    """Whether an implementation is ours, or not far behind the fastest."""
    return name == OURS or min(turns[name]) <= FAR * min(map(min, turns.values()))


def peaks(names: Sequence[str], threads: int, regime: Regime = LONGEST) -> dict[str, float | None]:
    """By how many MiB each implementation grows for a long sequence, each in a new process."""
    found: dict[str, float | None] = {}
    for name in names:
        with workers([name], threads) as (worker,):
            found[name] = worker.ask({"peak": regime.to_dict()}).get("mib")
    return found
