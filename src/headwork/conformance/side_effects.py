"""What a call leaves behind in its process: random numbers drawn, functions replaced, settings changed."""

from __future__ import annotations

import builtins
import math
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import is_, itemgetter
from types import ModuleType
from typing import Any

import numpy
from numpy import frombuffer

from ..arrays import shown


@dataclass(frozen=True)
class State:
    """Something that a call should leave as it is, looked at once its module is loaded.

    words  what to say where it changed;  read  its value, to be compared;  write  puts a value back
    """

    words: str
    module: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


def _torch() -> Any:
    return sys.modules["torch"]


def _numpy_random() -> tuple[Any, ...]:
    state: Any = numpy.random.get_state()
    name, key, *rest = state
    return (name, key.tobytes(), *rest)


def _set_numpy_random(state: tuple[Any, ...]) -> None:
    name, key, *rest = state
    numpy.random.set_state((name, frombuffer(key, "u4"), *rest))


def _set_torch_random(state: bytes) -> None:
    _torch().set_rng_state(_torch().frombuffer(bytearray(state), dtype=_torch().uint8))


def _environment() -> dict[Any, Any]:
    # what os.environ decodes at each look: that would take longer than a small call
    return dict(vars(os.environ)["_data"])


def _set_environment(variables: dict[Any, Any]) -> None:
    environment: Any = os.environb if os.supports_bytes_environ else os.environ
    environment.clear()
    environment.update(variables)


STATES = (
    State("the random state of NumPy was changed", "numpy.random", _numpy_random, _set_numpy_random),
    State("the random state of Python was changed", "random", random.getstate, random.setstate),
    State(
        "the random state of torch was changed",
        "torch",
        lambda: _torch().get_rng_state().numpy().tobytes(),
        _set_torch_random,
    ),
    State(
        "how NumPy treats overflow and NaN (np.seterr) was changed",
        "numpy",
        numpy.geterr,
        lambda old: numpy.seterr(**old),
    ),
    State(
        "torch's default dtype was changed",
        "torch",
        lambda: _torch().get_default_dtype(),
        lambda old: _torch().set_default_dtype(old),
    ),
    State(
        "torch's gradient mode was changed",
        "torch",
        lambda: _torch().is_grad_enabled(),
        lambda old: _torch().set_grad_enabled(old),
    ),
    State(
        "torch's precision of float32 products was changed",
        "torch",
        lambda: _torch().get_float32_matmul_precision(),
        lambda old: _torch().set_float32_matmul_precision(old),
    ),
    State(
        "JAX's 64-bit mode was changed",
        "jax",
        lambda: sys.modules["jax"].config.jax_enable_x64,
        lambda old: sys.modules["jax"].config.update("jax_enable_x64", old),
    ),
    State("the working folder was changed", "os", os.getcwd, os.chdir),
    State("the environment variables were changed", "os", _environment, _set_environment),
)


def stir() -> None:
    """Draw from every generator, so that a function that seeds one is seen at each call, not at its first."""
    numpy.random.random_sample()
    random.random()
    if "torch" in sys.modules:
        _torch().rand(1)


WATCHED = (("NumPy", numpy), ("numpy.linalg", numpy.linalg), ("Python", builtins), ("Python's math", math))


class Watch:
    """Sees what changes between `start` and `effects`; NumPy is compared with when this was made."""

    def __init__(self) -> None:
        self._functions = [Functions(owner, module) for owner, module in WATCHED]
        numpy.random  # noqa: B018  loaded late otherwise, and then its first change goes unseen
        self._threads: set[threading.Thread] = set()
        self._had_children = False
        self._before: list[tuple[State, Any]] = []
        self._changed: list[tuple[State, Any]] = []

    def start(self) -> None:
        """Remember how things are."""
        self._threads = set(threading.enumerate())
        self._had_children = has_children()
        self._before = [(state, _value(state)) for state in STATES if state.module in sys.modules]

    def effects(self) -> tuple[str, ...]:
        """What changed since `start`, in words."""
        self._changed = [(state, before) for state, before in self._before if _value(state) != before]
        changed = (state.words for state, _ in self._changed)
        return (*self.replaced(), *changed, *self._left_running())

    def replaced(self) -> tuple[str, ...]:
        """Which functions of NumPy and Python are not what they were, in words."""
        return tuple(
            f"{functions.owner}'s {name} was replaced"
            for functions in self._functions
            for name in functions.replaced()
        )

    def _left_running(self) -> Iterator[str]:
        for thread in threading.enumerate():
            if thread not in self._threads:
                yield f"a thread was left running ({shown(thread.name)})"
        if not self._had_children and has_children():
            yield "a process was left running"

    def restore(self) -> None:
        """Put back what `effects` saw, as far as it can be put back."""
        for functions in self._functions:
            functions.restore()
        for state, before in self._changed:
            if before is not None:
                state.write(before)


class Functions:
    """The functions that a module holds now."""

    def __init__(self, owner: str, module: ModuleType) -> None:
        self.owner = owner
        self._module = module
        self._held = {
            name: thing for name, thing in vars(module).items() if callable(thing) and name[0] != "_"
        }
        self._look = itemgetter(*self._held)
        self._all = tuple(self._held.values())

    def replaced(self) -> list[str]:
        """The names that now hold something else, or nothing."""
        now = vars(self._module)
        try:
            if all(map(is_, self._look(now), self._all)):  # in C: this runs at every call
                return []
        except KeyError:
            pass
        return [name for name, function in self._held.items() if now.get(name) is not function]

    def restore(self) -> None:
        for name in self.replaced():
            setattr(self._module, name, self._held[name])


def _value(state: State) -> Any:
    """What is there; None where that cannot be read, as of a working folder that was removed."""
    try:
        return state.read()
    except Exception:
        return None


def has_children() -> bool:
    """Whether a child process of this one is running, where the system tells."""
    if not hasattr(os, "waitid"):
        return False
    try:  # None: there are children, and none of them has ended
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False
