"""An answer to a question: marked with what came before it, and kept."""

import pytest

from headwork.errors import AnswerError
from headwork.workbook.answering import answers_to, earlier_answers, keep_answer
from headwork.workbook.finding import find_exercise
from headwork.workbook.progress import Progress

# Exercise 6 by hand: rows 2 and 3 divided down the columns, and what is blended from those.
BY_COLUMNS = "0.212 0.245 0.107; 0.212 0.665 0.107"
BLENDED = "0.319 0.352; 0.319 0.772"


def questions():
    exercise = find_exercise("all-rows")
    return exercise, {question.id: question for question in exercise.questions}


def test_an_answer_is_marked_with_the_learners_own_steps_before_it_and_kept():
    exercise, question = questions()
    with Progress(None) as progress:
        assert keep_answer(progress, exercise, question["weights"], BY_COLUMNS).judged.verdict == "not right"
        assert keep_answer(progress, exercise, question["outputs"], BLENDED).judged.verdict == "follows"
        acts = progress.acts("all-rows")
    assert [(act.question, act.verdict) for act in acts] == [("weights", "not right"), ("outputs", "follows")]
    assert earlier_answers(exercise, question["outputs"], acts) == {question["weights"]: BY_COLUMNS}
    assert earlier_answers(exercise, question["weights"], acts) == {}


def test_the_same_numbers_again_are_said_to_be_the_same_only_where_they_are_not_right():
    exercise, question = questions()
    with Progress(None) as progress:
        again = [
            keep_answer(progress, exercise, question["weights"], text).again
            for text in (BY_COLUMNS, BY_COLUMNS.replace(" ", "  "))
        ]
        right = "0.212 0.576 0.212; 0.107 0.787 0.107"
        again += [keep_answer(progress, exercise, question["weights"], right).again for _ in range(2)]
    assert again == [False, True, False, False]


def test_what_cannot_be_read_is_not_kept():
    exercise, question = questions()
    with Progress(None) as progress:
        with pytest.raises(AnswerError):
            keep_answer(progress, exercise, question["weights"], "one two three; 1 2 3")
        assert answers_to(question["weights"], progress.acts()) == []
