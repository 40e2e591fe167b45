"""Progress is never lost, doubled or overwritten, and says what is the matter when it cannot be read."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from headwork.errors import FileError
from headwork.workbook.progress import APPLICATION, KINDS, SCHEMA, TABLE, Act, Progress
from headwork.workbook.transfer import from_json, to_json, write_whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "progress.sqlite3"


def test_what_is_recorded_is_there_when_the_file_is_opened_again(path):
    with Progress(path) as progress:
        act = progress.record("scores", "scores", "answer", "2 0 4", "right")
    with Progress(path) as progress:
        assert progress.acts() == (act,)


def test_acts_come_oldest_first_and_can_be_asked_for_by_exercise(path):
    with Progress(path) as progress:
        for at in range(5):
            progress.record(f"exercise-{at % 2}", "q", "answer", str(at))
        assert [act.text for act in progress.acts()] == ["0", "1", "2", "3", "4"]
        assert [act.text for act in progress.acts("exercise-1")] == ["1", "3"]


def test_times_are_utc_in_iso_format(path):
    with Progress(path) as progress:
        assert progress.record("scores", "q", "opened").at.endswith("+00:00")


def test_in_memory_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Progress(None) as progress:
        progress.record("scores", "q", "answer")
        assert len(progress.acts()) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_recorded_together_is_seen_at_once_and_on_the_disk_at_the_end(path):
    with Progress(path) as progress, Progress(path) as other:
        before = progress.record("scores", "q", "answer", "0")
        with progress.together():
            first, second = (progress.record("scores", "q", "answer", text) for text in "12")
            progress.record("softmax", "q", "answer", "3")
            assert progress.acts("scores") == (before, first, second)
            assert len(progress.acts()) == 4
            assert other.acts() == (before,)
        assert other.acts() == progress.acts()
        assert len(other.acts()) == 4


def test_what_was_recorded_together_is_kept_whatever_happens_next(path):
    with Progress(path) as progress:
        with suppress(ZeroDivisionError), progress.together():
            progress.record("scores", "q", "answer", "1")
            1 / 0  # noqa: B018  whatever goes wrong
        progress.record("scores", "q", "answer", "2")
    with Progress(path) as progress:
        assert [act.text for act in progress.acts()] == ["1", "2"]


def test_together_waits_for_the_disk_once(path):
    with Progress(path) as progress:
        said = []
        progress._connection.set_trace_callback(said.append)
        with progress.together():
            for text in "123":
                progress.record("scores", "q", "answer", text)
            assert said == []
        assert [line for line in said if line.startswith(("BEGIN", "COMMIT"))] == [
            "BEGIN IMMEDIATE",
            "COMMIT",
        ]


def test_what_was_recorded_together_gets_to_the_disk_when_that_is_asked_for(path, monkeypatch):
    reached = []
    monkeypatch.setattr(os, "fsync", lambda file: reached.append(os.path.realpath(f"/proc/self/fd/{file}")))
    with Progress(path) as progress:
        with progress.together():
            progress.record("scores", "q", "answer", "1")
        assert progress._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL, for single acts
        progress.sync()
    assert len(reached) == 1
    if Path("/proc/self/fd").exists():
        assert reached == [f"{path}-wal"]
    with Progress(None) as progress:
        progress.sync()
    assert len(reached) == 1


def test_the_acts_of_an_exercise_are_found_without_reading_all_of_them(path):
    with Progress(path) as progress:
        plan = progress._connection.execute("EXPLAIN QUERY PLAN SELECT * FROM acts WHERE exercise = 'x'")
        assert "acts_of_exercise" in plan.fetchone()[-1]


def test_forgetting_drops_every_act(path):
    with Progress(path) as progress:
        progress.record("scores", "q", "answer")
        assert progress.forget() == 1
        assert progress.acts() == ()


@pytest.mark.parametrize("text", ["\ud800 lone surrogate", "nul \0 inside", "emoji 🙂", "−∞", "", "a\nb"])
def test_any_text_can_be_kept(path, text):
    with Progress(path) as progress:
        kept = progress.record("scores", "q", "explanation", text)
        assert progress.acts() == (kept,)
        assert kept.text == text.encode("utf-8", "replace").decode()


# --- other people's files --------------------------------------------------------------------------


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()


def newer_file(path: Path) -> None:
    with Progress(path) as progress:
        progress.record("scores", "q", "answer")
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    other.close()


def cut_in_half(path: Path) -> None:
    with Progress(path) as progress:
        progress.add(Act(f"{at}", "t", "scores", "q", "answer", "x" * 500, "") for at in range(200))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def overwritten_in_the_middle(path: Path) -> None:
    with Progress(path) as progress:
        progress.add(Act(f"{at}", "t", "scores", "q", "answer", "x" * 500, "") for at in range(200))
    whole = bytearray(path.read_bytes())
    whole[4096 : 4096 * 3] = b"\xa5" * 4096 * 2
    path.write_bytes(whole)


REFUSED = [
    # name                    make                                                 what the error says
    ("text", lambda path: path.write_text("my notes " * 500), "damaged, or no progress file"),
    ("cut in half", cut_in_half, "damaged, or no progress file"),
    ("overwritten", overwritten_in_the_middle, "damaged, or no progress file"),
    ("another program's", other_database, "of another program"),
    ("a newer Headwork's", newer_file, "newer Headwork"),
    ("a folder", Path.mkdir, "cannot open"),
]


@pytest.mark.parametrize(("name", "make", "said"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_file_that_cannot_be_used_is_named_and_left_as_it_was(tmp_path, name, make, said):
    path = tmp_path / "my progress"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(FileError, match=said) as error:
        Progress(path)
    assert str(path) in str(error.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_damaged_file_is_told_how_to_mend(tmp_path):
    path = tmp_path / "p"
    path.write_text("not a database, " * 300)
    with pytest.raises(FileError, match=r"mv .*damaged.*--import"):
        Progress(path)


def test_a_place_that_cannot_be_written_is_an_error_that_names_another_way(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="--progress FILE, or set HEADWORK_PROGRESS"):
        Progress(tmp_path / "file" / "progress")


def test_an_empty_file_becomes_a_progress_file(path):
    path.parent.mkdir()
    path.touch()
    with Progress(path) as progress:
        progress.record("scores", "q", "answer")
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    file.close()


# --- a file that can only be read --------------------------------------------------------------------


@pytest.fixture
def locked(path, monkeypatch):
    """A file with one act that may not be written, also where root, who may write everything, runs the tests."""
    with Progress(path) as progress:
        progress.record("scores", "q", "answer", "2 0 4")
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and may(path, mode, **more))
    return path


def test_a_file_that_can_only_be_read_is_read_and_nothing_is_made_beside_it(locked):
    before = locked.read_bytes()
    with Progress(locked) as progress:
        assert progress.is_read_only
        assert [act.text for act in progress.acts()] == ["2 0 4"]
        with pytest.raises(FileError, match="readonly"):
            progress.record("scores", "q", "answer")
    assert locked.read_bytes() == before
    assert list(locked.parent.iterdir()) == [locked]


def test_what_another_process_has_not_yet_put_into_the_file_is_read_too(path, locked):
    reader, writer = sqlite3.connect(path), sqlite3.connect(path)
    reader.execute(
        "SELECT count(*) FROM acts"
    ).fetchone()  # keeps what is beside the file from being put into it
    writer.execute("UPDATE acts SET text = 'later'")
    writer.commit()
    with Progress(locked) as progress:
        assert [act.text for act in progress.acts()] == ["later"]
    writer.close()
    reader.close()


@pytest.mark.parametrize(("name", "make", "said"), REFUSED[:-1], ids=[row[0] for row in REFUSED[:-1]])
def test_a_file_that_cannot_be_used_is_no_better_for_being_locked(tmp_path, monkeypatch, name, make, said):
    path = tmp_path / "my progress"
    make(path)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(FileError, match=said):
        Progress(path)


def test_an_empty_file_that_can_only_be_read_is_an_empty_log(path, monkeypatch):
    path.parent.mkdir()
    path.touch()
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with Progress(path) as progress:
        assert progress.acts() == ()


# --- several at once -------------------------------------------------------------------------------

WRITER = """
import sys; from pathlib import Path; from headwork.workbook.progress import Progress
with Progress(Path(sys.argv[1])) as progress:
    for at in range(25): progress.record("scores", sys.argv[2], "answer", str(at))
"""


def test_two_processes_write_at_once_and_nothing_is_lost(path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    with Progress(path) as progress:
        assert len(progress.acts()) == 75


def test_a_file_that_another_process_is_making_is_not_taken_for_another_program_s(path, monkeypatch):
    """Between two looks at whose file it is: the table was there, and whose it is had been read before."""
    read = Progress._pragma

    def and_then_another_writes(self, name):
        value = read(self, name)
        whose = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}"
        if name == "application_id":
            with suppress(sqlite3.OperationalError), sqlite3.connect(path, timeout=0) as other:
                other.executescript(f"BEGIN IMMEDIATE; {TABLE}; {whose}; COMMIT")
        return value

    monkeypatch.setattr(Progress, "_pragma", and_then_another_writes)
    with Progress(path) as progress:
        assert progress.acts() == ()


def test_a_writer_that_is_held_up_says_so_in_the_end(path, monkeypatch):
    monkeypatch.setattr("headwork.workbook.progress.PATIENCE", 0.05)
    with Progress(path) as progress:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(FileError, match="another program has held it"):
            progress.record("scores", "q", "answer")
        holder.execute("ROLLBACK")
        holder.close()
        progress.record("scores", "q", "answer")


# --- export and import -----------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=30)
times = st.datetimes(timezones=st.just(UTC)).map(lambda at: at.isoformat(timespec="milliseconds"))
acts = st.builds(Act, st.uuids().map(str), times, texts, texts, st.sampled_from(KINDS), texts, texts)
logs = st.lists(acts, unique_by=lambda act: act.id, max_size=8)


@given(logs)
def test_export_and_import_bring_back_the_same_acts(some):
    assert from_json(to_json(some), "export") == tuple(some)


@given(logs, logs)
def test_merging_is_a_union_however_often_it_is_done(here, there):
    with Progress(None) as progress:
        progress.add(here)
        progress.add(there)
        assert progress.add(there + here) == 0
        assert {act.id for act in progress.acts()} == {act.id for act in here + there}


def exported(**changes) -> str:
    act = Act("0" * 32, "2024-05-01T09:30:00+02:00", "scores", "q", "answer", "1", "right")
    return json.dumps({"format": "headwork progress", "version": 1, "acts": [asdict(act) | changes]})


def test_times_of_another_zone_become_utc():
    assert from_json(exported(), "f")[0].at == "2024-05-01T07:30:00.000+00:00"


BAD_EXPORTS = [
    ("{", "is not JSON"),
    ("[]", "no progress"),
    ('{"format": "headwork progress", "version": 2, "acts": []}', "version 2"),
    (exported(id="one"), "act 1: id is 'one'"),
    (exported(at="yesterday"), "act 1: at is 'yesterday'"),
    (exported(at="2024-05-01T09:30:00"), "act 1: at is"),
    (exported(kind="cheat"), "act 1: kind is 'cheat'"),
    (exported(text=3), "act 1: text is not a text"),
    (exported(extra="x"), "act 1 needs exactly the keys"),
    ("[" * 100_000, "is not JSON"),
]


@pytest.mark.parametrize(("text", "said"), BAD_EXPORTS)
def test_an_import_that_is_not_one_says_where(text, said):
    with pytest.raises(FileError, match=said):
        from_json(text, "export.json")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "export.json"
    target.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(target, "fine so far \ud800")
    assert target.read_text() == "before"
    write_whole(target, "after")
    assert target.read_text() == "after"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_has_the_rights_that_new_files_have_here(tmp_path):
    (tmp_path / "plain").write_text("")
    write_whole(tmp_path / "whole", "text")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_keeps_its_place_and_its_file_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text"


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_folder_that_is_not_there_is_an_error_with_its_name(tmp_path):
    with pytest.raises(FileError, match="nowhere"):
        write_whole(tmp_path / "nowhere" / "export.json", "text")
