"""Messages between the checker and its worker: JSON with the bytes of the arrays behind it.

No pickle: what comes back from a process that ran somebody's code is read as data, and checked.
A frame is MAGIC, two lengths, the JSON and the bytes; the JSON has {"__array__": [dtype, shape, place]}.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any

import ml_dtypes
from numpy import ascontiguousarray, dtype, frombuffer, generic, ndarray

from .calls import Call, Outcome, Parameter, Settings, Signature

MAGIC = b"headwork"
HEAD = struct.Struct("<8sQQ")
MOST = 8 << 30  # bytes of one frame: a larger number is garbage
SMALL = 1 << 16  # bytes that are cheaper copied than written apart
MARK = "__array__"
SETTINGS = "__settings__"


class GarbledError(Exception):
    """Bytes that are no message: somebody else wrote into the line."""


# --- out ------------------------------------------------------------------------------------------


def packed(message: Mapping[str, Any]) -> list[memoryview]:
    """A message as chunks of bytes: dictionaries, lists, numbers, text, arrays and plain records."""
    chunks: list[memoryview] = []
    text = json.dumps(message, default=lambda thing: _plain(thing, chunks)).encode()
    size = sum(len(chunk) for chunk in chunks)
    head = HEAD.pack(MAGIC, len(text), size) + text
    if size < SMALL:  # one write, so that the other side wakes up once
        return [memoryview(head + b"".join(chunks))]
    return [memoryview(head), *chunks]


def _plain(thing: Any, chunks: list[memoryview]) -> Any:
    if isinstance(thing, ndarray):
        place = sum(len(chunk) for chunk in chunks)
        chunks.append(ascontiguousarray(thing).reshape(-1).view("u1").data)
        return {MARK: [_dtype_name(thing.dtype), thing.shape, place]}
    if isinstance(thing, generic):
        return thing.item()
    if isinstance(thing, Mapping):
        return dict(thing)
    if isinstance(thing, Settings):
        return {SETTINGS: dict(thing.values)}
    if is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in fields(thing)}
    raise TypeError(f"a {type(thing).__name__} cannot be sent to another process: {thing!r}")


def _dtype_name(kind: dtype[Any]) -> str:
    return kind.name if hasattr(ml_dtypes, kind.name) else kind.str


# --- in -------------------------------------------------------------------------------------------


class Inbox:
    """Bytes as they come in, until they are a whole message."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._wanted = HEAD.size

    @property
    def missing(self) -> int:
        """How many bytes it takes at least to go on."""
        return max(0, self._wanted - len(self._bytes))

    def add(self, part: bytes) -> dict[str, Any] | None:
        """The message, once it is whole. Raises GarbledError."""
        self._bytes += part
        begun = bytes(self._bytes[: len(MAGIC)])
        if not MAGIC.startswith(begun):
            raise GarbledError
        if len(self._bytes) < HEAD.size:
            return None
        _, text_length, arrays_length = HEAD.unpack_from(self._bytes)
        self._wanted = HEAD.size + text_length + arrays_length
        if self._wanted > MOST or len(self._bytes) > self._wanted:
            raise GarbledError
        return None if self.missing else self._message(text_length)

    def _message(self, text_length: int) -> dict[str, Any]:
        frame, self._bytes, self._wanted = self._bytes, bytearray(), HEAD.size
        begin = HEAD.size + text_length
        text, arrays = frame[HEAD.size : begin], memoryview(frame)[begin:]
        try:
            message = json.loads(text, object_hook=lambda found: _array(found, arrays))
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise GarbledError from None
        if not isinstance(message, dict):
            raise GarbledError
        return {name: _tuples(value) for name, value in message.items()}


def _array(found: dict[str, Any], arrays: memoryview) -> Any:
    if SETTINGS in found:
        return Settings(found[SETTINGS])
    if MARK not in found:
        return found
    name, shape, place = found[MARK]
    kind = dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)
    count = prod(shape)
    if count == 0:
        return ndarray(shape, kind)
    return frombuffer(arrays, kind, count, place).reshape(shape)


def _tuples(value: Any) -> Any:
    """Lists as tuples: JSON knows no difference, and the records hold tuples."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return value


def call_from(message: Any) -> Call:
    """The Call that was sent."""
    return Call(**message)


def outcome_from(message: Any) -> Outcome:
    """The Outcome that was sent. Raises GarbledError."""
    try:
        return Outcome(**message)
    except TypeError:
        raise GarbledError from None


def signature_from(message: Any) -> Signature:
    """The Signature that was sent. Raises GarbledError."""
    try:
        parameters = message.pop("parameters")
        seen = None if parameters is None else tuple(Parameter(**one) for one in parameters)
        return Signature(**message, parameters=seen)
    except (AttributeError, KeyError, TypeError):
        raise GarbledError from None
