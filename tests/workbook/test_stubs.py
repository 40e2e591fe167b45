"""The learner's files: written once, never over, and known by their names or their functions."""

import pytest

from headwork.errors import FileError
from headwork.workbook.stubs import FOLDER, code_folder, track_of, write_stub
from headwork.workbook.tracks import track_named

ATTENTION = track_named("attention")


def test_a_stub_is_written_into_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stub = write_stub(ATTENTION)
    assert (stub.path, stub.is_new) == (tmp_path / FOLDER / "attention.py", True)
    assert stub.path.read_text(encoding="utf-8") == ATTENTION.stub


def test_inside_that_folder_it_is_that_folder(tmp_path, monkeypatch):
    (tmp_path / FOLDER).mkdir()
    monkeypatch.chdir(tmp_path / FOLDER)
    assert code_folder() == tmp_path / FOLDER


def test_a_file_that_is_there_is_never_written_over(tmp_path):
    (tmp_path / "attention.py").write_text("mine", encoding="utf-8")
    stub = write_stub(ATTENTION, tmp_path)
    assert stub.is_new is False
    assert stub.path.read_text(encoding="utf-8") == "mine"


def test_a_folder_in_its_place_is_said(tmp_path):
    (tmp_path / "attention.py").mkdir()
    with pytest.raises(FileError, match=r"attention.py is something else. Move that away"):
        write_stub(ATTENTION, tmp_path)


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileError, match=r"cannot write .*/file is something else. Move that away"):
        write_stub(ATTENTION, tmp_path / "file")


MEANT = [
    # file              text                                        track             source
    ("attention.py", "", "attention", "its name"),
    ("grouped_heads.py", "", "grouped-heads", "_ for -"),
    ("mine.py", "x = 1\ndef causal_attention(q, k, v):\n", "causal", "what it defines"),
    ("mine.py", "    def attention(q):\n", None, "not at the top of the file"),
    ("mine.py", "attention = 1\n", None, "no function"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text", "track", "source"), MEANT)
def test_a_file_is_known_by_its_name_or_its_function(tmp_path, file, text, track, source):
    (tmp_path / file).write_text(text, encoding="utf-8")
    found = track_of(tmp_path / file)
    assert (found and found.id) == track


def test_a_file_that_is_not_there_is_known_by_its_name_only(tmp_path):
    assert track_of(tmp_path / "masks.py").id == "masks"
    assert track_of(tmp_path / "other.py") is None
