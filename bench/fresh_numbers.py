"""Fresh numbers for every exercise: how long a draw takes, how much is refused, and whether each one passes.

    python bench/fresh_numbers.py --seeds 1000             every exercise, goes on where it was stopped
    python bench/fresh_numbers.py --only scores,softmax    some of them
    python bench/fresh_numbers.py --seeds 1000 --record    also write bench/results/fresh_numbers.json

Each seed is drawn once and then proven again by itself: every mistake of the exercise's list shows at every
step that is asked, no two are the same throughout, and the work is bounded. Every tenth is drawn once more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from long_run import Run, Tally, go_on

from headwork.errors import HeadworkError
from headwork.workbook.course import packaged_course
from headwork.workbook.effort import effort
from headwork.workbook.exercises import Exercise
from headwork.workbook.finding import find_exercise
from headwork.workbook.gate import seen
from headwork.workbook.likeness import MOST_EFFORT, SPARE
from headwork.workbook.numbers import drawing

RESULT = Path(__file__).parent / "results" / "fresh_numbers.json"
WORKBOOK = Path(__file__).parents[1] / "src" / "headwork" / "workbook"
CODE = ("drawing", "effort", "gate", "likeness", "numbers")
PART = 50  # seeds that are written down at a time
AGAIN = 10  # every so many seeds are drawn once more: a seed gives the same numbers
FAST = 100  # milliseconds: the median draw of each exercise has to be below


def one_part(name: str, seeds: range) -> Tally:
    """What the draws of these seeds were like; each list has one entry for each seed."""
    exercise = find_exercise(name)
    rows = [_one(exercise, seed) for seed in seeds]
    return {key: [row[key] for row in rows] for key in rows[0]}


def _one(exercise: Exercise, seed: int) -> dict[str, Any]:
    drawing.cache_clear()
    start = time.process_time()
    try:
        found = drawing(exercise, seed)
    except HeadworkError:  # counted as a draw that does not pass
        return {"milliseconds": 1e6, "draws": 0, "proved": 0, "effort": 0.0, "passes": False, "numbers": ""}
    milliseconds = (time.process_time() - start) * 1000
    fresh = found.exercise
    drawing.cache_clear()
    work = effort(fresh).total
    passes = (
        seen(fresh).is_all
        and work <= MOST_EFFORT * effort(exercise).total + SPARE
        and (seed % AGAIN or drawing(exercise, seed).exercise.given == fresh.given)
    )
    return {
        "milliseconds": round(milliseconds, 2),
        "draws": found.draws,
        "proved": found.proved,
        "effort": work,
        "passes": bool(passes),
        "numbers": _short(json.dumps(fresh.given, sort_keys=True)),
    }


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_of(exercise: Exercise, seeds: int) -> Run:
    """The run of one exercise; its name has the code that draws, so that a change begins it anew."""
    code = "".join((WORKBOOK / f"{name}.py").read_text(encoding="utf-8") for name in CODE)
    text = code + json.dumps([dict(exercise.given), exercise.separates, dict(exercise.draws)], default=str)
    name = f"fresh-{exercise.id}-{_short(text)}"
    return Run(name, partial(one_part, exercise.id), range(seeds), min(PART, seeds))


def table_row(exercise: Exercise, counts: Tally) -> dict[str, Any]:
    """One exercise's line of the table."""
    times = sorted(counts["milliseconds"])
    return {
        "exercise": exercise.id,
        "seeds": len(times),
        "passed": sum(counts["passes"]),
        "mistakes": len(exercise.separates),
        "median ms": round(statistics.median(times), 1),
        "95 % ms": round(times[int(0.95 * (len(times) - 1))], 1),
        "slowest ms": round(times[-1], 1),
        "refused at sight": round(statistics.mean(counts["draws"]) - statistics.mean(counts["proved"]), 1),
        "refused by the gate": round(statistics.mean(counts["proved"]) - 1, 1),
        "first effort": effort(exercise).total,
        "effort": [min(counts["effort"]), statistics.median(counts["effort"]), max(counts["effort"])],
        "different": len(set(counts["numbers"])),
    }


def text_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The table as text."""
    heads = (
        "exercise",
        "seeds",
        "passed",
        "mistakes",
        "median ms",
        "95 % ms",
        "at sight",
        "by gate",
        "effort",
        "different",
    )
    yield "".join(head.ljust(19 if at == 0 else 11) for at, head in enumerate(heads))
    for row in rows:
        low, middle, high = row["effort"]
        cells = (
            row["exercise"], row["seeds"], row["passed"], row["mistakes"], row["median ms"], row["95 % ms"],
            row["refused at sight"], row["refused by the gate"],
            f"{row['first effort']:g}: {low:g} to {high:g}, mostly {middle:g}", row["different"],
        )  # fmt: skip
        yield "".join(
            str(cell).ljust(19 if at == 0 else 28 if at == 8 else 11) for at, cell in enumerate(cells)
        )


def wanted(names: str) -> list[Exercise]:
    """The exercises that can be drawn, or those named."""
    if names:
        return [find_exercise(name) for name in names.split(",")]
    return [each for one in packaged_course() for each in one.exercises if each.separates]


def main() -> int:
    """Run what is left, print the table; 1 where a seed does not pass or a median is too slow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="of each exercise (20)")
    parser.add_argument("--only", default="", metavar="ID,...", help="these exercises")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="at once (1)")
    parser.add_argument("--record", action="store_true", help=f"write {RESULT.name}")
    asked = parser.parse_args()
    rows = []
    for exercise in wanted(asked.only):
        run = run_of(exercise, asked.seeds)
        go_on(run, processes=asked.processes)
        rows.append(table_row(exercise, run.report()["counts"]))
    print("\n".join(text_lines(rows)))
    good = all(row["passed"] == row["seeds"] and row["median ms"] < FAST for row in rows)
    print(f"{sum(row['passed'] for row in rows)} of {sum(row['seeds'] for row in rows)} draws pass.")
    if asked.record:
        record = {"python": platform.python_version(), "machine": platform.machine(), "exercises": rows}
        RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
