"""The careful way into the fast kernel: any arrays and options, checked as a Problem, then made plain.

`headwork.attention` is the compiled function itself and comes here with what it cannot take at once: lists,
arrays of other libraries, half precision, several masks, published slopes, and everything that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any, cast

import numpy as np

from ..arrays import Array, shown, whole
from ..errors import MaskError, OptionError, ShapeError, TooLargeError
from ..problem import Problem
from .documentation import ATTENTION, ATTENTION_VJP
from .engines import engine
from .foreign import give_back, library_of, read, refuse_hidden

MOST_WORK, MOST_KEYS = 2**58, 2**31 - 1  # multiplications of one call, which take days; the engine's counters
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
    if return_logsumexp is not None and not isinstance(return_logsumexp, bool | np.bool_):
        raise OptionError(f"return_logsumexp is {shown(return_logsumexp)}; True or False was expected.")
    if needs_gradient(query, key, value, out, *options.values()):
        from .autograd import differentiable_attention

        return differentiable_attention(query, key, value, out, layout, threads, return_logsumexp, options)
    with memory_told():
        call = Prepared(query, key, value, layout, threads, options)
        target = None if out is None else call.target(out)
        result = engine().run(*call.arrays, **call.options, return_logsumexp=True)
        output, logsumexp = call.as_given(result[0]), call.rows_as_given(result[1])
    back = give_back(query)
    if target is None:
        output = back(output)
    else:
        target[...] = output
        output = out
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
    if (output is None) != (logsumexp is None):
        raise OptionError("output and logsumexp of the forward pass belong together: give both, or neither.")
    with memory_told():
        call = Prepared(query, key, value, layout, threads, options)
        kept = {}
        if output is not None:
            kept = {
                "output": call.like_output("output", output),
                "logsumexp": call.like_logsumexp("logsumexp", logsumexp),
            }
        cotangent = call.like_output("cotangent", cotangent)
        gradients = engine().run_vjp(*call.arrays, cotangent, **call.options, **kept)
    back = give_back(query)
    query_gradient, key_gradient, value_gradient = (back(call.as_given(each)) for each in gradients)
    return query_gradient, key_gradient, value_gradient


attention.__doc__, attention_vjp.__doc__ = ATTENTION, ATTENTION_VJP


def _options(*values: Any) -> dict[str, Any]:
    return {name: value for name, value in zip(PROBLEM_OPTIONS, values, strict=True) if value is not None}


@contextmanager
def memory_told() -> Iterator[None]:
    """Raise TooLargeError, in words, where memory is not enough."""
    try:
        yield
    except MemoryError:
        raise TooLargeError("the result of this call is larger than the memory that is left.") from None


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
        _check_size(self.problem)
        self.arrays = tuple(
            self._plain(each) for each in (self.problem.query, self.problem.key, self.problem.value)
        )
        self.options = _plain_options(self.problem, threads)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the output, as the caller gets it."""
        problem = self.problem
        heads = () if problem.single else (problem.H,)
        rows = (problem.Tq, *heads) if self.heads_last else (*heads, problem.Tq)
        return (*problem.batch, *rows, cast("int", problem.Dv))

    def target(self, out: Any) -> Array:
        """The memory of `out`, to be written into. Raises ShapeError, OptionError."""
        array = read("out", out)
        if array.shape != self.output_shape or array.dtype != self.problem.dtype:
            raise ShapeError(
                f"out has shape {array.shape} and dtype {array.dtype}; "
                f"{self.output_shape} and {self.problem.dtype} were expected."
            )
        is_copy = array.size > 0 and not np.may_share_memory(array, read("out", out))
        if is_copy or not array.flags.writeable or _may_overlap_itself(array):
            raise OptionError(
                "out cannot be written into; an array on the CPU, with memory for each entry, was expected."
            )
        return array

    def like_output(self, name: str, values: Any) -> Array:
        """An array in the shape of the output, plain. Raises ShapeError."""
        array = read(name, values)
        if array.shape != self.output_shape:
            raise ShapeError(
                f"{name} has shape {array.shape}; {self.output_shape} was expected, as the output has."
            )
        array = self._turned(name, array) if self.heads_last else array
        return self._plain(array[..., None, :, :] if self.problem.single else array)

    def like_logsumexp(self, name: str, values: Any) -> Array:
        """An array in the shape of the logsumexp, plain. Raises ShapeError."""
        array, problem = read(name, values), self.problem
        expected = (*problem.batch, *(() if problem.single else (problem.H,)), problem.Tq)
        if array.shape != expected:
            raise ShapeError(
                f"{name} has shape {array.shape}; {expected} was expected, one number per query."
            )
        rows = array.reshape(math.prod(problem.batch), problem.H, problem.Tq)
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
        array = array.reshape(math.prod(self.problem.batch), *array.shape[-3:])
        array = array.astype(self.problem.work_dtype, copy=False)
        size = array.itemsize
        is_plain = array.flags.aligned and (array.shape[-1] < 2 or array.strides[-1] == size)
        return array if is_plain and not any(step % size for step in array.strides) else array.copy("C")


def _read_option(name: str, value: Any) -> Any:
    """Options may be arrays of other libraries too; a list of masks is left to the Problem."""
    for each in value if isinstance(value, list | tuple) else (value,):
        refuse_hidden(name, each)
    if library_of(value) != "torch":
        return value
    tensor = value.detach()
    return read(name, tensor) if tensor.is_floating_point() else np.asarray(tensor)


def _plain_options(problem: Problem, threads: int | None) -> dict[str, Any]:
    count = math.prod(problem.batch)
    options: dict[str, Any] = {"causal": problem.causal, "window": problem.window}
    for name, numbers in (("scale", problem.factor), ("softcap", problem.softcap)):
        options[name] = numbers if numbers is None else float(_in_reach(problem, name, numbers))
    for name in ("alibi", "sink"):
        numbers = getattr(problem, name)
        options[name] = numbers if numbers is None else _in_reach(problem, name, numbers)
    for name in ("offset", "lengths"):
        numbers = getattr(problem, name)
        options[name] = (
            None if numbers is None else np.ascontiguousarray(numbers.reshape(count), dtype=np.int64)
        )
    options["mask"] = _one_mask(problem)
    options["threads"] = None if threads is None else whole("threads", threads, least=1)
    return options


def _check_size(problem: Problem) -> None:
    """Raise TooLargeError for a call that would never end: an array that repeats its memory has any size."""
    width = cast("int", problem.D) + cast("int", problem.Dv)
    work = math.prod(max(size, 1) for size in (*problem.batch, problem.H, problem.Tq, problem.Tk, width))
    if work > MOST_WORK or problem.Tk > MOST_KEYS:
        raise TooLargeError(
            f"B·H·Tq·Tk·(D + Dv) is {work:.1e} here, with Tk = {problem.Tk}; at most {MOST_WORK:.1e} "
            f"multiplications and {MOST_KEYS} keys are worked out in one call."
        )


def _in_reach(problem: Problem, name: str, numbers: Any) -> Array:
    """Numbers in the dtype of the work, with room for a factor. Raises OptionError."""
    limits = np.finfo(problem.work_dtype)
    least = 4 * limits.tiny if name == "softcap" else 0  # it divides
    sizes = np.abs(numbers)
    is_fine = (least <= sizes) & (sizes < limits.max / 4) | np.isneginf(numbers)  # a sink may be −inf
    if not np.all(is_fine):
        raise OptionError(
            f"{name} is {shown(numbers)}, beyond what {problem.work_dtype} can compute with: "
            f"its size must be between {least:.0e} and {limits.max / 4:.0e}."
        )
    return np.asarray(numbers, dtype=problem.work_dtype, order="C")


def _may_overlap_itself(array: Array) -> bool:
    """Whether two entries may lie on the same memory: a stride is shorter than what lies within it."""
    if array.size == 0:
        return False
    reach = array.itemsize
    for stride, length in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if length > 1 and stride < reach:
            return True
        reach += stride * (length - 1)
    return False


def _one_mask(problem: Problem) -> Array | None:
    """All masks as one, with as many axes as (B, H, Tq, Tk) where they need them. Raises MaskError."""
    masks = problem.mask or ()
    if not masks:
        return None
    work = problem.work_dtype
    with np.errstate(over="ignore"):  # less than the dtype can hold is −inf there: masked
        plain = (mask if mask.dtype == bool else np.require(mask, work, ["A"]) for mask in masks)
        one: Array = reduce(_joined, plain)
    if one.dtype != bool and one.max(initial=0) == np.inf:
        raise MaskError(f"the masks add up to more than {work} can hold; smaller numbers were expected.")
    if len(problem.batch) != 1 and one.ndim > 3:  # no batch axis, or several: they become one
        one = np.broadcast_to(one, (*problem.batch, *one.shape[-3:]))
        one = one.reshape(math.prod(problem.batch), *one.shape[-3:])
    return one


def _joined(one: Array, other: Array) -> Array:
    """Two masks as one, bool where both are."""
    if one.dtype == other.dtype:
        joined = one & other if one.dtype == bool else one + other
    else:
        allowed, added = (one, other) if one.dtype == bool else (other, one)
        joined = np.where(allowed, added, added.dtype.type(-np.inf))
    return np.asarray(joined)
