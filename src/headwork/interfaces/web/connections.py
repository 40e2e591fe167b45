"""A connection that is given up when its peer is too slow, or says too much before anybody answers.

uvicorn bounds how long a connection may be idle between requests, and `guarding.py` how long a body takes and
how large it is. Without this, whoever sends a byte now and then, or never reads, would hold a connection for
good, and a head that never ends would fill the memory.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MOST_FOR_HEAD = 10.0  # seconds from the first moment, or byte, to the end of a request's head
MOST_FOR_ANSWER = 90.0  # seconds from there to the last byte of the answer, past every bound of our own
MOST_OF_HEAD = 64 * 2**10  # bytes
MOST_OF_REQUEST = 6 * 2**20  # bytes, more than any body that is read
MOST_WAITING = 16  # requests of one peer behind the one that is answered


class Connection(HttpToolsProtocol):
    """One connection, with a limit to each phase of a request."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._limit: asyncio.TimerHandle | None = None
        self._limited: RequestResponseCycle | None = None  # the request whose answer the limit is for
        self._in_head = True
        self._bytes = 0  # of this request, up to now

    # the type is uvicorn's, which departs from asyncio's BaseTransport here as well
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected, and has to say what they want."""
        super().connection_made(transport)
        self._set_limit(MOST_FOR_HEAD)

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        self._bytes += len(data)
        super().data_received(data)
        if self._limit is None:
            self._set_limit(MOST_FOR_HEAD)
        self._limit_answer()
        if self._bytes > (MOST_OF_HEAD if self._in_head else MOST_OF_REQUEST):
            self.transport.abort()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if len(self.pipeline) >= MOST_WAITING:
            raise ValueError("more requests at once than are answered")
        self._in_head, self._bytes = True, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head; those that come behind a body are not kept."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        self._in_head = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Answered: how long it may stay idle is uvicorn's to say. While it closes, the rest is awaited."""
        if not self.transport.is_closing():  # the next request may be here already
            self._set_limit(MOST_FOR_ANSWER if self.pipeline else None)
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Idle for too long, with or without something that was never read."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone, for whatever reason."""
        self._set_limit(None)
        super().connection_lost(exc)

    def _limit_answer(self) -> None:
        """Where the head of a request is whole, what counts is the time until its answer is sent."""
        asked: RequestResponseCycle | None = self.cycle
        if asked is not None and not asked.response_complete and asked is not self._limited:
            self._limited = asked
            self._set_limit(MOST_FOR_ANSWER)

    def _set_limit(self, seconds: float | None) -> None:
        if self._limit is not None:
            self._limit.cancel()
        self._limit = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
