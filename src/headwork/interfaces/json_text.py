"""JSON in and out: what is written is valid everywhere, what is refused is named by line and column."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ..errors import FileError

INDENT = "  "


def json_text(record: object) -> str:
    """A record as JSON: objects indented, each row of numbers on a line of its own.

    record  mappings, sequences, arrays, numbers, strings, None, and anything with `to_dict`. Numbers keep
            every digit; ∞, −∞ and NaN, which JSON has no numbers for, become "inf", "-inf" and "nan".
    """
    return _laid_out(plain_data(record), "")


def plain_data(value: Any) -> Any:
    """The record in what JSON knows: dicts with text keys, lists, text, finite numbers, booleans and None."""
    if hasattr(value, "to_dict"):
        return plain_data(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array or a number of NumPy's; bfloat16 is no Python number
        return plain_data((value if value.dtype.kind in "biufOU" else value.astype("f8")).tolist())
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if isinstance(value, float):
        return _number(value)
    return value if value is None or isinstance(value, str | int) else str(value)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _laid_out(value: Any, margin: str) -> str:
    inner = margin + INDENT
    if isinstance(value, dict) and value:
        lines = [f"{inner}{_compact(key)}: {_laid_out(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "[\n" + ",\n".join(inner + _laid_out(item, inner) for item in value) + f"\n{margin}]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def parse_json(text: str, name: str, keep_digits: bool = False) -> Any:
    """What a JSON text says.

    name         of the file, for the message
    keep_digits  decimals come as the text they were written with ("0.90"), so that their digits count

    NaN, Infinity and -Infinity, which Python and JavaScript people write, are read too.
    Raises FileError: no JSON (with line and column), a key given twice, nested too deep.
    """
    reader = json.JSONDecoder(parse_float=str if keep_digits else float, object_pairs_hook=_no_key_twice)
    try:
        return reader.decode(text)
    except json.JSONDecodeError as error:
        raise FileError(
            f"{name} is not JSON: line {error.lineno}, column {error.colno}: {_reason(error, text)}"
        ) from None
    except FileError as error:
        raise FileError(f"{name}: {error}") from None
    except RecursionError:
        raise FileError(f"{name} is nested too deep; a matrix is a list of rows: [[1, 0], [0, 1]].") from None
    except ValueError:  # Python refuses whole numbers of more than 4300 digits
        raise FileError(f"{name} holds a whole number of too many digits to be read.") from None


def _reason(error: json.JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "it is empty."
    at = text[error.pos : error.pos + 1]
    found = f"found {at!r}" if at else "the text ends there"
    return f"{error.msg[0].lower()}{error.msg[1:]}; {found}."


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise FileError(f"the key {key[:60]!r} is given twice in one object; keep one of the two.")
        record[key] = value
    return record
