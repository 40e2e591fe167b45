"""`headwork open`: a server on this machine's own address, and the page in a browser."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    import uvicorn
    from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"
ENDS = "Ctrl-C ends it; your answers are kept."
WARNING = (
    "Everybody who can reach this machine can now read your progress and answer in your name, unencrypted. "
    "Leave --host out to serve this machine only."
)
GRACE = 1  # seconds for what is being answered when the server stops
# New objects, and rounds, after which Python looks for garbage. Nearly all that a server holds stays (the
# course, the catalogue, numbers that somebody works on): looking through it took a tenth of the time.
GARBAGE = (20_000, 20, 50)


def run_open(
    *, host: str, port: int, browser: bool, progress: Path | None, json: bool = False, workers: int = 1
) -> int:
    """Serve the workbook until Ctrl-C; the exit status.

    host      an address of this machine; port: 0 takes a free one
    browser   open the page; where there is no browser, its address is printed and nothing more
    progress  the file that it is kept in; None is the user's own
    json      the address as data, and nothing more
    workers   processes that answer: one is enough for one learner
    Raises OptionError: no such address, a port that is taken, or a system whose processes cannot share one.
    Special cases: none.
    """
    gc.set_threshold(*GARBAGE)
    with listening(host, port, shared=workers > 1) as taken, ExitStack() as stack:
        address = address_of(host, taken.getsockname()[1])
        print(_json({"address": address}) if json else f"Headwork is at {address}\n{ENDS}", flush=True)
        if not is_loopback(host):
            print(f"Warning: {WARNING}", file=sys.stderr, flush=True)
        wait: Callable[[], None] = partial(serve, taken, host, progress)
        if workers > 1:
            from .workers import started

            # before there are threads: they do not fork
            wait = stack.enter_context(started(workers, taken, partial(serve, host=host, progress=progress)))
        if browser:
            threading.Thread(target=_show, args=(address,), daemon=True).start()
        wait()
    if not json:
        print("\nStopped. Your answers are kept.")
    return 0


def _json(record: dict[str, str]) -> str:
    from ..json_text import json_text

    return json_text(record)


def listening(host: str, port: int, shared: bool = False) -> socket.socket:
    """A socket that listens; whoever connects waits until the application is there.

    host, port  as in `run_open`; shared: others may listen beside it, and share what comes
    Raises OptionError. Special cases: sharing needs a system that can.
    """
    if shared and not hasattr(socket, "SO_REUSEPORT"):
        raise OptionError("--workers above 1 needs a system where processes share a port, such as Linux.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # named as TCP, so that asyncio turns Nagle's delay off: 40 ms on each answer
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((host, port))
        made.listen(128)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise OptionError(
            f"nothing can be served at {host[:60]}, port {port}: {said}. Without --port, one that is "
            "free is taken."
        ) from None
    return made


def address_of(host: str, port: int) -> str:
    """What to type into a browser on this machine.

    host, port  that are served
    Raises nothing. Special cases: every address of the machine is reached at its own.
    """
    name = (
        LOOPBACK
        if host in ("0.0.0.0", "")
        else "[::1]"
        if host == "::"
        else f"[{host}]"
        if ":" in host
        else host
    )
    return f"http://{name}:{port}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it.

    host  as it was given
    Raises nothing. Special cases: a name counts as an address of others, but localhost.
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(taken: socket.socket, host: str, progress: Path | None, beside: Executor | None = None) -> None:
    """Answer until somebody stops it.

    taken  a socket that listens; host: the address that it has; progress: as in `run_open`
    beside  as in `make_app`
    Raises nothing. Special cases: Ctrl-C and a termination signal both let what is being answered end.
    """
    import uvicorn

    from .app import make_app
    from .guarding import NAMES

    logging.getLogger("uvicorn.error").addFilter(_is_told)
    server = uvicorn.Server(settings(make_app(progress, NAMES if is_loopback(host) else None, beside)))
    # uvicorn catches these two, and raises them again at its end: by then they have done their work
    before = {each: signal.signal(each, _nothing) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[taken])
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _is_told(record: logging.LogRecord) -> bool:
    """Whether a line of uvicorn's is for people: that an answer was cut off because all ends is not."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and "graceful shutdown" not in str(record.msg)


def settings(app: ASGIApp) -> uvicorn.Config:
    """How uvicorn serves an application: quietly, and with a bound to all that a peer may hold.

    app  the application
    Raises nothing. Special cases: none.
    """
    import uvicorn

    from .connections import Connection

    return uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=512,
        ws="none",
    )


def _nothing(*_: object) -> None:
    """The signal has been answered already."""


def _show(address: str) -> None:
    """The page in a browser; a machine without a screen has none that anybody sees."""
    has_screen = (
        sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    if has_screen:
        import webbrowser

        webbrowser.open(address)
