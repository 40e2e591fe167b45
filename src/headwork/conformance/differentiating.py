"""Gradients of somebody's function by the means of its own library: autograd of torch, vjp of JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from numpy import zeros

from ..arrays import Array
from .calling import Arguments, Result, arguments_of, plainly, wait_for
from .calls import Call
from .endings import words
from .kinds import to_library, to_numpy


class NoGradientsError(Exception):
    """Why there are no gradients, in words."""


def with_gradients(function: Callable[..., Any], call: Call, arguments: Arguments) -> tuple[Result, str]:
    """The result with gradients, or without them and why."""
    ways = {"torch": _torch_gradients, "jax": _jax_gradients}
    why = f"Functions of {call.library} arrays offer no gradients that could be asked for."
    try:
        if call.library in ways:
            return ways[call.library](function, call, arguments), ""
    except NoGradientsError as error:
        why = str(error)
    except Exception as error:  # no backward, or arrays taken out of the library on the way
        why = f"It gives no gradients. {words(error)}"
    return plainly(function, call, arguments_of(call)), why


def _torch_gradients(function: Callable[..., Any], call: Call, arguments: Arguments) -> Result:
    import torch

    leaves = [arguments[place].detach().requires_grad_() for place in call.gradients_of]
    for place, leaf in zip(call.gradients_of, leaves, strict=True):
        arguments[place] = leaf
    with torch.enable_grad():
        result = plainly(function, call, arguments)
    first = next(_tensors(result.returned, torch.Tensor), None)
    if first is None or not first.requires_grad:
        raise NoGradientsError("It gives no gradients: its output is cut off from its inputs (autograd).")
    cotangent = to_library(_cotangent(call), "torch", call.device).to(first.dtype)
    # of a sum, since torch loads SymPy, which takes seconds, where it is handed a cotangent
    found = torch.autograd.grad((first * cotangent).sum(), leaves, allow_unused=True)
    given = [arguments.places[place] for place in call.gradients_of]
    result.gradients = tuple(
        zeros(array.shape, array.dtype) if gradient is None else to_numpy(gradient)  # None: it was not used
        for array, gradient in zip(given, found, strict=True)
    )
    return result


def _jax_gradients(function: Callable[..., Any], call: Call, arguments: Arguments) -> Result:
    import jax

    def first(*leaves: Any) -> tuple[Any, Any]:
        traced = Arguments(list(arguments.positional), dict(arguments.keywords), {})
        for place, leaf in zip(call.gradients_of, leaves, strict=True):
            traced[place] = leaf
        returned = function(*traced.positional, **traced.keywords)
        return next(_tensors(returned, jax.Array)), returned

    begun = perf_counter()
    output, pull, returned = jax.vjp(first, *(arguments[place] for place in call.gradients_of), has_aux=True)
    wait_for(returned, call)
    seconds = perf_counter() - begun
    found = pull(to_library(_cotangent(call), "jax", call.device).astype(output.dtype))
    return Result(returned, seconds, tuple(to_numpy(gradient) for gradient in found))


def _tensors(thing: Any, kind: type) -> Iterator[Any]:
    """The arrays of a library in what was returned, in order."""
    if isinstance(thing, kind):
        yield thing
    elif isinstance(thing, dict):
        yield from _tensors(list(thing.values()), kind)
    elif isinstance(thing, tuple | list):
        for part in thing:
            yield from _tensors(part, kind)


def _cotangent(call: Call) -> Array:
    assert call.cotangent is not None
    return call.cotangent
