"""The learner's own files of the code track: where they are, and the stub that each begins from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError
from .tracks import Track, tracks

FOLDER = "headwork-code"
MOST_READ = 1_000_000  # bytes of a file that is looked through for a function


@dataclass(frozen=True)
class Stub:
    """A learner's file of a track.

    Fields
    track   what is to be written in it; path: where it is
    is_new  whether it was made now; a file that is there is never written over
    """

    track: Track
    path: Path
    is_new: bool


def code_folder(start: Path | None = None) -> Path:
    """Where the files are: headwork-code in a folder, or that folder itself where it is called so."""
    here = start or Path.cwd()
    return here if here.name == FOLDER else here / FOLDER


def write_stub(track: Track, folder: Path | None = None) -> Stub:
    """The learner's file of a track, made of its stub where there is none yet.

    track   what is to be written; folder: where, `code_folder()` if not said
    Raises FileError where it cannot be written. Special cases: a file that is there stays as it is.
    """
    path = (folder or code_folder()) / track.file_name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(track.stub)
    except FileExistsError:
        if path.is_file():
            return Stub(track, path, is_new=False)
        inside = path if path.exists() else path.parent
        raise FileError(f"cannot write {path}: {inside} is something else. Move that away.") from None
    except OSError as error:
        raise FileError(
            f"cannot write {path}: {error.strerror or error}. Go to a folder of your own and try again."
        ) from None
    return Stub(track, path, is_new=True)


def track_of(path: Path) -> Track | None:
    """The track that a file is meant for: by its name, or else by the first function that it defines.

    path  of the file, which need not be there
    Raises nothing. Special cases: None where neither says it.
    """
    for track in tracks():
        if track.file_name == path.name:
            return track
    defined = _defined_in(path)
    return next((track for track in tracks() if track.function in defined), None)


def _defined_in(path: Path) -> set[str]:
    """Names of functions; read as text, since a file that is being written is often no Python."""
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_READ).decode("utf-8", "replace")
    except OSError:
        return set()
    return set(re.findall(r"^(?:async )?def (\w+)", text, re.MULTILINE))
