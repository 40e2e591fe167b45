"""The NumPy engine: attention in blocks with a running maximum and sum, where there is no compiled kernel.

The same calls as the kernel's `run` and `run_vjp`, with plain arguments only (calling.py makes them so):
arrays (B, H, T, D) of float32 or float64. No score matrix is kept: a block of it at a time.

Source: Milakov and Gimelshein 2018 (the running sum); Dao 2023, section 3.1 (blocks, and the backward pass).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..arrays import Array
from .engines import products_on_one_thread, usable_threads
from .softmax import blend

QUERIES, KEYS = 128, 512  # of a block: 256 KiB of scores in float32, which stay in the second cache
MOST_THREADS = 1024
FAR = 1e4  # beyond it, the last digits of a logsumexp do not say how many keys share the weight
WORTH_THREADS = 1e6  # multiplications: handing a block to another thread costs some 50 µs


def engine_name() -> str:
    """The name of this engine."""
    return "numpy"


@dataclass(frozen=True, eq=False)
class Call:
    """One call with its plain options; positions and lengths are per batch element."""

    query: Array
    key: Array
    value: Array
    scale: float
    softcap: float | None
    offset: Array
    lengths: Array
    left: float
    right: float
    mask: Array | None
    alibi: Array | None
    sink: Array | None

    def seen(self, b: int, rows: slice) -> slice:
        """The keys that any of these queries may see by their positions."""
        first, last = rows.start + self.offset[b], rows.stop - 1 + self.offset[b]
        return slice(int(max(first - self.left, 0)), int(max(min(last + self.right + 1, self.lengths[b]), 0)))

    def back(self, b: int, rows: slice, keys: slice) -> Array:
        """How far behind its query each key of a block stands."""
        positions: Array = np.arange(rows.start, rows.stop)[:, None] + self.offset[b]
        return positions - np.arange(keys.start, keys.stop)

    def in_reach(self, b: int, rows: slice, keys: slice) -> Array | None:
        """Which keys of a block the positions allow; None where all: its corners say that."""
        farthest = rows.stop - 1 + self.offset[b] - keys.start
        nearest = rows.start + self.offset[b] - (keys.stop - 1)
        if farthest <= self.left and nearest >= -self.right:
            return None
        back = self.back(b, rows, keys)
        allowed: Array = (back <= self.left) & (back >= -self.right)
        return allowed

    def scores(self, b: int, h: int, rows: slice, keys: slice) -> tuple[Array, Array | None, Array | None]:
        """A block of masked scores, which keys it allows (None: all), and the slope of the softcap."""
        shared = h // (self.query.shape[1] // self.key.shape[1])
        scores = (self.query[b, h, rows] * self.scale) @ self.key[b, shared, keys].T
        slope = None
        if self.softcap is not None:
            capped = np.tanh(scores / self.softcap)
            slope, scores = 1 - capped * capped, self.softcap * capped
        if self.alibi is not None:
            scores -= self.alibi[h] * np.abs(self.back(b, rows, keys)).astype(scores.dtype)
        allowed = self.in_reach(b, rows, keys)
        if self.mask is not None:
            part = _part(self.mask, b, h, rows, keys)
            seen = part if part.dtype == bool else ~np.isneginf(part)
            allowed = seen if allowed is None else allowed & seen
            if part.dtype != bool:
                scores += np.where(seen, part, 0)
        if allowed is not None:
            allowed = np.broadcast_to(allowed, scores.shape)
            if allowed.all():
                allowed = None
            else:
                scores[~allowed] = -np.inf
        return scores, allowed, slope


def _part(mask: Array, b: int, h: int, rows: slice, keys: slice) -> Array:
    """The part of a broadcastable mask that lies over a block; axes of length 1 stay."""
    whole = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    index = (b, h, rows, keys)
    picked: tuple[Any, ...] = tuple(
        (0 if isinstance(at, int) else slice(None)) if size == 1 else at
        for at, size in zip(index, whole.shape, strict=True)
    )
    return np.asarray(whole[picked])


def _call(query: Array, key: Array, value: Array, options: dict[str, Any]) -> Call:
    B, _, Tq, D = query.shape
    left, right = options.get("window") or (None, None)
    lengths = options.get("lengths")
    lengths = np.full(B, key.shape[2]) if lengths is None else lengths
    offset = options.get("offset")
    scale = options.get("scale")
    return Call(
        query=query,
        key=key,
        value=value,
        scale=1 / math.sqrt(D) if scale is None else scale,
        softcap=options.get("softcap"),
        offset=np.broadcast_to(lengths - Tq if offset is None else offset, (B,)),
        lengths=lengths,
        left=math.inf if left is None else left,
        right=0 if options.get("causal") else math.inf if right is None else right,
        mask=options.get("mask"),
        alibi=options.get("alibi"),
        sink=options.get("sink"),
    )


def _blocks(seen: slice) -> Iterator[slice]:
    for start in range(seen.start, seen.stop, KEYS):
        yield slice(start, min(start + KEYS, seen.stop))


def _share(items: list[Any], multiplications: float, threads: int | None, work: Callable[..., None]) -> None:
    """Call work(*item) for every item, on several threads where that is worth it."""
    threads = min(threads or usable_threads(), len(items), MOST_THREADS)
    if multiplications < WORTH_THREADS:
        for item in items:
            work(*item)
        return
    waiting = deque(items)

    def take_part() -> None:
        try:
            while (item := _taken(waiting)) is not None:
                work(*item)
        finally:
            waiting.clear()  # after an error nothing begins any more

    # A product that used threads of its own would wait for those that the others use.
    with products_on_one_thread(), ThreadPoolExecutor(max(threads, 1)) as pool:
        try:
            # One future for each thread, not for each item: Ctrl-C while one is handed over may leave a lock.
            for part in [pool.submit(take_part) for _ in range(threads)]:
                part.result()
        finally:
            waiting.clear()


def _taken(waiting: deque[Any]) -> Any:
    """The next one, for the thread that asks alone; None where there is none."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _rows(Tq: int) -> list[slice]:
    """The blocks of queries."""
    return [slice(start, min(start + QUERIES, Tq)) for start in range(0, Tq, QUERIES)]


def run(
    query: Array,
    key: Array,
    value: Array,
    *,
    threads: int | None = None,
    return_logsumexp: bool = False,
    **options: Any,
) -> Any:
    """Output (B, H, Tq, Dv), and with `return_logsumexp` also the natural logsumexp (B, H, Tq)."""
    output, row_max, logs = _run(_call(query, key, value, options), threads)
    return (output, row_max + logs) if return_logsumexp else output


def _run(call: Call, threads: int | None) -> tuple[Array, Array, Array]:
    """Output, each row's maximum, and the logsumexp of its scores less that maximum."""
    B, H, Tq, _ = call.query.shape
    dtype = call.query.dtype
    output = np.zeros((B, H, Tq, call.value.shape[3]), dtype)
    row_max, logs = np.empty((B, H, Tq), dtype), np.empty((B, H, Tq), dtype)

    def work(b: int, h: int, rows: slice) -> None:
        with np.errstate(all="ignore"):  # errstate belongs to a thread
            output[b, h, rows], row_max[b, h, rows], logs[b, h, rows] = _attend(call, b, h, rows)

    items = list(product(range(B), range(H), _rows(Tq)))
    _share(items, float(call.query.size * call.key.shape[2]), threads, work)
    return output, row_max, logs


def _attend(call: Call, b: int, h: int, rows: slice) -> tuple[Array, Array, Array]:
    """The same of a block of queries: one pass over the keys that it sees."""
    dtype = call.query.dtype
    count = rows.stop - rows.start
    shared = h // (call.query.shape[1] // call.key.shape[1])
    sink = -np.inf if call.sink is None else call.sink[h]
    row_max = np.full((count, 1), sink, dtype)
    row_sum = np.full((count, 1), 0 if np.isneginf(sink) else 1, dtype)
    output = np.zeros((count, call.value.shape[3]), dtype)
    for keys in _blocks(call.seen(b, rows)):
        scores, allowed, _ = call.scores(b, h, rows, keys)
        grown = np.maximum(row_max, scores.max(axis=1, keepdims=True))
        base = np.where(np.isneginf(grown), 0, grown)  # −inf − −inf would be NaN
        scores -= base
        weights = np.exp(scores, out=scores)
        factor = np.exp(row_max - base)
        row_sum = row_sum * factor + weights.sum(axis=1, keepdims=True)
        value = call.value[b, shared, keys]
        output *= factor
        output += weights @ value if allowed is None else blend(weights, value, allowed)
        row_max = grown
    is_empty = row_sum == 0
    output /= np.where(is_empty, 1, row_sum)
    logs = np.where(is_empty, -np.inf, np.log(np.where(is_empty, 1, row_sum)))
    return output, row_max[:, 0], logs[:, 0]


def run_vjp(
    query: Array,
    key: Array,
    value: Array,
    cotangent: Array,
    *,
    threads: int | None = None,
    output: Array | None = None,
    logsumexp: Array | None = None,
    **options: Any,
) -> tuple[Array, Array, Array]:
    """The gradients with respect to query, key and value, each in the shape of the array."""
    call = _call(query, key, value, options)
    if output is None or logsumexp is None or (np.isfinite(logsumexp) & (np.abs(logsumexp) > FAR)).any():
        output, row_max, logs = _run(call, threads)
    else:
        row_max, logs = logsumexp, np.zeros_like(logsumexp)
    is_empty = np.isneginf(row_max + logs)
    row_max, logs = np.where(is_empty, np.inf, row_max), np.where(is_empty, 0, logs)  # all weights 0
    delta = np.einsum("bhic,bhic->bhi", output, cotangent)
    gradients = np.zeros_like(query), np.zeros_like(key), np.zeros_like(value)
    B, Hkv = key.shape[:2]
    group = query.shape[1] // Hkv if Hkv else 0

    def work(b: int, shared: int) -> None:
        """All that adds to the gradients of one key head, in order: no thread changes a sum."""
        with np.errstate(all="ignore"):
            for h in range(shared * group, (shared + 1) * group):
                for rows in _rows(query.shape[2]):
                    _differentiate(call, b, h, rows, cotangent, (row_max, logs), delta, gradients)

    _share(list(product(range(B), range(Hkv))), float(query.size * key.shape[2]), threads, work)
    return gradients


def _differentiate(
    call: Call,
    b: int,
    h: int,
    rows: slice,
    cotangent: Array,
    sums: tuple[Array, Array],
    delta: Array,
    gradients: tuple[Array, Array, Array],
) -> None:
    """Add what a block of queries has to do with the gradients.

    sums  each row's maximum and the logsumexp less that: together they may have lost digits
    """
    query_gradient, key_gradient, value_gradient = gradients
    shared = h // (call.query.shape[1] // call.key.shape[1])
    row_max, logs = (each[b, h, rows][:, None] for each in sums)
    for keys in _blocks(call.seen(b, rows)):
        scores, allowed, slope = call.scores(b, h, rows, keys)
        weights = np.exp(scores - row_max - logs)
        with_values = cotangent[b, h, rows] @ call.value[b, shared, keys].T
        gradient = weights * (with_values - delta[b, h, rows][:, None]) * call.query.dtype.type(call.scale)
        if slope is not None:
            gradient *= slope
        if allowed is not None:
            gradient[~allowed] = 0  # a hidden key's value may be NaN
        every = np.ones(gradient.shape, dtype=bool) if allowed is None else allowed
        query_gradient[b, h, rows] += blend(gradient, call.key[b, shared, keys], every)
        key_gradient[b, shared, keys] += blend(gradient.T, call.query[b, h, rows], every.T)
        value_gradient[b, shared, keys] += blend(weights.T, cotangent[b, h, rows], every.T)
