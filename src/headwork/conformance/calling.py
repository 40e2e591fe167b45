"""A call with arrays of the function's own library: what it is handed, and what it returns."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from types import SimpleNamespace
from typing import Any

from numpy import ndarray

from ..arrays import Array
from .calls import Call, Settings
from .kinds import NotArraysError, same_bits, to_library, to_numpy

Place = int | str  # an argument, by position or by name


@dataclass
class Arguments:
    """What the function is handed: `places` says which of them were arrays."""

    positional: list[Any]
    keywords: dict[str, Any]
    places: dict[Place, Array]

    def __getitem__(self, place: Place) -> Any:
        return self.positional[place] if isinstance(place, int) else self.keywords[place]

    def __setitem__(self, place: Place, value: object) -> None:
        if isinstance(place, int):
            self.positional[place] = value
        else:
            self.keywords[place] = value


@dataclass
class Result:
    """What one call returned, how long it took, and its gradients where they were asked for."""

    returned: Any
    seconds: float
    gradients: tuple[Array, ...] = ()


def arguments_of(call: Call) -> Arguments:
    """The arguments of a call, its arrays as those of its library: copies, on its device, in its layout."""
    arguments = Arguments(list(call.positional), dict(call.keywords), {})
    given: list[tuple[Place, Any]] = [*enumerate(call.positional), *call.keywords.items()]
    with settings_of(call):
        for place, value in given:
            if isinstance(value, ndarray):
                arguments.places[place] = value
                layout = "contiguous" if place == call.out else call.layout
                arguments[place] = to_library(value, call.library, call.device, layout)
            elif isinstance(value, Settings):
                arguments[place] = SimpleNamespace(**value.values)
    return arguments


@contextmanager
def settings_of(call: Call) -> Iterator[None]:
    """Warnings are not for the caller; JAX computes in 64 bits only where it is handed 64 bits."""
    arrays = [*call.positional, *call.keywords.values()]
    is_wide = any(isinstance(array, ndarray) and array.dtype == "f8" for array in arrays)
    wide = nullcontext()
    if call.library == "jax" and is_wide:
        import jax

        wide = jax.enable_x64(True)
    with warnings.catch_warnings(), wide:
        warnings.simplefilter("ignore")
        yield


@contextmanager
def weights_of(function: Any, call: Call) -> Iterator[None]:
    """The module's own parameters are those of the call, in their dtype, and are put back after it."""
    owned = dict(function.named_parameters()) if call.weights else {}
    before = {name: owned[name].data for name in call.weights}
    try:
        for name, array in call.weights.items():
            owned[name].data = to_library(array, "torch", call.device)
        yield
    finally:
        for name, data in before.items():
            owned[name].data = data


def plainly(function: Callable[..., Any], call: Call, arguments: Arguments) -> Result:
    """Call it, and wait until the numbers are there."""
    begun = perf_counter()
    returned = function(*arguments.positional, **arguments.keywords)
    wait_for(returned, call)
    return Result(returned, perf_counter() - begun)


def wait_for(returned: Any, call: Call) -> None:
    """Work that was only queued is done: its time belongs to the call, and its errors show here."""
    if call.library == "jax":
        sys.modules["jax"].block_until_ready(returned)
    elif call.library == "torch" and call.device.startswith("cuda"):
        sys.modules["torch"].cuda.synchronize()
    elif call.library == "cupy":
        sys.modules["cupy"].cuda.get_current_stream().synchronize()


def changed(arguments: Arguments, out: str) -> Iterator[Place]:
    """The places of the arrays that the function changed, but for the one it was to write into."""
    for place, given in arguments.places.items():
        handed = arguments[place]
        if place != out and not isinstance(handed, list) and not _is_still(handed, given):
            yield place


def _is_still(handed: Any, given: Array) -> bool:
    try:
        return same_bits(given, to_numpy(handed))
    except NotArraysError:  # its memory was given away, as JAX does with donated arguments
        return False
