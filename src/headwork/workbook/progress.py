"""What a learner has done, kept in one SQLite file: a log of acts, from which everything else is read.

An act is committed before anything about it is shown, so that nothing is lost whenever the program ends. Acts
have ids of their own, so that two files merge without doubles.
"""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs

from ..errors import FileError

SCHEMA = 1  # in user_version; raise it with every change, and migrate older files in _prepare
APPLICATION = 0x48647772  # "Hdwr" in application_id: tells our file from another program's
PATIENCE = 10.0  # seconds to wait for another process that is writing
FILE_NAME = "progress.sqlite3"

# opened: a question was put; answer: with its verdict; explanation: in the learner's words; draft: one not
# yet at its end; compared: one of its points, with the learner's verdict; hint and solution: opened; skip
KINDS = ("opened", "answer", "explanation", "draft", "compared", "hint", "solution", "skip")

TABLE = """
    CREATE TABLE acts (
        id TEXT PRIMARY KEY,
        at TEXT NOT NULL,
        exercise TEXT NOT NULL,
        question TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        verdict TEXT NOT NULL
    )"""
# beside the table, so that the format stays the same: without it each page reads everything ever done
INDEX = "CREATE INDEX IF NOT EXISTS acts_of_exercise ON acts (exercise)"


@dataclass(frozen=True)
class Act:
    """One thing that the learner did.

    Fields
    id        a UUID, the same wherever the act is copied to
    at        UTC, ISO 8601
    exercise, question  ids
    kind      one of KINDS
    text      what was typed
    verdict   what came of it
    """

    id: str
    at: str
    exercise: str
    question: str
    kind: str
    text: str
    verdict: str


class NotWritableError(FileError):
    """The progress file cannot be written where it is."""


FIELDS = tuple(field.name for field in fields(Act))


def user_file() -> Path:
    """Where progress is kept when nobody says otherwise."""
    return platformdirs.user_data_path("headwork", appauthor=False) / FILE_NAME


class Progress:
    """The log of acts in a file, or in memory.

    Fields
    path          the file; None keeps it in memory, for as long as the program runs
    is_read_only  it can be read and not written

    With `to_write`, a file that can be read and not written is refused at once, before an act is lost.
    """

    def __init__(self, path: Path | None, *, to_write: bool = False) -> None:
        self.path = path
        self._together: list[Act] | None = None  # acts that wait for the end of `together`
        with _explained(path, "open"):
            self.is_read_only = path is not None and not to_write and not _can_be_written(path)
            is_empty = path is not None and self.is_read_only and path.stat().st_size == 0
            to_read = path if self.is_read_only and not is_empty else None
            self._connection = _opened_to_read(to_read) if to_read else _opened(None if is_empty else path)
        try:
            with _explained(path, "open"):
                self._check_owner()
                if not to_read:
                    self._prepare()
                self._check_sound()
                if to_write:
                    with self._transaction():  # an empty one would pass
                        self._connection.execute(f"PRAGMA user_version = {SCHEMA}")
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is recorded inside is kept when this ends, in one transaction: no end of the program takes it.

        Special cases: `acts` has it before that; where it cannot be written, none of it is kept. A power cut
        may take it until `sync`: the disk is not waited for, which takes longer than to mark an answer.
        Raises FileError.
        """
        self._together = []
        try:
            yield
        finally:
            made, self._together = self._together, None
            if made:
                self._connection.execute("PRAGMA synchronous = NORMAL")
                try:
                    self.add(made)
                finally:
                    self._connection.execute("PRAGMA synchronous = FULL")

    def sync(self) -> None:
        """What is kept is on the disk when this returns, and a power cut takes none of it; from any thread.

        Special cases: what SQLite has moved from the file beside into the file itself is on the disk already.
        Raises FileError.
        """
        if self.path is None:
            return
        with _explained(self.path, "write"), suppress(FileNotFoundError):
            beside = os.open(self.path.with_name(f"{self.path.name}-wal"), os.O_RDWR)
            try:
                os.fsync(beside)
            finally:
                os.close(beside)

    def record(self, exercise: str, question: str, kind: str, text: str = "", verdict: str = "") -> Act:
        """Keep one act; it is on the disk when this returns. Inside of `together`, that says when.

        exercise, question  ids; kind: one of KINDS
        text     what was typed; verdict: what came of it
        Special cases: what UTF-8 cannot say becomes "?".
        Raises FileError.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        act = Act(str(uuid.uuid4()), now, exercise, question, kind, storable(text), verdict)
        if self._together is None:
            self.add([act])
        else:
            self._together.append(act)
        return act

    def add(self, acts: Iterable[Act]) -> int:
        """Keep acts that are not here yet, all of them or none; how many were new.

        acts  in any order
        Special cases: an id that is here already stays as it is.
        Raises FileError.
        """
        rows = [tuple(getattr(act, name) for name in FIELDS) for act in acts]
        with _explained(self.path, "write"), self._transaction():
            before = self._connection.total_changes
            self._connection.executemany("INSERT OR IGNORE INTO acts VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            return self._connection.total_changes - before

    def acts(self, exercise: str | None = None) -> tuple[Act, ...]:
        """The acts, the oldest first; those of one exercise if it is named. Raises FileError."""
        where, values = ("WHERE exercise = ?", (exercise,)) if exercise else ("", ())
        with _explained(self.path, "read"):
            rows = self._connection.execute(f"SELECT * FROM acts {where} ORDER BY at, rowid", values)
            kept = tuple(Act(*row) for row in rows)
        return (*kept, *(act for act in self._together or () if exercise in (None, act.exercise)))

    def forget(self) -> int:
        """Drop every act; how many there were. Raises FileError."""
        with _explained(self.path, "write"), self._transaction():
            return self._connection.execute("DELETE FROM acts").rowcount

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # IMMEDIATE takes the lock at once: two processes wait for each other instead of failing half-way
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """What is read inside was there at one moment."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    def _prepare(self) -> None:
        """Make the table in a new file, and keep it so that nothing is lost."""
        if self._pragma("user_version") == 0:
            with self._transaction():
                if self._pragma("user_version") == 0:  # another process may have been first
                    self._connection.execute(TABLE)
                    self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    self._connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._use_wal()
        self._connection.execute(INDEX)
        self._connection.execute("PRAGMA synchronous = FULL")  # on the disk, not only handed to the system

    def _check_owner(self) -> None:
        """Look at what kind of file this is before anything is written to it."""
        with self._snapshot():  # another process may be making the table
            version, owner = self._pragma("user_version"), self._pragma("application_id")
            tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if owner != APPLICATION and (tables or version or owner):
            raise FileError(
                f"{self.path} is an SQLite database of another program. Name another file with --progress."
            )
        if version > SCHEMA:
            raise FileError(
                f"{self.path} was written by a newer Headwork: its format is {version}, and this one knows "
                f"{SCHEMA}. Update Headwork, or name another file with --progress. Nothing in it was changed."
            )

    def _check_sound(self) -> None:
        found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)

    def _use_wal(self) -> None:
        """In WAL readers never wait for a writer. SQLite itself does not wait to change to it, so we do."""
        if self.path is None or self._pragma("journal_mode") == "wal":
            return
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def _pragma(self, name: str) -> Any:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]


def _can_be_written(path: Path) -> bool:
    """Whether SQLite can write the file and, beside it, what it has not yet put there; or make it."""
    return not path.is_file() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    return sqlite3.connect(path or ":memory:", timeout=PATIENCE, isolation_level=None)


def _opened_to_read(path: Path) -> sqlite3.Connection:
    """The file, with nothing written to it or beside it."""
    beside = path.with_name(f"{path.name}-wal")  # what is not yet in the file itself
    if not beside.exists() or beside.stat().st_size == 0:
        return _read_as(path, "immutable=1")
    try:
        return _read_as(path, "mode=ro")
    except sqlite3.OperationalError:  # it would have to make another file beside it
        return _read_as(path, "immutable=1")


def _read_as(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
        return connection
    except sqlite3.Error:
        connection.close()
        raise


def storable(text: str) -> str:
    """The text as UTF-8 can say it: a lone surrogate, from a terminal of another encoding, becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


@contextmanager
def _explained(path: Path | None, doing: str) -> Iterator[None]:
    """Turn what SQLite and the system say into words that name the file and a way out."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _told(error, f"cannot {doing} the progress file {path}", path) from None


def _told(error: Exception, what: str, path: Path | None) -> FileError:
    said = str(getattr(error, "strerror", None) or error).lower()
    if "locked" in said or "busy" in said:
        return FileError(
            f"{what}: another program has held it for {PATIENCE:.0f} seconds. Close it and try again."
        )
    if isinstance(error, sqlite3.OperationalError | OSError):  # permissions, a full disk, a folder in the way
        return NotWritableError(
            f"{what}: {said}. Name another file with --progress FILE, or set HEADWORK_PROGRESS."
        )
    return FileError(
        f"{what}: it is damaged, or no progress file ({said}). It has been left as it is. Move it away to "
        f'start a new one, for example mv "{path}" "{path}.damaged"; what you have exported comes back with '
        "headwork progress --import."
    )
