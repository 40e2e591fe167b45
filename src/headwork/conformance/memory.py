"""How much memory a process has resident; its address space says little: CUDA reserves terabytes of that."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HAS_PROC = Path("/proc/self/statm").exists()  # Linux
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> int:
    """Bytes that process `pid` has resident; 0 once it has ended."""
    if not HAS_PROC:
        return _by_ps("-p", pid)
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def resident_group(group: int) -> int:
    """Bytes that the processes of process group `group` have resident together."""
    if not HAS_PROC:
        return _by_ps("-g", group)
    return sum(resident(pid) for pid in _members(group))


def _members(group: int) -> Iterator[int]:
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getpgid(int(name)) == group:
                yield int(name)
        except OSError:  # it ended meanwhile
            continue


def _by_ps(flag: str, number: int) -> int:
    run = subprocess.run(["ps", "-o", "rss=", flag, str(number)], capture_output=True, text=True, check=False)
    return 1024 * sum(map(int, run.stdout.split()))


def forget_peak() -> None:
    """Let `peak` start again from what is resident now, where the system can."""
    try:
        with open("/proc/self/clear_refs", "wb") as file:
            file.write(b"5")
    except OSError:
        return


def peak() -> int:
    """The most bytes that this process had resident (since `forget_peak`, where the system can forget)."""
    try:
        with open("/proc/self/status", "rb") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"VmHWM"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
