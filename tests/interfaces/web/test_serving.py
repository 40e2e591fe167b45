"""`headwork open` as a process: its first page, Ctrl-C, a kill, a port that is taken."""

import asyncio
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from headwork.interfaces.web.serving import _is_told, address_of, is_loopback
from headwork.workbook.progress import Progress

PATIENCE = 20.0


class Server:
    def __init__(self, progress: Path, *arguments: str) -> None:
        environment = os.environ | {"HEADWORK_PROGRESS": str(progress), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "headwork", "open", "--no-browser", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.first_line = self.process.stdout.readline()
        self.address = re.search(r"http://\S+/", self.first_line)[0]
        self.cookie = ""

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.address + path, timeout=PATIENCE) as answer:
            self.cookie = (answer.headers["Set-Cookie"] or self.cookie).partition(";")[0]
            return answer.read().decode()

    def post(self, path: str, body: str) -> int:
        token = self.cookie.partition("=")[2]
        request = urllib.request.Request(
            self.address + path,
            f"token={token}&{body}".encode(),
            {"Cookie": self.cookie, "Headwork-Part": "1"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status

    def end(self, how: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_ends_cleanly(tmp_path, how):
    server = Server(tmp_path / "p.sqlite3")
    assert "Attention, by hand" in server.get("")
    status, out, err = server.end(how)
    assert (status, err) == (0, "")
    assert "Stopped" in out


def test_a_kill_loses_no_answer_that_was_marked(tmp_path):
    server = Server(tmp_path / "p.sqlite3")
    server.get("exercise/scores")
    assert server.post("exercise/scores/scores/answer", "block=2+0+4;0+2+0;0+4+0") == 200
    server.end(signal.SIGKILL)
    with Progress(tmp_path / "p.sqlite3") as progress:
        assert [act.verdict for act in progress.acts("scores") if act.kind == "answer"] == ["right"]


def children_of(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in told.split()]


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not yet collected does not."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes as Linux shows them")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_several_processes_serve_keep_every_answer_and_end_together(tmp_path, how):
    server = Server(tmp_path / "p.sqlite3", "--workers", "2")
    server.get("exercise/scores")
    for number in range(12):  # a connection each, over both processes
        assert server.post("exercise/scores/scores/answer", f"block={number}+0+4;0+2+0;0+4+0") == 200
    workers = children_of(server.process.pid)
    assert len(workers) == 2
    status, _, err = server.end(how)
    assert (status, err) == (-how if how == signal.SIGKILL else 0, "")
    until = time.monotonic() + PATIENCE
    while any(map(is_there, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_there, workers))
    with Progress(tmp_path / "p.sqlite3") as progress:
        assert len([act for act in progress.acts("scores") if act.kind == "answer"]) == 12


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes as Linux shows them")
def test_where_one_of_several_processes_is_killed_the_other_goes_on(tmp_path):
    server = Server(tmp_path / "p.sqlite3", "--workers", "2")
    server.get("exercise/scores")
    os.kill(children_of(server.process.pid)[0], signal.SIGKILL)
    time.sleep(0.2)
    for number in range(12):
        assert server.post("exercise/scores/scores/answer", f"block={number}+0+4;0+2+0;0+4+0") == 200
    server.end(signal.SIGTERM)


def test_a_port_that_is_taken_is_said(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "headwork", "open", "--no-browser", "--port", str(port)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 2
    assert "Without --port" in run.stderr
    assert "Traceback" not in run.stderr


def test_others_are_let_in_only_with_a_warning(tmp_path):
    server = Server(tmp_path / "p.sqlite3", "--host", "0.0.0.0")
    server.get("keys")
    _, _, err = server.end(signal.SIGINT)
    assert "Everybody who can reach this machine" in err


def test_the_first_page_does_without_the_mechanism(tmp_path):
    """Loading it takes longer than all the rest; the contents and their links are there before."""
    script = (
        "import sys; from headwork.interfaces.web.app import make_app; from starlette.testclient import TestClient\n"
        "with TestClient(make_app(), base_url='http://localhost') as client: assert client.get('/').status_code == 200\n"
        "print(*sys.modules)"
    )
    environment = os.environ | {"HEADWORK_PROGRESS": str(tmp_path / "p.sqlite3")}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    loaded = set(run.stdout.split())
    assert "headwork.interfaces.web.app" in loaded
    assert not loaded & {
        "numpy",
        "latex2mathml",
        "headwork.mistakes.catalogue",
        "headwork.diagnosis.diagnosing",
    }


@pytest.mark.parametrize(
    ("host", "address", "loopback"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/", True),
        ("localhost", "http://localhost:80/", True),
        ("::1", "http://[::1]:80/", True),
        ("0.0.0.0", "http://127.0.0.1:80/", False),
        ("192.168.1.7", "http://192.168.1.7:80/", False),
        ("laptop", "http://laptop:80/", False),
    ],
)
def test_an_address_is_one_to_type(host, address, loopback):
    assert address_of(host, 80) == address
    assert is_loopback(host) == loopback


def test_a_cold_start_shows_its_first_page_at_once(tmp_path):
    """The bound is generous, for machines under load; bench/web.py measures."""
    began = time.perf_counter()
    server = Server(tmp_path / "p.sqlite3")
    server.get("")
    took = time.perf_counter() - began
    server.end(signal.SIGKILL)
    assert took < 10


def test_that_an_answer_is_cut_off_at_the_end_is_no_news():
    def line(error, says="Exception in ASGI application"):
        return logging.LogRecord("uvicorn.error", 40, "", 0, says, (), error and (type(error), error, None))

    assert not _is_told(line(asyncio.CancelledError()))
    assert not _is_told(line(None, "Cancel %s running task(s), timeout graceful shutdown exceeded"))
    assert _is_told(line(ValueError()))
    assert _is_told(line(None, "Invalid HTTP request received."))
