"""One Markdown file with a header: TOML between two lines of +++, then text.

An author's slip is told by file and key, and nothing in a header is ignored: a key that nobody reads is
an error, with the nearest key that exists.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..errors import FileError
from .misplaced import Keys, check_places, line_of

FENCE = "+++"

T = TypeVar("T")


def read_header(file: str, text: str, keys: Keys | None = None) -> tuple[Header, str]:
    """The header of a file and the Markdown after it.

    file  its name, for errors
    text  all of it
    keys  of each table, where a key in the wrong one is to be told as that
    Special cases: line ends of any kind.
    Raises FileError: no header, one that is not TOML, or a key in the wrong table.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise FileError(
            f"{file} has no header. It starts with a line {FENCE}, then TOML, then a line {FENCE}."
        )
    if FENCE not in (line.rstrip() for line in lines[1:]):
        raise FileError(f"{file} has a header without an end: a line {FENCE} goes before the opening text.")
    end = next(at for at, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE)
    try:
        table = tomllib.loads("\n".join(lines[1:end]))
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{file}: the header is not TOML: {_in_the_file(str(error))}.") from None
    if keys is not None:
        check_places(file, tuple(lines[:end]), table, keys)
    return Header(file, "", table, tuple(lines[:end])), "\n".join(lines[end + 1 :]).strip()


def _in_the_file(said: str) -> str:
    """A message of the TOML reader with the line as an editor counts it: from the first fence."""
    return re.sub(r"at line (\d+)", lambda match: f"at line {int(match[1]) + 1}", said)


@dataclass
class Header:
    """A table of a header, read key by key.

    Fields
    file   the file it stands in; place: where in the header, such as "questions[2]."
    table  what the TOML says; lines: of the file, up to the end of the header
    """

    file: str
    place: str
    table: dict[str, Any]
    lines: tuple[str, ...] = ()
    _read: set[str] = field(default_factory=set)

    def take(self, key: str, kind: type[T], wanted: str, default: T | None = None) -> T:
        """The value of a key, of that kind; without a default the key has to be there."""
        self._read.add(key)
        if key not in self.table:
            if default is None:
                near = difflib.get_close_matches(key, set(self.table) - self._read, n=1)
                instead = f", and there is {near[0]!r}, which is no key" if near else ""
                raise self.error(key, f"is missing; {wanted} was expected{instead}")
            return default
        value = self.table[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(key, f"is {_brief(value)}; {wanted} was expected")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text, not empty, without the blanks around it."""
        value = self.take(key, str, "a text", default).strip()
        if not value and default is None:
            raise self.error(key, "is empty; a text was expected")
        return value

    def whole(self, key: str, least: int, default: int | None = None) -> int:
        """A whole number of at least `least`."""
        value = self.take(key, int, f"a whole number of at least {least}", default)
        if value < least:
            raise self.error(key, f"is {value}; a whole number of at least {least} was expected")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where the key is absent."""
        values = self.take(key, list, "a list of texts", [])
        if not all(isinstance(value, str) and value.strip() for value in values):
            raise self.error(key, f"is {_brief(values)}; a list of texts was expected, none of them empty")
        return tuple(value.strip() for value in values)

    def wholes(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers from 1, empty where the key is absent."""
        values = self.take(key, list, "a list of whole numbers from 1", [])
        if not all(type(value) is int and value >= 1 for value in values):
            raise self.error(key, f"is {_brief(values)}; a list of whole numbers from 1 was expected")
        return tuple(values)

    def tables(self, key: str, read: Callable[[Header], T]) -> tuple[T, ...]:
        """What `read` makes of each table of a list, empty where the key is absent."""
        values = self.take(key, list, "a list of tables", [])
        if not all(isinstance(value, dict) for value in values):
            raise self.error(key, f"is {_brief(values)}; a list of tables was expected")
        return tuple(
            Header(self.file, f"{self.place}{key}[{at}].", value, self.lines).whole_table(read)
            for at, value in enumerate(values, 1)
        )

    def whole_table(self, read: Callable[[Header], T]) -> T:
        """What `read` makes of this table; a key that it did not ask for is an error."""
        made = read(self)
        for key in self.table:
            if key not in self._read:
                near = difflib.get_close_matches(key, self._read, n=1)
                hint = (
                    f"the nearest is {near[0]!r}"
                    if near
                    else f"the keys here are {', '.join(sorted(self._read))}"
                )
                line = line_of(self.lines, self.place, key)
                at = f"{key} (line {line})" if line else key
                raise self.error(at, f"is not a key that is read here; {hint}")
        return made

    def error(self, key: str, said: str) -> FileError:
        """An error that names the file and the key."""
        return FileError(f"{self.file}: {self.place}{key} {said}.")


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
