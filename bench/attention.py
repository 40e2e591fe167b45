"""Attention beside torch, jax, onnxruntime and NumPy: `python bench/attention.py [--record] [ID ...]`.

One process for each, in turns, every output checked against float64; a matrix product and the rate of reading
memory are measured in the same run. --record writes bench/results/attention.json, the table of
docs/attention.md and the picture beside it. It takes about a quarter of an hour, and needs the machine for
itself.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.progress import Progress
from startup import machine

from headwork.interfaces.bench.machine import matrix_rate, read_rate
from headwork.interfaces.bench.racing import OURS, Measured, peaks, race, workers
from headwork.interfaces.bench.regimes import LONGEST, REGIMES
from headwork.interfaces.bench.table import table, time_text
from headwork.interfaces.bench.verb import installed
from headwork.mechanism.engines import engine

ROUNDS = 9
ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench" / "results" / "attention.json"
PAGE = ROOT / "docs" / "attention.md"
PICTURE = ROOT / "docs" / "attention.svg"
GREY, OURS_COLOUR = "0.6", "#0b5394"


def main() -> None:
    """Measure, print, and write down when asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ids", metavar="ID", nargs="*", help="only these regimes")
    parser.add_argument("--record", action="store_true", help="write the result, the table and the picture")
    options = parser.parse_args()
    names = installed()
    measured = measured_all(names, options.ids)
    print("\n".join(table(measured)))
    if options.record:
        report = {
            "machine": machine(),
            "engine": engine().engine_name(),
            "matrix product, GFLOP/s": {dtype: matrix_rate(dtype) for dtype in ("float32", "float64")},
            "reading, GB/s": {threads: read_rate(threads) for threads in (1, 2)},
            "memory beyond the output, MiB": peaks(names, 2),
            "memory beyond output and gradients, MiB": peaks(names, 2, replace(LONGEST, backward=True)),
            "rounds": ROUNDS,
            "regimes": [one.to_dict() | rates(one) for one in measured],
        }
        RESULT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        write_table(measured, report)
        draw(measured)


def measured_all(names: Sequence[str], ids: Sequence[str]) -> list[Measured]:
    """Every regime (or those that were named), first all on two threads, then on one."""
    wanted = [regime for regime in REGIMES if not ids or regime.id in ids]
    found = []
    with Progress() as progress:
        bar = progress.add_task("measuring", total=len(wanted) * ROUNDS)
        for threads in (2, 1):
            with workers(names, threads) as started:
                for regime in (each for each in wanted if each.threads == threads):
                    progress.update(bar, description=regime.says)
                    found.append(race(regime, started, ROUNDS, lambda: progress.advance(bar)))
    return found


def rates(one: Measured) -> dict[str, float]:
    """What our time comes to in operations and in bytes read."""
    ours = one.seconds[OURS]
    return {"GFLOP/s": one.regime.multiplications / ours / 1e9, "GB/s": one.regime.bytes_read / ours / 1e9}


# --- the page and the picture -------------------------------------------------------------------------


def write_table(measured: Sequence[Measured], report: dict[str, Any]) -> None:
    """Replace the part of the page between its two marks."""
    text = PAGE.read_text(encoding="utf-8")
    lines = "\n".join(page_lines(measured, report))
    part = re.compile(r"(<!-- measured -->\n).*(<!-- end -->)", re.DOTALL)
    PAGE.write_text(part.sub(lambda match: f"{match[1]}{lines}\n{match[2]}", text), encoding="utf-8")


def page_lines(measured: Sequence[Measured], report: dict[str, Any]) -> Iterator[str]:
    """The table in Markdown, ratios first."""
    products, reading = report["matrix product, GFLOP/s"], report["reading, GB/s"]
    yield f"{report['machine']}, engine {report['engine']}. Medians of {ROUNDS} turns; who took over three"
    yield "times as long as the fastest after two of them was not asked again. In the same run,"
    yield f"a 2048 × 2048 matrix product in float32 ran at {products['float32']:.0f} GFLOP/s on two threads;"
    yield f"memory was read at {reading[2]:.1f} GB/s on two threads, {reading[1]:.1f} on one."
    yield "\n| | ratio (goal) | headwork | fastest other | GFLOP/s | GB/s |"
    yield "|---|---|---|---|---|---|"
    yield from map(_page_row, measured)
    for what in ("the output", "output and gradients"):
        memory = report[f"memory beyond {what}, MiB"]
        said = ", ".join(f"{name} {mib:.1f}" for name, mib in memory.items() if mib is not None)
        yield f"\nMemory beyond {what} at 16384 tokens, causal, one head, in MiB: {said}."


def _page_row(one: Measured) -> str:
    rate = rates(one)
    ratio = f"{one.ratio:.2f} ({one.regime.goal:g})" if one.ratio else "–"
    other = f"{time_text(one.seconds[one.best])} {one.best}" if one.best else "–"
    cells = [one.regime.says, ratio, time_text(one.seconds[OURS]), other]
    return f"| {' | '.join(cells)} | {rate['GFLOP/s']:.0f} | {rate['GB/s']:.1f} |"


def draw(measured: Sequence[Measured]) -> None:
    """The ratios as bars, with a line where both take the same time."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    shown = [one for one in measured if one.ratio and one.regime.threads == 2][::-1]
    figure, axes = pyplot.subplots(figsize=(7, 0.32 * len(shown) + 0.8), layout="constrained")
    axes.barh([one.regime.says for one in shown], [one.ratio for one in shown], color=OURS_COLOUR)
    axes.axvline(1, color=GREY, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlabel("times as fast as the fastest other implementation, two threads")
    for place, one in enumerate(shown):
        axes.text(one.ratio or 1, place, f" {one.ratio:.2f} × {one.best}", va="center", fontsize=8)
    axes.margins(x=0.35)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
