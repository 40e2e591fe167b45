"""Many ask at once: each gets their own answer, and nobody an answer that is not kept."""

import asyncio
import subprocess
import sys
import time

import pytest

from headwork.errors import FileError
from headwork.interfaces.web import desk as desks
from headwork.interfaces.web.desk import Desk
from headwork.workbook.progress import Progress


@pytest.fixture
def desk(progress_file):
    made = Desk(progress_file)
    yield made
    made.close()


def record(kept, text):
    if text == "7":
        raise ValueError(text)
    return kept.progress.record("scores", "q", "answer", text).text


def test_everybody_gets_their_own_answer_or_error_and_all_of_it_is_kept(desk, progress_file):
    async def run():
        asked = (desk.ask(record, str(at)) for at in range(40))
        return await asyncio.gather(*asked, return_exceptions=True)

    given = asyncio.run(run())
    assert isinstance(given[7], ValueError)
    assert [each for at, each in enumerate(given) if at != 7] == [str(at) for at in range(40) if at != 7]
    with Progress(progress_file) as progress:
        assert len(progress.acts()) == 39


def test_an_answer_is_kept_when_it_is_given(desk, progress_file):
    """Looked at from another connection, while others are still being worked."""

    async def one(text):
        given = await desk.ask(record, text)
        with Progress(progress_file) as other:
            assert given in [act.text for act in other.acts()]

    async def run():
        await asyncio.gather(*(one(str(at)) for at in range(100, 130)))

    asyncio.run(run())


def test_what_waits_is_written_together(desk, monkeypatch):
    written = []
    add = Progress.add
    monkeypatch.setattr(Progress, "add", lambda self, acts: written.append(len(acts)) or add(self, acts))

    async def run():
        await desk.ask(lambda kept: None)  # the file is open
        slow = desk.ask(lambda kept: time.sleep(0.1))
        await asyncio.gather(slow, *(desk.ask(record, str(at)) for at in range(100, 108)))

    asyncio.run(run())
    assert sum(written) == 8
    assert len(written) < 4


def test_what_is_kept_is_on_the_disk_within_a_second(desk, monkeypatch):
    synced = []
    monkeypatch.setattr(Progress, "sync", lambda self: synced.append("once"))

    async def run():
        await asyncio.gather(*(desk.ask(record, str(at)) for at in range(100, 108)))
        assert synced == []
        await asyncio.sleep(1.0)

    asyncio.run(run())
    assert synced == ["once"]


def test_where_it_cannot_be_written_nobody_hears_that_it_was(desk, monkeypatch):
    def refuse(self, acts):
        raise FileError("the disk is full")

    async def run():
        await desk.ask(lambda kept: None)
        monkeypatch.setattr(Progress, "add", refuse)
        asked = (desk.ask(record, str(at)) for at in range(100, 104))
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [type(each) for each in asyncio.run(run())] == [FileError] * 4


def test_a_file_that_cannot_be_opened_is_an_error_for_everybody(tmp_path):
    desk = Desk(tmp_path)  # a folder

    async def run():
        return await asyncio.gather(*(desk.ask(record, "1") for _ in range(3)), return_exceptions=True)

    assert all(isinstance(each, FileError) for each in asyncio.run(run()))
    desk.close()


def test_what_nobody_waits_for_is_done_in_a_quiet_moment_the_newest_first(desk, monkeypatch):
    monkeypatch.setattr(desks, "QUIET", 0.3)
    order = []

    async def run():
        await desk.ask(lambda kept: None)
        desk.ahead(order.append, lambda name: order.append(f"{name}, beside"), "oldest")
        desk.ahead(lambda: 1 / 0, order.append)
        desk.ahead(order.append, lambda name: order.append(f"{name}, beside"), "newest")
        await desk.ask(lambda kept: None)
        assert order == []
        until = time.monotonic() + 20
        while len(order) < 4 and time.monotonic() < until:
            await asyncio.sleep(0.05)

    asyncio.run(run())
    assert order == ["newest", "newest, beside", "oldest", "oldest, beside"]


def test_after_a_quiet_moment_nothing_that_was_there_is_looked_through_for_garbage():
    script = (
        "import gc; from headwork.interfaces.web.desk import settle; settle(); print(gc.get_freeze_count())"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert int(told) > 1000
