"""Several processes that answer at one port, for a class: each marks and explains on a core of its own.

Each has a socket of its own, over which the system spreads those who connect: at a single one, whichever
process is awake first takes them all. They share the file of progress, which SQLite lets them write one
after the other, and a folder with the numbers that were drawn: a second connection may come to another one.
Beside each, one more process draws fresh numbers and explains what is not right: that takes far longer than
to mark an answer, and would hold up everybody else's.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from multiprocessing.context import ForkProcess
from pathlib import Path
from tempfile import TemporaryDirectory

from .addresses import share

EXPLAINING = f"{__package__}.explaining"  # what it will need soon
GIVING_WAY = 15  # how much a process that draws and explains gives way to those that mark
Serve = Callable[..., None]  # answers at a socket until a signal stops it, with a process beside it


@contextmanager
def started(count: int, taken: socket.socket, serve: Serve) -> Iterator[Callable[[], None]]:
    """Processes that serve; what waits for them to end.

    count  how many; taken: a socket that listens and is shared; serve: what each of them does
    Raises nothing. Special cases: they end with their parent, however that ends.
    """
    with ExitStack() as stack:
        with suppress(OSError):  # where there is no place for it, each process draws for itself
            share(Path(stack.enter_context(TemporaryDirectory(prefix="headwork-"))))
        yield partial(wait, _start(count, taken, serve))


def _start(count: int, taken: socket.socket, serve: Serve) -> list[ForkProcess]:
    sockets = [taken, *(beside(taken) for _ in range(count - 1))]
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_work, args=(own, sockets, serve)) for own in sockets]
    for child in children:
        child.start()
    for each in sockets:
        each.close()
    return children


def beside(taken: socket.socket) -> socket.socket:
    """Another socket that listens at the same port.

    taken  the first one
    Raises OSError. Special cases: none.
    """
    made = socket.socket(taken.family, taken.type, taken.proto)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(taken.getsockname())
    made.listen(128)
    return made


def _work(own: socket.socket, sockets: list[socket.socket], serve: Serve) -> None:
    for other in sockets:
        if other is not own:  # left open, it would take connections that nobody answers
            other.close()
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, context, _begin_beside, (own,)) as beside:
        beside.submit(int).result()  # it is there, before there are threads
        beside.submit(import_module, EXPLAINING)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        serve(own, beside=beside)


def _begin_beside(own: socket.socket) -> None:
    own.close()
    os.nice(GIVING_WAY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for its parent, which ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def wait(children: list[ForkProcess]) -> None:
    """Wait until every process has ended; Ctrl-C and a termination signal end them.

    children  that were started
    Raises nothing. Special cases: where one is killed, the others go on.
    """

    def end(*_: object) -> None:
        for child in children:
            child.terminate()

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)
    for child in children:
        child.join()
