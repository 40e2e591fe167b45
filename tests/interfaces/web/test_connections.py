"""A peer that is slow holds a connection for so long and no longer; one that is not, never notices."""

import asyncio
import contextlib
import time

import pytest
import uvicorn

from headwork.interfaces.web import connections
from headwork.interfaces.web.serving import listening, settings

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = 32 * 2**20  # more than a system takes into its own buffers


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    body = b"x" * (LARGE if scope["path"] == "/large" else 5)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def served():
    """A server for as long as it lasts; where it is."""
    with listening("127.0.0.1", 0) as taken:
        config = settings(app)
        config.lifespan, config.timeout_keep_alive = "off", 1
        server = uvicorn.Server(config)
        running = asyncio.create_task(server._serve(sockets=[taken]))
        yield taken.getsockname()
        server.should_exit = True
        await running


async def seconds_until_closed(address, pieces, pause=0.05):
    """Send pieces with a pause after each, then wait for the end; when it came."""
    reader, writer = await asyncio.open_connection(*address)
    began = time.perf_counter()
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
            if reader.at_eof():
                break
        await reader.read()
    writer.close()
    return time.perf_counter() - began


async def read_after(seconds, reader, writer):
    """How many bytes are still there for a peer that reads nothing for so long."""
    await asyncio.sleep(seconds)
    writer.transport.resume_reading()
    read = 0
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(2**20):
            read += len(piece)
    writer.close()
    return read


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(connections, "MOST_FOR_HEAD", 0.4)
    monkeypatch.setattr(connections, "MOST_FOR_ANSWER", 0.8)


@pytest.mark.parametrize(
    ("pieces", "least", "most"),
    [
        pytest.param([], 0.3, 2, id="nothing at all"),
        pytest.param([HEAD[at : at + 1] for at in range(len(HEAD) - 1)], 0.3, 1.4, id="a byte now and then"),
        pytest.param([HEAD] + [b"G", b"E", b"T"] * 20, 0.3, 2, id="the second request, a byte now and then"),
        pytest.param([b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"] + [b"x"] * 3, 0.6, 3, id="a body that stops"),
    ],
)  # fmt: skip
def test_who_does_not_say_what_they_want_is_given_up(pieces, least, most):
    async def run():
        async with served() as address:
            return await seconds_until_closed(address, pieces)

    assert least < asyncio.run(run()) < most


@pytest.mark.parametrize("close", [b"", b"Connection: close\r\n"], ids=["stays open", "closes"])
def test_who_never_reads_the_answer_is_given_up(close):
    async def run():
        async with served() as address:
            reader, writer = await asyncio.open_connection(*address, limit=1)
            writer.transport.pause_reading()
            writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n" + close + b"\r\n")
            return await read_after(3, reader, writer)

    assert asyncio.run(run()) < LARGE


def test_requests_that_come_in_time_are_answered_on_one_connection_for_as_long_as_they_come():
    async def run():
        answers = 0
        async with served() as address:
            reader, writer = await asyncio.open_connection(*address)
            for _ in range(6):  # longer in all than each of the limits
                writer.write(HEAD[:20])
                await asyncio.sleep(0.1)
                writer.write(HEAD[20:])
                answers += (await reader.readuntil(b"xxxxx")).startswith(b"HTTP/1.1 200")
                await asyncio.sleep(0.2)
            writer.write(HEAD * 3)  # at once
            for _ in range(3):
                answers += (await reader.readuntil(b"xxxxx")).startswith(b"HTTP/1.1 200")
            writer.close()
        return answers

    assert asyncio.run(run()) == 9


TRAILERS = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"


@pytest.mark.parametrize(
    ("begins", "goes_on", "most"),
    [
        pytest.param(b"GET / HTTP/1.1\r\n", b"X: " + b"x" * 1000 + b"\r\n", 16 * 2**20, id="a head that never ends"),
        pytest.param(b"GET /", b"x" * 1000, 16 * 2**20, id="an address that never ends"),
        pytest.param(TRAILERS, b"X: " + b"x" * 1000 + b"\r\n", 16 * 2**20, id="trailers that never end"),
    ],
)  # fmt: skip
def test_who_says_too_much_is_given_up_before_it_fills_the_memory(begins, goes_on, most, monkeypatch):
    monkeypatch.setattr(connections, "MOST_FOR_HEAD", 60)
    monkeypatch.setattr(connections, "MOST_FOR_ANSWER", 60)

    async def run():
        sent = 0
        async with served() as address:
            reader, writer = await asyncio.open_connection(*address)
            with contextlib.suppress(ConnectionError):
                writer.write(begins)
                while sent < 64 * 2**20 and not reader.at_eof():
                    writer.write(goes_on * 16)
                    sent += len(goes_on) * 16
                    await writer.drain()
            writer.close()
        return sent

    assert asyncio.run(run()) < most


@pytest.mark.parametrize(
    ("begins", "again"),
    [(b"", b"GET / HTTP/1.1\r\n\r\n"), (TRAILERS, b"a:\r\n")],
    ids=["requests that nobody waits for", "trailers of many short lines"],
)
def test_small_things_in_great_number_are_not_kept(begins, again, monkeypatch):
    """What a connection keeps, of what a peer sends on and on."""
    seen, begin = [], connections.Connection.connection_made
    monkeypatch.setattr(
        connections.Connection, "connection_made", lambda self, to: (seen.append(self), begin(self, to))[1]
    )
    kept = []

    async def run():
        async with served() as address:
            reader, writer = await asyncio.open_connection(*address)
            with contextlib.suppress(ConnectionError):
                writer.write(begins)
                for _ in range(40):
                    writer.write(again * 5_000)
                    await writer.drain()
                    await asyncio.sleep(0.01)
                    kept.extend(len(one.pipeline) + len(one.headers or ()) for one in seen)
                    if reader.at_eof():
                        break
            writer.close()

    asyncio.run(run())
    assert len(kept) > 0
    assert max(kept) < 100


def test_a_peer_that_stops_reading_among_many_requests_is_given_up():
    async def run():
        async with served() as address:
            reader, writer = await asyncio.open_connection(*address, limit=1)
            writer.transport.pause_reading()
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
            return await read_after(4, reader, writer)

    assert asyncio.run(run()) < 3 * LARGE
