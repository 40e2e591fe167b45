"""Where progress is kept, and what is said when that is out of reach."""

from pathlib import Path

import pytest

from headwork.errors import FileError
from headwork.workbook.keeping import open_progress


def test_a_named_file_in_a_folder_that_cannot_be_entered_is_named_in_the_error(tmp_path, monkeypatch):
    def refuse(path: Path) -> bool:
        raise PermissionError

    (tmp_path / "closed").write_text("no folder")
    monkeypatch.setattr(Path, "exists", refuse)  # root, who may run the tests, can enter every folder
    file = tmp_path / "closed" / "progress"
    with pytest.raises(FileError, match=str(file)), open_progress(file, create=False):
        pass
