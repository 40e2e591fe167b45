"""What can be sent to a port at all: each is answered below 500 or cut off, soon, and the next one is served."""

import asyncio
import contextlib
import random
import select
import socket
import threading
import time

import pytest
import uvicorn

from headwork.interfaces.web.app import make_app
from headwork.interfaces.web.serving import listening, settings
from headwork.workbook.progress import Progress

PATIENCE = 5.0
TOKEN = "0" * 32
OURS = f"Host: 127.0.0.1\r\nCookie: headwork={TOKEN}\r\n"
ROWS = f"token={TOKEN}&block=2+0+4;0+2+0;0+4+0"
GOOD = f"POST /exercise/scores/scores/answer HTTP/1.1\r\n{OURS}Content-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(scope="module")
def progress_file(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile") / "progress.sqlite3"


@pytest.fixture(scope="module")
def port(progress_file):
    """A real server, in a thread."""
    with listening("127.0.0.1", 0) as taken:
        server = uvicorn.Server(settings(make_app(progress_file)))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[taken])))
        thread.start()
        assert sent(taken.getsockname()[1], get("/exercise/scores"), 60) == [200]  # all is loaded
        yield taken.getsockname()[1]
        server.should_exit = True
        thread.join()


def answer_to(port: int, raw: bytes, pause: float = PATIENCE) -> bytes:
    """All that comes back; where nothing does for a while, the rest of the request will not come either."""
    answer = b""
    line = socket.create_connection(("127.0.0.1", port), timeout=60)
    with line, contextlib.suppress(ConnectionError):  # cut off, which is an answer too
        line.sendall(raw)
        while True:
            if not select.select([line], [], [], pause)[0]:
                line.shutdown(socket.SHUT_WR)
            piece = line.recv(65536)
            if not piece:
                break
            answer += piece
    return answer


def sent(port: int, raw: bytes, pause: float = PATIENCE) -> list[int]:
    """The statuses of what comes back."""
    heads = [each for each in answer_to(port, raw, pause).split(b"HTTP/1.1 ")[1:] if each[:3].isdigit()]
    return [int(each[:3]) for each in heads]


def get(path: str, more: str = "", host: str = "127.0.0.1") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode("latin-1")


MALFORMED = {
    "nothing": b"",
    "zeros": bytes(1000),
    "TLS": bytes.fromhex("16030100a5010000a10303") + bytes(160),
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9": b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    "no path": b"GET  HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a tab for a space": b"GET\t/\tHTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a line of 1 MB": b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a header of 1 MB": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 2**20 + b"\r\n\r\n",
    "20 000 headers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: 1\r\n" * 20_000 + b"\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: 1\r\n 2\r\n\r\n",
    "a blank before the colon": b"GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
    "line ends without CR": b"GET / HTTP/1.1\nHost: 127.0.0.1\n\n",
    "a zero in a header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\x00\r\n\r\n",
    "raw UTF-8 in the path": "GET /mistakes/größe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(),
    "two lengths": f"{GOOD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef".encode(),
    "a length and chunks": f"{GOOD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(),
    "chunks of no number": f"{GOOD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n".encode(),
    "a chunk of 2⁶³": f"{GOOD}Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc".encode(),
    "a negative chunk": f"{GOOD}Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n".encode(),
    "gzip": f"{GOOD}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x08\x00\x00".encode("latin-1"),
    "half a body": f"{GOOD}Content-Length: 500\r\n\r\n{ROWS}".encode(),
    "100 requests at once": get("/keys").replace(b"Connection: close\r\n", b"") * 99 + get("/keys"),
    "an upgrade": get("/", "Upgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"),
    "h2c": get("/", "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
    "ranges": get("/static/headwork.css", f"Range: bytes={','.join(['0-'] * 1300)}\r\n"),
    "another site as a proxy": get("http://evil.example/", host="evil.example"),
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    "all of the server": b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "cookies": get("/", "Cookie: " + "; ".join(f"a{at}={'x' * 40}" for at in range(1000)) + "\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_request_is_refused_at_once(port, name):
    began = time.perf_counter()
    assert [status for status in sent(port, MALFORMED[name], 0.3) if status >= 500] == []
    assert time.perf_counter() - began < PATIENCE
    assert sent(port, get("/keys")) == [200]


@pytest.mark.parametrize("name", ["two hosts", "two lengths", "another site as a proxy", "a tunnel"])
def test_what_could_be_read_in_two_ways_is_not_served(port, name):
    assert [status for status in sent(port, MALFORMED[name], 0.3) if status < 400] == []


NAMES = (
    "..", "%2e%2e", "..%2f..%2f..%2fetc%2fpasswd", "%252e%252e%252f", "..%5c..%5cwindows", "%00", "scores%00.md", "scores%0d%0aSet-Cookie:%20a=b",
    "//evil.example", "%2f%2fevil.example", "%ff%fe", "%", "%zz", "scores@-1", "scores@1e9", "scores@9223372036854775808", "scores@" + "9" * 19, "scores@9" + "9" * 400,
    "a" * 8000, "scores;id=1", "scores'--", "{{7*7}}", "${7*7}", "~root", "CON", "con.md", ".git", "headwork.css/", "%e2%80%ae", "%ed%a0%80",
)  # fmt: skip
PLACES = (
    "/{}", "/exercise/{}", "/exercise/{}/fresh", "/exercise/scores/{}", "/exercise/{}/scores/newest", "/exercise/scores/{}/newest",
    "/exercise/scores/scores/newest?act={}", "/mistakes/{}", "/mistakes?q={}", "/static/{}", "/bench?problem={}", "/bench/cell?at={}", "/bench/export?as={}",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_no_name_leads_anywhere_that_is_not_ours(port, place):
    for name in NAMES:
        statuses = sent(port, get(place.format(name)))
        assert len(statuses) == 1, name
        assert statuses[0] < 500, name


@pytest.mark.parametrize("place", PLACES)
def test_no_file_of_the_machine_and_no_header_of_theirs_comes_back(port, place):
    for name in NAMES[:10]:
        answer = answer_to(port, get(place.format(name)))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"root:x:0" not in body
        assert b"\r\nSet-Cookie: a=b" not in head
        place_of = [each for each in head.split(b"\r\n") if each.lower().startswith(b"location:")]
        assert all(each[10:11] == b"/" and each[10:12] != b"//" for each in place_of), name


def test_requests_with_bytes_changed_at_random_break_nothing(port, progress_file):
    """The seed is fixed; a body that is still a form of ours may well be marked."""
    dice = random.Random(7)
    whole = f"{GOOD}Content-Length: {len(ROWS)}\r\nConnection: close\r\n\r\n{ROWS}".encode()
    for _ in range(120):
        raw = bytearray(whole)
        for _ in range(dice.randrange(1, 12)):
            at = dice.randrange(len(raw))
            change = dice.randrange(3)
            if change == 0:
                raw[at] = dice.randrange(256)
            elif change == 1:
                del raw[at : at + dice.randrange(1, 20)]
            else:
                raw[at:at] = dice.choice(
                    [b"\r\n", b"\0", b"%", b"&", b"=", b"9" * 30, b"\xff", b": ", b";" * 50]
                )
        assert [status for status in sent(port, bytes(raw), 0.3) if status >= 500] == [], bytes(raw)
    assert sent(port, whole) == [303]
    with Progress(progress_file) as progress:
        assert progress.acts("scores")[-1].verdict == "right"
