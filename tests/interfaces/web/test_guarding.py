"""What other sites, hostile forms and files may try. Nothing may be done, nothing may break, nothing may hang."""

import asyncio
import io
import json
import os
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from headwork.interfaces.web import guarding
from headwork.interfaces.web.app import make_app
from headwork.interfaces.web.guarding import MOST_BYTES, MOST_UPLOAD, Guard, token_in
from headwork.workbook.progress import Progress

POSTS = (
    "/read",
    "/bench/file",
    *(
        f"/exercise/scores/scores/{act}"
        for act in ("answer", "explanation", "draft", "compared", "hint", "solution")
    ),
)
ROWS = {"block": "2 0 4; 0 2 0; 0 4 0"}


def routes(guard: Guard) -> list[Route]:
    return guard.app.routes


def acts_in(path):
    with Progress(path) as progress:
        return progress.acts()


def test_every_address_that_takes_a_form_is_tried_here():
    forms = {route.path for route in routes(make_app()) if "POST" in route.methods}
    tried = {address.replace("/exercise/scores/scores", "/exercise/{name}/{question}") for address in POSTS}
    assert forms == tried


# --- hosts and origins -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[::2]",
        "127.0.0.2",
        "0.0.0.0",
        "localhost@evil.example",
    ],
)
def test_another_host_name_is_refused(learner, host):
    assert learner.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8765", "[::1]:1"])
def test_our_own_names_are_served(learner, host):
    assert learner.get("/keys", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"), [("192.168.1.7:8000", 200), ("laptop:8000", 200), ("evil.example", 421), ("", 421)]
)
def test_a_server_for_others_still_refuses_names_that_a_name_server_can_point_at_it(
    progress_file, host, status
):
    with TestClient(make_app(progress_file, None), base_url="http://192.168.1.7") as client:
        assert client.get("/keys", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("address", POSTS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:9999"},
    ],
    ids=["other origin", "no origin", "cross-site", "same site, other port", "own address, other port"],
)
def test_a_form_from_another_site_does_nothing(learner, progress_file, address, headers):
    token = learner.cookies[guarding.TOKEN]
    assert learner.post(address, data={"token": token, **ROWS}, headers=headers).status_code == 403
    assert acts_in(progress_file) == () if progress_file.exists() else True


@pytest.mark.parametrize("address", POSTS)
@pytest.mark.parametrize("token", ["", "0" * 32, "é", "a" * 10_000])
def test_a_form_without_our_token_does_nothing(learner, progress_file, address, token):
    assert learner.post(address, data={"token": token, **ROWS}).status_code == 403
    assert not progress_file.exists() or acts_in(progress_file) == ()


def test_the_cookie_is_for_us_alone():
    with TestClient(make_app(), base_url="http://localhost") as client:
        cookie = client.get("/keys").headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert (
            "set-cookie" not in client.get("/keys").headers
        )  # it stays the same: an open page keeps working


@pytest.mark.parametrize(
    "cookies",
    ["headwork=short", "headwork=" + "é" * 32, 'headwork="' + "<" * 32 + '"', "=;=;=", "headwork", "\x00"],
)
def test_a_cookie_that_we_did_not_make_counts_for_nothing(cookies):
    assert token_in(cookies) is None


@pytest.mark.parametrize("address", ["/", "/bench", "/nothing", "/static/headwork.js", "/exercise/scores"])
def test_every_answer_says_what_a_page_may_do(learner, address):
    headers = learner.get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(learner, method):
    assert learner.request(method, "/").status_code == 405


# --- sizes and times -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "most"),
    [("/read", MOST_BYTES), ("/exercise/scores/scores/answer", MOST_BYTES), ("/bench/file", MOST_UPLOAD)],
)
def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(learner, address, most):
    assert learner.post(address, content=b"x" * (most + 1)).status_code == 413

    def parts():
        for _ in range(most // 65_536 + 2):
            yield b"block=" + b"x" * 65_536

    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert learner.post(address, content=parts(), headers=headers).status_code == 413


@pytest.mark.parametrize("length", ["-1", "1e9", "9" * 30, "٣"])
def test_a_length_that_is_none_is_refused(learner, length):
    assert learner.get("/keys", headers={"Content-Length": length.encode()}).status_code == 413


def test_an_address_that_is_too_long_is_refused(learner):
    assert learner.get("/bench?q=" + "1+" * 20_000).status_code == 414


def test_a_body_that_does_not_come_is_given_up(monkeypatch, progress_file):
    monkeypatch.setattr(guarding, "MOST_SECONDS", 0.05)
    sent = []

    async def receive():
        await asyncio.sleep(5)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/read", "raw_path": b"/read", "query_string": b"", "http_version": "1.1", "scheme": "http", "root_path": "",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", b"10")],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    asyncio.run(make_app(progress_file)(scope, receive, send))
    assert sent[0]["status"] == 408


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "application/json",
        "application/x-www-form-urlencoded",
        "text/plain",
        "\x00",
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe\x00",
        b"--x\r\n\r\n--x--",
        b"%",
        b"a=b&" * 20_000,
        b'--x\r\nContent-Disposition: form-data; name="token"; filename="../../etc/passwd"\r\n\r\nx\r\n--x--',
    ],
)
def test_a_malformed_form_is_refused(learner, content_type, body):
    for address in ("/read", "/bench/file", "/exercise/scores/scores/answer"):
        answer = learner.post(address, content=body, headers={"Content-Type": content_type})
        assert answer.status_code in (400, 403)


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE acts; --",
    "{{7*7}}",
    "../../etc/passwd",
    "%00",
    "\x00",
    "١٢٣",
    "1" * 5000,
    "9" * 300,
    "1/0",
    "1e999",
    "((((" * 200,
    "√" * 500,
    "😀",
    "\u202e1",
    "2^" * 300 + "2",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_answered_and_never_become_markup(learner, text):
    forms = {
        "/exercise/scores/scores/answer": {"c0-0": text, "c2-2": text},
        "/exercise/level-1.2/operation/answer": {"option": text},
        "/exercise/all-rows/why/explanation": {"text": text},
        "/exercise/all-rows/why/compared": {"p1": text},
        "/read": {"block": text},
    }
    for address, fields in forms.items():
        answer = learner.send_form(address, part=True, **fields)
        assert answer.status_code < 500, address
        assert "<script>alert" not in answer.text or answer.headers["content-type"] == "application/json"
        assert "<img src=x" not in answer.text or answer.headers["content-type"] == "application/json"
    for name in (
        "q",
        "k",
        "v",
        "window",
        "mask",
        "scale",
        "heads",
        "kv_heads",
        "softcap",
        "problem",
        "at",
        "mistake",
        "answer",
        "step",
        "blind",
    ):
        answer = learner.get("/bench", params={name: text})
        assert answer.status_code < 500, name
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
    for address in ("/bench/cell", "/bench/export"):
        answer = learner.get(address, params={"at": text, "field": f"output-{text}", "q": text, "as": text})
        assert answer.status_code < 500, address


# --- files ---------------------------------------------------------------------------------------------


def bomb() -> bytes:
    """42 MiB of zeros in a few KiB."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("query.npy", b"\0" * (42 * 2**20))
    return raw.getvalue()


def claims(size: int) -> bytes:
    """An archive whose directory says less than what it unpacks to."""
    raw = bytearray(bomb())
    at = raw.rindex(b"PK\x01\x02")
    raw[at + 24 : at + 28] = struct.pack("<I", size)
    return bytes(raw)


def npy(header: str) -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def npz(**arrays) -> bytes:
    raw = io.BytesIO()
    np.savez(raw, **arrays)
    return raw.getvalue()


def stored(name: str, raw: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, raw)
    return made.getvalue()


WAS_HERE = (
    Path(tempfile.gettempdir()) / f"headwork-was-here-{os.getpid()}"
)  # where a file that gets through would show


class Runs:
    """Runs a command where somebody unpickles it."""

    def __reduce__(self):
        return os.system, (f"touch {WAS_HERE}",)


FILES = {
    "a bomb": bomb(),
    "a bomb that lies": claims(100),
    "a shape of 10⁶ × 10⁶": stored("query.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000)}")),
    "a pickled array": stored("query.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}") + pickle.dumps(Runs())),
    "a pickle": pickle.dumps(Runs()),
    "a path": stored("../" * 9 + str(WAS_HERE.relative_to("/")), b"x"),
    "a zip without end": bomb()[:-30],
    "nothing": b"",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "deep JSON": b"[" * 100_000,
    "a number of 4 MB": b'{"query": [[' + b"9" * 4_000_000 + b"]]}",
    "JSON of 10⁶ tokens": json.dumps({"query": [[1]], "key": [[1]], "window": [10**30, 1]}).encode(),
    "a problem that is too large": json.dumps({"query": [[1.0] * 8] * 500, "key": [[1.0] * 8] * 500}).encode(),
    "safetensors that says 8 EiB": struct.pack("<Q", 2**63 - 1) + b"{" + bytes(40),
    "safetensors of 10¹² numbers": (lambda header: struct.pack("<Q", len(header)) + header)(b'{"query":{"dtype":"F64","shape":[1000000,1000000],"data_offsets":[0,8000000000000]}}'),
    "text": "größe".encode("latin-1"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused_in_words(learner, name):
    began = time.perf_counter()
    token = learner.cookies[guarding.TOKEN]
    for file_name in ("x.npz", "x.json", "x.safetensors", "../../etc/passwd", "x" * 300):
        answer = learner.post("/bench/file", data={"token": token}, files={"file": (file_name, FILES[name])})
        assert answer.status_code in (400, 422, 503, 413), answer.text
        assert "fault in Headwork" not in answer.text
    assert time.perf_counter() - began < 10
    assert not WAS_HERE.exists()


GOOD = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        (
            "a.json",
            json.dumps(
                {"query": GOOD.tolist(), "key": GOOD.tolist(), "value": GOOD.tolist(), "causal": True}
            ).encode(),
        ),
        ("a.npz", npz(query=GOOD, key=GOOD, value=GOOD, causal=np.array(True))),
    ],
)
def test_a_file_becomes_an_address_that_shows_its_numbers(learner, name, raw):
    token = learner.cookies[guarding.TOKEN]
    answer = learner.post("/bench/file", data={"token": token}, files={"file": (name, raw)})
    assert answer.status_code == 200
    assert "1 2\n3 4" in answer.text
    assert re.search(r'name="causal" value="1" checked', answer.text)


def test_memory_stays_bounded_under_hostile_files(progress_file, tmp_path):
    """In a process of its own, which says how large it became."""
    script = tmp_path / "run.py"
    script.write_text(
        "import resource, sys\n"
        "from starlette.testclient import TestClient\n"
        "from headwork.interfaces.web.app import make_app\n"
        "raw = open(sys.argv[1], 'rb').read()\n"
        "with TestClient(make_app(), base_url='http://localhost') as client:\n"
        "    client.get('/bench')\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    token = client.cookies['headwork']\n"
        "    for _ in range(20):\n"
        "        client.post('/bench/file', data={'token': token}, files={'file': ('x.npz', raw)})\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    file = tmp_path / "bomb.npz"
    file.write_bytes(bomb())
    run = subprocess.run([sys.executable, script, file], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 64 * 1024  # KiB; the bomb alone is 42 MiB each time
