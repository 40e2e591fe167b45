"""headwork doctor: what runs here, and why. Everything that a report of a fault should say."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from .. import __version__
from ..errors import HeadworkError
from ..mechanism.engines import engine, usable_threads, why_numpy
from ..workbook.keeping import VARIABLE, open_progress
from .json_text import json_text
from .text import spelled, width_of_page, wrapped

# What Headwork does more with, where it is installed.
PEERS = ("torch", "jax", "onnx", "onnxruntime", "cupy")
NAMES = {
    "avx512": "compiled, AVX-512 instructions",
    "avx2": "compiled, AVX2 and FMA instructions",
    "portable": "compiled, portable instructions",
    "numpy": "NumPy, in blocks",
}
COMPILE = (
    "attention works, and slower. For the compiled kernel, install a C++17 compiler (Debian: apt install "
    "g++) and install Headwork again from its source."
)
SIZES = (2, 5, 4)  # heads, tokens and width of the numbers that the engine is tried on


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Fields
    name   what; found: what is there
    ok     whether Headwork does all it can with that
    advice what to do about it, or ""
    """

    name: str
    found: str
    ok: bool = True
    advice: str = ""


def run_doctor(*, progress: Path | None, json: bool, plain: bool) -> int:
    """Say what runs here and why; the exit status, 1 where something needs to be mended.

    progress  the file that progress is kept in; None is the user's own
    json      data; plain: for a screen reader
    """
    findings = tuple(examined(progress))
    if json:
        print(json_text({"findings": [asdict(finding) for finding in findings]}))
    else:
        for finding in findings:
            text = "\n".join(_lines(finding))
            print(spelled(text) if plain else text)
    return 0 if all(finding.ok for finding in findings) else 1


def examined(progress: Path | None) -> Iterator[Finding]:
    """What is found here, in the order in which it is told.

    progress  as in `run_doctor`
    Raises nothing. Special cases: a progress file that is not there is not made.
    """
    yield Finding("Headwork", f"{__version__}, in {Path(__file__).parents[1]}")
    yield Finding("Python", f"{platform.python_version()} ({sys.executable})")
    yield Finding("NumPy", np.__version__)
    yield Finding("System", f"{platform.system()} on {platform.machine()}")
    yield _engine()
    yield _trial()
    yield _threads()
    yield from (Finding(name, _version(name)) for name in PEERS)
    yield _progress(progress)


def _engine() -> Finding:
    name, why = engine().engine_name(), why_numpy()
    if not why:
        asked = os.environ.get("HEADWORK_ENGINE", "")
        note = f" (HEADWORK_ENGINE={asked})" if asked else ""
        return Finding("Engine", f"{NAMES.get(name, name)}{note}")
    return Finding("Engine", f"{NAMES['numpy']}: {why}", advice="" if "HEADWORK_ENGINE" in why else COMPILE)


def _trial() -> Finding:
    """The engine against the pipeline, on numbers that a broken build would get wrong."""
    from ..mechanism.fast import attention
    from ..mechanism.tracing import trace

    heads, tokens, width = SIZES
    numbers = np.sin(np.arange(3.0 * heads * tokens * width)).reshape(3, heads, tokens, width)
    ours = attention(*numbers, causal=True)
    truth = trace(*numbers, causal=True).output
    error = float(np.abs(ours - truth).max())
    if error < 1e-14:
        return Finding("Trial", "causal attention agrees with the pipeline worked step by step")
    return Finding(
        "Trial",
        f"causal attention is off by {error:.1e}",
        ok=False,
        advice="install Headwork again; until then HEADWORK_ENGINE=numpy uses the other engine.",
    )


def _threads() -> Finding:
    said = os.environ.get("OMP_NUM_THREADS", "")
    why = f"OMP_NUM_THREADS={said}" if said else "the cores that this process may use"
    return Finding("Threads", f"{usable_threads()} ({why})")


def _version(name: str) -> str:
    """The version of a library, without loading it."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "there, of unknown version" if find_spec(name) else "not installed, and not needed"


def _progress(option: Path | None) -> Finding:
    advice = f"give another file with --progress FILE or {VARIABLE}."
    try:
        with open_progress(option, create=False) as kept:
            acts = len(kept.progress.acts())
            warning = kept.warning or ("" if _can_write(kept.path) else f"{kept.path} cannot be written.")
            if warning:
                return Finding("Progress", warning, ok=False, advice=advice)
            return Finding("Progress", f"{kept.path}, {f'acts kept: {acts}' if acts else 'nothing yet'}")
    except HeadworkError as error:
        return Finding("Progress", str(error), ok=False, advice=advice)


def _can_write(path: Path) -> bool:
    """Whether the file, or the folder that would hold it, can be written; nothing is made to find out."""
    if path.exists():
        return os.access(path, os.W_OK)
    there = next(folder for folder in path.absolute().parents if folder.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _lines(finding: Finding) -> Iterator[str]:
    width = width_of_page()
    sign = "" if finding.ok else "not well: "
    yield wrapped(f"{finding.name + ':':<13}{sign}{finding.found}", width, "", " " * 13)
    if finding.advice:
        yield wrapped(finding.advice[0].upper() + finding.advice[1:], width, " " * 13, "")
