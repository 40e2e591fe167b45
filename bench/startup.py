"""How long Headwork takes to start: `python bench/startup.py [--record]`.

Medians of ten runs, each a new process, after one that warms the caches. --record also writes
bench/results/startup.json.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 10
RESULT = Path(__file__).parent / "results" / "startup.json"
HEADWORK = Path(sys.executable).with_name("headwork")

# what is typed, what is run, the project's goal in ms
CASES = [
    ("python -c pass", [sys.executable, "-c", "pass"], None),
    ("python -c 'import numpy'", [sys.executable, "-c", "import numpy"], None),
    ("python -c 'import headwork'", [sys.executable, "-c", "import headwork"], 150),
    ("headwork list", [str(HEADWORK), "list"], 400),
]


def main() -> None:
    """Measure, print the table, and write it down when asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help=f"write bench/results/{RESULT.name}")
    record = parser.parse_args().record

    bare = measure(CASES[0][1])
    rows = [row(CASES[0], bare, bare), *(row(case, measure(case[1]), bare) for case in CASES[1:])]
    report = {"machine": machine(), "runs": RUNS, "unit": "ms, median", "rows": rows}
    print_table(report)
    if record:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(command: list[str]) -> float | None:
    """Median wall time in ms; None when the command fails."""
    # Compiled modules are kept between starts on a user's machine, so keep them here too.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(1 + RUNS):
        start = time.perf_counter()
        try:
            subprocess.run(command, env=environment, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{' '.join(command[-2:])}: {error}", file=sys.stderr)
            return None
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def row(case: tuple[str, list[str], int | None], wall: float | None, bare: float | None) -> dict:
    """One line of the table; `over_python` is what is left after Python's own start."""
    command, _, goal = case
    over = None if wall is None or bare is None else round(wall - bare, 1)
    met = None if goal is None else wall is not None and wall < goal
    wall = None if wall is None else round(wall, 1)
    return {"command": command, "wall": wall, "over_python": over, "goal": goal, "met": met}


def machine() -> str:
    """The processor, the cores that this process may use, and the Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processor = names[0] if names else platform.machine()
    return f"{processor}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


def print_table(report: dict) -> None:
    """The report for people."""
    print(f"{report['machine']}; median of {report['runs']} runs\n")
    print(f"{'command':30}{'wall ms':>10}{'over python':>13}{'goal':>9}")
    for row in report["rows"]:
        wall, over = ("failed" if row[key] is None else f"{row[key]:.1f}" for key in ("wall", "over_python"))
        goal = f"< {row['goal']}" if row["goal"] else ""
        verdict = {None: "", True: "  met", False: "  not met"}[row["met"]]
        print(f"{row['command']:30}{wall:>10}{over:>13}{goal:>9}{verdict}")


if __name__ == "__main__":
    main()
