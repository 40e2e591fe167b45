"""A line on standard error while something takes longer than a second."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from time import monotonic
from types import TracebackType

PATIENCE = 1.0  # seconds before anything is shown
TICK = 0.2  # seconds between two looks
CLEAR = "\r\x1b[K"


class ProgressLine:
    """What is being done, how far it is and for how long; gone when it ends. Nothing where no terminal is.

    It is drawn from a thread of its own, so that the seconds run while somebody's function does.
    """

    def __init__(self, what: str) -> None:
        self._stream = sys.stderr
        self._text = what
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_shown = False

    def __call__(self, done: int, total: int, what: str) -> None:
        """So many of so many are done, and this comes next; once all are done, this alone is said."""
        self._text = f"{done + 1} of {total}: {what}" if done < total else what

    def __enter__(self) -> ProgressLine:
        if self._stream.isatty() and os.environ.get("TERM") != "dumb":
            self._thread = threading.Thread(target=self._draw, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._is_shown:
            self._stream.write(CLEAR)
            self._stream.flush()

    def _draw(self) -> None:
        started = monotonic()
        while not self._ended.wait(TICK):
            seconds = monotonic() - started
            if seconds >= PATIENCE:
                columns = shutil.get_terminal_size((80, 24)).columns
                end = f" ({seconds:.0f} s)"
                self._stream.write(f"{CLEAR}{self._text[: columns - 1 - len(end)]}{end}")
                self._stream.flush()
                self._is_shown = True
