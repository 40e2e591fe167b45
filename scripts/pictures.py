"""Take the pictures of docs/pictures: `python scripts/pictures.py`. It needs Playwright and a Chromium.

The workbook is opened on an empty progress file, something is worked in it, and the pages are photographed as
a browser shows them. Run it again whenever the pages look different.
"""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
QUALITY = 70  # of WebP, at which letters stay sharp
MOST = 60_000  # bytes of a picture
WIDE, PHONE = (1180, 860), (390, 844)
# name, address, size, light or dark, what is near the top and how many pixels from it
PICTURES = (
    ("exercise", "/exercise/all-rows", WIDE, "light", "#q-weights", 24),
    ("contents", "/", WIDE, "dark", "body", 0),
    ("bench", "/bench", WIDE, "light", "h2", 24),
    ("phone", "/exercise/all-rows", PHONE, "dark", "#q-weights", 180),
)


@contextmanager
def workbook():
    """`headwork open` on an empty progress file; its address."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"HEADWORK_PROGRESS": str(Path(folder) / "progress.sqlite3")}
        command = [sys.executable, "-m", "headwork", "open", "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            yield re.search(r"(http://\S+)/", server.stdout.readline())[1]
            server.terminate()


@contextmanager
def browser():
    """A Chromium of the system, or the one that HEADWORK_CHROMIUM names."""
    place = os.environ.get("HEADWORK_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield opened
        opened.close()


def work(page) -> None:
    """An exercise that is right, and one with a mistake: the softmax goes down the columns."""
    page.goto("/exercise/scores")
    page.locator("#q-scores textarea[name=block]").evaluate("(box) => { box.value = '2 0 4; 0 2 0; 0 4 0'; }")
    page.locator("#q-scores button.primary").click()
    page.locator("#q-scores.done").wait_for()
    page.goto("/exercise/all-rows")
    for at, text in enumerate(["0.212", "0.245", "0.107", "0.212", "0.665", "0.107"]):
        page.locator("#q-weights [data-grid] input").nth(at).fill(text)
    page.keyboard.press("Enter")
    page.locator("#q-weights .explanation").wait_for()


def take(
    opened, address: str, path: str, size: tuple[int, int], scheme: str, first: str, above: int
) -> bytes:
    """One picture, as WebP.

    opened  a browser; address: of the workbook; path: of the page; size: of the window
    scheme  light or dark; first: what it begins with, so many pixels from its upper edge
    """
    viewport = {"width": size[0], "height": size[1]}
    context = opened.new_context(base_url=address, viewport=viewport, color_scheme=scheme)
    page = context.new_page()
    page.goto(path)
    page.locator(first).first.evaluate(
        "(place, above) => scrollBy(0, place.getBoundingClientRect().top - above)", above
    )
    page.wait_for_timeout(300)  # what fades in is there
    session = context.new_cdp_session(page)
    made = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    context.close()
    return base64.b64decode(made["data"])


def main() -> None:
    """Take every picture."""
    FOLDER.mkdir(exist_ok=True)
    with workbook() as address, browser() as opened:
        work(opened.new_page(base_url=address))
        for name, *how in PICTURES:
            raw = take(opened, address, *how)
            assert len(raw) <= MOST, f"{name} has {len(raw)} bytes"
            (FOLDER / f"{name}.webp").write_bytes(raw)
            print(f"{name}.webp  {len(raw):,} bytes")


if __name__ == "__main__":
    main()
