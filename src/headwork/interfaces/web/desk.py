"""Where work is done that takes time: a thread with the learner's progress, one for the bench, one to spare.

What reads or writes progress runs in one thread, in order: SQLite wants one connection a thread. What waits
there is done together and kept in one transaction, and each answer is kept before the page about it is sent:
no end of the program takes it. Within a second it is on the disk, too, and a power cut does not take it.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from ...workbook.keeping import Kept, open_progress
from .turns import NewestFirst

MOST_SECONDS = 30.0  # after which a page says that it took too long
TOGETHER = 0.015  # seconds of work that one transaction takes in
SYNC = 0.5  # seconds from one wait for the disk to the next
MOST_AHEAD = 256  # kept waiting; what is dropped is done when somebody needs it
QUIET = 0.2  # seconds without work for anybody, after which there is time for what nobody waits for
T = TypeVar("T")


@cache
def settle() -> None:
    """Once what a process needs is there: look for garbage now, in a quiet moment, and never again in that.

    Special cases: none. It takes a tenth of a second, which would come in the middle of somebody's answer.
    """
    gc.collect()
    gc.freeze()


@dataclass
class Job:
    """Work that waits for the progress, and what came of it.

    Fields
    work    to be done; given: to whoever asked, once it is kept
    result  of the work; error: or what it raised
    """

    work: Callable[[Kept], Any]
    given: Future[Any] = field(default_factory=Future)
    result: Any = None
    error: BaseException | None = None

    def do(self, kept: Kept) -> None:
        """The work, unless nobody waits for it any more."""
        if self.given.set_running_or_notify_cancel():
            try:
                self.result = self.work(kept)
            except BaseException as error:  # whoever asked for it gets it
                self.error = error

    def give(self, error: BaseException | None = None) -> None:
        """What came of it, or why nothing of it was kept."""
        if self.given.cancelled():
            return
        if error := error or self.error:
            self.given.set_exception(error)
        else:
            self.given.set_result(self.result)


class Desk:
    """The learner's progress, and threads to work in.

    Fields
    path  the file of progress that somebody named, or None for the user's own
    """

    def __init__(self, path: Path | None, beside: Executor | None = None) -> None:
        self.path = path
        self._beside = beside  # a process that draws and explains, or None for the thread of the bench
        self._explaining = NewestFirst()
        self._stack = ExitStack()
        self._kept: Kept | None = None
        self._waiting: deque[Job] = deque()
        self._with_progress = ThreadPoolExecutor(1, "headwork-progress")
        self._bench = ThreadPoolExecutor(1, "headwork-bench")
        self._busy = time.monotonic()  # when somebody last asked or was answered
        self._ahead: deque[tuple[Callable[[], Any], ...]] = deque(maxlen=MOST_AHEAD)
        self._spare = ThreadPoolExecutor(1, "headwork-spare")
        self._disk = ThreadPoolExecutor(1, "headwork-disk")
        self._closing = Event()
        self._syncs = False  # whether the disk is about to be waited for

    async def ask(self, work: Callable[..., T], *arguments: Any) -> T:
        """What `work(progress, …)` gives, in the thread that has the progress; then what it kept is safe."""
        self._busy = time.monotonic()
        job = Job(lambda kept: work(kept, *arguments))
        self._waiting.append(job)
        if len(self._waiting) == 1:  # otherwise the thread has been called already
            self._with_progress.submit(self._do_waiting)
        given: T = await asyncio.wait_for(asyncio.wrap_future(job.given), MOST_SECONDS)
        return given

    async def work(self, work: Callable[..., T], *arguments: Any) -> T:
        """What `work(…)` gives, in the thread of the bench."""
        given = asyncio.get_running_loop().run_in_executor(self._bench, lambda: work(*arguments))
        return await asyncio.wait_for(given, MOST_SECONDS)

    async def beside(self, work: Callable[..., T], *arguments: Any) -> T:
        """What `work(…)` gives, in a process beside this one, where there is one: no marks wait for it."""
        if self._beside is None:
            return await self.work(work, *arguments)
        try:
            given = asyncio.get_running_loop().run_in_executor(self._beside, work, *arguments)
            return await asyncio.wait_for(given, MOST_SECONDS)
        except BrokenExecutor:  # it was killed: from now on without it
            self._beside = None
            return await self.work(work, *arguments)

    async def explain(self, work: Callable[..., T], *arguments: Any) -> T:
        """The same, one after the other: numbers that somebody waits for are drawn in between."""
        async with asyncio.timeout(MOST_SECONDS), self._explaining:
            return await self.beside(work, *arguments)

    def ahead(self, here: Callable[..., Any], beside: Callable[..., Any], *arguments: Any) -> None:
        """Have work done when there is time, in each process its own: what fails will fail again."""
        self._ahead.append((partial(here, *arguments), partial(beside, *arguments)))
        if len(self._ahead) == 1:
            self._spare.submit(self._do_ahead)

    def close(self) -> None:
        """Let go of the file and the threads; what is kept is on the disk then."""
        self._closing.set()
        self._with_progress.submit(self._stack.close)
        self._with_progress.shutdown()
        self._ahead.clear()
        self._disk.shutdown()
        for pool in (self._bench, self._spare):
            pool.shutdown(wait=False, cancel_futures=True)

    def _do_waiting(self) -> None:
        """All the jobs that wait, several in one transaction."""
        while self._waiting:
            jobs, until = list[Job](), time.monotonic() + TOGETHER
            failed: BaseException | None = None
            try:
                kept = self._open()
                with kept.progress.together():
                    while self._waiting and (not jobs or time.monotonic() < until):
                        jobs.append(self._waiting.popleft())
                        jobs[-1].do(kept)
            except BaseException as error:  # of the file: nothing of this was kept
                failed = error
                jobs = jobs or [self._waiting.popleft()]
            for job in jobs:
                job.give(failed)
            self._busy = time.monotonic()
            if not self._syncs:
                self._syncs = True
                self._disk.submit(self._sync)

    def _sync(self) -> None:
        """What is kept gets to the disk, soon and not for each answer alone."""
        self._closing.wait(SYNC)
        self._syncs = False  # what is kept from here on may come too late for this time
        if self._kept is not None:
            self._kept.progress.sync()

    def _do_ahead(self) -> None:
        """What was asked for last comes first: that is what a learner has in view."""
        while self._ahead:
            if self._waiting or time.monotonic() < self._busy + QUIET:
                time.sleep(QUIET)
            else:
                with suppress(Exception):
                    here, beside = self._ahead.pop()
                    here()
                    self._do_beside(beside)
                    settle()
                    self._do_beside(settle)

    def _do_beside(self, work: Callable[[], Any]) -> None:
        work() if self._beside is None else self._beside.submit(work).result()

    def _open(self) -> Kept:
        if self._kept is None:
            self._kept = self._stack.enter_context(open_progress(self.path, create=True))
        return self._kept
