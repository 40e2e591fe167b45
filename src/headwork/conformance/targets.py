"""What is to be checked, as people write it: FILE.py:NAME, MODULE:NAME, FILE.onnx or a command."""

from __future__ import annotations

import difflib
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError, HeadworkError

FORMS = "FILE.py, FILE.py:NAME, MODULE:NAME, FILE.onnx, or --command './a.out {input} {output}'"
TAKES = ("query", "key", "value")
ENGINES = ("onnxruntime", "reference")


@dataclass(frozen=True)
class Target:
    """What to load, and where.

    kind    "file", "module", "onnx" or "command"
    place   the path, the module's name, or the command
    name    of the function in it, dotted; "" to look for one
    setup   a Python file that is run first
    device  where a torch module or an ONNX session is put
    takes   the entries of the .npz that a command reads, in order
    engine  one of ENGINES for an ONNX model; "" for the first that is installed
    """

    kind: str
    place: str
    name: str = ""
    setup: str = ""
    device: str = "cpu"
    takes: tuple[str, ...] = ()
    engine: str = ""


def read_target(
    text: str = "",
    *,
    command: str = "",
    setup: str = "",
    device: str = "cpu",
    takes: tuple[str, ...] = (),
    engine: str = "",
) -> Target:
    """The Target that `text`, or `command`, means.

    Raises FileError for a file that is not there, HeadworkError for anything else that cannot be meant.
    """
    if bool(text) == bool(command):
        raise HeadworkError(f"One thing to check was expected: {FORMS}.")
    if setup:
        setup = str(_file(setup))
    if engine and engine not in ENGINES:
        raise HeadworkError(f"engine is {engine!r}; it is one of {', '.join(ENGINES)}.")
    if command:
        return Target("command", _command(command), setup=setup, device=device, takes=takes or TAKES)
    kind, place, name = _parts(text)
    return Target(kind, place, name, setup, device, engine=engine)


def _parts(text: str) -> tuple[str, str, str]:
    place, _, name = text.rpartition(":")
    if text.endswith((".py", ".onnx")):
        place, name = text, ""
    if place.endswith(".onnx") and name:
        raise HeadworkError(f"{text}: an ONNX model is one function; leave out :{name}.")
    if place.endswith((".py", ".onnx")):
        _refuse_bad_name(text, name)
        return ("file" if place.endswith(".py") else "onnx"), str(_file(place)), name
    if Path(text).is_file():
        raise HeadworkError(f"{text} is neither Python nor ONNX. What can be checked: {FORMS}.")
    if Path(text).is_dir() and not Path(text, "__init__.py").is_file():
        raise HeadworkError(f"{text} is a folder; name the file in it. What can be checked: {FORMS}.")
    module = place or name
    name = name if place else ""
    if all(part.isidentifier() for part in module.split(".")):
        _refuse_bad_name(text, name)
        return "module", module, name
    raise HeadworkError(f"{text} is nothing that can be checked. What can be: {FORMS}.")


def _refuse_bad_name(text: str, name: str) -> None:
    if name and not all(part.isidentifier() for part in name.split(".")):
        raise HeadworkError(
            f"{text}: {name!r} is no name in Python. Write FILE.py:NAME or FILE.py:CLASS.NAME."
        )


def _file(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if path.is_file():
        return path
    if not path.parent.is_dir():
        raise FileError(f"{text} is not there: there is no folder {path.parent}.")
    near = difflib.get_close_matches(
        path.name, [one.name for one in path.parent.iterdir() if one.is_file()], n=3
    )
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise FileError(f"{text} is not there, or is no file.{hint}")


def _command(command: str) -> str:
    absent = [place for place in ("{input}", "{output}") if place not in command]
    if absent:
        raise HeadworkError(
            f"The command {command!r} does not say {' and '.join(absent)}: the .npz to read and the one to "
            "write. For example: --command './a.out {input} {output}'."
        )
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise HeadworkError(f"The command {command!r} cannot be read: {error}.") from None
    if not shutil.which(words[0]):
        raise FileError(f"The command {words[0]!r} is not there, or may not be run.")
    return command


def plain_name(name: str) -> str:
    """A name without capitals and underscores, so that SDPA, sdpa and s_dpa are one."""
    return re.sub(r"_", "", name.lower())
