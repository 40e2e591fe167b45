"""What this machine can do at most: the rate of a matrix product, and of reading memory."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

SIZE = 2048  # of the matrices
TRIES = 7
BYTES = 1 << 28  # that each thread reads: more than any cache holds


def matrix_rate(dtype: str = "float32") -> float:
    """GFLOP/s of a square matrix product of NumPy's BLAS, with the threads that it has."""
    left, right = (np.ones((SIZE, SIZE), dtype) for _ in range(2))
    out = np.empty_like(left)
    return 2 * SIZE**3 / _best(lambda: np.matmul(left, right, out=out)) / 1e9


def read_rate(threads: int) -> float:
    """GB/s of reading memory once, over so many threads."""
    arrays = [np.ones(BYTES // 4, np.float32) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(np.max, arrays)))
    return threads * BYTES / seconds / 1e9


def _best(call: object) -> float:
    assert callable(call)
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
