"""One implementation in a process of its own: `python -m headwork.interfaces.bench.worker NAME THREADS`.

Reads one order a line and answers each with one line of JSON: {"prepare": {a regime}}, {"time": seconds} or
{"peak": {a regime}}.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from .implementations import Call, as_numpy, prepare, use_threads
from .regimes import Regime, drawn, largest_error

BATCH = 1e-3  # seconds
MIB = 1024 * 1024


def main() -> None:
    """Answer orders until the input ends."""
    name, threads = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    use_threads(threads)
    call: Call | None = None
    for line in sys.stdin:
        order = json.loads(line)
        if "prepare" in order:
            call, answer = _prepared(name, Regime(**order["prepare"]))
        elif "peak" in order:
            answer = _peak(name, Regime(**order["peak"]))
        else:
            assert call is not None
            answer = {"seconds": _timed(call, order["time"])}
        print(json.dumps(answer), file=answers, flush=True)


def _prepared(name: str, regime: Regime) -> tuple[Call | None, dict[str, Any]]:
    try:
        arrays = drawn(regime)
        call = prepare(name, regime, arrays)
        if call is None:
            return None, {"can": False, "why": "not offered"}
        error = largest_error(regime, arrays, as_numpy(name, regime, call()))
    except Exception as problem:
        return None, {"can": False, "why": f"{type(problem).__name__}: {problem}"[:200]}
    return call, {"can": True, "error": error}


def _timed(call: Call, least: float) -> float:
    """Seconds of one call: the median of as many as take `least` seconds, after one that wakes threads.

    Calls too short for the clock are timed in batches.
    """
    call()
    batch = 1
    while (seconds := _seconds(call, batch)) < BATCH:
        batch = max(batch + 1, int(batch * min(1.2 * BATCH / max(seconds, 1e-9), 100)))
    times = [seconds]
    while sum(times) < least:
        times.append(_seconds(call, batch))
    return statistics.median(times) / batch


def _seconds(call: Call, times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return time.perf_counter() - start


def _peak(name: str, regime: Regime) -> dict[str, Any]:
    """By how many MiB one call makes the process grow, beyond the output and the gradients."""
    arrays = drawn(regime)
    call = prepare(name, regime, arrays)
    if call is None:
        return {"mib": None}
    before = _forget_peak()
    given_back = as_numpy(name, regime, call()).nbytes
    if regime.backward:
        given_back += sum(arrays[each].nbytes for each in ("query", "key", "value"))
    return {"mib": (_peak_bytes() - before - given_back) / MIB}


def _forget_peak() -> int:
    """The resident size now, in bytes; the peak starts from it where the system can forget the old one."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:  # freed memory that is still held would hide that a call takes some
        trim(0)
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5", encoding="ascii")
    return _peak_bytes()


def _peak_bytes() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        line = next(
            line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")
        )
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
