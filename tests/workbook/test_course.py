"""The course is complete and in order, and a learner finds an exercise by whatever they call it."""

from dataclasses import replace

import numpy as np
import pytest

from headwork.errors import UnknownNameError
from headwork.mechanism.tracing import trace
from headwork.workbook import finding
from headwork.workbook.course import course, exercises, set_of
from headwork.workbook.finding import find_exercise, problem_of
from headwork.workbook.questions import ExplainQuestion, NumberQuestion, ShapeQuestion
from headwork.workbook.solutions import solution

IDS = [
    *("scores", "asymmetry", "scaling", "softmax", "blend", "all-rows", "saturation", "causal"),
    *("code-attention", "code-causal"),
]

FOUND = [
    # name          exercise      why
    ("scores", "scores", "its id"),
    ("SCORES ", "scores", "capitals and blanks do not matter"),
    ("sco", "scores", "a unique beginning"),
    ("as", "asymmetry", "a unique beginning"),
    ("1", "scores", "a bare number is of the three-token set"),
    ("8", "causal", "a bare number is of the three-token set"),
    ("causal", "causal", "an id before any beginning: code-causal only contains it"),
    ("10", "code-causal", "a bare number is of the three-token set"),
    ("2.1", "level-2.1", "the label of a level"),
    ("level 2.1", "level-2.1", "a blank for the dash"),
    ("Level-5.3", "level-5.3", "its id"),
    ("self", "self-test", "a unique beginning"),
    ("#3", "scaling", "a # before a number does not matter"),
]

REFUSED = [
    # name          what the error says
    ("s", "scores or scaling or softmax or saturation"),
    ("a", "asymmetry or all-rows"),
    ("scroes", "The nearest: scores"),
    ("zebra", "no exercise 'zebra'. headwork list shows them all"),
    ("", "no exercise is named. Give its id or its number"),
    ("0", "exercises 1 to 10"),
    ("11", "exercises 1 to 10"),
    ("9" * 5000, "no exercise 999999: three tokens by hand has"),
    ("2.9", "no exercise '2.9'"),
    ("code-c", "code-causal or code-cache"),
    ("level", "level-1.1, .* or one of 5 more"),
    (
        "scores@x",
        "'x' is no seed; a whole number from 0 to 9223372036854775808 was expected, such as scores@7",
    ),
    ("scores@٣", "'٣' is no seed"),
    ("scores@" + "9" * 40, "is no seed"),
    ("nothing@7", "no exercise 'nothing@7'"),
]


@pytest.mark.parametrize(("name", "exercise", "why"), FOUND)
def test_an_exercise_is_found_by_what_a_learner_calls_it(name, exercise, why):
    assert find_exercise(name).id == exercise, why


@pytest.mark.parametrize(("name", "said"), REFUSED)
def test_an_unknown_name_gets_an_error_that_helps(name, said):
    with pytest.raises(UnknownNameError, match=said):
        find_exercise(name)


LEVELS = [
    *("level-1.1", "level-1.2", "level-1.3", "level-2.1", "level-2.2", "level-2.3", "level-3.1", "level-3.2"),
    *("level-4.1", "level-4.2", "level-5.1", "level-5.2", "level-5.3", "self-test"),
]


def test_the_sets_follow_each_other_and_are_numbered_without_a_gap_in_teaching_order():
    three, levels, *_ = course()
    assert [exercise.id for exercise in three.exercises] == IDS
    assert [exercise.id for exercise in levels.exercises] == LEVELS
    for one in course():
        assert [each.number for each in one.announced] == list(range(1, len(one.announced) + 1))


def test_ids_are_unique_in_the_whole_course():
    ids = [exercise.id for exercise in exercises()]
    assert len(set(ids)) == len(ids)


def test_a_level_is_called_by_its_number():
    assert [e.label for e in course()[1].exercises] == [
        name.removeprefix("level-") for name in LEVELS[:-1]
    ] + [""]


@pytest.mark.parametrize("one", course(), ids=lambda one: one.id)
def test_parts_follow_each_other(one):
    names = [part.id for part in one.parts]
    parts = [each.part for each in one.announced]
    assert parts == sorted(parts, key=names.index)
    assert set(parts) == set(names)


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
        assert all(solution(exercise, question))
        if isinstance(question, NumberQuestion | ShapeQuestion):
            assert question.wrong
        if isinstance(question, ExplainQuestion):
            assert len(question.points) >= 2


def test_the_right_option_does_not_always_stand_in_the_same_place():
    single = [
        q for e in exercises() for q in e.questions if q.kind == "choice" and not (q.several or q.guess)
    ]
    places = [[option.right for option in question.options].index(True) for question in single]
    assert len(set(places)) >= 3
    assert max(map(places.count, set(places))) <= 2 * len(places) / 3


def test_fresh_numbers_of_a_later_variant_are_found_by_the_id_that_progress_keeps(monkeypatch):
    three, *others = course()
    second = replace(three, exercises=(replace(three.exercises[0], variant=2), *three.exercises[1:]))
    monkeypatch.setattr(finding, "course", lambda: (second, *others))
    assert find_exercise("scores.2").variant == 2
    for name in ("scores.1", "scores.3", "scaling.1", "scores."):
        with pytest.raises(UnknownNameError, match="no exercise"):
            find_exercise(name)
