"""Which engine computes: the compiled kernel, or NumPy in blocks where it could not be built."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from ..errors import OptionError

NAMES = ("numpy", "portable", "avx2", "avx512")  # what HEADWORK_ENGINE may ask for


@cache
def engine() -> ModuleType:
    """A module with `run`, `run_vjp` and `engine_name`. Raises OptionError for an unknown HEADWORK_ENGINE."""
    asked = os.environ.get("HEADWORK_ENGINE", "")
    if asked and asked not in NAMES:
        raise OptionError(f"HEADWORK_ENGINE is {asked!r}; {', '.join(NAMES)} or nothing was expected.")
    if asked != "numpy":
        try:
            return import_module("headwork.mechanism._kernel")
        except ImportError:
            pass
    return import_module("headwork.mechanism.blockwise")


def why_numpy() -> str:
    """Why the compiled kernel is not the engine, in words; "" where it is."""
    if os.environ.get("HEADWORK_ENGINE") == "numpy":
        return "HEADWORK_ENGINE=numpy asks for it"
    try:
        import_module("headwork.mechanism._kernel")
    except ImportError as error:
        return f"the compiled kernel is not there ({error}): it was not built when Headwork was installed"
    return ""


def usable_threads() -> int:
    """How many threads a call uses that does not say: OMP_NUM_THREADS, else the cores that are ours."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_lock = threading.RLock()  # a signal handler may come in between
_limits: list[Any] = []  # the limit, once for each that is inside


def _forget_lock() -> None:
    """In a forked child nobody holds it, and nobody is inside."""
    global _lock
    _lock = threading.RLock()
    _limits.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)


@contextmanager
def products_on_one_thread() -> Iterator[None]:
    """NumPy's matrix products use one thread while this lasts, in the whole process.

    Threads of small products wait for each other longer than they work, and on a busy machine for all others.
    """
    with _lock:  # the first one sets it, the last one takes it back
        _limits.append(_limits[0] if _limits else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()


@cache
def _libraries() -> Any:
    """The libraries here that have threads of their own. Finding them takes a few milliseconds, once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
