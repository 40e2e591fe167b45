"""An answer that is typed line by line, gathered until it has every row that was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import shorten

from ..diagnosis.typed import Entries, read_entries
from ..errors import AnswerError


@dataclass
class Table:
    """The rows of one answer as they come in.

    Fields
    rows, columns  how many are asked for
    names          what each row is called; empty: by its number
    texts          the rows that are there: their entries as typed
    """

    rows: int
    columns: int
    names: tuple[str, ...] = ()
    texts: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, text: str) -> None:
        """One line, or several, of the answer.

        text  rows apart by ; or new lines; everything may also stand in one line, row after row
        Special cases: the whole answer at once takes the place of rows typed before.
        Raises AnswerError: unreadable, too wide, too narrow, too many rows. What was there before stays.
        """
        rows = self._shaped(read_entries(text))
        left = self.rows - len(self.texts)
        if len(rows) == self.rows:
            self.texts.clear()
        elif len(rows) > left:
            raise AnswerError(
                f"I read {_rows(len(rows))}, and {_rows(left)} {_is_or_are(left)} still asked for."
            )
        self.texts.extend(rows)

    @property
    def next_name(self) -> str:
        """What the row that comes next is called, and how many there are: "head 1, query 2 (2 of 4)"."""
        at = len(self.texts)
        count = f"{at + 1} of {self.rows}"
        return f"{self.names[at]} ({count})" if self.names else f"row {count}"

    @property
    def is_complete(self) -> bool:
        """Whether every row is there."""
        return len(self.texts) == self.rows

    @property
    def text(self) -> str:
        """The answer in one line: entries apart by blanks, rows by ;"""
        return "; ".join(" ".join(row) for row in self.texts)

    def _shaped(self, entries: Entries) -> list[tuple[str, ...]]:
        texts = [number.text if number else "_" for number in entries.numbers]
        whole = entries.shape[0] == 1 and len(texts) == self.rows * self.columns
        if not whole and entries.shape[1] != self.columns:
            read = shorten(entries.row_text(0), 100, placeholder=" …")
            raise AnswerError(
                f"A row here has {_entries(self.columns)}; I read {_entries(entries.shape[1])}: {read}."
            )
        return [tuple(texts[at : at + self.columns]) for at in range(0, len(texts), self.columns)]


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _entries(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"
