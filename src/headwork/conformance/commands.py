"""A command that reads one .npz and writes another, as a function: for C, CUDA, Rust and everything else."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from .calls import Parameter, Signature
from .endings import EndedError, signal_words


class Command:
    """Called with arrays and numbers by name; gives what the command wrote, by name.

    The entries of the .npz it reads have the names of the arguments; what is None is left out.
    """

    def __init__(self, command: str, takes: tuple[str, ...]) -> None:
        self._words = shlex.split(command)
        self._takes = takes
        self.signature = Signature(
            name=command,
            kind="command",
            library="numpy",
            parameters=tuple(Parameter(name) for name in takes),
        )

    def __call__(self, *positional: Any, **keywords: Any) -> dict[str, Array]:
        entries = dict(zip(self._takes, positional, strict=False)) | keywords
        with tempfile.TemporaryDirectory(prefix="headwork-") as folder:
            paths = {"{input}": str(Path(folder, "input.npz")), "{output}": str(Path(folder, "output.npz"))}
            save: Any = np.savez  # its stub knows no entry of a name that is not known before
            save(paths["{input}"], **_entries(entries))
            words = [_filled(word, paths) for word in self._words]
            status = subprocess.run(words, check=False).returncode
            if status < 0:
                raise EndedError("crashed", f"The command crashed: {signal_words(-status)}.")
            if status:
                raise EndedError("raised", f"The command ended with exit status {status}.")
            return _read(Path(paths["{output}"]))


def _entries(arguments: dict[str, Any]) -> dict[str, Array]:
    entries = {name: np.asarray(value) for name, value in arguments.items() if value is not None}
    for name, array in entries.items():
        if array.dtype.kind not in "biufcU":
            raise TypeError(f"{name} is {array.dtype}, which no .npz can hold")
    return entries


def _filled(word: str, paths: dict[str, str]) -> str:
    for place, path in paths.items():
        word = word.replace(place, path)
    return word


def _read(path: Path) -> dict[str, Array]:
    if not path.exists():
        raise EndedError("not arrays", "The command wrote no file {output}; a .npz was expected there.")
    try:
        found = np.load(path, allow_pickle=False)
        return {"": found} if isinstance(found, np.ndarray) else {name: found[name] for name in found.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise EndedError("not arrays", f"What the command wrote cannot be read as .npz: {error}") from None
