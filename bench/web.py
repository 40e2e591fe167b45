"""How fast the pages answer: `python bench/web.py [--seconds 60] [--learners 200] [--record]`.

Three runs against `headwork open` in a process of its own, on an empty progress file:

start   from nothing to the first page, medians of five new processes
check   one learner, one answer after the other: right ones, typical wrong ones, numbers that nothing
        explains; to the marks and, where there is something to explain, to the explanation, which follows
load    learners at once, each on fresh numbers of an exercise, each checking once a second: three in five
        right, one in four with a slip in an entry, the others with numbers that nothing explains. The page
        of a wrong one takes its explanation, too, unless the next request is due before it comes. One request
        in twenty asks for other fresh numbers.
        Everybody has opened their exercise before, and read for a few seconds. `headwork open` answers with
        as many processes as there are cores, and the generator runs on the same cores. A time counts from
        the moment at which the request was due; whoever waits for fresh numbers has nothing to check.

Afterwards the answers are counted in the data base: as many as the server said that it had kept.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from headwork.mechanism.numerals import number_text
from headwork.workbook.finding import find_exercise
from headwork.workbook.rows import row_places

RESULT = Path(__file__).parent / "results" / "web.json"
RUNS = ("start", "check", "load")
LOADED = ("checks", "explanations", "fresh numbers")
STARTS, CHECKS, FRESH = 5, 400, 0.05
READING = 5.0  # seconds from the last page that is opened to the first check
EXERCISES = ("scores", "scaling", "softmax", "blend", "all-rows")
QUESTIONS = {
    "scores": "scores",
    "scaling": "scaled",
    "softmax": "weights",
    "blend": "output",
    "all-rows": "weights",
}
# question, answer; by hand, from the exercises
ANSWERS = {
    "right": ("all-rows", "weights", "0.212 0.576 0.212; 0.107 0.787 0.107"),
    "down the columns": ("all-rows", "weights", "0.212 0.245 0.107; 0.212 0.665 0.107"),
    "a slip": ("all-rows", "weights", "0.212 0.567 0.212; 0.107 0.787 0.107"),
    "unexplained": ("all-rows", "weights", "0.113 0.911 0.702; 0.337 0.208 0.519"),
}


def main() -> None:
    """Measure, print, and write it down when asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--learners", type=int, default=200)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=RUNS, action="append", help="leave the other runs out")
    parser.add_argument("--record", action="store_true", help=f"write bench/results/{RESULT.name}")
    options = parser.parse_args()
    report: dict[str, object] = {"machine": machine()}
    load = partial(measure_load, options.learners, options.seconds, options.workers)
    for name, run in zip(RUNS, (measure_start, measure_checks, load), strict=True):
        if options.only and name not in options.only:
            continue
        report[name] = run()
        print(name, json.dumps(report[name]), flush=True)
    if options.record:
        RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print(*rows(report), sep="\n")


def rows(report: dict) -> Iterator[str]:
    """What docs/browser.md quotes of a record, as the ends of the rows of its table."""
    for name, run in (report["check"] | {each: report["load"][each] for each in LOADED}).items():
        yield f"{name} | {run['p50 ms']:g} | {run['p99 ms']:g} |"


def machine() -> dict[str, object]:
    """What this ran on, and how busy it was before."""
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


@contextmanager
def server(progress: Path, *options: str):
    """`headwork open`; its address."""
    environment = os.environ | {"HEADWORK_PROGRESS": str(progress)}
    command = [sys.executable, "-m", "headwork", "open", "--no-browser", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield re.search(r"http://\S+/", process.stdout.readline())[0]
        finally:
            process.terminate()


def measure_start() -> dict[str, float]:
    """Seconds from a new process to its first page."""
    times = []
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            with server(Path(folder) / "progress.sqlite3") as address:
                urllib.request.urlopen(address).read()
                times.append(time.perf_counter() - began)
    return {"median s": round(statistics.median(times), 3), "most s": round(max(times), 3)}


def measure_checks() -> dict[str, dict[str, float]]:
    """Milliseconds from a check to its marks; each answer differs in a digit, so that none is remembered."""
    return asyncio.run(_checks())


async def _checks() -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, server(Path(folder) / "progress.sqlite3") as address:
        learner = await Learner.of(address)
        made = {}
        for name, (exercise, question, answer) in ANSWERS.items():
            path = f"/exercise/{exercise}/{question}/answer"
            await _checked(learner, path, answer)
            times = [
                await _checked(learner, path, varied(answer, at)) for at in range(CHECKS // len(ANSWERS))
            ]
            made[name] = told([marked for marked, _ in times])
            if explained := [both for _, both in times if both]:
                made[f"{name}, explained"] = told(explained)
        return made


async def _checked(learner: "Learner", path: str, block: str) -> tuple[float, float]:
    """Seconds to the marks, and to what explains them: 0 where nothing has to be explained."""
    began = time.perf_counter()
    wrong = await learner.check(path, block)
    marked = time.perf_counter() - began
    if not wrong:
        return marked, 0.0
    await learner.explanation()
    return marked, time.perf_counter() - began


def varied(answer: str, at: int) -> str:
    """The same numbers, written differently each time."""
    first, rest = answer.split(" ", 1)
    return f"{first}{'0' * (at % 7)} {' ' * (at // 7)}{rest}"


def told(times: list[float]) -> dict[str, float]:
    """p50, p99 and the most, in ms."""
    ordered = sorted(times)
    return {
        "n": len(ordered),
        "p50 ms": round(1e3 * ordered[len(ordered) // 2], 1),
        "p99 ms": round(1e3 * ordered[int(len(ordered) * 0.99)], 1),
        "most ms": round(1e3 * ordered[-1], 1),
    }


# --- the load ----------------------------------------------------------------------------------------


def measure_load(learners: int, seconds: int, workers: int) -> dict[str, object]:
    """Many learners at once."""
    with ProcessPoolExecutor() as pool:
        plans = list(pool.map(plan, range(learners), [seconds] * learners))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "progress.sqlite3"
        with server(path, "--workers", str(workers)) as address:
            times, overtaken, failed = asyncio.run(_load(address, plans))
        kept = sqlite3.connect(path).execute("SELECT count(*) FROM acts WHERE kind = 'answer'").fetchone()[0]
    return {
        "learners": learners,
        "seconds": seconds,
        "workers": workers,
        **{name: told(times[name]) for name in LOADED},
        "explanations overtaken": overtaken,
        "failed": failed,
        "kept": kept,
        "lost": len(times["checks"]) - kept,
    }


async def _load(address: str, plans: list["Plan"]) -> tuple[dict[str, list[float]], int, int]:
    times: dict[str, list[float]] = {name: [] for name in LOADED}
    overtaken, failed = 0, 0
    learners = []
    for plan in plans:  # everybody has their exercise open before the clock starts
        learners.append(await Learner.of(address))
        await learners[-1].get(plan.begin)
    await asyncio.sleep(READING)
    began = time.perf_counter()

    async def explain(learner: "Learner", asked: float) -> None:
        await learner.explanation()
        times["explanations"].append(time.perf_counter() - asked)

    async def learn(learner: "Learner", plan: Plan) -> None:
        nonlocal overtaken, failed
        ready = began  # when the numbers to work on were there
        explaining: asyncio.Task[None] | None = None
        for due, path, block in plan.requests:
            asked = max(began + due, ready)
            await asyncio.sleep(max(0.0, asked - time.perf_counter()))
            try:
                if explaining and not explaining.done():  # the page gives up what it no longer shows
                    explaining.cancel()
                    overtaken += 1
                    await learner.connect()
                if not block:
                    await learner.get(path)
                    ready = time.perf_counter()
                    times["fresh numbers"].append(ready - asked)
                    continue
                wrong = await learner.check(path, block)
                times["checks"].append(time.perf_counter() - asked)
                if wrong:
                    explaining = asyncio.create_task(explain(learner, asked))
            except (OSError, asyncio.IncompleteReadError, ValueError):
                failed += 1

    await asyncio.gather(*map(learn, learners, plans))
    return times, overtaken, failed


@dataclass(frozen=True)
class Plan:
    """What one learner does: the page to begin with, then when, where to and with which answer."""

    begin: str
    requests: list[tuple[float, str, str]]


def plan(at: int, seconds: int) -> Plan:
    """A learner's minute, worked out before the clock starts, so that the generator has little to do."""
    dice, name = random.Random(at), EXERCISES[at % len(EXERCISES)]
    exercise, requests, due = f"{name}@{at}", [], dice.random()
    begin = f"/exercise/{exercise}"
    while due < seconds:
        if dice.random() < FRESH:
            exercise = f"{name}@{dice.randrange(10_000, 10**9)}"
            requests.append((due, f"/exercise/{exercise}", ""))
        else:
            requests.append((due, *answer_to(exercise, dice)))
        due += 1.0
    return Plan(begin, requests)


@lru_cache(maxsize=64)
def right_rows(exercise: str) -> tuple[tuple[str, ...], ...]:
    """The right numbers of a question, as they are typed."""
    found = find_exercise(exercise)
    question = next(each for each in found.questions if each.id == QUESTIONS[exercise.partition("@")[0]])
    places = row_places(found.work, question.step, question.rows)
    rows = [found.work[question.step][place] for place in places]
    return tuple(tuple(number_text(x, question.digits) for x in row) for row in rows)


def answer_to(exercise: str, dice: random.Random) -> tuple[str, str]:
    """Where to send an answer, and one."""
    rows, kind = [list(row) for row in right_rows(exercise)], dice.random()
    if kind > 0.85:
        rows = [[f"{dice.uniform(0, 3):.3f}" for _ in row] for row in rows]
    elif kind > 0.6:
        dice.choice(rows)[0] = f"{dice.uniform(0, 3):.3f}"
    question = QUESTIONS[exercise.partition("@")[0]]
    return f"/exercise/{exercise}/{question}/answer", "; ".join(map(" ".join, rows))


class Learner:
    """One connection that stays open, as a browser's does."""

    def __init__(self, address: str) -> None:
        self.place, self.token = urlsplit(address), ""
        self.host, self.writer = self.place.netloc, None

    @classmethod
    async def of(cls, address: str) -> "Learner":
        learner = cls(address)
        await learner.connect()
        await learner.get("/keys")
        return learner

    async def connect(self) -> None:
        """Begin a connection, in place of one that there may be."""
        if self.writer:
            self.writer.close()
        self.reader, self.writer = await asyncio.open_connection(self.place.hostname, self.place.port)
        self.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def get(self, path: str) -> None:
        await self._send(
            f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nCookie: headwork={self.token}\r\n\r\n".encode()
        )

    async def check(self, path: str, block: str) -> bool:
        """Send an answer and wait for its marks; whether what explains them follows."""
        body = urlencode({"token": self.token, "block": block}).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nCookie: headwork={self.token}\r\n"
            "Headwork-Part: 1\r\n"
            "Content-Type: application/x-www-form-urlencoded;charset=UTF-8\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return "headwork-marks: " in await self._send(head.encode() + body)

    async def explanation(self) -> None:
        """Wait for what follows the marks."""
        while await self._chunk():
            pass

    async def _send(self, request: bytes) -> str:
        """The head of the answer, once its body is here, or the first part of it."""
        self.writer.write(request)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"(?i)content-length: (\d+)", head)
        if "transfer-encoding: chunked" in head.lower():
            await self._chunk()
        await self.reader.readexactly(int(length[1]) if length else 0)
        if not head.startswith("HTTP/1.1 200"):
            raise ValueError(head.split("\r\n")[0])
        token = re.search(r"headwork=([0-9a-f]{32})", head)
        self.token = token[1] if token else self.token
        return head.lower()

    async def _chunk(self) -> bytes:
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]


if __name__ == "__main__":
    main()
