"""A question in code, in a session: the file is written, Enter checks it, and a right one is done."""

import pytest

from headwork.workbook.events import Asked, Coded, Said
from headwork.workbook.finding import find_exercise
from headwork.workbook.progress import Progress
from headwork.workbook.session import Session
from headwork.workbook.tracks import track_named

TRACK = track_named("attention")


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A session at exercise 9, and what it said so far."""
    monkeypatch.chdir(tmp_path)
    with Progress(None) as progress:
        session = Session(progress, tmp_path / "headwork-code")
        yield session, list(session.begin(find_exercise("9")))


def texts(events):
    return " ".join(event.text for event in events if isinstance(event, Said))


def test_the_stub_is_written_and_named_from_where_the_learner_is(begun, tmp_path):
    _, events = begun
    assert "Your file is written now:\n\n    headwork-code/attention.py\n\n" in texts(events)
    assert (tmp_path / "headwork-code" / "attention.py").read_text(encoding="utf-8") == TRACK.stub


def test_coming_back_leaves_the_file_as_it_is(begun, tmp_path):
    session, _ = begun
    (tmp_path / "headwork-code" / "attention.py").write_text("mine", encoding="utf-8")
    assert "Your file is there already, and as you left it" in texts(session.begin(find_exercise("9")))


@pytest.mark.parametrize("typed", ["", "check", "why"])
def test_enter_checks_the_file(begun, typed):
    session, _ = begun
    (event,) = session.receive(typed)
    assert isinstance(event, Coded)
    assert event.check.is_begun is False
    assert event.to_dict()["event"] == "code"


def test_a_right_function_leads_on_to_the_next_question(begun, tmp_path):
    session, _ = begun
    (tmp_path / "headwork-code" / "attention.py").write_text(TRACK.solution, encoding="utf-8")
    events = list(session.receive(""))
    assert isinstance(events[0], Coded)
    assert "The checker has kept that your function is right." in texts(events)
    assert [event.at for event in events if isinstance(event, Asked)] == [1]


def test_show_has_the_plain_loops_and_one_way_to_write_it(begun):
    session, _ = begun
    titles = {
        event.title: "\n".join(event.lines) for event in session.receive("show") if isinstance(event, Said)
    }
    assert titles["What it means, in plain loops"] + "\n" == TRACK.spec
    assert titles["One way to write it"] + "\n" == TRACK.solution


def test_where_no_file_can_be_written_it_is_said_and_nothing_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with Progress(None) as progress:
        session = Session(progress, tmp_path / "taken")
        assert "Your file could not be made: cannot write" in texts(session.begin(find_exercise("9")))
        assert "Your file could not be made: cannot write" in texts(session.receive(""))
        assert session.finished is False


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Progress(None) as progress:
        session = Session(progress)
        assert "the function attention in a file attention.py" in texts(session.begin(find_exercise("9")))
        assert "headwork watch checks the file" in texts(session.receive("check"))
    assert list(tmp_path.iterdir()) == []
