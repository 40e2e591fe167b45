"""The careful way into the fast kernel: any arrays and options, checked as a Problem, then made plain.

`headwork.attention` is the compiled function itself and comes here with what it cannot take at once: lists,
arrays of other libraries, half precision, several masks, published slopes, and everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ..arrays import Array, shown, whole
from ..errors import OptionError, ShapeError
from ..problem import Problem
from .documentation import ATTENTION, ATTENTION_VJP
from .engines import engine
from .foreign import give_back, library_of, read

LAYOUTS = ("BHTD", "BTHD")
PROBLEM_OPTIONS = ("mask", "causal", "offset", "scale", "softcap", "window", "alibi", "sink", "lengths")


def attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    mask: Any = None,
    causal: bool | str = False,
    offset: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    alibi: Any = None,
    sink: Any = None,
    lengths: Any = None,
    layout: str | None = "BHTD",
    threads: int | None = None,
    out: Any = None,
    return_logsumexp: bool = False,
) -> Any:
    options = _options(mask, causal, offset, scale, softcap, window, alibi, sink, lengths)
    if needs_gradient(query, key, value, *options.values()):
        from .autograd import differentiable_attention

        return differentiable_attention(query, key, value, out, layout, threads, return_logsumexp, options)
    call = Prepared(query, key, value, layout, threads, options)
    result = engine().run(*call.arrays, **call.options, return_logsumexp=True)
    output, logsumexp = call.as_given(result[0]), call.rows_as_given(result[1])
    back = give_back(query)
    output = back(output) if out is None else _written(out, output)
    return (output, back(logsumexp)) if return_logsumexp else output


def attention_vjp(
    query: Any,
    key: Any,
    value: Any,
    cotangent: Any,
    *,
    mask: Any = None,
    causal: bool | str = False,
    offset: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    alibi: Any = None,
    sink: Any = None,
    lengths: Any = None,
    layout: str | None = "BHTD",
    threads: int | None = None,
    output: Any = None,
    logsumexp: Any = None,
) -> tuple[Any, Any, Any]:
    options = _options(mask, causal, offset, scale, softcap, window, alibi, sink, lengths)
    call = Prepared(query, key, value, layout, threads, options)
    if (output is None) != (logsumexp is None):
        raise OptionError("output and logsumexp of the forward pass belong together: give both, or neither.")
    kept = {}
    if output is not None:
        kept = {
            "output": call.like_output("output", output),
            "logsumexp": call.like_logsumexp("logsumexp", logsumexp),
        }
    gradients = engine().run_vjp(
        *call.arrays, call.like_output("cotangent", cotangent), **call.options, **kept
    )
    back = give_back(query)
    query_gradient, key_gradient, value_gradient = (back(call.as_given(each)) for each in gradients)
    return query_gradient, key_gradient, value_gradient


attention.__doc__, attention_vjp.__doc__ = ATTENTION, ATTENTION_VJP


def _options(*values: Any) -> dict[str, Any]:
    return {name: value for name, value in zip(PROBLEM_OPTIONS, values, strict=True) if value is not None}


def needs_gradient(*values: object) -> bool:
    """Whether one of them is a torch tensor that records what is done to it."""
    if not any(library_of(value) == "torch" for value in values):
        return False
    import torch

    return torch.is_grad_enabled() and any(getattr(value, "requires_grad", False) for value in values)


class Prepared:
    """A call that has been checked and made plain: what the kernel takes as it is.

    Fields
    problem  the call as a Problem; arrays: query, key and value as (B, H, T, D) of float32 or float64
    options  the keyword arguments
    """

    def __init__(
        self,
        query: Any,
        key: Any,
        value: Any,
        layout: str | None,
        threads: int | None,
        options: Mapping[str, Any],
    ) -> None:
        if layout is not None and (not isinstance(layout, str) or layout not in LAYOUTS):
            raise OptionError(
                f"layout is {shown(layout)}; {' or '.join(LAYOUTS)} was expected: where the heads stand."
            )
        self.heads_last = layout == "BTHD"
        given: dict[str, Any] = {
            "query": read("query", query),
            "key": read("key", key),
            "value": read("value", value),
        }
        if self.heads_last:
            given = {name: self._turned(name, array) for name, array in given.items()}
        self.problem = Problem(
            **given, **{name: _read_option(name, value) for name, value in options.items()}
        )
        self.arrays = tuple(
            self._plain(each) for each in (self.problem.query, self.problem.key, self.problem.value)
        )
        self.options = _plain_options(self.problem, threads)

    def like_output(self, name: str, values: Any) -> Array:
        """An array in the shape of the output, plain. Raises ShapeError."""
        array = read(name, values)
        if self.heads_last:
            array = self._turned(name, array)
        problem = self.problem
        expected = (*problem.batch, *(() if problem.single else (problem.H,)), problem.Tq, problem.Dv)
        if array.shape != expected:
            raise ShapeError(f"{name} has shape {array.shape}; {expected} was expected, as the output has.")
        return self._plain(array[..., None, :, :] if problem.single else array)

    def like_logsumexp(self, name: str, values: Any) -> Array:
        """An array in the shape of the logsumexp, plain. Raises ShapeError."""
        array, problem = read(name, values), self.problem
        expected = (*problem.batch, *(() if problem.single else (problem.H,)), problem.Tq)
        if array.shape != expected:
            raise ShapeError(
                f"{name} has shape {array.shape}; {expected} was expected, one number per query."
            )
        rows = array.reshape(-1, problem.H, problem.Tq)
        return np.ascontiguousarray(rows, dtype=self.problem.work_dtype)

    def as_given(self, array: Array) -> Array:
        """(B, H, T, width) in the shape, layout and dtype that the caller has."""
        problem = self.problem
        shaped = array.reshape(*problem.batch, *array.shape[1:]).astype(problem.dtype, copy=False)
        if problem.single:
            return shaped[..., 0, :, :]
        return shaped.swapaxes(-2, -3) if self.heads_last else shaped

    def rows_as_given(self, array: Array) -> Array:
        """(B, H, Tq) in the shape that the caller has; at least float32, since it is a sum over all keys."""
        problem = self.problem
        shaped = array.reshape(*problem.batch, *array.shape[1:])
        return shaped[..., 0, :] if problem.single else shaped

    def _turned(self, name: str, array: Array) -> Array:
        if array.ndim < 3:
            raise ShapeError(f"{name} has shape {array.shape}; layout BTHD means (…, T, H, D).")
        return array.swapaxes(-2, -3)

    def _plain(self, array: Array) -> Array:
        """As (B, H, T, D) of the work dtype, with neighbouring numbers in the last axis."""
        array = array.reshape(-1, *array.shape[-3:]).astype(self.problem.work_dtype, copy=False)
        size = array.itemsize
        is_plain = array.flags.aligned and (array.shape[-1] < 2 or array.strides[-1] == size)
        return array if is_plain and not any(step % size for step in array.strides) else array.copy("C")


def _read_option(name: str, value: Any) -> Any:
    """Options may be arrays of other libraries too; a list of masks is left to the Problem."""
    if library_of(value) != "torch":
        return value
    tensor = value.detach()
    return read(name, tensor) if tensor.is_floating_point() else np.asarray(tensor)


def _plain_options(problem: Problem, threads: int | None) -> dict[str, Any]:
    work, count = problem.work_dtype, int(np.prod(problem.batch))
    options: dict[str, Any] = {"causal": problem.causal, "scale": problem.factor, "window": problem.window}
    if problem.softcap is not None:
        options["softcap"] = problem.softcap
    for name in ("alibi", "sink"):
        numbers = getattr(problem, name)
        options[name] = None if numbers is None else np.ascontiguousarray(numbers, dtype=work)
    for name in ("offset", "lengths"):
        numbers = getattr(problem, name)
        options[name] = (
            None if numbers is None else np.ascontiguousarray(numbers.reshape(count), dtype=np.int64)
        )
    options["mask"] = _one_mask(problem)
    options["threads"] = None if threads is None else whole("threads", threads, least=1)
    return options


def _one_mask(problem: Problem) -> Array | None:
    """All masks as one, with as many axes as (B, H, Tq, Tk) where they need them."""
    masks = problem.mask or ()
    if not masks:
        return None
    allowed = [mask for mask in masks if mask.dtype == bool]
    added = [mask.astype(problem.work_dtype, copy=False) for mask in masks if mask.dtype != bool]
    one: Array
    if not added:
        one = allowed[0]
        for mask in allowed[1:]:
            one = one & mask
    else:
        one = added[0]
        for mask in added[1:]:
            one = one + mask
        for mask in allowed:
            one = np.where(mask, one, cast("Any", -np.inf)).astype(problem.work_dtype, copy=False)
    if len(problem.batch) != 1 and one.ndim > 3:  # no batch axis, or several: they become one
        one = np.broadcast_to(one, (*problem.batch, *one.shape[-3:])).reshape(-1, *one.shape[-3:])
    return one


def _written(out: Any, result: Array) -> Any:
    """`result` in the caller's own array. Raises ShapeError, OptionError."""
    target = np.asarray(out.detach() if library_of(out) == "torch" else out)
    if target.shape != result.shape or target.dtype != result.dtype:
        raise ShapeError(
            f"out has shape {target.shape} and dtype {target.dtype}; "
            f"{result.shape} and {result.dtype} were expected."
        )
    if not target.flags.writeable or not np.shares_memory(target, np.asarray(out)):
        raise OptionError("out cannot be written into; an array of its own, on the CPU, was expected.")
    target[...] = result
    return out
