"""What a function prints: its beginning and its end, however much it is."""

from __future__ import annotations

import io

HALF = 8192  # characters kept of the beginning, and of the end


class Printed(io.TextIOBase):
    """A file to write to that keeps the first and the last characters."""

    def __init__(self) -> None:
        self._begin = ""
        self._end = ""
        self._count = 0

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, text: str) -> int:
        """Add `text`."""
        room = HALF - len(self._begin)
        self._begin += text[:room]
        self._end = (self._end + text[room:])[-HALF:]
        self._count += len(text)
        return len(text)

    @property
    def text(self) -> str:
        """What was printed, and how much of it is left out."""
        left_out = self._count - len(self._begin) - len(self._end)
        gap = f"\n… {left_out:,} characters left out …\n" if left_out else ""
        return self._begin + gap + self._end
