"""From a Target to something that can be called: imports the file and finds the function in it."""

from __future__ import annotations

import difflib
import inspect
import os
import re
import runpy
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from numpy import zeros

from ..errors import HeadworkError, UnknownNameError
from .calls import Signature
from .endings import words
from .kinds import to_library
from .signatures import is_torch_module, signature_of
from .targets import Target, plain_name

# What to take from a file when no name is given, first to last; without capitals and underscores.
LIKELY = (
    "attention",
    "scaleddotproductattention",
    "dotproductattention",
    "sdpa",
    "flashattention",
    "flashattn",
    "flashattnfunc",
    "selfattention",
    "causalattention",
    "causalselfattention",
    "multiheadattention",
    "mha",
    "attn",
    "forward",
)
MOST_LISTED = 12

Imported = TypeVar("Imported")
Loaded = tuple[Callable[..., Any], Signature]


def load(target: Target) -> Loaded:
    """What to call, and what can be seen of it.

    Raises HeadworkError where the target is not what it should be: no such name, no such module, a file
    that is not Python. Whatever else the file raises while it is imported comes through.
    """
    settings = _run_setup(target.setup) if target.setup else {}
    function, signature = _loaded(target)
    if "warm_up" in settings:
        settings["warm_up"](function)
    return function, signature


def _loaded(target: Target) -> Loaded:
    if target.kind == "command":
        from .commands import Command

        command = Command(target.place, target.takes)
        return command, command.signature
    if target.kind == "onnx":
        from .onnx_models import Model

        model = Model(target.place, target.engine, target.device)
        return model, model.signature
    module = _module(target)
    where = os.path.basename(target.place)
    name = target.name or _likely(module, where)
    function = _ready(_found(module, name, where), name)
    signature = signature_of(function, name)
    if target.device != "cpu":
        _put_on(function, signature.library, target.device)
    return function, signature


# --- files and modules ----------------------------------------------------------------------------


def _run_setup(path: str) -> dict[str, Any]:
    return _said_of(path, lambda: runpy.run_path(path))


def _module(target: Target) -> ModuleType:
    sys.dont_write_bytecode = True  # no traces in somebody's folder, and never an older version of the file
    if target.kind == "file":
        return _said_of(target.place, lambda: _import_file(Path(target.place)))
    sys.path.insert(0, os.getcwd())
    return _said_of(target.place, lambda: import_module(target.place))


def _said_of(place: str, importing: Callable[[], Imported]) -> Imported:
    """What `importing` gives; what is wrong with the file itself becomes a HeadworkError."""
    where = os.path.basename(place)
    try:
        return importing()
    except SyntaxError as error:
        file = os.path.basename(error.filename or place)
        line = f"line {error.lineno}: " if error.lineno else ""
        raise HeadworkError(f"{file} is not valid Python: {line}{error.msg}.") from None
    except ImportError as error:
        raise HeadworkError(
            f"{where} cannot be imported. {words(error)}. Python here is {sys.executable}."
        ) from None


def _import_file(path: Path) -> ModuleType:
    """The module in a file. Imports from files next to it work, relative ones too."""
    parents = _packages(path)
    sys.path.insert(0, str(path.parent))
    if parents:
        sys.path.insert(0, str(path.parents[len(parents)]))
        import_module(".".join(parents))
    stem = path.stem.replace(".", "_")
    name = ".".join((*parents, stem))
    if name in sys.modules or name in sys.stdlib_module_names:  # a file may be called random.py
        name = f"checked_{name}"
    spec = spec_from_file_location(name, path)
    assert spec is not None  # its name ends in .py
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _packages(path: Path) -> tuple[str, ...]:
    """The folders around a file that are packages: they have an __init__.py, or it imports from them."""
    dots = re.findall(rb"^\s*from\s+(\.+)", path.read_bytes(), re.MULTILINE)
    depth = max((len(found) for found in dots), default=0)
    folders: list[str] = []
    for folder in path.parents[:-1]:
        if len(folders) >= depth and not (folder / "__init__.py").exists():
            break
        folders.append(folder.name)
    return tuple(reversed(folders))


# --- the function in it ---------------------------------------------------------------------------


def _likely(module: ModuleType, where: str) -> str:
    """The name to take where none is given. Raises HeadworkError with what is there."""
    public = {name: thing for name, thing in vars(module).items() if name[0] != "_" and callable(thing)}
    for likely in LIKELY:
        for name in sorted(public, key=lambda name: isinstance(public[name], type)):
            if plain_name(name) == likely:
                return name
    own = _own(module)
    if len(own) == 1:
        return own[0]
    raise HeadworkError(f"{where} does not say which function to check: {_listed(own)} Write {where}:NAME.")


def _own(module: ModuleType) -> list[str]:
    """The public functions and classes that a module defines itself, in its order."""
    return [
        name
        for name, thing in vars(module).items()
        if name[0] != "_" and callable(thing) and getattr(thing, "__module__", "") == module.__name__
    ]


def _listed(names: list[str]) -> str:
    if not names:
        return "there is no public function in it."
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"it has {', '.join(names[:MOST_LISTED])}{more}."


def _found(module: ModuleType, name: str, where: str) -> Any:
    """What a dotted name means. A method is taken of an object of its class, made without arguments."""
    thing: Any = module
    for part in name.split("."):
        if not hasattr(thing, part):
            _refuse(thing, part, where)
        if isinstance(thing, type) and inspect.isfunction(inspect.getattr_static(thing, part)):
            thing = _made(thing)
        thing = getattr(thing, part)
    return thing


def _refuse(thing: Any, part: str, where: str) -> None:
    names = [name for name in dir(thing) if name[0] != "_"]
    near = difflib.get_close_matches(part, names, n=3)
    owner = where if isinstance(thing, ModuleType) else f"{getattr(thing, '__name__', 'that')} in {where}"
    hint = f"did you mean {' or '.join(near)}?" if near else _listed(_own(thing) or names)
    raise UnknownNameError(f"{owner} has no {part!r}; {hint}")


def _put_on(function: Any, library: str, device: str) -> None:
    """A torch module goes to the device; functions are handed arrays that are there."""
    try:
        to_library(zeros(1, "f4"), library or "numpy", device)
        if is_torch_module(function):
            function.to(device)
    except Exception as error:
        raise HeadworkError(f"The device {device!r} cannot be used here. {words(error)}.") from None


def _ready(thing: Any, name: str) -> Callable[..., Any]:
    if isinstance(thing, type):
        thing = _made(thing)
    if not callable(thing):
        raise HeadworkError(
            f"{name} is of type {type(thing).__name__}, which cannot be called; name a function, or a method "
            "such as CLASS.forward."
        )
    if is_torch_module(thing):
        thing = thing.eval()  # no dropout
    called: Callable[..., Any] = thing
    return called


def _made(kind: type) -> Any:
    try:
        return kind()
    except Exception as error:
        raise HeadworkError(
            f"The class {kind.__name__} cannot be made without arguments. {words(error)}. Add a line such as "
            f"`attention = {kind.__name__}(...)` to the file, and check that."
        ) from None
