"""Long runs that can be stopped and go on: what is done is written down part by part.

A run is cut into parts, each a range of seeds. A part that is done is a line in bench/progress/, so that a
run that is started again does only what is left. Shards may run side by side; the last one to end adds up the
parts of all of them. A line counts for the code that it was made with: after a change of the problem, the
mechanism, the mistakes, the diagnosis or the draws a run begins anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRESS = HERE / "progress"
PACKAGE = HERE.parent / "src" / "headwork"
FOLDERS = ("mechanism", "mistakes", "diagnosis")
FILES = (PACKAGE / "arrays.py", PACKAGE / "problem.py", HERE / "diagnosis.py", HERE / "draws.py")
EVERY = 60  # seconds between two lines where there is no terminal to draw a bar in

Tally = dict[str, Any]
Work = Callable[[range], Tally]


@dataclass(frozen=True)
class Run:
    """A piece of work, cut into parts.

    name   of the run; work: what is done with a range of seeds, and gives counts that can be added up
    seeds  all of them; size: how many seeds a part has
    folders  of the package: the code that is measured
    """

    name: str
    work: Work
    seeds: range
    size: int
    folders: tuple[str, ...] = FOLDERS

    @property
    def parts(self) -> list[range]:
        """The ranges of seeds, in order."""
        return [self.seeds[at : at + self.size] for at in range(0, len(self.seeds), self.size)]

    def done(self) -> dict[range, Tally]:
        """The parts that are written down, for the code as it is."""
        code, found = fingerprint(self.folders), {}
        for path in sorted(PROGRESS.glob(f"{self.name}*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                record = _record(line)
                if record and record["run"] == self.name and record["code"] == code:
                    found[range(*record["seeds"])] = record
        wanted = set(self.parts)
        return {part: record for part, record in found.items() if part in wanted}

    def report(self) -> Tally:
        """What all parts give together, and how long they took."""
        done = self.done()
        counts: Tally = {}
        for part in self.parts:
            if part in done:
                counts = added(counts, done[part]["counts"])
        seconds = sum(record["seconds"] for record in done.values())
        return {
            "parts": [len(done), len(self.parts)],
            "core minutes": round(seconds / 60, 1),
            "counts": counts,
        }


def _record(line: str) -> Tally | None:
    """A line of a progress file; None for one that was cut off when the run was stopped."""
    try:
        record: Tally = json.loads(line)
        return record
    except json.JSONDecodeError:
        return None


def fingerprint(folders: tuple[str, ...] = FOLDERS) -> str:
    """A short name for the code that is measured."""
    digest = hashlib.sha256()
    for path in (*FILES, *(path for name in folders for path in sorted((PACKAGE / name).glob("*.py")))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def added(a: Any, b: Any) -> Any:
    """Two tallies as one: numbers are added, lists joined, keys united."""
    if not isinstance(a, dict):
        return a + b
    return a | b | {key: added(a[key], b[key]) for key in a if key in b}


def go_on(run: Run, shard: tuple[int, int] = (1, 1), processes: int | None = None) -> None:
    """Do what is left of a run, or of every n-th part of it, and write each part down.

    shard      (i, n): the i-th of n, counted from 1
    processes  at once; 1: this one; None: one for each core
    """
    done = run.done()
    mine = [part for index, part in enumerate(run.parts) if index % shard[1] == shard[0] - 1]
    left = [part for part in mine if part not in done]
    PROGRESS.mkdir(exist_ok=True)
    path = PROGRESS / (f"{run.name}.jsonl" if shard[1] == 1 else f"{run.name}-{shard[0]}-of-{shard[1]}.jsonl")
    code = fingerprint(run.folders)
    with path.open("a", encoding="utf-8") as file:
        results = told(run.name, worked(run.work, left, processes), len(mine) - len(left), len(mine))
        for part, (seconds, counts) in results:
            record = {"run": run.name, "code": code, "seeds": [part.start, part.stop, part.step]}
            print(json.dumps(record | {"seconds": seconds, "counts": counts}), file=file, flush=True)


def worked(
    work: Work, parts: list[range], processes: int | None
) -> Iterator[tuple[range, tuple[float, Tally]]]:
    """Each part with the seconds it took and its counts, as they come."""
    if processes == 1:
        yield from ((part, _timed(work, part)) for part in parts)
        return
    with ProcessPoolExecutor(processes) as pool:
        waiting = {pool.submit(_timed, work, part): part for part in parts}
        yield from ((waiting[future], future.result()) for future in as_completed(waiting))


def _timed(work: Work, part: range) -> tuple[float, Tally]:
    start = time.process_time()
    counts = work(part)
    return round(time.process_time() - start, 2), counts


def told(name: str, results: Iterator[Any], before: int, total: int) -> Iterator[Any]:
    """The results, with a bar that says how long it takes; without a terminal, with a line every minute."""
    if sys.stdout.isatty():
        yield from _with_a_bar(name, results, before, total)
        return
    start, last = time.monotonic(), -math.inf
    print(f"{name}: {before} of {total} parts were done before", flush=True)
    for count, result in enumerate(results, 1):
        yield result
        now = time.monotonic()
        if now - last >= EVERY or before + count == total:
            left = (now - start) / count * (total - before - count) / 60
            print(f"{name}: {before + count} of {total} parts, about {left:.0f} min left", flush=True)
            last = now


def _with_a_bar(name: str, results: Iterator[Any], before: int, total: int) -> Iterator[Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, speed_estimate_period=600) as bar:
        task = bar.add_task(name, total=total, completed=before)
        for result in results:
            yield result
            bar.advance(task)


def interval(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    if not trials:
        return 0.0, 1.0
    z, p = 1.96, hits / trials
    middle = p + z * z / (2 * trials)
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, middle - spread) / scale, (middle + spread) / scale


def quantile(counts: dict[str, int], share: float) -> int:
    """Of values that were counted under their text: the one that this share does not exceed."""
    total, seen = sum(counts.values()), 0
    for value in sorted(map(int, counts)):
        seen += counts[str(value)]
        if seen >= share * total:
            return value
    return 0
