"""A real browser on a real server: `make browser`. Without HEADWORK_BROWSER=1 nothing here is collected.

Chromium comes from the system; HEADWORK_CHROMIUM names another one.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("HEADWORK_BROWSER") else ["test_*.py"]
PLACES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    place = os.environ.get("HEADWORK_CHROMIUM") or next(filter(None, map(shutil.which, PLACES)), None)
    assert place, "there is no Chromium here; on Debian: apt install chromium"
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def served(progress: Path) -> Iterator[str]:
    """A server on a progress file; its address."""
    environment = os.environ | {"HEADWORK_PROGRESS": str(progress)}
    command = [sys.executable, "-m", "headwork", "open", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        yield re.search(r"(http://\S+)/", server.stdout.readline())[1]
        server.terminate()


@pytest.fixture(scope="session")
def address(tmp_path_factory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("progress") / "progress.sqlite3") as address:
        yield address


@pytest.fixture(scope="session")
def serve():
    """How to start a server on a progress file of one's own."""
    return served


@pytest.fixture
def window(browser, address):
    """A window with any options; what the console says fails the test."""
    opened, said = [], []

    def open_window(**options):
        context = browser.new_context(
            base_url=address, **({"viewport": {"width": 1280, "height": 900}} | options)
        )
        context.set_default_timeout(15_000)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        opened.append(context)
        return page

    yield open_window
    for context in opened:
        context.close()
    # an answer that cannot be read has status 422, a page that is not there 404, a block that is too large 400,
    # and one test cuts the line
    expected = ("422", "404", "400 (Bad Request)", "net::ERR_FAILED")
    assert [text for text in said if not any(each in text for each in expected)] == []
