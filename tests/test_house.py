"""The rules of the house: public names, docstrings, a light import, nothing that ties us to one machine."""

import ast
import dataclasses
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwork

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "headwork"

# ---------------------------------------------------------------- names


def own_names(package: types.ModuleType) -> set[str]:
    """The public names that a package offers, lazily loaded ones too.

    Its submodules don't count, nor what it imports from `typing` and `__future__` to say its types.
    """
    things = {name: getattr(package, name) for name in dir(package) if not name.startswith("_")}
    return {
        name
        for name, thing in things.items()
        if not isinstance(thing, types.ModuleType)
        and getattr(thing, "__module__", "") not in ("typing", "__future__")
        and name != "TYPE_CHECKING"
    }


def import_everything() -> list[types.ModuleType]:
    """Every module of headwork. `__main__` is left out: importing it runs the command line."""
    found = pkgutil.walk_packages(headwork.__path__, prefix="headwork.")
    names = [module.name for module in found if not module.name.endswith("__main__")]
    return [headwork, *(module for name in names if (module := imported(name)) is not None)]


def imported(name: str) -> types.ModuleType | None:
    """The module; None where it is made of torch (autograd.py), and torch is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return None


def test_all_is_sorted():
    assert list(headwork.__all__) == sorted(headwork.__all__)


def test_all_is_exactly_what_is_there():
    assert {name for name in headwork.__all__ if name != "__version__"} == own_names(headwork)


def test_every_name_in_all_can_be_had():
    for name in headwork.__all__:
        getattr(headwork, name)  # an AttributeError here names what is missing


def test_no_public_name_is_also_a_module():
    """Otherwise importing headwork.check would put the module where the function headwork.check was."""
    modules = {module.__name__: module for module in import_everything()}
    inner = [name.rpartition(".") for name in modules if name != "headwork"]
    hidden = [
        f"{parent}.{leaf}"
        for parent, _, leaf in inner
        if not isinstance(getattr(modules[parent], leaf), types.ModuleType)
    ]
    offered = [
        f"{name}.{public}"
        for name, module in modules.items()
        for public in getattr(module, "__all__", ())
        if f"{name}.{public}" in modules or isinstance(getattr(module, public), types.ModuleType)
    ]
    assert hidden + offered == []


# ---------------------------------------------------------------- docstrings
#
# A public docstring says:
#   every one      in its first line, one sentence, what it gives
#   a function     every parameter by name; "Raises …"; "Special cases: …" or "Source: …";
#                  the shapes, such as (B, H, Tq, D), when it takes arrays
#   a record       "Fields", and every field by name
#   an exception   no more than the first line

ARRAYS = {"query", "key", "value", "scores", "weights", "mask", "x", "values", "answer", "answers"}
SHAPE = re.compile(r"\([^()]*\b(B|H|Hkv|T|Tq|Tk|D|Dv|E)\b[^()]*\)|\bany shape\b|\bshape of\b")


def gaps(thing: object) -> Iterator[str]:
    """What the docstring of a public function or class does not say."""
    if isinstance(thing, type):
        yield from gaps_of_class(thing)
    else:
        yield from gaps_of_function(thing)


def gaps_of_function(function: types.FunctionType) -> Iterator[str]:
    text = inspect.getdoc(function) or ""
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    yield from gaps_of_first_line(text)
    yield from missing_words("parameter", parameters, text)
    if not re.search(r"\bRaises\b", text):
        yield "no line 'Raises …' (if it raises nothing, say 'Raises nothing.')"
    if not re.search(r"^(Source|Special cases): ", text, re.MULTILINE):
        yield "neither 'Source: …' nor 'Special cases: …'"
    if ARRAYS & set(parameters) and not SHAPE.search(text):
        yield "no shapes, such as (B, H, Tq, D), though it takes arrays"


def gaps_of_class(record: type) -> Iterator[str]:
    text = record.__doc__ or ""
    if dataclasses.is_dataclass(record) and text.startswith(f"{record.__name__}("):
        text = ""  # what @dataclass writes when nobody else did
    yield from gaps_of_first_line(text)
    if issubclass(record, BaseException):
        return
    if dataclasses.is_dataclass(record):
        fields = [field.name for field in dataclasses.fields(record) if not field.name.startswith("_")]
    else:
        fields = [name for name in inspect.signature(record).parameters if not name.startswith("_")]
    yield from missing_words("field", fields, text)
    if not re.search(r"\bFields\b", text):
        yield "no heading 'Fields'"


def gaps_of_first_line(text: str) -> Iterator[str]:
    first = text.split("\n")[0]
    if not first:
        yield "no docstring"
    elif not first.endswith(".") or re.search(r"[.?!] [A-Z]", first):
        yield f"the first line is not one sentence: {first!r}"


def missing_words(kind: str, names: list[str], text: str) -> Iterator[str]:
    for name in names:
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            yield f"{kind} {name!r} is not mentioned"


@pytest.mark.parametrize("name", sorted(headwork.__all__))
def test_public_docstring_is_complete(name: str):
    thing = getattr(headwork, name)
    if isinstance(thing, type | types.FunctionType):  # constants explain themselves in a comment
        found = list(gaps(thing))
        assert not found, "\n".join([f"the docstring of headwork.{name}:", *found])


def test_every_module_says_what_it_is():
    silent = [
        str(path.relative_to(ROOT))
        for path in sorted(PACKAGE.rglob("*.py"))
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


# ---------------------------------------------------------------- a light import

HEAVY = {"click", "jax", "matplotlib", "onnx", "pydantic", "rich", "sqlite3", "starlette", "torch", "typer"}


def test_import_headwork_loads_nothing_heavy():
    # A fresh Python: this one has loaded whatever other tests needed.
    script = "import sys, headwork; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "headwork" in loaded
    assert sorted(HEAVY & loaded) == []


# What these say stands in the texts of the course; numbers are worked out when an exercise is opened.
AT_ONCE = ("list", "list --json", "hint scores", "progress")
SLOW = HEAVY - {"click", "sqlite3"} | {"numpy"}


@pytest.mark.parametrize("arguments", AT_ONCE)
def test_a_list_or_a_hint_loads_neither_numpy_nor_the_catalogue(arguments, tmp_path):
    script = (
        "import sys; from headwork.interfaces.cli import main;"
        "status = main(sys.argv[1:]); print('loaded:', *sys.modules); sys.exit(status)"
    )
    environment = os.environ | {"HEADWORK_PROGRESS": str(tmp_path / "progress.sqlite3")}
    command = [sys.executable, "-c", script, *arguments.split()]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    loaded = set(run.stdout.rpartition("loaded:")[2].split())
    assert "headwork.interfaces.cli" in loaded
    assert sorted(SLOW & loaded) == []
    assert (
        sorted(name for name in loaded if re.match(r"headwork\.(mechanism|mistakes|diagnosis)", name)) == []
    )


# ---------------------------------------------------------------- at home on any machine

# A folder at the root of somebody's machine, or the host that packages happened to come from.
# (Written so that this file doesn't match.)
TIED = re.compile(r"(?<![\w.])/(?:work|root|home)/|pypi\.org/simple|files\.pythonhosted", re.IGNORECASE)


def project_files() -> list[Path]:
    """The files that belong to the project: those that git tracks or would; without git, the source."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        paths = [ROOT / name for name in run.stdout.split("\0") if name]
    else:
        folders = ("bench", "changelog.d", "docs", "scripts", "src", "tests")
        paths = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
        paths = [path for path in paths if "__pycache__" not in path.parts]
    return [path for path in paths if path.is_file()]


def test_nothing_names_one_machine_or_package_host():
    files = project_files()
    assert Path(__file__).resolve() in files
    tied = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if TIED.search(line)
    ]
    assert tied == []
