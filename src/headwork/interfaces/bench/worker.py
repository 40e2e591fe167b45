"""One implementation in a process of its own: `python -m headwork.interfaces.bench.worker NAME THREADS`.

Reads one order a line and answers each with one line of JSON: {"prepare": {a regime}}, {"time": seconds} or
{"peak": {a regime}}.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from .implementations import Call, as_numpy, prepare, use_threads
from .regimes import Regime, drawn, largest_error

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
    """Seconds of one call: the mean over as many as take `least` seconds together."""
    calls, total = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        total = time.perf_counter() - start
        if total >= least:
            return total / calls
        calls = max(calls + 1, int(calls * min(1.2 * least / max(total, 1e-9), 100)))


def _peak(name: str, regime: Regime) -> dict[str, Any]:
    """By how many MiB one call makes the process grow, beyond the output."""
    arrays = drawn(regime)
    call = prepare(name, regime, arrays)
    if call is None:
        return {"mib": None}
    before = _forget_peak()
    output = as_numpy(name, regime, call())
    return {"mib": (_peak_bytes() - before - output.nbytes) / MIB}


def _forget_peak() -> int:
    """The resident size now, in bytes; the peak starts from it where the system can forget the old one."""
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
