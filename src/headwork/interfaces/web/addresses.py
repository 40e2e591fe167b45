"""The exercises and questions that addresses name."""

from __future__ import annotations

import os
import pickle
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import get_ident

from ...errors import UnknownNameError
from ...workbook.exercises import Exercise
from ...workbook.finding import find_exercise

MOST_FOUND = 2048
MOST_SHARED = 20_000  # files, of 3 KiB each
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}(?:@\d{1,19})?")
_FOLDER: Path | None = None  # where the processes of a server put what one of them has drawn


def exercise_named(name: str) -> Exercise:
    """The exercise of an address; numbers that are drawn for it are shared.

    name  its id, with @ and a seed behind it for fresh numbers
    Raises UnknownNameError; OptionError: it has no fresh numbers. Special cases: none.
    """
    if not NAME.fullmatch(name):
        raise UnknownNameError("There is no such exercise.")
    found = find_exercise(name)
    if _FOLDER and "@" in name:
        with suppress(OSError):  # a full disk: each process draws for itself
            if len(os.listdir(_FOLDER)) < MOST_SHARED:
                part = _FOLDER / f"{os.getpid()}-{get_ident()}.part"
                part.write_bytes(pickle.dumps(found))
                part.replace(_FOLDER / _file_name(name))
    return found


def share(folder: Path) -> None:
    """This process, and those that it begins, use what any of them has drawn.

    folder  that is nobody else's
    Raises nothing. Special cases: none.
    """
    global _FOLDER
    _FOLDER = folder


def shared(name: str) -> Exercise | None:
    """The exercise of an address that another process has drawn.

    name  as in `exercise_named`
    Raises nothing. Special cases: None where none has.
    """
    if _FOLDER is None:
        return None
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        found: Exercise = pickle.loads((_FOLDER / _file_name(name)).read_bytes())
        return found
    return None


def _file_name(name: str) -> str:
    return sha256(name.encode()).hexdigest()


_FOUND: dict[str, Exercise] = {}  # drawn numbers take a moment, and learners come back to theirs


def keep_at_hand(name: str, found: Exercise) -> Exercise:
    """The exercise, which `at_hand` gives from now on.

    name, found  of its address
    Raises nothing. Special cases: the oldest make room.
    """
    while len(_FOUND) >= MOST_FOUND:
        _FOUND.pop(next(iter(_FOUND)))
    return _FOUND.setdefault(name, found)


def at_hand(name: str) -> Exercise | None:
    """The exercise of an address, if it has been found before, at once.

    name  as in `exercise_named`
    Raises nothing. Special cases: none.
    """
    return _FOUND.get(name)


def question_named(exercise: Exercise, id: str) -> int:
    """The place of a question of that id, from 0.

    exercise, id  which
    Raises UnknownNameError. Special cases: none.
    """
    for at, question in enumerate(exercise.questions):
        if question.id == id:
            return at
    raise UnknownNameError(f"{exercise.id} has no such question.")
