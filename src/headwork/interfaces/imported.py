"""Which files a program is made of: itself, and what it imports from beside it. Nothing of it is run."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from ..conformance.targets import Target

MOST = 200  # files; a program has no more of its own, and looking at each takes time


def files_of(target: Target) -> tuple[Path, ...]:
    """The files whose change may change what the target does."""
    found = [Path(target.setup)] if target.setup else []
    if target.kind == "command":
        found += [Path(word) for word in shlex.split(target.place) if Path(word).is_file()]
    elif target.kind == "module":
        found += [path for path in _module_files(target.place) if path.is_file()]
    else:
        found.append(Path(target.place))
    every = (each for path in found for each in (with_imports(path) if path.suffix == ".py" else (path,)))
    return tuple(dict.fromkeys(every))


def with_imports(first: Path) -> tuple[Path, ...]:
    """A Python file, and of what it imports, directly or not, the files in its own folder or package."""
    top = _top(first)
    found: dict[Path, None] = {}
    left = [first]
    while left and len(found) < MOST:
        path = left.pop()
        if path not in found:
            found[path] = None
            left += [each for each in _imports(path, top) if each.is_file()]
    return tuple(found)


def _top(path: Path) -> Path:
    """The folder that absolute imports start from: the first above that is no package."""
    return next((folder for folder in path.parents if not (folder / "__init__.py").exists()), path.parent)


def _imports(path: Path, top: Path) -> Iterator[Path]:
    """Where what a file imports would be, whether it is there or not; none while it is not Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from _places((path.parent, top), name.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            folders = (
                (path.parents[min(node.level, len(path.parents)) - 1],) if node.level else (path.parent, top)
            )
            module = node.module.split(".") if node.module else []
            for name in node.names:  # each may be a module itself
                yield from _places(folders, [*module, name.name])


def _places(folders: tuple[Path, ...], parts: list[str]) -> Iterator[Path]:
    """The files of a dotted name and of the packages around it."""
    for folder in dict.fromkeys(folders):
        for end in range(1, len(parts) + 1):
            place = folder.joinpath(*parts[:end])
            yield place.with_suffix(".py")
            yield place / "__init__.py"


def _module_files(name: str) -> Iterator[Path]:
    """Where an installed module, or one in this folder, would be."""
    for folder in (os.getcwd(), *sys.path):
        place = Path(folder, *name.split("."))
        yield place.with_suffix(".py")
        yield place / "__init__.py"
