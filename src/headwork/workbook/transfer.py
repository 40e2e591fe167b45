"""Progress as JSON: to read, to keep elsewhere, to bring to another machine."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import FileError
from .progress import FIELDS, KINDS, Act, storable

FORMAT = "headwork progress"
VERSION = 1
LONGEST = 100_000  # characters of one text: an explanation is a few sentences


def to_json(acts: Sequence[Act]) -> str:
    """The acts as JSON that a person can read, one act a line."""
    head = json.dumps({"format": FORMAT, "version": VERSION})[:-1]
    lines = ",\n".join("  " + json.dumps(asdict(act), ensure_ascii=False) for act in acts)
    return f'{head}, "acts": [\n{lines}\n]}}\n'


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is the old one or the new one, never a half. Raises FileError.

    content  text, which is written as UTF-8, or bytes
    Special cases: a device or a pipe (/dev/stdout) is written to, not replaced; a link keeps its place.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            with open(target, "wb") as stream:
                stream.write(data)
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, _usual_mode())
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}. Name another file.") from None


def _usual_mode() -> int:
    """The rights that a new file gets here; a temporary one is for its owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def from_json(text: str, name: str) -> tuple[Act, ...]:
    """The acts that an exported file holds, every one of them checked.

    text  of the file; name: of the file, for errors
    Raises FileError: not JSON, not an export, of a newer version, or an act that is not one.
    Special cases: acts of exercises that this course does not have are kept.
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{name} is not JSON: {error}. Give a file that headwork progress --export wrote."
        ) from None
    if (
        not isinstance(record, dict)
        or record.get("format") != FORMAT
        or not isinstance(record.get("acts"), list)
    ):
        raise FileError(
            f"{name} is JSON, but no progress. Give a file that headwork progress --export wrote."
        )
    if record.get("version") != VERSION:
        raise FileError(
            f"{name} has version {record.get('version')!r}; this Headwork reads {VERSION}. Update it."
        )
    return tuple(_act(act, f"{name}: act {at}") for at, act in enumerate(record["acts"], 1))


def _act(record: Any, where: str) -> Act:
    if not isinstance(record, dict) or set(record) != set(FIELDS):
        raise FileError(f"{where} needs exactly the keys {', '.join(FIELDS)}. Nothing was imported.")
    for key, value in record.items():
        if not isinstance(value, str) or len(value) > LONGEST:
            raise FileError(
                f"{where}: {key} is not a text of at most {LONGEST} characters. Nothing was imported."
            )
    act = Act(**{key: storable(value) for key, value in record.items()})
    if act.kind not in KINDS:
        raise FileError(
            f"{where}: kind is {act.kind[:40]!r}; it is one of {', '.join(KINDS)}. Nothing was imported."
        )
    return Act(**asdict(act) | {"id": _uuid(act.id, where), "at": _utc(act.at, where)})


def _uuid(text: str, where: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise FileError(f"{where}: id is {text[:60]!r}; a UUID was expected. Nothing was imported.") from None


def _utc(text: str, where: str) -> str:
    """The time in UTC, in the form that sorts as text."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise ValueError
        return at.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        raise FileError(
            f"{where}: at is {text[:60]!r}; a time such as 2024-05-01T09:30:00+00:00 was expected. "
            "Nothing was imported."
        ) from None
