"""Problems and answers from exercise ids, files and standard input.

What a file is, its first bytes say before its name does. Names inside are the fields of Problem; what JSON
nests, an archive writes with a dot: "given.scores", "rope.base", "mask.0".
"""

from __future__ import annotations

import codecs
import difflib
import json
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..arrays import Array
from ..errors import FileError, ProblemError, TooLargeError, UnknownNameError
from ..problem import ARRAYS, Problem, field_names
from .archives import NPY_MAGIC, ZIP_MAGIC, check_fits, read_npy, read_npz, read_safetensors
from .json_text import parse_json

SUFFIXES = (".json", ".npy", ".npz", ".safetensors", ".txt")
STANDARD_INPUT = "-"
MOST_TEXT = 64 * 2**20  # bytes; larger JSON takes seconds and gigabytes to read, and an archive does not
MOST_STREAM = 2**30  # bytes; a pipe or a device does not say how much is to come
LISTS = (*ARRAYS, "given", "mask", "chunks")  # fields that are arrays however few entries they have

Answers = Mapping[str, Any] | list[Any] | Array | str


def read_problem(text: str) -> Problem:
    """The problem that somebody names: an exercise id, a file, - for standard input, or the JSON itself.

    Raises FileError, ProblemError (naming the file), UnknownNameError (neither an exercise nor a file).
    """
    if not (is_json(text) or names_file(text) or os.sep in text):
        return _exercise(text)
    return _problem(_content(text), shown(text))


def problem_in(raw: bytes, name: str) -> Problem:
    """The problem that the bytes of a file say: JSON, .npz or .safetensors.

    Raises FileError, TooLargeError, ProblemError (naming the file).
    """
    return _problem(_parsed(raw, name, Path(name).suffix.lower()), name)


def _problem(content: Any, name: str) -> Problem:
    if isinstance(content, dict) and any(isinstance(value, np.ndarray) for value in content.values()):
        content = _record(content, name)
    if isinstance(content, np.ndarray):
        raise FileError(
            f"{name} holds one array without a name; a problem has several. Use .npz, .safetensors or JSON."
        )
    try:
        return Problem.from_dict(content)
    except ProblemError as error:
        raise type(error)(f"{name}: {error}") from None


def read_answers(text: str) -> Answers:
    """The answers that somebody gives: a file, - for standard input, or else the text or JSON itself.

    JSON comes as a mapping or lists (decimals as text, so that their digits count), .npy as an array,
    .npz and .safetensors as a mapping of arrays, anything else as text.
    Raises FileError, TooLargeError.
    """
    answers: Answers = _content(text, is_answer=True) if names_file(text) else _typed(text, "this")
    return answers


def names_file(text: str) -> bool:
    """Whether a file is meant: by its ending, which no exercise has, or because it is there.

    A slash alone says nothing: 1/3 is a number.
    """
    if "\n" in text or "\0" in text or len(text) > 4096:  # the longest path that Linux knows
        return False
    return text == STANDARD_INPUT or text.lower().endswith(SUFFIXES) or os.path.exists(text)


def is_json(text: str) -> bool:
    """Whether this is no name but the JSON itself."""
    return text.lstrip().startswith("{")


def shown(path: str) -> str:
    """The file's name as messages say it."""
    if path == STANDARD_INPUT:
        return "standard input"
    if is_json(path):
        return "this"
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in path)
    return text if len(text) <= 100 else "…" + text[-99:]


def _exercise(text: str) -> Problem:
    from ..workbook.finding import problem_of

    try:
        return problem_of(text)
    except UnknownNameError as error:
        if not text.partition("@")[0].strip():
            raise
        raise UnknownNameError(f"there is no file {shown(text)!r}, and {error}") from None


# --- what a file holds -----------------------------------------------------------------------------


def _content(path: str, is_answer: bool = False) -> Any:
    """JSON, an array, a dict of arrays, or the text of an answer."""
    if is_json(path):
        return parse_json(path, shown(path))
    name, suffix = shown(path), Path(path).suffix.lower()
    return _parsed(_bytes(path, name), name, suffix, is_answer)


def _parsed(raw: bytes, name: str, suffix: str, is_answer: bool = False) -> Any:
    if raw.startswith(NPY_MAGIC):
        return read_npy(raw, name)
    if raw.startswith(ZIP_MAGIC):
        return read_npz(raw, name)
    if _is_safetensors(raw) or suffix == ".safetensors":
        arrays, metadata = read_safetensors(raw, name)
        return arrays if is_answer else _options(metadata) | arrays
    if suffix in (".npy", ".npz"):
        raise FileError(f"{name} is no {suffix} file: its first bytes are those of something else.")
    text = _text(raw, name)
    return _typed(text, name) if is_answer and suffix != ".json" else parse_json(text, name, is_answer)


def _typed(text: str, name: str) -> Any:
    """An answer as JSON where it is JSON, else as it is: [2 0 4] is how NumPy prints a row."""
    if is_json(text):
        return parse_json(text, name, keep_digits=True)
    with suppress(FileError):
        return parse_json(text, name, keep_digits=True) if text.lstrip().startswith("[") else text
    return text


def _is_safetensors(raw: bytes) -> bool:
    return raw[8:9] == b"{" and int.from_bytes(raw[:8], "little") <= len(raw) - 8


def _text(raw: bytes, name: str) -> str:
    """UTF-8, or UTF-16 where its mark says so (Windows PowerShell writes it)."""
    if len(raw) > MOST_TEXT:
        raise TooLargeError(
            f"{name} has {len(raw) / 2**20:,.0f} MiB of text; keep so many numbers in .npz or .safetensors."
        )
    encoding = "utf-16" if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise FileError(
            f"{name} is no text: byte {error.start + 1} is not {encoding.removesuffix('-sig')}. {EXPECTED}"
        ) from None
    if "\0" in text:
        raise FileError(f"{name} is no text: it holds zero bytes. {EXPECTED}")
    return text


EXPECTED = "JSON in UTF-8, .npz or .safetensors was expected."


# --- archives: names with dots, options as arrays of one element -------------------------------------


def _options(metadata: Mapping[str, str]) -> dict[str, Any]:
    """The metadata that are fields of a problem; programs put other things there too."""
    return {key: _option(text) for key, text in metadata.items() if key.split(".")[0] in field_names()}


def _option(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _record(archive: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The contents of an archive as `Problem.from_dict` reads them."""
    record: dict[str, Any] = {}
    for key, value in archive.items():
        field, dot, inner = key.partition(".")
        value = _value(field, value) if isinstance(value, np.ndarray) else value
        if (field in record) if not dot else not isinstance(record.setdefault(field, {}), dict):
            raise FileError(
                f"{name} holds {field!r} and also names such as {field + '.…'!r}; keep one of the two."
            )
        if dot:
            record[field][inner] = value
        else:
            record[field] = value
    if isinstance(record.get("mask"), dict):  # mask.0, mask.1: several masks
        record["mask"] = [{"mask": mask} for mask in record["mask"].values()]
    return record


def _value(field: str, array: Array) -> Any:
    """An array field as it is; an option as a number, text or list. NaN in a window: no bound."""
    if field in LISTS:
        return array
    if array.size == 1:
        return array.item()
    entries = array.tolist()
    return [None if entry != entry else entry for entry in entries] if field == "window" else entries


# --- bytes -----------------------------------------------------------------------------------------


def _bytes(path: str, name: str) -> bytes:
    try:
        if path == STANDARD_INPUT:
            return _stream(sys.stdin.buffer, name)
        if os.path.isdir(path):
            raise FileError(f"{name} is a folder; a file was expected.")
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return _stream(file, name)
            check_fits(name, status.st_size)
            return file.read()
    except FileNotFoundError:
        raise FileError(f"there is no file {name}.{_nearest(path)}") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None


def _stream(file: BinaryIO, name: str) -> bytes:
    parts, size = [], 0
    while part := file.read(2**20):
        parts.append(part)
        size += len(part)
        if size > MOST_STREAM:
            raise TooLargeError(
                f"{name} does not end: more than {MOST_STREAM / 2**30:.0f} GiB came. Use a file."
            )
    return b"".join(parts)


def _nearest(path: str) -> str:
    folder, wanted = os.path.split(path)
    try:
        near = difflib.get_close_matches(wanted, os.listdir(folder or "."), n=1, cutoff=0.7)
    except OSError:
        return ""
    return f" Did you mean {shown(os.path.join(folder, near[0]))}?" if near else ""
