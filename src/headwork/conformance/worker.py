"""The other side of `apart`: a process that loads one target and answers calls of it until its line ends.

Its standard input and output are the line to the checker; before any of somebody's code runs they are moved
away, so that what is printed goes where it is captured, and what is typed for is not there.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..errors import HeadworkError
from .calls import Call, Outcome
from .endings import LINE_LOST, raised
from .loading import load
from .memory import forget_peak, peak, resident
from .performing import perform
from .side_effects import Watch, stir
from .targets import Target
from .wire import Inbox, call_from, packed

HIGH = 100  # file descriptors from here on are seldom closed by a loop over the low ones
COMPILERS = (
    "jax",
    "triton",
    "numba",
    "cupy",
    "taichi",
    "torch._dynamo",
    "torch.utils.cpp_extension",
)  # slow the first time


def main(alive: int) -> None:
    """Answer requests until there are no more. `alive` is the end of a pipe that the checker holds open."""
    die_with(alive)
    requests, answers = moved(0), moved(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(all_threads=False)
    try:
        serve(requests, answers)
    except OSError:
        os._exit(LINE_LOST)


def die_with(alive: int) -> None:
    """Have the kernel kill this whole process group once the checker is gone, however busy it is then."""
    if hasattr(fcntl, "F_SETSIG"):  # Linux: closing the pipe sends a signal of our choice
        fcntl.fcntl(alive, fcntl.F_SETOWN, -os.getpgid(0))
        fcntl.fcntl(alive, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(alive, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def moved(descriptor: int) -> int:
    """Another number for an open file, out of the way."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH)
    except OSError:  # so many are not allowed here
        return os.dup(descriptor)


def serve(requests: int, answers: int) -> None:
    """One answer to each request: {"load": target}, then {"call": call} as often as there is one."""
    watch, function, inbox, process = Watch(), None, Inbox(), os.getpid()
    while (request := received(requests, inbox)) is not None:
        if "load" in request:
            function, answer = loaded(Target(**request["load"]), watch)
        else:
            answer = {"outcome": called(function, call_from(request["call"]), watch)}
        if os.getpid() != process:  # somebody's code forked, and this is the copy
            os._exit(0)
        send(answers, packed(answer))


def received(line: int, inbox: Inbox) -> dict[str, Any] | None:
    """The next request; None once there are no more."""
    while part := os.read(line, min(inbox.missing, 1 << 20)):
        if (message := inbox.add(part)) is not None:
            return message
    return None


def send(line: int, chunks: list[memoryview]) -> None:
    """Write all of it."""
    for chunk in chunks:
        while chunk:
            chunk = chunk[os.write(line, chunk) :]


def loaded(target: Target, watch: Watch) -> tuple[Callable[..., Any] | None, dict[str, Any]]:
    """The function, and the answer: its signature, what is wrong with the target, or what it raised."""
    try:
        with seldom_collecting():
            function, signature = load(target)
    except HeadworkError as error:
        return None, {"wrong": str(error), "kind": type(error).__name__}
    except BaseException as error:  # sys.exit, too
        return None, {"raised": raised(error)}
    return function, {
        "signature": signature,
        "compiles": any(name in sys.modules for name in COMPILERS) or target.device != "cpu",
    }


@contextlib.contextmanager
def seldom_collecting() -> Iterator[None]:
    """An import keeps nearly all it makes: looking for garbage there takes a tenth of torch's import.

    What it made is not looked through later, either.
    """
    usual, seldom = gc.get_threshold(), (100_000, 50, 50)
    gc.set_threshold(*seldom)
    try:
        yield
    finally:
        if gc.get_threshold() == seldom:  # else somebody's code has set its own
            gc.set_threshold(*usual)
        gc.freeze()


def called(function: Any, call: Call, watch: Watch) -> Outcome:
    """One call, what it left behind, and the memory that it took."""
    with contextlib.suppress(Exception):  # somebody's own module may be called torch
        stir()
    watch.start()
    forget_peak()
    before = resident(os.getpid())
    outcome = perform(function, call)
    memory = max(0, peak() - before)
    with contextlib.suppress(Exception):  # a stream of somebody's own, or a closed one
        sys.stdout.flush()
    return replace(outcome, memory=memory, side_effects=watch.effects())
