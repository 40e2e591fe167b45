"""Where work is done that takes time: one thread with the learner's progress, one for the bench.

What reads or writes progress runs in one thread, in order: SQLite wants one connection a thread, and an
answer is on the disk before the page about it is made. The bench, which may take a second, has its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from ...workbook.keeping import Kept, open_progress

MOST_SECONDS = 30.0  # after which a page says that it took too long
T = TypeVar("T")


class Desk:
    """The learner's progress, and threads to work in.

    Fields
    path  the file of progress that somebody named, or None for the user's own
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stack = ExitStack()
        self._kept: Kept | None = None
        self._with_progress = ThreadPoolExecutor(1, "headwork-progress")
        self._bench = ThreadPoolExecutor(1, "headwork-bench")

    async def ask(self, work: Callable[..., T], *arguments: Any) -> T:
        """What `work(progress, …)` gives, in the thread that has the progress."""
        return await self._run(self._with_progress, lambda: work(self._open(), *arguments))

    async def work(self, work: Callable[..., T], *arguments: Any) -> T:
        """What `work(…)` gives, in the thread of the bench."""
        return await self._run(self._bench, lambda: work(*arguments))

    def close(self) -> None:
        """Let go of the file and the threads."""
        self._with_progress.submit(self._stack.close)
        self._with_progress.shutdown()
        self._bench.shutdown(wait=False, cancel_futures=True)

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await asyncio.wait_for(loop.run_in_executor(pool, work), MOST_SECONDS)

    def _open(self) -> Kept:
        if self._kept is None:
            self._kept = self._stack.enter_context(open_progress(self.path, create=True))
        return self._kept
