"""A folder of somebody's own exercises works beside ours, and says what is wrong with it."""

import os

import pytest

from headwork.errors import FileError, OptionError
from headwork.workbook.course import course, exercises, packaged_course, set_of
from headwork.workbook.finding import find_exercise
from headwork.workbook.numbers import drawn
from headwork.workbook.own import beside
from headwork.workbook.proofreading import proofread
from headwork.workbook.skeleton import SKELETON, write_skeleton


def filled(name, **changes):
    """A new exercise, its words written."""
    text = SKELETON.format(id=name, number=changes.pop("number", 1), fill="Words")
    for old, new in changes.items():
        text = text.replace(f'{old} = "', f'{old} = "{new} ')
    return text


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two-readers.md").write_text(filled("two-readers", number=2), encoding="utf-8")
    (tmp_path / "first-readers.md").write_text(filled("first-readers"), encoding="utf-8")
    with beside(tmp_path):
        yield tmp_path


def test_own_exercises_stand_behind_ours_in_the_order_of_their_numbers(folder):
    assert [exercise.id for exercise in exercises()][-2:] == ["first-readers", "two-readers"]
    assert course()[:-1] == packaged_course()
    assert set_of(find_exercise("two-r")).title == "Your own exercises"


def test_without_a_folder_there_are_ours_alone(folder):
    with beside(""):
        assert course() == packaged_course()


def test_a_new_exercise_is_ready_once_its_words_are_written(folder):
    assert proofread(find_exercise("two-readers")).findings == ()


def test_a_new_exercise_has_fresh_numbers(folder):
    fresh = drawn(find_exercise("two-readers"), 7)
    assert [question.id for question in fresh.questions] == ["scaled", "weights", "output", "why"]


def test_a_file_that_changes_is_read_again(folder):
    before = find_exercise("two-readers").title
    (folder / "two-readers.md").write_text(filled("two-readers", number=2, title="Other"), encoding="utf-8")
    assert find_exercise("two-readers").title != before


def test_a_set_of_its_own_describes_the_folder(folder):
    (folder / "set.md").write_text(
        '+++\nid = "mine"\ntitle = "My set"\nformula = "z"\nclosing = "Done."\n'
        '[[symbols]]\nsign = "z"\nsays = "the output"\n'
        '[[parts]]\nid = "Part one"\ntitle = "Part one"\nopening = "Begin."\nrecap = "End."\n+++\nWelcome.\n',
        encoding="utf-8",
    )
    assert course()[-1].title == "My set"


BROKEN = [
    # file              content                              what is said
    ("scores.md", filled("scores"), "scores.md: id is 'scores', which the course has already"),
    (
        "again.md",
        filled("two-readers"),
        "id is 'two-readers', which again.md has already|two-readers.md has already",
    ),
    (
        "third.md",
        filled("other-id"),
        "third.md: id is 'other-id', and its file is 'third.md'. A file is named after the id: "
        "call it other-id.md, or give the exercise the id 'third'",
    ),
    ("My third.md", filled("other-id"), "call it other-id.md\\.$"),
    ("no-header.md", "words", "no-header.md has no header"),
    ("half.md", "+++\nid = ", "half.md has a header without an end"),
    ("bytes.md", b"\xff\xfe\x00", "bytes.md is not UTF-8 text"),
    ("large.md", b"x" * 1_000_001, "large.md has more than 1,000,000 bytes"),
    ("set.md", "+++\n+++\n", "set.md: id is missing"),
]


@pytest.mark.parametrize(("name", "content", "said"), BROKEN, ids=[row[0] for row in BROKEN])
def test_what_is_wrong_with_a_file_is_told_with_its_name(folder, name, content, said):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError, match=said):
        course()


def test_a_folder_that_is_not_there_or_empty_is_told(tmp_path):
    with beside(tmp_path / "nowhere"), pytest.raises(FileError, match="there is no folder"):
        course()
    with beside(tmp_path), pytest.raises(FileError, match="has no exercises"):
        course()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_called_as_an_exercise_and_is_no_file_is_told_and_not_waited_for(folder, make):
    make(folder / "other.md")
    with pytest.raises(FileError, match=r"other\.md is no file but something else"):
        course()


def test_a_file_in_place_of_the_folder_is_told(folder):
    with beside(folder / "two-readers.md"), pytest.raises(FileError, match="is a file, and --course"):
        course()


def test_a_readme_and_hidden_files_are_no_exercises(folder):
    (folder / "README.md").write_text("words", encoding="utf-8")
    (folder / ".draft.md").write_text("words", encoding="utf-8")
    assert len(course()[-1].exercises) == 2


@pytest.mark.parametrize("name", ["", "A", "two readers", "../up", "a/b", "x" * 61, "é", "a--b", "nul\0"])
def test_a_name_that_is_no_id_is_refused(tmp_path, name):
    with pytest.raises(OptionError, match="small letters and digits"):
        write_skeleton(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_id_of_the_course_is_refused(tmp_path):
    with pytest.raises(OptionError, match="the course has an exercise scores already"):
        write_skeleton("scores", tmp_path)


def test_a_file_that_is_there_is_never_written_over(tmp_path):
    path = write_skeleton("mine", tmp_path)
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(FileError, match="is there already, and nothing was written"):
        write_skeleton("mine", tmp_path)
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileError, match="cannot write"):
        write_skeleton("mine", tmp_path / "file" / "below")
