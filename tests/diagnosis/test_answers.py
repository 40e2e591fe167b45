"""How answers may be given, and what is said about those that do not fit."""

import numpy as np
import pytest

from headwork import HeadworkError, Problem, mark, trace
from headwork.diagnosis.answers import read_answers
from headwork.errors import AnswerError, UnknownNameError

HAND = Problem(
    query=[[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    key=[[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    value=[[1, 0], [0, 1], [1, 1]],
)
SCORES = [[2, 0, 4], [0, 2, 0], [0, 4, 0]]
nan = np.nan


def read(answers, problem=HAND):
    return read_answers(trace(problem), answers)[0]


WHOLE = [
    "2 0 4; 0 2 0; 0 4 0",
    "2 0 4\n0 2 0\n0 4 0",
    "[[2, 0, 4], [0, 2, 0], [0, 4, 0]]",
    SCORES,
    [["2", "0.0", "8/2"], [0, "√4", 0], [0, 4.0, 0]],
    np.array(SCORES),
    np.array(SCORES, dtype=np.float32),
    {"values": SCORES},
    [{"row": i, "values": row} for i, row in enumerate(SCORES)],
    {"rows": [0, 1, 2], "values": SCORES},
    [{"rows": [2, 0], "values": "0 4 0; 2 0 4"}, {"row": 1, "values": "0 2 0"}],
]


@pytest.mark.parametrize("values", WHOLE)
def test_a_matrix_may_be_given_in_many_ways(values):
    answer = read({"scores": values})
    assert answer.values.tolist() == SCORES
    assert answer.given.all()
    assert answer.asked.all()


def test_the_step_may_be_named_beside_its_values():
    assert read({"step": "scores", "values": SCORES}).values.tolist() == SCORES
    assert read({"step": "scores", "entry": [0, 2], "value": 4}).values[0, 2] == 4


def test_only_what_is_asked_counts():
    row = read({"weights": {"row": 1, "values": "0,212 0,576 0,212"}})
    assert row.asked.tolist() == [[False] * 3, [True] * 3, [False] * 3]
    assert row.values[1].tolist() == [0.212, 0.576, 0.212]
    assert row.echo == ("I read row 2 as 0.212 | 0.576 | 0.212, with decimal commas",)
    entry = read({"weights": {"entry": [2, 0], "value": "0.107"}})
    assert np.argwhere(entry.asked).tolist() == [[2, 0]]
    assert entry.echo == ("I read 0.107",)


def test_a_blank_is_not_a_nan_that_was_given():
    answer = read({"output": [["nan", None], ["_", "?"], ["", 1]]})
    assert answer.given.tolist() == [[True, False], [False, False], [False, True]]
    assert np.isnan(answer.values[0, 0])
    assert answer.asked.all()


@pytest.mark.parametrize(
    "values",
    ["11.107 4.718 9.389", "11.107; 4.718; 9.389", [11.107, 4.718, 9.389], [[11.107], [4.718], [9.389]]],
)
def test_row_quantities_are_a_row_or_a_column(values):
    assert read({"row_sum": values}).values.tolist() == [11.107, 4.718, 9.389]


def test_a_vector_does_for_a_matrix_of_one_row_or_column():
    one = Problem(query=[[1, 0]], key=[[1, 0], [0, 1]], value=[[1], [2]])
    for values in ("0.5 0.5", "0.5; 0.5", [0.5, 0.5], np.array([0.5, 0.5])):
        assert read({"weights": values}, one).values.tolist() == [[0.5, 0.5]]
    assert read({"output": 1.5}, one).values.tolist() == [[1.5]]


def test_heads_come_as_an_array_or_one_under_the_other(rng):
    problem = Problem(
        query=rng.normal(size=(2, 3, 4)), key=rng.normal(size=(2, 2, 4)), value=rng.normal(size=(2, 2, 5))
    )
    scores = np.round(trace(problem).scores, 3)
    text = "; ".join(" ".join(f"{x:.3f}" for x in row) for row in scores.reshape(6, 2))
    for values in (scores, scores.tolist(), text):
        np.testing.assert_array_equal(read({"scores": values}, problem).values, scores)
    assert read({"scores": {"row": [1, 2], "values": scores[1, 2]}}, problem).asked.sum() == 2
    batch = Problem(**{name: getattr(problem, name)[None] for name in ("query", "key", "value")})
    assert mark(batch, {"output": trace(batch).output}).is_right


REFUSED = [
    # answers                               error              says
    ({"scores": "2 0 4; 0 2 0"}, AnswerError, "scores is 3 × 3 here; I read 2 rows of 3"),
    ({"scores": "2 0 4"}, AnswerError, "scores is 3 × 3 here; I read 3 entries"),
    ({"output": "1 2 3; 4 5 6"}, AnswerError, "That looks transposed"),
    ({"output": np.zeros((3, 3))}, AnswerError, "output is 3 × 2 here; I read 3 rows of 3"),
    ({"output": np.zeros((2, 3, 2))}, AnswerError, "I read 2 × 3 × 2"),
    ({"weights": {"row": 0, "values": "1 2"}}, AnswerError, "weights is 3 entries here; I read 2 entries"),
    ({"weights": {"row": 3, "values": "1 2 3"}}, AnswerError, "3 × 3: it has no 4th query. Places count from 1 on"),
    ({"weights": {"row": -1, "values": "1 2 3"}}, AnswerError, "row is -1; a place was expected, not below 0"),
    ({"weights": {"entry": [0], "value": "1"}}, AnswerError, "entry of weights takes 2 numbers, [query, key]; 1 came"),
    ({"weights": {"row": "first", "values": "1"}}, AnswerError, "row is 'first'"),
    ({"weights": {"rwo": 1, "values": "1"}}, AnswerError, "the keys rwo, values cannot be read"),
    ({"weights": "0.5 O.5 0"}, AnswerError, 'weights: I could not read "O.5" (row 1, entry 2)'),
    ({"weights": "_ _ _; _ _ _; _ _ _"}, AnswerError, "weights has no entry that is given"),
    ({"weights": np.zeros((0, 3))}, AnswerError, "so no entry"),
    ({"weights": np.zeros((3, 3), complex)}, AnswerError, "complex"),
    ({"weigths": "1"}, UnknownNameError, "no step called 'weigths'. Did you mean 'weights'"),
    ({3: "1"}, UnknownNameError, "no step called '3'"),
    ({"query": "1"}, AnswerError, "query is given in this problem"),
    ({"part_output": "1"}, AnswerError, "not worked in parts"),
    ({}, AnswerError, "There is no answer to mark"),
    ("2 0 4", AnswerError, "answers came as a str; they name their steps"),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "error", "says"), REFUSED)
def test_what_does_not_fit_says_what_was_read_and_what_was_expected(answers, error, says):
    with pytest.raises(error) as caught:
        mark(HAND, answers)
    assert says in str(caught.value)


def test_steps_that_the_problem_does_not_have_say_why():
    late = Problem(given={"scaled": [[1, 2, 5]]}, head_dim=4)
    with pytest.raises(AnswerError, match="starts from the given scaled, which come after it"):
        mark(late, {"scores": "1 2 5"})
    with pytest.raises(AnswerError, match="scaled is given in this problem"):
        mark(late, {"scaled": "1 2 5"})
    with pytest.raises(AnswerError, match="no value to blend"):
        mark(late, {"output": "1"})


@pytest.mark.parametrize("digits", [True, 3.5, "3", 99])
def test_digits_are_a_whole_number(digits):
    with pytest.raises(HeadworkError, match="digits is"):
        mark(HAND, {"scores": SCORES}, digits)
