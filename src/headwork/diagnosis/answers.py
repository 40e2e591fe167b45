"""Somebody's answers, placed in the shape of the steps they answer: whole matrices, rows or single entries.

An entry that was not given is told apart from one that was given as NaN. What does not fit costs nothing:
it is an AnswerError that says what was read and what was expected.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, as_array, as_floats
from ..errors import AnswerError, ProblemError, UnknownNameError
from ..mechanism.fields import FIELDS, axes_of
from ..mechanism.tracing import Trace, seeds
from .typed import Entries, entries_from_array, entries_from_json, read_entries

ORDER = {field.name: index for index, field in enumerate(FIELDS)}
PLACES = ("row", "rows", "entry")
PLACE_KEYS = {*PLACES, "values", "value"}
ROW_NAMES = {
    "Tq": "query",
    "Tk": "key",
    "D": "feature",
    "Dv": "feature",
    "E": "feature",
    "W": "column",
    "H": "head",
    "Hkv": "head",
}
COUNTED = "Places count from 1 on the command line, from 0 in JSON and Python."
Index = tuple[Any, ...]  # whole numbers; lists of them for several rows
# why a step may be absent from a problem's trace, by what it would need
NEEDS = {
    "part_output": "the problem is not worked in parts (it has no chunks)",
    "part_logsumexp": "the problem is not worked in parts (it has no chunks)",
    "x": "the problem does not start from embeddings",
    "x_key": "the problem does not start from embeddings",
}


@dataclass(frozen=True, eq=False)
class Answer:
    """One step's answer, in the shape in which people see that step.

    Fields
    step    name of the field
    values  float64; NaN where not given, or where NaN was given
    given   bool, True where there is an entry; asked: True where one was expected (a row, an entry, or all)
    places  decimals written; inf where meant exactly, NaN where unknown
    texts   what was typed, by flat index; empty for arrays
    dtype   of an array's arithmetic; None for typed numbers
    echo    one line for each row: what was read; remarks: how, where that could be missed
    """

    step: str
    values: Array
    given: Array
    asked: Array
    places: Array
    texts: Mapping[int, str]
    dtype: str | None
    echo: tuple[str, ...]
    remarks: tuple[str, ...]


def read_answers(work: Trace, answers: Mapping[str, Any]) -> tuple[Answer, ...]:
    """The answers in the order of the pipeline.

    work     the problem, worked out
    answers  {step: values}, or one {"step": step, "values": values}. Values are a matrix (text, nested lists
             of numbers, texts and None, or an array); {"row": i, "values": […]}, {"rows": [i, k],
             "values": …} or {"entry": [i, j], "value": x}, counted from 0; or a list of such parts.
    Raises AnswerError, UnknownNameError.
    """
    if not isinstance(answers, Mapping):
        raise AnswerError(
            f"answers came as a {type(answers).__name__}; they name their steps, "
            'such as {"scores": "2 0 4; 0 2 0"}.'
        )
    if "step" in answers:
        answers = {str(answers["step"]): {key: value for key, value in answers.items() if key != "step"}}
    if not answers:
        raise AnswerError(
            'There is no answer to mark. Name a step and its values: {"scores": "2 0 4; 0 2 0"}.'
        )
    for step in answers:
        check_step(work, step)
    return tuple(_answer(work, step, answers[step]) for step in sorted(answers, key=ORDER.__getitem__))


def check_step(work: Trace, step: object) -> None:
    """Raises UnknownNameError, or AnswerError where the problem has no such step."""
    if step not in ORDER:
        near = difflib.get_close_matches(str(step), ORDER, n=2, cutoff=0.5)
        hint = (
            f" Did you mean {' or '.join(map(repr, near))}?"
            if near
            else f" The steps are: {', '.join(work)}."
        )
        raise UnknownNameError(f"there is no step called {str(step)[:60]!r}.{hint}")
    name = str(step)
    if name in seeds(work.problem):
        raise AnswerError(
            f"{name} is given in this problem, so there is nothing to work out. Answer a later step."
        )
    if name not in work:
        raise AnswerError(
            f"{name} cannot be marked: {_why_absent(work, name)}. "
            f"The steps here are: {', '.join(_open(work))}."
        )


def _open(work: Trace) -> list[str]:
    """The fields that the problem's own steps give."""
    return [name for step in work.steps for name in step.writes if name in work]


def _why_absent(work: Trace, name: str) -> str:
    if name in NEEDS:
        return NEEDS[name]
    start = work.problem.start
    if start in ORDER and ORDER[name] < ORDER[start]:
        return f"the problem starts from the given {start}, which come after it"
    if "value_repeated" not in work:
        return "the problem has no value to blend"
    return f"nothing in this problem, which starts from {start}, leads to it"


# --- one answer -----------------------------------------------------------------------------------


class _Sheet:
    """A step's entries while they are filled in."""

    def __init__(self, work: Trace, step: str) -> None:
        self.step = step
        self.shape = work[step].shape
        self.axes = axes_of(work.problem, step)
        self.values = np.full(self.shape, np.nan)
        self.given, self.asked = np.zeros(self.shape, bool), np.zeros(self.shape, bool)
        self.places = np.full(self.shape, np.nan)
        self.texts: dict[int, str] = {}
        self.dtype: str | None = None
        self.echo: list[str] = []
        self.remarks: list[str] = []

    def place(self, index: Index, values: object) -> None:
        """Write `values` where `index` points: everything (no index), a row, some rows, or an entry."""
        wanted = np.empty(self.shape, bool)[index].shape
        entries, dtype = _entries(values)
        if not _fits(entries.shape, wanted, self.axes[-1] == "Tq" and bool(wanted)):
            raise AnswerError(self.misfit(entries.shape, wanted, index))
        flat = np.arange(int(np.prod(self.shape))).reshape(self.shape)[index].ravel()
        for array, found in (
            (self.values, entries.values),
            (self.given, entries.given),
            (self.places, entries.places),
        ):
            array.ravel()[flat] = found.ravel()
        self.asked.ravel()[flat] = True
        self.dtype = dtype or self.dtype
        if isinstance(entries, Entries):
            self.texts |= {
                int(at): n.text for at, n in zip(flat, entries.numbers, strict=True) if n is not None
            }
            if dtype is None:
                self.echo += _echo(entries, index, is_entry=not wanted)
                self.remarks += entries.remarks

    def misfit(self, read: tuple[int, ...], wanted: tuple[int, ...], index: Index) -> str:
        """What was read, what was expected, and how to mend it."""
        what = f"{self.step} is" if not index else f"what is asked of {self.step} is"
        hint = ""
        if read[::-1] == wanted and self.axes[-2:-1] == ("Tq",):
            hint = " That looks transposed: there is one row for each query."
        elif np.prod(read) < np.prod(wanted):
            hint = " Write _ for an entry that is not given, or name the row."
        return f"{what} {size_words(wanted)} here; I read {read_words(read)}.{hint}"

    def index_of(self, key: str, where: object) -> tuple[int, ...]:
        """(head,) row or entry, counted from 0. Raises AnswerError."""
        wanted = len(self.shape) if key == "entry" else max(len(self.shape) - (self.axes[-1] != "Tq"), 1)
        index = tuple(where) if isinstance(where, Sequence) and not isinstance(where, str) else (where,)
        if len(index) < wanted and all(size == 1 for size in self.shape[: wanted - len(index)]):
            index = (0,) * (wanted - len(index)) + index
        names = [
            ROW_NAMES.get(axis, axis) for axis in (*("B",) * (len(self.shape) - len(self.axes)), *self.axes)
        ][:wanted]
        if not all(isinstance(i, int | np.integer) and not isinstance(i, bool) and i >= 0 for i in index):
            raise AnswerError(f"{key} is {repr(where)[:60]}; a place was expected, not below 0. {COUNTED}")
        if len(index) != wanted:
            numbers = f"{wanted} number{'s' if wanted > 1 else ''}, [{', '.join(names)}]"
            raise AnswerError(f"{key} of {self.step} takes {numbers}; {len(index)} came. {COUNTED}")
        for i, size, name in zip(index, self.shape, names, strict=False):
            if not 0 <= i < size:
                raise AnswerError(
                    f"{self.step} is {size_words(self.shape)}: it has no {_ordinal(i + 1)} {name}. {COUNTED}"
                )
        return tuple(int(i) for i in index)


def _answer(work: Trace, step: str, values: object) -> Answer:
    sheet = _Sheet(work, step)
    try:
        for index, part in _parts(sheet, values):
            sheet.place(index, part)
    except AnswerError as error:
        text = str(error)
        raise AnswerError(text if step in text else f"{step}: {text}") from None
    if not sheet.given.any():
        raise AnswerError(f"{step} has no entry that is given. Write at least one number.")
    return Answer(
        step,
        sheet.values,
        sheet.given,
        sheet.asked,
        sheet.places,
        sheet.texts,
        sheet.dtype,
        tuple(sheet.echo),
        tuple(sheet.remarks),
    )


def _parts(sheet: _Sheet, values: object) -> Iterator[tuple[Index, object]]:
    """Where each part of the answer goes, and its values."""
    if isinstance(values, Sequence) and values and all(isinstance(part, Mapping) for part in values):
        for part in values:
            yield from _parts(sheet, part)
    elif isinstance(values, Mapping):
        yield _part(sheet, values)
    else:
        yield (), values


def _part(sheet: _Sheet, part: Mapping[str, Any]) -> tuple[Index, object]:
    filled = [key for key in ("values", "value") if key in part]
    if not set(part) <= PLACE_KEYS or len(filled) != 1 or len(set(PLACES) & set(part)) > 1:
        keys = f"the keys {', '.join(map(str, part))[:80]}" if part else "no keys"
        raise AnswerError(
            f"an answer with {keys} cannot be read; "
            '{"row": 0, "values": […]}, {"entry": [0, 2], "value": 4} or {"values": [[…]]} was expected.'
        )
    key = next((key for key in PLACES if key in part), None)
    return _where(sheet, key, part[key] if key else None), part[filled[0]]


def _where(sheet: _Sheet, key: str | None, where: Any) -> Index:
    if key == "rows":
        rows = where if isinstance(where, Sequence) and not isinstance(where, str) else [where]
        found = [sheet.index_of("row", row) for row in rows]
        return tuple(map(list, zip(*found, strict=True)))
    return () if key is None else sheet.index_of(key, where)


# --- numbers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plain:
    """An array of floats: nothing typed, every entry given."""

    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    @property
    def given(self) -> Array:
        return np.ones(self.shape, bool)

    @property
    def places(self) -> Array:
        return np.full(self.shape, np.nan)


def _entries(values: object) -> tuple[Entries | _Plain, str | None]:
    """The entries, and the dtype of the arithmetic where they come out of some."""
    if isinstance(values, str):
        return read_entries(values), None
    if not hasattr(values, "__array__") and not hasattr(values, "__dlpack__"):
        entries = entries_from_json(values)
        unknown = entries.given & np.isnan(entries.places)
        return entries, "float64" if _has_floats(values) and unknown.any() else None
    kept = getattr(values, "dtype", None)
    if isinstance(values, np.ndarray) and kept is not None and kept.kind in "OUT":
        return entries_from_array(values), None
    array = floats(values)
    if array.size == 0:
        raise AnswerError(f"The array has shape {array.shape}, so no entry; it needs at least one.")
    return _Plain(array.astype(np.float64)), array.dtype.name


def floats(values: Any) -> Array:
    """Numbers of an array; True and False, as of `allowed`, are 1 and 0. Raises AnswerError."""
    try:
        array = as_array("the answer", values)
        return array.astype(np.float64) if array.dtype == bool else as_floats("the answer", array)
    except ProblemError as error:
        raise AnswerError(str(error)) from None


def _has_floats(values: object) -> bool:
    if isinstance(values, list | tuple):
        return any(map(_has_floats, values))
    return isinstance(values, float | np.floating)


# --- shapes ---------------------------------------------------------------------------------------


def _fits(read: tuple[int, ...], wanted: tuple[int, ...], is_row_quantity: bool) -> bool:
    """Axes of 1 do not count: a row or a column does for a vector. All heads may stand in one table."""
    slim_read, slim_wanted = ([size for size in shape if size != 1] for shape in (read, wanted))
    if slim_read == slim_wanted:
        return True
    if np.prod(read) != np.prod(wanted):
        return False
    under_each_other = len(read) == 2 and len(wanted) > 2 and read[-1] == wanted[-1]
    return under_each_other or (is_row_quantity and len(slim_read) == 1)


def _ordinal(number: int) -> str:
    """ "4th": where it stands, whatever it is counted from."""
    ends = {1: "st", 2: "nd", 3: "rd"} if number % 100 not in (11, 12, 13) else {}
    return f"{number}{ends.get(number % 10, 'th')}"


def size_words(shape: tuple[int, ...]) -> str:
    """ "3 × 3"; a single axis is "3 entries"."""
    return " × ".join(map(str, shape)) if len(shape) > 1 else _count(shape[0] if shape else 1)


def read_words(shape: tuple[int, ...]) -> str:
    """What was read: "2 rows of 3", or a shape of more axes."""
    if len(shape) > 2:
        return size_words(shape)
    rows, width = (1, *shape)[-2:] if shape else (1, 1)
    return _count(width) if rows == 1 else f"{rows} rows of {width}"


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"


def _echo(entries: Entries, index: Index, is_entry: bool) -> Iterator[str]:
    how = "".join(f", with {said}" if said == "decimal commas" else f" ({said})" for said in entries.remarks)
    first = index[-1] if index else 0
    for row in range(len(entries.rows)):
        number = first[row] if isinstance(first, list) else first + row
        yield f"I read {'' if is_entry else f'row {number + 1} as '}{entries.row_text(row)}{how}"
