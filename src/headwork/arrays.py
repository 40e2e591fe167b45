"""Turn what people hand over (lists, "-inf", tensors) into NumPy arrays and numbers, or say why not.

Part of the door: only `problem` and readers of answers use it. Values keep their dtype; Python
numbers become float64.
"""

from __future__ import annotations

import reprlib
import sys
from array import array as typed_array
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, cast

import ml_dtypes
import numpy as np

from .errors import NumberError, OptionError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, np.dtype[Any]] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
WORDS = {
    "inf": np.inf,
    "+inf": np.inf,
    "infinity": np.inf,
    "-inf": -np.inf,
    "-infinity": -np.inf,
    "nan": np.nan,
}
MAX_DEPTH = 8  # (batch axes, H, T, D) need four; a list that holds itself would never end
EXACT = 2**53  # float64 counts exactly up to here


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether dtype is one that Headwork computes in."""
    return dtype in DTYPES.values()


# --- arrays ---------------------------------------------------------------------------------------


def as_floats(name: str, values: object) -> Array:
    """`values` as a floating-point array; float dtypes are kept, everything else becomes float64.

    values  nested lists of numbers ("inf", "-inf", "nan" as text), an ndarray, or anything with
            `__array__`, a buffer or DLPack, of any shape.
    Raises NumberError (not a number) or ShapeError (ragged rows), naming the field `name`.
    """
    array = as_array(name, values)
    if array.dtype == bool:
        raise NumberError(
            f"{name} holds True and False; numbers were expected. Write 1 and 0 if numbers are meant."
        )
    if array.dtype.kind == "c":
        raise NumberError(f"{name} holds complex numbers; real numbers were expected. Take .real first.")
    native = array.dtype.newbyteorder("=")
    return array.astype(native if is_float(native) else np.float64, copy=False)


def as_array(name: str, values: object) -> Array:
    """`values` as an array of bools or numbers, dtype kept; see `as_floats`."""
    if not _is_foreign(values):
        return _from_nested(name, values)
    array = _from_foreign(name, values)
    if array.dtype.kind in "biufc" or is_float(array.dtype):
        return array
    if array.dtype.kind in "OUT":  # objects and text: entry by entry
        return _from_nested(name, array)
    raise NumberError(
        f"{name} has dtype {array.dtype}; numbers were expected ({', '.join(DTYPES)} or whole numbers)."
    )


def _is_foreign(values: object) -> bool:
    return _is_readable(values) or hasattr(values, "__dlpack__")


def _is_readable(values: object) -> bool:
    """Whether NumPy reads it without DLPack. Bytes are text here, though they are a buffer, too."""
    return hasattr(values, "__array__") or isinstance(values, typed_array | memoryview)


def _from_foreign(name: str, values: Any) -> Array:
    try:
        if str(getattr(values, "dtype", "")) == "torch.bfloat16":  # NumPy has no such type, so torch refuses
            return np.asarray(values.float()).astype(DTYPES["bfloat16"])
        return np.asarray(values) if _is_readable(values) else np.from_dlpack(values)
    except Exception as error:  # a foreign array may raise anything: say which field, keep its own words
        raise NumberError(
            f"{name} is a {type(values).__name__} that NumPy cannot read ({error}). "
            f"Hand over a CPU array that needs no gradient, for example {name}.detach().cpu()."
        ) from None


def _from_nested(name: str, values: object) -> Array:
    """Bools stay bools and whole numbers stay whole: a mask of 0 and 1 is not a mask to be added."""
    nested = _as_lists(name, values)
    shape = _shape(name, nested)
    flat = [_number(name, value) for value in _leaves(nested, len(shape))]
    kinds = {type(value) for value in flat}
    if bool in kinds and len(kinds) > 1:
        raise NumberError(f"{name} mixes true/false with numbers; all of one kind were expected.")
    kind = bool if kinds == {bool} else np.int64 if kinds == {int} else np.float64
    return np.array(flat, dtype=kind).reshape(shape)


def _as_lists(name: str, values: object, depth: int = 0) -> object:
    """Lists in lists, whatever sequences and arrays they were. Raises ShapeError where there is no end."""
    if depth > MAX_DEPTH:
        raise ShapeError(
            f"{name} is nested over {MAX_DEPTH} lists deep; a matrix is a list of rows: [[1, 0], [0, 1]]."
        )
    if _is_foreign(values):
        array = _from_foreign(name, values)
        listed = array.tolist()
        return _as_lists(name, listed, depth + 1) if array.dtype == object else listed
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return [_as_lists(name, item, depth + 1) for item in values]
    return values


def _shape(name: str, values: object) -> tuple[int, ...]:
    """The shape of nested lists. Raises ShapeError at the first row that does not fit."""
    if not isinstance(values, list):
        return ()
    shapes = [_shape(name, item) for item in values]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ShapeError(
                f"{name} is ragged: its part 1 has {_size_words(shapes[0])} and its part {index + 1} has "
                f"{_size_words(shape)}. Every row of a matrix needs the same number of entries."
            )
    return (len(shapes), *shapes[0]) if shapes else (0,)


def _size_words(shape: tuple[int, ...]) -> str:
    if len(shape) > 1:
        return f"shape {shape}"
    return f"{shape[0]} {'entry' if shape[0] == 1 else 'entries'}" if shape else "one number"


def _leaves(values: object, depth: int) -> Iterator[object]:
    if depth == 0:
        yield values
    else:
        for item in cast("list[object]", values):
            yield from _leaves(item, depth - 1)


def _number(name: str, value: object) -> float | int | bool:
    """One entry as a number. Raises NumberError with the entry as it was given."""
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower().replace("−", "-"), value)
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    if isinstance(value, Real) and abs(cast("float", value)) <= sys.float_info.max:
        return float(value)
    fault = "too large for float64" if isinstance(value, Real) else "not a number"
    raise NumberError(
        f"{name} holds {shown(value)}, which is {fault}. Write numbers such as 2 or -0.5; "
        f'infinity and not-a-number are the words "inf", "-inf" and "nan".'
    )


# --- single numbers, and other options ------------------------------------------------------------


def finite(name: str, value: object, *, above_zero: bool = False) -> float:
    """One finite number. Raises OptionError or NumberError."""
    array = as_floats(name, value)
    if array.shape != () or not np.isfinite(array) or (above_zero and array <= 0):
        wanted = "a finite number above 0" if above_zero else "one finite number"
        raise OptionError(
            f"{name} is {shown(value)}; {wanted} was expected. Leave it out where none is meant."
        )
    return float(array)


def whole(name: str, value: object, least: int) -> int:
    """One whole number of at least `least`. Raises OptionError or NumberError."""
    array = whole_array(name, value, least)
    if array.shape != ():
        raise OptionError(f"{name} is {shown(value)}; one whole number was expected.")
    return int(array)


def whole_array(name: str, value: object, least: int | None = None) -> Array:
    """Whole numbers as int64; 3.0 counts as 3. Raises OptionError or NumberError."""
    array = as_floats(name, value)
    if not (np.isfinite(array).all() and (array == np.round(array)).all() and (np.abs(array) < EXACT).all()):
        raise OptionError(f"{name} is {shown(value)}; whole numbers were expected.")
    if least is not None and (array < least).any():
        raise OptionError(f"{name} is {shown(value)}; it must be at least {least}.")
    return array.astype(np.int64)


def plain(value: object) -> object:
    """NumPy's scalars, text and arrays as Python's own, anything else as it is: so options come from .npz."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def shown(value: object) -> str:
    """What was given, short enough for an error message; never fails, however large, deep or odd it is."""
    try:
        text = " ".join(_SHORT.repr(value).split())
    except Exception:  # a whole number of more than 4300 digits, a type whose own repr raises
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
