"""Several processes that answer at one port, for a class: each marks and explains on a core of its own.

Each has a socket of its own, over which the system spreads those who connect: at a single one, whichever
process is awake first takes them all. They share the file of progress, which SQLite lets them write one
after the other, and nothing else. Beside each, another draws fresh numbers, which takes far longer than to
mark an answer and would hold up everybody else's.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import ForkProcess

DRAWING = 5  # how much a process that draws numbers gives way to those that answer: it takes long
Serve = Callable[..., None]  # answers at a socket until a signal stops it, with a process that draws


def start(count: int, taken: socket.socket, serve: Serve) -> list[ForkProcess]:
    """Processes that serve.

    count  how many; taken: a socket that listens and is shared; serve: what each of them does
    Raises nothing. Special cases: they end with their parent, however that ends.
    """
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
    with ProcessPoolExecutor(1, context, _begin_to_draw, (own,)) as drawing:
        drawing.submit(int).result()  # it is there, before there are threads
        threading.Thread(target=_end_with_parent, daemon=True).start()
        serve(own, drawing=drawing)


def _begin_to_draw(own: socket.socket) -> None:
    own.close()
    os.nice(DRAWING)
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
