"""The course is complete and in order, and a learner finds an exercise by whatever they call it."""

import numpy as np
import pytest

from headwork.errors import UnknownNameError
from headwork.mechanism.tracing import trace
from headwork.workbook.course import course, exercises, find_exercise, problem_of, set_of
from headwork.workbook.questions import ExplainQuestion, NumberQuestion
from headwork.workbook.solutions import solution

IDS = ["scores", "asymmetry", "scaling", "softmax", "blend", "all-rows", "saturation", "causal"]

FOUND = [
    # name          exercise      why
    ("scores", "scores", "its id"),
    ("SCORES ", "scores", "capitals and blanks do not matter"),
    ("sco", "scores", "a unique beginning"),
    ("as", "asymmetry", "a unique beginning"),
    ("1", "scores", "a bare number is of the three-token set"),
    ("8", "causal", "a bare number is of the three-token set"),
    ("causal", "causal", "an id before any beginning: code-causal only contains it"),
]

REFUSED = [
    # name          what the error says
    ("s", "scores or scaling or softmax or saturation"),
    ("a", "asymmetry or all-rows"),
    ("scroes", "The nearest: scores"),
    ("zebra", "The exercises are: scores, asymmetry"),
    ("", "The exercises are: scores, asymmetry"),
    ("0", "exercises 1 to 10"),
    ("11", "exercises 1 to 10"),
    ("9", "exercise 9, code-attention, is worked in code and is not here yet"),
    ("code-causal", "exercise 10, code-causal, is worked in code and is not here yet"),
    ("code", "code-attention or code-causal"),
    ("scores@7", "fresh numbers for scores, and those are not here yet"),
    ("nothing@7", "no exercise 'nothing@7'"),
]


@pytest.mark.parametrize(("name", "exercise", "why"), FOUND)
def test_an_exercise_is_found_by_what_a_learner_calls_it(name, exercise, why):
    assert find_exercise(name).id == exercise, why


@pytest.mark.parametrize(("name", "said"), REFUSED)
def test_an_unknown_name_gets_an_error_that_helps(name, said):
    with pytest.raises(UnknownNameError, match=said):
        find_exercise(name)


def test_the_set_is_numbered_without_a_gap_in_teaching_order():
    (three,) = course()
    assert [exercise.id for exercise in three.exercises] == IDS
    assert [one.number for one in three.announced] == list(range(1, 11))


def test_parts_follow_each_other():
    (three,) = course()
    names = [part.id for part in three.parts]
    parts = [one.part for one in three.announced]
    assert parts == sorted(parts, key=names.index)


# Given throughout, by the exercises' own statement: d_k = 4, d_v = 2.
GIVEN = {
    "query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    "key": [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    "value": [[1, 0], [0, 1], [1, 1]],
}


@pytest.mark.parametrize("name", [name for name in IDS if name != "saturation"])
def test_the_matrices_stay_the_same_throughout(name):
    work = trace(problem_of(name))
    for field, given in GIVEN.items():
        assert np.array_equal(work[field], given)


def test_saturation_takes_row_1_five_times_as_large():
    assert np.array_equal(trace(problem_of("saturation")).scaled, 5 * trace(problem_of("scores")).scaled[:1])
    assert np.array_equal(trace(problem_of("saturation")).value, GIVEN["value"])


@pytest.mark.parametrize("exercise", exercises(), ids=lambda exercise: exercise.id)
def test_every_question_has_hints_and_a_worked_solution(exercise):
    assert set_of(exercise).part(exercise.part)
    for question in exercise.questions:
        assert question.hints
        assert all(solution(question, exercise.work))
        if isinstance(question, NumberQuestion):
            assert question.wrong
        if isinstance(question, ExplainQuestion):
            assert len(question.points) >= 2
