"""How fast a diagnosis is, beside a trace of the same problem: `python bench/diagnosis_speed.py [--record]`.

Three tokens: the first answer to a problem (all single mistakes and pairs are worked out) and further ones.
(1, 8, 1024, 64): an output that nothing explains, so that every single mistake is tried, against one
in-place NumPy trace in the same run; memory is what NumPy had allocated at the most, beyond the inputs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from startup import machine

from headwork import Problem, diagnose, trace

RESULT = Path(__file__).parent / "results" / "diagnosis-speed.json"
RUNS = 30


def ms(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def peak_mib(work: Callable[[], object]) -> float:
    """The most that was allocated at once during one call."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def three_tokens() -> dict[str, float]:
    """Medians over problems of three tokens; the answers are wrong, and nothing explains them."""
    times: dict[str, list[float]] = {"trace": [], "first answer": [], "further answer": []}
    for seed in range(RUNS + 1):
        rng = np.random.default_rng(seed)
        query, key = (rng.integers(-2, 3, (3, 4)).tolist() for _ in range(2))
        problem = Problem(query=query, key=key, value=rng.integers(-2, 3, (3, 2)).tolist())
        first, further = (np.round(rng.normal(size=(3, 2)), 3) for _ in range(2))
        row = {
            "trace": ms(partial(trace, problem)),
            "first answer": ms(partial(diagnose, problem, first, digits=3)),
            "further answer": ms(partial(diagnose, problem, further, digits=3)),
        }
        for name, value in row.items():
            times[name].append(value)
    return {name: round(statistics.median(values[1:]), 2) for name, values in times.items()}


def large() -> dict[str, float]:
    """One large problem: time in ms and memory in MiB, of an in-place trace and of a diagnosis."""
    rng = np.random.default_rng(0)
    query, key, value = (rng.normal(size=(1, 8, 1024, 64)) for _ in range(3))
    answer = in_place(query, key, value) + 0.01 * rng.normal(size=query.shape)
    problems = [Problem(query=query, key=key, value=value) for _ in range(6)]  # nothing is kept between runs
    plain, found = [], []
    for problem in problems[:5]:
        plain.append(ms(lambda: in_place(query, key, value)))
        found.append(ms(lambda problem=problem: diagnose(problem, answer)))
    sizes = peak_mib(lambda: in_place(query, key, value)), peak_mib(lambda: diagnose(problems[5], answer))
    medians = statistics.median(plain), statistics.median(found)
    return {
        "in-place trace": round(medians[0], 1),
        "diagnosis": round(medians[1], 1),
        "times as long": round(medians[1] / medians[0], 1),
        "in-place trace, MiB": round(sizes[0], 1),
        "diagnosis, MiB": round(sizes[1], 1),
        "times as much": round(sizes[1] / sizes[0], 1),
    }


def in_place(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Attention as careful NumPy writes it, one score matrix for everything."""
    scores = query @ key.swapaxes(-1, -2)
    scores /= np.sqrt(query.shape[-1])
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores @ value


def main() -> None:
    """Measure, print, and write down when asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help=f"write bench/results/{RESULT.name}")
    asked = parser.parse_args()
    report = {"machine": machine(), "three tokens, ms": three_tokens(), "(1, 8, 1024, 64), ms": large()}
    text = json.dumps(report, indent=1, ensure_ascii=False)
    print(text)
    if asked.record:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
