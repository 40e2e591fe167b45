"""Do something again whenever a file is saved, until q or Ctrl-C, as `headwork check --watch` does."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from .text import NO_BREAK, width_of_page, wrapped

TICK = 0.25  # seconds between two looks: shorter than anybody's patience, and no load
AGAIN = ("\n", "\r", " ", "r")
ENDS = ("q", "Q", "\x04")  # Ctrl-D, too
CLEAR = "\x1b[2J\x1b[H"

Stamps = Mapping[Path, tuple[int, int] | None]


def watch_files(
    files: Callable[[], Iterable[Path]],
    act: Callable[[Sequence[Path]], int],
    keys: Keys | None = None,
    title: Callable[[], str] | None = None,
) -> int:
    """Act now, and again whenever one of the files is saved; the last status, once q is pressed.

    files  which ones, asked anew each time: what is imported may change with every save
    act    is given the files that changed, none at first or where a key asked for it
    keys   where keys come from, and time passes; the keyboard, if not said
    title  what is watched, in words; the first file, and how many others, if not said
    """
    with keys or Keys() as pressed:
        changed: Sequence[Path] = ()
        while True:
            before = stamps(files())  # before acting: what is saved meanwhile counts
            status = act(changed)
            _print_hint(title() if title else _names(before), pressed.are_there)
            found = _wait(before, files, pressed)
            if found is None:
                return status
            changed = found
            _begin_page(changed)


def stamps(files: Iterable[Path]) -> Stamps:
    """When each file was last written, and its size; None for one that is not there."""
    return {path: _stamp(path) for path in files}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _wait(before: Stamps, files: Callable[[], Iterable[Path]], keys: Keys) -> tuple[Path, ...] | None:
    """The files that changed, none where a key asks for the same again, None where one ends it."""
    while True:
        key = keys.wait(TICK)
        if key in ENDS:
            return None
        if key in AGAIN:
            return ()
        now = stamps(before)
        if now != before:
            while now != (now := _after(keys, now)):  # editors write in several steps
                pass
            return tuple(path for path in before if before[path] != now[path])


def _after(keys: Keys, now: Stamps) -> Stamps:
    keys.wait(TICK / 2)
    return stamps(now)


# --- what is on the screen ------------------------------------------------------------------------


def _names(files: Stamps) -> str:
    first, *others = files or [Path()]
    more = f" and {len(others)} file{'s' if len(others) > 1 else ''} that it imports" if others else ""
    return f"{first.name}{more}"


def _print_hint(title: str, has_keys: bool) -> None:
    keys = f"Enter checks again, q{NO_BREAK}ends." if has_keys else f"Ctrl-C{NO_BREAK}ends."
    print()
    print(wrapped(f"Watching {title}. {keys}", width_of_page(), "", ""), flush=True)


def _begin_page(changed: Sequence[Path]) -> None:
    """A fresh screen where there is one, and what it is about."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        print(CLEAR, end="")
    else:
        print()
    what = "was saved" if changed and changed[0].exists() else "is gone"
    why = f"{changed[0].name} {what}" if changed else "Once more"
    print(f"{why}, {datetime.now():%H:%M:%S}")
    print()


# --- keys -----------------------------------------------------------------------------------------


class Keys:
    """Single keys from the keyboard, without Enter; where there is none, time passes and no key comes."""

    def __init__(self) -> None:
        self.are_there = sys.stdin.isatty() and _has_terminals()
        self._before: list[Any] = []

    def __enter__(self) -> Keys:
        if self.are_there:
            import termios
            import tty

            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)  # Ctrl-C stays what it is
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def wait(self, seconds: float) -> str:
        """The key that is pressed within so many seconds, "" for none."""
        if not self.are_there:
            time.sleep(seconds)
            return ""
        import select

        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        if not ready:
            return ""
        byte = os.read(sys.stdin.fileno(), 1)
        return byte.decode("ascii", "replace") or ENDS[-1]  # the terminal is gone


def _has_terminals() -> bool:
    """Windows has none of this kind."""
    try:
        import termios  # noqa: F401
    except ImportError:
        return False
    return True
