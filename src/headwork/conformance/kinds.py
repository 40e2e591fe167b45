"""Arrays on their way to somebody's function and back: NumPy ↔ torch, JAX, CuPy and whatever speaks DLPack.

What of NumPy is used here is taken at import, so that a function that replaces NumPy's own does not
change how its answers are read.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import prod
from numbers import Number
from typing import Any

import ml_dtypes
from numpy import asarray, ascontiguousarray, dtype, empty, from_dlpack, generic, ndarray

from ..arrays import MAX_DEPTH, Array, shown

LAYOUTS = ("contiguous", "strided", "transposed", "expanded")
MOST_BYTES = 1 << 30  # of one output: more than any case of a check asks for
MOST_OUTPUTS = 64
DEEPEST = 3  # (output, (key cache, value cache)) needs two
LARGEST_TYPED = 1_000_000  # numbers in nested lists


class NotArraysError(TypeError):
    """What came back holds no numbers, in words."""


class TooLargeOutputError(NotArraysError):
    """An output of more bytes than a check can ask for."""


# --- on the way in --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Laid:
    """An array as it lies in memory: entry [i, j, …] is buffer[i·strides[0] + j·strides[1] + …]."""

    buffer: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def laid(array: Array, layout: str) -> Laid:
    """A copy of `array` in fresh memory, in one of LAYOUTS.

    strided     every other entry of memory of twice the size; NaN lies between (ones in whole numbers)
    transposed  the two axes before the last are swapped in memory, as (B, T, H, D) seen as (B, H, T, D);
                of a matrix, rows and columns
    expanded    the first axis along which all entries repeat has stride 0; contiguous where none does
    """
    if array.size == 0 or array.ndim == 0 or layout == "contiguous":
        return Laid(array.flatten(), array.shape, _strides(array.shape))
    if layout == "strided":
        buffer = empty(2 * array.size, array.dtype)
        buffer[:] = float("nan") if array.dtype.kind in "fcV" else 1
        buffer[::2] = array.flatten()
        return Laid(buffer, array.shape, tuple(2 * step for step in _strides(array.shape)))
    if layout == "transposed" and array.ndim > 1:
        first = array.ndim - min(array.ndim, 3)
        swapped = array.swapaxes(first, first + 1)
        steps = list(_strides(swapped.shape))
        steps[first], steps[first + 1] = steps[first + 1], steps[first]
        return Laid(swapped.flatten(), array.shape, tuple(steps))
    if layout == "expanded" and (axes := [axis for axis in range(array.ndim) if _repeats(array, axis)]):
        single = array.take([0], axis=axes[0])
        steps = list(_strides(single.shape))
        steps[axes[0]] = 0
        return Laid(single.flatten(), array.shape, tuple(steps))
    return laid(array, "contiguous")


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _repeats(array: Array, axis: int) -> bool:
    return array.shape[axis] > 1 and same_bits(array, array.take([0] * array.shape[axis], axis=axis))


def same_bits(one: Array, other: Array) -> bool:
    """Whether two arrays are the same to the last bit; NaN is the same as the same NaN."""
    return (
        one.shape == other.shape
        and one.dtype == other.dtype
        and ascontiguousarray(one).tobytes() == ascontiguousarray(other).tobytes()
    )


def to_library(array: Array, library: str, device: str = "cpu", layout: str = "contiguous") -> Any:
    """A copy of `array` as an array of `library`, on `device`, lying in memory as `layout` says.

    library  "numpy", "torch", "jax", "cupy", "list" (nested lists), or any module with `from_dlpack`,
             `asarray`, `array` or `convert_to_tensor`. JAX arrays have no layout of their own.
    """
    if library == "torch":
        return _to_torch(laid(array, layout), device)
    if library == "jax":
        return _to_jax(array, device)
    if library == "list":
        return array.tolist()
    if library == "cupy":
        return _to_cupy(laid(array, layout), device)
    lying = _to_numpy(laid(array, layout))
    return lying if library == "numpy" else _to_module(lying, library)


def _to_numpy(lying: Laid) -> Array:
    if lying.buffer.size == 0:
        return lying.buffer.reshape(lying.shape)
    kind = lying.buffer.dtype
    steps = tuple(step * kind.itemsize for step in lying.strides)
    # as bytes: bfloat16 has no buffer of its own to offer
    return ndarray(lying.shape, kind, buffer=lying.buffer.view("u1"), strides=steps)


def _to_torch(lying: Laid, device: str) -> Any:
    torch = import_module("torch")
    kind = lying.buffer.dtype
    if _is_extra(kind):  # torch reads NumPy's own dtypes only
        whole = lying.buffer.view(f"u{kind.itemsize}" if kind.itemsize == 1 else f"i{kind.itemsize}")
        buffer = torch.from_numpy(whole).view(getattr(torch, kind.name))
    else:
        buffer = torch.from_numpy(lying.buffer)
    return buffer.to(device).as_strided(lying.shape, lying.strides)


def _to_jax(array: Array, device: str) -> Any:
    jax = import_module("jax")
    platform, _, index = device.partition(":")
    return jax.device_put(array.copy(), jax.devices(platform)[int(index or 0)])


def _to_cupy(lying: Laid, device: str) -> Any:
    cupy = import_module("cupy")
    with cupy.cuda.Device(int(device.partition(":")[2] or 0)):
        buffer = cupy.asarray(lying.buffer)
        steps = tuple(step * lying.buffer.dtype.itemsize for step in lying.strides)
        return cupy.lib.stride_tricks.as_strided(buffer, lying.shape, steps)


def _to_module(array: Array, library: str) -> Any:
    module = import_module(library)
    for name in ("from_dlpack", "asarray", "array", "convert_to_tensor"):
        if hasattr(module, name):
            return getattr(module, name)(array)
    raise NotArraysError(f"{library} has neither from_dlpack nor asarray, so it can be handed no array.")


def _is_extra(kind: dtype[Any]) -> bool:
    """Whether a dtype is one of ml_dtypes, such as bfloat16, and not of NumPy."""
    return kind.type.__module__.startswith("ml_dtypes")


# --- on the way out -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Output:
    """One array that a function returned: its name where it has one, and its type as it came."""

    name: str
    array: Array
    kind: str


def outputs_of(returned: object) -> list[Output]:
    """The arrays in what a function returned, in order.

    An array, nested lists of numbers, or a tuple, list, mapping, named tuple or dataclass of these; None
    inside one is left out (torch's MultiheadAttention gives (output, None)).
    Raises NotArraysError where there is anything else, or nothing.
    """
    if returned is None:
        raise NotArraysError("It returned None; an array was expected. Is a `return` missing?")
    outputs, room = [], MOST_BYTES
    for output in _flat("", returned, 0):
        room -= output.array.nbytes
        if room < 0:
            raise TooLargeOutputError(f"It returned arrays of over {MOST_BYTES / 2**30:g} GiB together.")
        outputs.append(output)
    if not outputs:
        raise NotArraysError(f"It returned {_an(kind_of(returned))} without an array in it.")
    return outputs


def _flat(name: str, thing: Any, depth: int) -> Iterator[Output]:
    if depth > DEEPEST:
        raise NotArraysError(f"It returned a nest of over {DEEPEST} tuples; an array, or a tuple of arrays, "
                             "was expected.")  # fmt: skip
    if thing is None:
        return
    parts = None if _is_numbers(thing) else _parts(thing)
    if parts is None:
        yield Output(name, to_numpy(thing), kind_of(thing))
        return
    for number, (part, inside) in enumerate(parts):
        if number == MOST_OUTPUTS:
            raise NotArraysError(f"It returned more than {MOST_OUTPUTS} things; an array was expected.")
        yield from _flat(".".join(filter(None, (name, part))), inside, depth + 1)


def _parts(thing: Any) -> list[tuple[str, Any]] | None:
    """What a container holds, with names where it has them; None where it is no container."""
    if isinstance(thing, Mapping):
        return [(str(name), thing[name]) for name in thing]
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return list(zip(map(str, thing._fields), thing, strict=False))
    if isinstance(thing, tuple | list):
        return [("", part) for part in thing]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type) and not _speaks_arrays(thing):
        return [(field.name, getattr(thing, field.name)) for field in dataclasses.fields(thing)]
    return None


def _is_numbers(thing: object) -> bool:
    """Whether it is nested lists (or tuples) of Python's numbers, judged by its first entry."""
    if not isinstance(thing, list | tuple):
        return False
    for _ in range(MAX_DEPTH):  # a list may hold itself
        thing = thing[0] if isinstance(thing, list | tuple) and thing else thing
    return isinstance(thing, Number) and not isinstance(thing, generic)


def _speaks_arrays(thing: object) -> bool:
    return hasattr(thing, "__array__") or hasattr(thing, "__dlpack__")


def to_numpy(thing: Any) -> Array:
    """One array of any library as a NumPy array, dtype kept, gradients and devices left behind.

    Raises NotArraysError, in words, for anything that holds no numbers or cannot be read.
    """
    kind = kind_of(thing)
    try:
        array = _read(thing)
    except NotArraysError:
        raise
    except Exception as error:  # a foreign `__array__` may raise anything
        raise NotArraysError(
            f"It returned {_an(kind)} that cannot be read as an array: {type(error).__name__}: {_text(error)}"
        ) from None
    if array.dtype.kind in "biufc" or _is_extra(array.dtype):
        return array
    if array.dtype.kind == "O":
        raise NotArraysError(
            f"It returned {_an(kind)} of Python objects (dtype object); numbers were expected."
        )
    raise NotArraysError(f"It returned {_an(kind)} of dtype {array.dtype}; numbers were expected.")


def _read(thing: Any) -> Array:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(thing, getattr(torch, "Tensor", ())):
        return _from_torch(torch, thing)
    if isinstance(thing, list | tuple):
        return _from_lists(thing)
    if isinstance(thing, Number) and not _speaks_arrays(thing):
        return asarray(thing)
    if not _speaks_arrays(thing):
        raise NotArraysError(f"It returned {_an(kind_of(thing))} ({shown(thing)}); an array was expected.")
    _refuse_too_large(thing, getattr(getattr(thing, "dtype", None), "itemsize", 1))
    if type(thing).__module__.startswith("cupy"):
        return asarray(thing.get())
    array = asarray(thing) if hasattr(thing, "__array__") else from_dlpack(thing)
    _refuse_too_large(array, array.dtype.itemsize)
    return array


def _from_torch(torch: Any, tensor: Any) -> Array:
    _refuse_too_large(tensor, tensor.element_size())
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name in ("complex32",) or not hasattr(ml_dtypes, name):
        return asarray(tensor.numpy())
    whole = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
    return asarray(tensor.contiguous().view(whole).numpy()).view(getattr(ml_dtypes, name))


def _from_lists(lists: list[Any] | tuple[Any, ...]) -> Array:
    try:
        array = asarray(lists)
    except ValueError:
        raise NotArraysError(
            "It returned nested lists whose rows differ in length; every row needs as many entries."
        ) from None
    return array


def _refuse_too_large(thing: Any, itemsize: int) -> None:
    """Before it is copied: the entries of a broadcast array, or of memory never touched, cost nothing yet."""
    shape = tuple(getattr(thing, "shape", ()))
    if prod(shape) * itemsize > MOST_BYTES:
        raise TooLargeOutputError(
            f"It returned an array of shape {shape}, which is {prod(shape) * itemsize / 2**30:,.0f} GiB; "
            f"at most {MOST_BYTES / 2**30:g} GiB are read."
        )


def kind_of(thing: object) -> str:
    """The type of a thing as people say it: "numpy.ndarray", "torch.Tensor", "float"."""
    kind = type(thing)
    home = kind.__module__.partition(".")[0]
    return kind.__qualname__ if home == "builtins" else f"{home}.{kind.__qualname__}"


def _an(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:300]
    except Exception:  # a message that cannot be made
        return "(it has no message)"
