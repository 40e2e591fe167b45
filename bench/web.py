"""How fast the pages answer: `python bench/web.py [--seconds 60] [--learners 200] [--record]`.

Three runs against `headwork open` in a process of its own, on an empty progress file:

start   from nothing to the first page, medians of five new processes
check   one learner, one answer after the other: right ones, typical wrong ones, numbers that nothing explains
load    learners at once, each on fresh numbers of an exercise, each checking once a second: three in five
        right, one in four with a slip in an entry, the others with numbers that nothing explains. One request
        in twenty asks for other fresh numbers. The generator runs on the same cores as the server.

Afterwards the answers are counted in the data base: as many as the server said that it had kept.
"""

import argparse
import asyncio
import itertools
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
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from headwork.mechanism.numerals import number_text
from headwork.workbook.finding import find_exercise
from headwork.workbook.rows import row_places

RESULT = Path(__file__).parent / "results" / "web.json"
STARTS, CHECKS, FRESH = 5, 400, 0.05
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
    parser.add_argument("--record", action="store_true", help=f"write bench/results/{RESULT.name}")
    options = parser.parse_args()
    report: dict[str, object] = {"machine": machine()}
    runs = {"start": measure_start, "check": measure_checks}
    runs["load"] = lambda: measure_load(options.learners, options.seconds)
    for name, run in runs.items():
        report[name] = run()
        print(name, json.dumps(report[name]), flush=True)
    if options.record:
        RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, object]:
    """What this ran on, and how busy it was before."""
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


@contextmanager
def server(progress: Path):
    """`headwork open`; its address."""
    environment = os.environ | {"HEADWORK_PROGRESS": str(progress)}
    command = [sys.executable, "-m", "headwork", "open", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield re.search(r"http://\S+/", process.stdout.readline())[0]
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
            await learner.post(path, block=answer)
            times = [
                await learner.post(path, block=varied(answer, at)) for at in range(CHECKS // len(ANSWERS))
            ]
            made[name] = told(times)
        return made


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


def measure_load(learners: int, seconds: int) -> dict[str, object]:
    """Many learners at once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "progress.sqlite3"
        with server(path) as address:
            checks, fresh, failed = asyncio.run(_load(address, learners, seconds))
        kept = sqlite3.connect(path).execute("SELECT count(*) FROM acts WHERE kind = 'answer'").fetchone()[0]
    return {
        "learners": learners,
        "seconds": seconds,
        "checks": told(checks),
        "fresh numbers": told(fresh),
        "failed": failed,
        "kept": kept,
        "lost": len(checks) - kept,
    }


async def _load(address: str, count: int, seconds: int) -> tuple[list[float], list[float], int]:
    checks: list[float] = []
    fresh: list[float] = []
    failed, seeds = 0, itertools.count(10_000)
    until = 0.0

    async def learn(at: int, learner: "Learner") -> None:
        nonlocal failed
        dice = random.Random(at)
        exercise = f"{EXERCISES[at % len(EXERCISES)]}@{at}"
        due = time.perf_counter() + dice.random()
        while due < until:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            due += 1.0
            try:
                if dice.random() < FRESH:
                    exercise = f"{exercise.partition('@')[0]}@{next(seeds)}"
                    fresh.append(await learner.get(f"/exercise/{exercise}"))
                else:
                    checks.append(await learner.post(*answer_to(exercise, dice)))
            except (OSError, asyncio.IncompleteReadError, ValueError):
                failed += 1

    learners = [await Learner.of(address) for _ in range(count)]
    for at, learner in enumerate(learners):  # everybody has their exercise open before the clock starts
        exercise = f"{EXERCISES[at % len(EXERCISES)]}@{at}"
        right_rows(exercise)
        await learner.get(f"/exercise/{exercise}")
    until = time.perf_counter() + seconds
    await asyncio.gather(*(learn(at, learner) for at, learner in enumerate(learners)))
    return checks, fresh, failed


@lru_cache(maxsize=4096)
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

    def __init__(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.host, self.reader, self.writer, self.token = host, reader, writer, ""

    @classmethod
    async def of(cls, address: str) -> "Learner":
        place = urlsplit(address)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        learner = cls(place.netloc, reader, writer)
        await learner.get("/keys")
        return learner

    async def get(self, path: str) -> float:
        return await self._send(
            f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nCookie: headwork={self.token}\r\n\r\n".encode()
        )

    async def post(self, path: str, block: str) -> float:
        body = urlencode({"token": self.token, "block": block}).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nCookie: headwork={self.token}\r\n"
            "Headwork-Part: 1\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return await self._send(head.encode() + body)

    async def _send(self, request: bytes) -> float:
        began = time.perf_counter()
        self.writer.write(request)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"(?i)content-length: (\d+)", head)
        await self.reader.readexactly(int(length[1]) if length else 0)
        took = time.perf_counter() - began
        if not head.startswith("HTTP/1.1 200"):
            raise ValueError(head.split("\r\n")[0])
        token = re.search(r"headwork=([0-9a-f]{32})", head)
        self.token = token[1] if token else self.token
        return took


if __name__ == "__main__":
    main()
