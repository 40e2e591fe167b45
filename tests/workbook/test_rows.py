"""Every result that can be worked by hand can be asked for: typed row by row it is right, and it can be shown."""

import numpy as np
import pytest

from headwork.diagnosis.answers import check_step
from headwork.errors import HeadworkError
from headwork.interfaces.in_view import in_view
from headwork.mechanism.tracing import trace
from headwork.problem import Problem
from headwork.workbook.exercises import Exercise, View
from headwork.workbook.judging import judge
from headwork.workbook.questions import StepQuestion
from headwork.workbook.rows import columns_of, row_places, row_title
from headwork.workbook.solutions import solution

ONE = {"query": [[2, 0], [1, 1]], "key": [[1, 0], [0, 2], [1, 1]], "value": [[1, 0], [0, 1], [1, 1]]}
HEADS = {"query": [[[2, 0], [1, 1]], [[0, 1], [1, 0]]], "key": [[[1, 0], [0, 2]], [[1, 1], [2, 0]]]}
HEADS |= {"value": [[[1, 0], [0, 1]], [[1, 1], [0, 2]]]}

PROBLEMS = {
    "plain": ONE,
    "causal": {**ONE, "causal": True},
    "one query": {**ONE, "query": [[2, 0]]},
    "chunks": {**ONE, "chunks": [2, 1]},
    "float mask": {**ONE, "mask": [[0.5, 0.0, -1.0], [0.0, "-inf", 0.25]]},
    "empty row": {**ONE, "mask": [[True, True, False], [False, False, False]]},
    "sink": {**ONE, "sink": 0.0},
    "softcap": {**ONE, "softcap": 2},
    "alibi": {**ONE, "alibi": 0.5},
    "rope": {**ONE, "rope": True},
    "large scores": {**ONE, "scale": 500},
    "given scores": {"given": {"scores": [[2, 0], [4, 1]]}, "head_dim": 4, "value": [[1, 0], [0, 1]]},
    "given scaled, no value": {"given": {"scaled": [[2, 0, 1]]}},
    "given weights": {"given": {"weights": [[0.25, 0.75]]}, "value": [[4, 0], [0, 4]]},
    "two heads": HEADS,
    "two heads in parts": {**HEADS, "chunks": [1, 1]},
    "grouped": {**HEADS, "key": HEADS["key"][:1], "value": HEADS["value"][:1]},
    "packed": {"heads": 2, "query": [[2, 0, 1, 1]], "key": [[1, 0, 0, 2], [1, 1, 1, 0]], "value": [[1, 2], [3, 4]]},
    "projected": {"x": [[1, 2], [3, 1]], "w_query": [[1, 0], [1, 2]], "w_key": [[0, 2], [1, -1]]}
    | {"w_value": [[1, 2], [0, 1]], "w_output": [[1, 0], [0, 2]]},
    "batch": {name: [rows, rows] for name, rows in HEADS.items()},
}  # fmt: skip


def exercise_of(given, *views) -> Exercise:
    texts = dict.fromkeys(
        ("file", "id", "label", "title", "about", "part", "helpers", "opening", "recap", "source"), "x"
    )
    return Exercise(**texts, number=1, given=given, views=views, questions=())


def asked_steps(work):
    for step in work:
        try:
            check_step(work, step)
        except HeadworkError:
            continue
        if work[step].dtype != bool:  # which keys may be seen: yes and no are not typed
            yield step


CASES = [
    (name, step) for name, given in PROBLEMS.items() for step in asked_steps(trace(Problem.from_dict(given)))
]


@pytest.mark.parametrize(("name", "step"), CASES)
def test_every_result_can_be_asked_for_and_is_right_row_by_row(name, step):
    exercise = exercise_of(PROBLEMS[name], View(step))
    work, question = exercise.work, StepQuestion("q", "?", ("h",), step)
    places = row_places(work, step)
    rows = [np.atleast_1d(work[step][place]) for place in places]
    assert {len(row) for row in rows} == {columns_of(work, step)}
    assert len({row_title(work, step, place) for place in places}) == len(places)
    answer = "; ".join(" ".join(f"{x:.6f}" for x in row) for row in rows)
    assert judge(exercise, question, answer, {}).verdict == "right"
    assert all(solution(exercise, question))
    assert list(in_view(exercise, 80, plain=False))
    assert list(in_view(exercise, 80, plain=True))


def test_some_rows_of_each_head_can_be_asked_for():
    exercise = exercise_of(PROBLEMS["two heads"])
    question = StepQuestion("q", "?", ("h",), "scores", rows=(2,))
    # by hand: head 1 has q₂ = [1 1] with k₁ = [1 0] and k₂ = [0 2]; head 2 q₂ = [1 0] with [1 1] and [2 0]
    assert judge(exercise, question, "1 2; 1 2", {}).verdict == "right"
    assert [
        row_title(exercise.work, "scores", place) for place in row_places(exercise.work, "scores", (2,))
    ] == [
        "head 1, query 2",
        "head 2, query 2",
    ]
    lines = solution(exercise, question)
    assert lines[:2] == ("Head 1:", "s₂₁ = 1·1 + 1·0 = 1")
    assert lines[3:5] == ("Head 2:", "s₂₁ = 1·1 + 0·1 = 1")


def test_the_sum_of_a_row_with_a_sink_has_it_in_it():
    # the scaled scores of query 1 are 2/√2, 0 and 2/√2, and the sink adds e⁰ = 1: 2·4.113 + 1 + 1 = 10.227
    lines = solution(exercise_of(PROBLEMS["sink"]), StepQuestion("q", "?", ("h",), "row_sum", rows=(1,)))
    assert lines[0].endswith("= 10.227")


def test_what_goes_into_a_result_keeps_its_digits_where_fewer_are_asked_of_it():
    lines = solution(
        exercise_of(PROBLEMS["given weights"]), StepQuestion("q", "?", ("h",), "output", digits=0)
    )
    assert lines == ("z₁₁ = 0.25·4 + 0.75·0 = 1", "z₁₂ = 0.25·0 + 0.75·4 = 3")
