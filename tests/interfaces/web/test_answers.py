"""Every question of the course answered with forms alone, as a browser without JavaScript does."""

import re
import sqlite3

import pytest
from course_forms import question_of, right_fields, wrong_fields

from headwork.interfaces.web.app import make_app
from headwork.workbook.course import exercises
from headwork.workbook.finding import find_exercise
from headwork.workbook.progress import Progress
from headwork.workbook.questions import ChoiceQuestion, CodeQuestion, ExplainQuestion

QUESTIONS = [(exercise.id, question.id) for exercise in exercises() for question in exercise.questions]
ROWS_2_AND_3 = {
    "c0-0": "0.212",
    "c0-1": "0.576",
    "c0-2": "0.212",
    "c1-0": "0.107",
    "c1-1": "0.787",
    "c1-2": "0.107",
}
BY_COLUMNS = {
    "c0-0": "0.212",
    "c0-1": "0.245",
    "c0-2": "0.107",
    "c1-0": "0.212",
    "c1-1": "0.665",
    "c1-2": "0.107",
}


@pytest.mark.parametrize(("exercise_id", "question_id"), QUESTIONS)
def test_every_question_of_the_course_is_solved_wrong_and_then_right(learner, exercise_id, question_id):
    exercise, question = question_of(exercise_id, question_id)
    if isinstance(question, CodeQuestion):
        assert "headwork watch" in learner.get(f"/exercise/{exercise_id}").text
        assert (
            learner.send_form(f"/exercise/{exercise_id}/{question_id}/answer", answer="print(1)").status_code
            == 400
        )
        return
    address = f"/exercise/{exercise_id}/{question_id}"
    if isinstance(question, ExplainQuestion):
        assert learner.send_form(f"{address}/explanation", text="In my words.").status_code == 303
        points = {f"p{at + 1}": "yes" for at in range(len(question.points))}
        assert learner.send_form(f"{address}/compared", **points).status_code == 303
    else:
        is_guess = isinstance(question, ChoiceQuestion) and question.guess
        if not is_guess:
            wrong = learner.send_form(f"{address}/answer", part=True, **wrong_fields(exercise, question))
            assert "not right" in wrong.text or "is-wrong" in wrong.text
        answer = learner.send_form(f"{address}/answer", **right_fields(exercise, question))
        assert answer.status_code == 303
    page = learner.get(f"/exercise/{exercise_id}").text
    section = page[page.index(f'id="q-{question_id}"') :].split("</section>")[0]
    assert "done" in section.split("</h2>")[0]


def test_marks_stand_at_each_cell_in_colour_sign_and_word_and_survive_a_reload(learner):
    learner.send_form("/exercise/all-rows/weights/answer", **BY_COLUMNS)
    for _ in range(2):
        page = learner.get("/exercise/all-rows").text
        cell = re.search(
            r'<td class="is-wrong"><label[^>]*>weights, query 2, key 2</label>.*?</td>', page, re.DOTALL
        )[0]
        assert 'value="0.245"' in cell
        assert 'aria-invalid="true"' in cell
        assert "✗</span>not right" in cell
        assert page.count('<td class="is-right">') == 2
        assert "Show me fully" in page
        assert "/mistakes/softmax-over-queries" in page


def test_what_follows_from_a_wrong_step_counts(learner):
    # By hand: 0.212·1 + 0.245·0 + 0.107·1 = 0.319, 0.245 + 0.107 = 0.352; 0.212 + 0.107 = 0.319, 0.665 + 0.107 = 0.772.
    learner.send_form("/exercise/all-rows/weights/answer", **BY_COLUMNS)
    own = {"c0-0": "0.319", "c0-1": "0.352", "c1-0": "0.319", "c1-1": "0.772"}
    answer = learner.send_form("/exercise/all-rows/outputs/answer", part=True, **own)
    assert answer.text.count('class="is-follow"') == 5  # four cells and their count


def test_an_answer_that_cannot_be_read_costs_nothing_and_stays_as_it_was_typed(learner, progress_file):
    answer = learner.send_form("/exercise/all-rows/weights/answer", **BY_COLUMNS | {"c1-1": "0.6.65"})
    assert answer.status_code == 422
    assert 'value="0.6.65"' in answer.text
    assert 'value="0.245"' in answer.text
    assert "Nothing was marked" in answer.text
    with Progress(progress_file) as progress:
        assert not [act for act in progress.acts() if act.kind == "answer"]


@pytest.mark.parametrize(
    "block",
    [
        "0.212\t0.576\t0.212\n0.107\t0.787\t0.107",
        "0,212\t0,576\t0,212\r\n0,107\t0,787\t0,107\r\n",
        "array([[0.212, 0.576, 0.212],\n       [0.107, 0.787, 0.107]])",
        r"\begin{bmatrix} 0.212 & 0.576 & 0.212 \\ 0.107 & 0.787 & 0.107 \end{bmatrix}",
        "0.212 0.576 0.212; 0.107 0.787 0.107",
    ],
    ids=["Excel", "Excel with decimal commas", "NumPy", "LaTeX", "text"],
)
def test_a_block_is_read_as_people_copy_it(learner, block):
    read = learner.send_form("/read", block=block).json()
    values = [float(text.replace(",", ".")) for row in read["rows"] for text in row]
    assert values == [float(text) for text in ROWS_2_AND_3.values()]
    answer = learner.send_form("/exercise/all-rows/weights/answer", part=True, block=block)
    assert answer.text.count("</span>right</span>") == 6


def test_a_block_that_cannot_be_read_is_said(learner):
    answer = learner.send_form("/read", block="one two")
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_cells_that_are_left_empty_are_blank_and_the_others_marked(learner):
    answer = learner.send_form("/exercise/all-rows/weights/answer", part=True, **{"c0-0": "0.212"})
    assert answer.text.count("</span>right</span>") == 1
    assert "5 blank" in answer.text
    assert learner.send_form("/exercise/all-rows/weights/answer", part=True).status_code == 422


def test_hints_come_one_at_a_time_and_the_solution_when_it_is_asked_for(learner):
    address = "/exercise/all-rows/weights"
    page = learner.get("/exercise/all-rows").text
    question = find_exercise("all-rows").questions
    hints = next(each for each in question if each.id == "weights").hints
    assert hints[0] not in page
    for at, hint in enumerate(hints, 1):
        section = learner.send_form(f"{address}/hint", part=True).text
        assert section.count("<li>") == at
        assert hint.split("/")[0] in section
    assert "Next hint" not in section
    assert "Worked solution" in learner.send_form(f"{address}/solution", part=True).text


def test_what_a_terminal_kept_shows_in_the_page_and_the_other_way_round(learner, progress_file):
    with Progress(progress_file) as progress:
        progress.record("scores", find_exercise("scores").questions[0].id, "opened")
        progress.record("all-rows", "weights", "answer", "0.212 0.576 0.212; 0.107 0.787 0.107", "right")
    assert learner.get("/exercise/all-rows").text.count("</span>right</span>") == 6
    assert "1 of 4 questions" in learner.get("/").text
    learner.send_form("/exercise/all-rows/outputs/answer", block="0.424 0.788; 0.213 0.893")
    with Progress(progress_file) as progress:
        last = progress.acts("all-rows")[-1]
    assert (last.question, last.kind, last.verdict) == ("outputs", "answer", "right")


def test_two_servers_on_one_file_lose_no_answer(learner, progress_file):
    with type(learner)(make_app(progress_file), base_url="http://127.0.0.1") as other:
        other.get("/keys")
        for number in range(5):
            for client in (learner, other):
                client.send_form("/exercise/scores/scores/answer", block=f"{number} 0 0; 0 0 0; 0 0 0")
    count = (
        sqlite3.connect(progress_file)
        .execute("SELECT count(*) FROM acts WHERE kind = 'answer'")
        .fetchone()[0]
    )
    assert count == 10


def test_an_explanation_is_kept_while_it_is_written(learner):
    assert learner.send_form("/exercise/all-rows/why/draft", text="Half a <b>sentence</b>").status_code == 204
    assert "Half a &lt;b&gt;sentence&lt;/b&gt;</textarea>" in learner.get("/exercise/all-rows").text


def test_the_recap_comes_when_all_is_done(learner):
    exercise = find_exercise("level-2.1")
    for question in exercise.questions:
        learner.send_form(f"/exercise/level-2.1/{question.id}/answer", **right_fields(exercise, question))
    assert "recap" in learner.get("/exercise/level-2.1").text


def test_fresh_numbers_have_an_address_of_their_own(learner):
    answer = learner.get("/exercise/scores/fresh", follow_redirects=False)
    assert re.fullmatch(r"/exercise/scores@\d+", answer.headers["location"])
    page = learner.get("/exercise/scores@7").text
    assert "seed 7" in page
    exercise = find_exercise("scores@7")
    question = exercise.questions[0]
    learner.send_form(f"/exercise/scores@7/{question.id}/answer", **right_fields(exercise, question))
    assert "done" in learner.get("/exercise/scores@7").text


def test_what_the_terminal_finds_of_code_shows_in_the_page(learner, progress_file):
    question = next(
        each for each in find_exercise("code-attention").questions if isinstance(each, CodeQuestion)
    )
    address = f"/exercise/code-attention/{question.id}/newest"
    assert learner.get(address).status_code == 204
    with Progress(progress_file) as progress:
        act = progress.record(
            "code-attention", question.id, "answer", "3 of 5 cases right; scale-missing", "not right"
        )
    answer = learner.get(address, params={"act": ""})
    assert answer.status_code == 200
    assert '3 of 5 cases right; <a href="/mistakes/scale-missing">scale-missing</a>' in answer.text
    assert learner.get(address, params={"act": act.id}).status_code == 204
    with Progress(progress_file) as progress:
        progress.record("code-attention", question.id, "answer", "0 of 5 cases right; not run", "not right")
        assert "could not be run" in learner.get(address, params={"act": act.id}).text
        progress.record("code-attention", question.id, "answer", "def attention(): ...", "right")
    answer = learner.get(address, params={"act": act.id})
    assert "every case is right" in answer.text
    assert 'class="question done"' in answer.text
    assert "def attention(): ..." not in answer.text
    assert "every case is right" in learner.get("/exercise/code-attention").text
