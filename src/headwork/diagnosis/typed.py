"""What people type as an answer: a table of numbers, read exactly or refused.

Text has entries apart by blanks and rows by ";" or a new line; pasted NumPy, MATLAB, LaTeX and spreadsheet
tables are read too. What was read can be echoed; a reading that another person might have meant
differently (decimal commas, an empty cell) is said in a remark, and a real doubt is an error.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import MAX_DEPTH, is_float
from ..errors import AnswerError
from .cells import Row, cut
from .expression import EXAMPLES, Number, read_number
from .spelling import plain, quoted

__all__ = ["Entries", "Number", "entries_from_array", "entries_from_json", "read_entries", "read_number"]

MAX_CHARACTERS = 1_000_000  # nobody types more, and reading it stays a matter of seconds
MAX_ENTRIES = 100_000  # one record each; a larger array is compared as an array
NOT_GIVEN = {"_", "?", "-", "..."}
MEND = f"{EXAMPLES}; entries apart by blanks, rows by ;"
NOTHING = (
    "There is no entry to read. Write numbers apart by blanks and rows apart by ; with _ for one not given."
)


@dataclass(frozen=True)
class Entries:
    """A table as it was read; an entry may be blank (not given).

    Fields
    numbers  every entry in row-major order, None where it was not given
    shape    (rows, columns) for text and JSON; JSON of more axes and arrays keep their own shape
    remarks  readings that could be missed, such as "decimal commas"
    """

    numbers: tuple[Number | None, ...]
    shape: tuple[int, ...]
    remarks: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[tuple[Number | None, ...], ...]:
        """The entries in rows along the last axis, leading axes one after the other."""
        width = self.shape[-1] if self.shape else 1
        return tuple(self.numbers[at : at + width] for at in range(0, len(self.numbers), width))

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """float64 of the shape; NaN where an entry was not given (or is NaN: see `given`)."""
        return self._array(math.nan if number is None else number.value for number in self.numbers)

    @property
    def given(self) -> npt.NDArray[np.bool_]:
        """bool of the shape: True where there is an entry."""
        return np.array([number is not None for number in self.numbers], bool).reshape(self.shape)

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """bool of the shape: True for integers, fractions, roots and infinities."""
        return np.array([number is not None and number.exact for number in self.numbers], bool).reshape(
            self.shape
        )

    @property
    def places(self) -> npt.NDArray[np.float64]:
        """float64 of the shape, so that half a unit is 0.5 * 10**-places.

        A number of decimals (0 for an integer, negative for "1.2e3"); inf where a fraction or a root
        is meant exactly; NaN where the precision is unknown or the entry was not given.
        """
        return self._array(map(_places, self.numbers))

    def row_text(self, row: int) -> str:
        """One row (counted from 0) as it was read: "0.245 | _ | 0.665"; decimal commas become points."""
        return " | ".join(
            "_" if number is None else number.text.replace(",", ".") for number in self.rows[row]
        )

    def echo(self) -> str:
        """What was read, one line per row: "row 1: 0.245 | 0.090 | 0.665"."""
        return "\n".join(f"row {row + 1}: {self.row_text(row)}" for row in range(len(self.rows)))

    def _array(self, values: Iterable[float]) -> npt.NDArray[np.float64]:
        return np.fromiter(values, np.float64, len(self.numbers)).reshape(self.shape)


def _places(number: Number | None) -> float:
    if number is None or (number.places is None and not number.exact):
        return math.nan
    return math.inf if number.places is None else number.places


# From text ------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)  # what is typed once is read by the marker, the diagnosis and the page
def read_entries(text: str) -> Entries:
    """The table that a text says; a single number is 1×1.

    Special cases: _ ? - and … are entries not given. A comma between digits without a blank is a decimal
    comma, except in a list in square brackets, such as [1,2,3].
    Raises AnswerError: nothing there, unreadable, ambiguous, rows of unequal length, too large.
    """
    if len(text) > MAX_CHARACTERS:
        raise AnswerError(f"The answer has {len(text)} characters; at most {MAX_CHARACTERS} are read.")
    rows = cut(text)
    _refuse_too_many(sum(len(row.texts) for row in rows))
    table = [list(_numbers(row.texts, at)) for at, row in enumerate(rows, 1)]
    numbers = [number for number in itertools.chain.from_iterable(table) if number is not None]
    _refuse_mixed_marks(rows, numbers)
    return _rectangular(table, _remarks(rows, numbers))


def _numbers(texts: Sequence[str], row: int) -> Iterator[Number | None]:
    for entry, text in enumerate(texts, 1):
        is_blank = not text or text in NOT_GIVEN
        yield None if is_blank else read_number(text, where=f"row {row}, entry {entry}", mend=MEND)


def _rectangular(table: Sequence[Sequence[Number | None]], remarks: Iterable[str]) -> Entries:
    if not table:
        raise AnswerError(NOTHING)
    width = len(table[0])
    for at, row in enumerate(table, 1):
        if len(row) != width:
            raise AnswerError(
                f"row {at} has {_entries(len(row))} and row 1 has {width}; every row needs the same number. "
                f"I read row 1 as {_short(table[0])} and row {at} as {_short(row)}. "
                "Write _ for an entry that is not given."
            )
    return Entries(tuple(itertools.chain.from_iterable(table)), (len(table), width), tuple(remarks))


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _short(row: Sequence[Number | None]) -> str:
    shown = Entries(tuple(row[:8]), (1, min(len(row), 8))).row_text(0)
    return shown + " | …" if len(row) > 8 else shown


def _refuse_too_many(count: int) -> None:
    if count > MAX_ENTRIES:
        raise AnswerError(
            f"The answer has {count} entries; at most {MAX_ENTRIES} are read as typed numbers. "
            "Give a larger one as an array: in a .npy, .npz or .safetensors file, or in Python."
        )


def _refuse_mixed_marks(rows: Sequence[Row], numbers: Sequence[Number]) -> None:
    comma = next((number.text for number in numbers if "," in number.text), None)
    point = next((number.text for number in numbers if "." in number.text), None)
    if comma and point and any(row.by_commas for row in rows):
        raise AnswerError(
            f"Commas stand between entries and inside {quoted(comma)}, and {quoted(point)} has a point. "
            "Write points as decimal marks and blanks between entries."
        )


def _remarks(rows: Sequence[Row], numbers: Sequence[Number]) -> Iterator[str]:
    texts = {text for row in rows for text in row.texts}
    ways = {row.by_commas for row in rows}
    if any("," in number.text for number in numbers):
        yield "decimal commas"
    if "list" in ways:
        yield "commas read as separators inside [ ]"
    if "tight" in ways:
        yield "commas read as separators"
    if "" in texts:
        yield "empty cells read as not given"
    for mark in sorted(texts & {"-", "..."}):
        yield f"{mark} alone read as not given"
    if any(row.in_brackets for row in rows):
        yield "brackets ignored"


# From JSON and arrays -------------------------------------------------------------------------------


def entries_from_json(values: object) -> Entries:
    """The entries of nested lists, of any shape; parse JSON with parse_float=str, so that digits are kept.

    values  lists of str (typed numbers), int (exact), float (precision unknown), None (not given).
            A number alone is 1×1 and a list is one row; a text alone is read as a table.
    Special cases: "" and "_" are not given. An infinite or NaN float is exact.
    Raises AnswerError: unreadable, ragged, empty, too large, lists too deep.
    """
    if isinstance(values, str):
        return read_entries(values)
    numbers: list[Number | None] = []
    shape = _collect(values, "", numbers)
    has_commas = any(number is not None and "," in number.text for number in numbers)
    return Entries(tuple(numbers), (1,) * (2 - len(shape)) + shape, ("decimal commas",) if has_commas else ())


def _collect(values: object, path: str, numbers: list[Number | None]) -> tuple[int, ...]:
    """Append the entries below `values` and return their shape."""
    if not isinstance(values, list | tuple):
        _refuse_too_many(len(numbers) + 1)
        numbers.append(_json_number(values, path))
        return ()
    if not values:
        raise AnswerError(f"The list {f'at {path} ' if path else ''}is empty; it needs at least one entry.")
    if path.count("[") == MAX_DEPTH:
        raise AnswerError(f"The lists are nested more than {MAX_DEPTH} deep.")
    shape = _collect(values[0], f"{path}[0]", numbers)
    for at, value in enumerate(values[1:], 1):
        other = _collect(value, f"{path}[{at}]", numbers)
        if other != shape:
            raise AnswerError(
                f"{path}[{at}] has shape {other} and {path}[0] has {shape}; every row needs the same number "
                "of entries. Write null for an entry that is not given."
            )
    return (len(values), *shape)


def _json_number(value: object, path: str) -> Number | None:
    if isinstance(value, str | Decimal):
        text = plain(str(value)).strip()
        return None if not text or text in NOT_GIVEN else read_number(str(value), where=_at(path))
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool):
        return _untyped_number(value, path)
    shown = str(value) if isinstance(value, bool) else f"a {type(value).__name__}"
    raise AnswerError(f"The entry {_at(path)} is {shown}; a number, a text or null was expected.")


def _at(path: str) -> str:
    return f"at {path}" if path else "given"


def _untyped_number(value: Real | float, path: str) -> Number:
    try:
        nearest, text = float(value), str(value)
    except OverflowError:
        raise AnswerError(f"The entry {_at(path)} is too large for a float64 (1.8e308).") from None
    if isinstance(value, Integral):
        return Number(text, nearest, 0, True)
    return Number(text, nearest, None, not math.isfinite(nearest))


def entries_from_array(array: npt.NDArray[Any]) -> Entries:
    """The entries of an array of any shape, which they keep.

    array  integers (exact), floats (precision unknown), or text and objects, read as in JSON
    Special cases: an infinite or NaN float is exact. A 0-d array has shape ().
    Raises AnswerError: empty, bool or complex, more than 100,000 entries, unreadable text.
    """
    _refuse_too_many(array.size)
    if array.size == 0:
        raise AnswerError(f"The array has shape {array.shape}, so no entry; it needs at least one.")
    paths = ("".join(f"[{i}]" for i in index) for index in np.ndindex(array.shape))
    if array.dtype.kind in "iufOUT" or is_float(array.dtype):
        return Entries(tuple(map(_json_number, array.ravel().tolist(), paths)), array.shape)
    raise AnswerError(f"The array holds {array.dtype}; real numbers were expected.")
