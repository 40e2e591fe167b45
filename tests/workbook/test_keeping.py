"""Where progress is kept, and what is said when that is out of reach."""

from pathlib import Path

import pytest

from headwork.errors import FileError
from headwork.workbook.keeping import open_progress
from headwork.workbook.progress import NotWritableError, Progress


def test_a_named_file_in_a_folder_that_cannot_be_entered_is_named_in_the_error(tmp_path, monkeypatch):
    def refuse(path: Path) -> bool:
        raise PermissionError

    (tmp_path / "closed").write_text("no folder")
    monkeypatch.setattr(Path, "exists", refuse)  # root, who may run the tests, can enter every folder
    file = tmp_path / "closed" / "progress"
    with pytest.raises(FileError, match=str(file)), open_progress(file, create=False):
        pass


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The user's own file, with one act, that may no longer be written."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("HEADWORK_PROGRESS", raising=False)
    with open_progress(None, create=True) as kept:
        kept.progress.record("scores", "scores", "answer", "2 0 4; 0 2 0; 0 4 0", "right")
    opened = Progress.__init__

    def refuse(self, path, *, to_write=False):
        if to_write:
            raise NotWritableError("cannot open it: attempt to write a readonly database.")
        opened(self, path)

    monkeypatch.setattr(Progress, "__init__", refuse)
    return kept.path


def test_practice_goes_on_from_what_can_still_be_read(kept):
    with open_progress(None, create=True) as log:
        assert [act.verdict for act in log.progress.acts()] == ["right"]
        assert log.warning.startswith("Nothing of this will be kept. Cannot open it")
        log.progress.record("scores", "token-1", "answer", "3", "right")
    with Progress(kept) as progress:
        assert len(progress.acts()) == 1


def test_a_named_file_that_cannot_be_written_stops_it(kept):
    with pytest.raises(NotWritableError), open_progress(kept, create=True):
        pass
