"""What a check of code leaves in progress: the question of its track is done once the function is right."""

import pytest

from headwork.workbook.code_results import keep_check, questions_of
from headwork.workbook.coding import check_code
from headwork.workbook.progress import Progress
from headwork.workbook.standing import is_done
from headwork.workbook.tracks import track_named

TRACK = track_named("attention")


@pytest.fixture
def kept():
    with Progress(None) as progress:
        yield progress


def checked(folder, text):
    (folder / TRACK.file_name).write_text(text, encoding="utf-8")
    return check_code(TRACK, folder / TRACK.file_name)


def test_a_right_function_makes_its_question_done(kept, tmp_path):
    exercise, question = next(questions_of("attention"))
    assert [one.id for one in keep_check(kept, checked(tmp_path, TRACK.solution))] == ["code-attention"]
    acts = kept.acts(exercise.id)
    assert is_done(question, acts)
    assert [(act.kind, act.verdict, act.text) for act in acts] == [("answer", "right", TRACK.solution)]


def test_the_same_again_is_not_kept_again(kept, tmp_path):
    for _ in range(2):
        became = keep_check(kept, checked(tmp_path, TRACK.solution))
    assert became == ()
    assert len(kept.acts()) == 1


def test_what_is_not_right_is_kept_with_its_mistake(kept, tmp_path):
    keep_check(kept, checked(tmp_path, TRACK.solution.replace(" / np.sqrt(query.shape[-1])", "")))
    assert [(act.verdict, act.text) for act in kept.acts()] == [
        ("not right", "0 of 5 cases right; scale-missing")
    ]


def test_what_could_not_be_run_is_kept_as_that(kept, tmp_path):
    keep_check(kept, checked(tmp_path, "def attention(:\n"))
    assert [act.text for act in kept.acts()] == ["0 of 5 cases right; not run"]


def test_a_stub_leaves_nothing(kept, tmp_path):
    assert keep_check(kept, checked(tmp_path, TRACK.stub)) == ()
    assert kept.acts() == ()


def test_once_done_it_stays_done(kept, tmp_path):
    exercise, question = next(questions_of("attention"))
    for text in (TRACK.solution, "def attention(:\n", TRACK.solution):
        keep_check(kept, checked(tmp_path, text))
    assert is_done(question, kept.acts(exercise.id))
    assert [act.verdict for act in kept.acts()] == ["right", "not right", "right"]
