"""The marks of a wrong answer come at once, and what explains it after them, in the same answer."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from headwork.errors import HeadworkError
from headwork.interfaces.web import addresses
from headwork.interfaces.web.app import make_app
from headwork.interfaces.web.desk import Desk
from headwork.interfaces.web.explaining import Asked, explained, prepare, prepare_marks

ADDRESS = "/exercise/all-rows/weights/answer"
COLUMNS = "0.212 0.245 0.107; 0.212 0.665 0.107"  # the exercise, softmax taken down the columns; by hand
RIGHT = "0.212 0.576 0.212; 0.107 0.787 0.107"  # by hand
WAITS = "Looking for what gives these very numbers"


def parts(answer) -> tuple[str, str]:
    """What an answer says first, and what follows."""
    length = int(answer.headers["Headwork-Marks"])
    return answer.content[:length].decode(), answer.content[length:].decode()


def test_marks_come_first_and_the_explanation_takes_the_place_that_is_kept_for_it(learner):
    marks, rest = parts(learner.send_form(ADDRESS, part=True, block=COLUMNS))
    assert marks.count('class="explanation"') == 1
    assert WAITS in marks
    assert 'aria-invalid="true"' in marks
    assert "softmax-over-queries" not in marks
    assert rest.startswith('<div class="explanation">')
    assert "softmax-over-queries" in rest
    assert WAITS not in rest


def test_what_is_right_has_one_part_and_keeps_no_place(learner):
    answer = learner.send_form(ADDRESS, part=True, block=RIGHT)
    assert "Headwork-Marks" not in answer.headers
    assert WAITS not in answer.text


def test_a_whole_page_has_the_explanation_in_it(learner):
    learner.send_form(ADDRESS, block=COLUMNS)
    page = learner.get("/exercise/all-rows").text
    assert "softmax-over-queries" in page
    assert WAITS not in page


def test_a_hint_on_a_wrong_answer_shows_the_same_explanation_again(learner):
    _, rest = parts(learner.send_form(ADDRESS, part=True, block=COLUMNS))
    assert parts(learner.send_form("/exercise/all-rows/weights/hint", part=True))[1] == rest


@pytest.mark.parametrize("error", [TimeoutError(), HeadworkError("numbers that cannot be worked")])
def test_where_nothing_can_be_found_out_the_marks_stand_and_it_is_said(learner, monkeypatch, error):
    async def failing(*_):
        raise error

    monkeypatch.setattr(Desk, "explain", failing)
    marks, rest = parts(learner.send_form(ADDRESS, part=True, block=COLUMNS))
    assert 'aria-invalid="true"' in marks
    assert "could not be found out. Reload" in rest


def test_an_answer_that_can_no_longer_be_read_is_not_explained():
    assert explained(Asked("all-rows", "weights", "x")) is None
    assert explained(Asked("all-rows", "weights", RIGHT)) is None


def test_earlier_answers_count_as_they_do_for_the_marks():
    """By hand: the scores are 4 0. From scores of 6 1, dividing by d_k = 4 instead of 2 gives 1.5 0.25."""
    own = explained(Asked("level-2.1", "scaled", "1.5 0.25", (("scores", "6 1"),)))
    assert "scale-d-k-instead-of-sqrt" in " ".join(own.full)
    alone = explained(Asked("level-2.1", "scaled", "1.5 0.25"))
    assert "scale-d-k-instead-of-sqrt" not in " ".join(alone.full)


def test_another_process_explains_the_same(learner):
    asked = Asked("all-rows", "weights", COLUMNS)
    with ProcessPoolExecutor(1, get_context("spawn")) as beside:
        assert beside.submit(explained, asked).result() == explained(asked)


@pytest.mark.parametrize("work", [prepare, prepare_marks])
def test_what_is_no_step_has_nothing_to_prepare(work):
    assert work("all-rows", "why") is None


# --- numbers that one process has drawn, and others use -----------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(addresses, "_FOLDER", tmp_path)
    return tmp_path


def test_what_one_process_has_drawn_is_there_for_all(folder):
    assert addresses.shared("scores@7") is None
    drawn = addresses.exercise_named("scores@7")
    found = addresses.shared("scores@7")
    assert (found.id, [one.prompt for one in found.questions]) == (
        drawn.id,
        [one.prompt for one in drawn.questions],
    )
    assert (found.work["scores"] == drawn.work["scores"]).all()
    assert addresses.shared("scores@8") is None


def test_exercises_of_the_course_are_not_put_there(folder):
    addresses.exercise_named("scores")
    assert not list(folder.iterdir())


def test_there_is_an_end_to_what_is_put_there(folder, monkeypatch):
    monkeypatch.setattr(addresses, "MOST_SHARED", 2)
    for seed in range(4):
        addresses.exercise_named(f"scores@{seed}")
    assert len(list(folder.iterdir())) == 2


def test_where_nothing_can_be_put_there_numbers_are_drawn_all_the_same(folder, monkeypatch):
    monkeypatch.setattr(addresses, "_FOLDER", folder / "gone")
    assert addresses.exercise_named("scores@7").id == "scores@7"
    assert addresses.shared("scores@7") is None


# --- processes beside the one that answers -------------------------------------------------------------


def test_a_server_goes_on_where_the_process_beside_it_is_killed(learner, progress_file):
    with ProcessPoolExecutor(1, get_context("spawn")) as beside:
        os.kill(beside.submit(os.getpid).result(), 9)
        with type(learner)(make_app(progress_file, beside=beside), base_url="http://127.0.0.1") as other:
            assert other.get("/exercise/scores@7").status_code == 200
            _, rest = parts(other.send_form(ADDRESS, part=True, block=COLUMNS))
            assert "softmax-over-queries" in rest


# --- forms ----------------------------------------------------------------------------------------------

BROWSER = "application/x-www-form-urlencoded;charset=UTF-8"  # as a browser's fetch says it


@pytest.mark.parametrize("kind", [BROWSER, BROWSER.partition(";")[0], BROWSER.upper()])
def test_forms_are_read_however_their_kind_is_written(learner, kind):
    body = f"token={learner.cookies['headwork']}&block={RIGHT.replace(' ', '+')}"
    answer = learner.post(ADDRESS, content=body, headers={"Content-Type": kind, "Headwork-Part": "1"})
    assert answer.status_code == 200
    assert "6 right" in answer.text


def test_what_is_no_text_or_too_many_fields_is_no_form(learner):
    for body in (b"token=\xff", b"&".join(b"a%d=" % at for at in range(12_001)), b"block=" + b"1+" * 40_000):
        assert learner.post(ADDRESS, content=body, headers={"Content-Type": BROWSER}).status_code == 400


@pytest.mark.parametrize("name", ["block", "r1c1", "option", "answer", "text"])
def test_a_file_where_text_is_expected_is_no_answer(learner, name):
    for question in ("all-rows/weights/answer", "all-rows/why/explanation"):
        answer = learner.post(
            f"/exercise/{question}",
            data={"token": learner.cookies["headwork"]},
            files={name: ("a.txt", b"1 2 3")},
        )
        assert answer.status_code in (200, 303, 422)
