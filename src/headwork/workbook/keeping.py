"""Where progress is kept: the file that was named, or the user's own, or nowhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError
from .progress import Act, NotWritableError, Progress, user_file

VARIABLE = "HEADWORK_PROGRESS"


@dataclass(frozen=True)
class Kept:
    """An open log of progress.

    Fields
    progress  the log
    path      the file that was meant
    warning   what the learner should know before starting, or ""
    """

    progress: Progress
    path: Path
    warning: str = ""


def named_file(option: Path | None) -> Path | None:
    """The file that somebody named: the option, or the environment variable; None when nobody did."""
    if option is not None:
        return option
    said = os.environ.get(VARIABLE, "")
    return Path(said).expanduser() if said else None


@contextmanager
def open_progress(option: Path | None, *, create: bool) -> Iterator[Kept]:
    """The learner's progress, closed at the end.

    option  a file that was named, or None
    create  False leaves no file behind where there is none: then the log is empty and in memory

    Special cases: where nobody named a file and the usual place cannot be written, practising goes on without
    one, with a warning. A file that was named has to work, since somebody counts on it.
    Raises FileError.
    """
    named = named_file(option)
    path = named or user_file()
    warning = ""
    try:
        progress = Progress(path if create or _may_be_there(path) else None, to_write=create)
        if progress.is_read_only:
            warning = f"{path} can be read but not written, so nothing in it can change."
    except NotWritableError as error:
        if named is not None:
            raise
        reason = str(error)
        progress = Progress(None)
        progress.add(_readable_acts(path))
        warning = f"Nothing of this will be kept. {reason[:1].upper()}{reason[1:]}"
    with progress:
        yield Kept(progress, path, warning)


def _readable_acts(path: Path) -> tuple[Act, ...]:
    """What was kept in a file that can no longer be written, so that practice goes on from there."""
    try:
        with Progress(path) as kept:
            return kept.acts()
    except FileError:
        return ()


def _may_be_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder that cannot be entered: opening it says so
        return True
