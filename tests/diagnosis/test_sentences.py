"""Marks in words: numbers as people say them, places counted from 1."""

import numpy as np
import pytest

from headwork import Problem, mark
from headwork.diagnosis.sentences import place_words

PAIR = Problem(query=[[1, 1, 1, 1]], key=[[1, 1, 1, 1], [1, -1, 1, -1]], value=[[10, 0], [0, 10]])
HAND = Problem(
    query=[[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    key=[[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    value=[[1, 0], [0, 1], [1, 1]],
)
Z_ROWS = "0.424 0.788; 0.213 0.893"

SENTENCES = [
    # problem, answers, what is said of the last step
    (PAIR, {"scores": "4 0"}, "Both entries are right."),
    (PAIR, {"scores": "4 1"}, "1 of 2 entries is right; row 1, column 2 is not."),
    (PAIR, {"scores": "5 1"}, "Neither entry is right."),
    (PAIR, {"scores": "5 _"}, "Not right: row 1, column 1. 1 entry is still to be filled in."),
    (PAIR, {"scores": {"entry": [0, 0], "value": "4"}}, "The entry is right."),
    (PAIR, {"scores": {"entry": [0, 0], "value": "5"}}, "The entry is not right."),
    (PAIR, {"scores": "6 2", "scaled": "3 1"}, "Both entries follow from your step before."),
    (PAIR, {"weights": "0.9 0.1"}, "Right so far: give three digits after the point."),
    (HAND, {"scores": "2 0 4; 0 2 0; 0 4 0"}, "All 9 entries are right."),
    (HAND, {"scores": "9 9 9; 9 9 9; 9 9 9"}, "None of the 9 entries is right."),
    (
        HAND,
        {"scores": "9 9 9; 0 9 0; 9 4 9"},
        "3 of 9 entries are right. Not right: row 1, columns 1 to 3; row 2, column 2; row 3, columns 1 and 3.",
    ),
    (HAND, {"row_sum": "8 4.718 8"}, "1 of 3 entries is right. Not right: rows 1 and 3."),
    (
        HAND,
        {"scores": "2 0 5; 0 2 0; 0 4 0", "output": f"0.937 0.829; {Z_ROWS}"},
        "4 of 6 entries are right. The rest follows from your step before.",
    ),
    (
        HAND,
        {"scores": "2 0 5; 0 2 0; 0 4 0", "output": f"0.937 _; {Z_ROWS}"},
        "4 of 6 entries are right. 1 entry follows from your step before. 1 entry is still to be filled in.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "answers", "says"), SENTENCES, ids=[row[2] for row in SENTENCES])
def test_numbers_are_said_as_people_say_them(problem, answers, says):
    assert mark(problem, answers).steps[-1].sentence == says


def test_two_entries_of_two_steps_are_both():
    one = Problem(query=[[2.0]], key=[[1.0]], value=[[1.0]])
    assert mark(one, {"scores": "2", "scaled": "2"}).sentence == "Both entries of 2 steps are right."


PLACES = [
    # shape of queries, step, entries from 0, in words
    ((3, 4), "scores", [(0, 0)], "row 1, column 1"),
    ((3, 4), "scores", [(0, 0), (0, 1)], "row 1, columns 1 and 2"),
    ((3, 4), "scores", [(0, 0), (0, 1), (0, 2), (2, 1)], "row 1, columns 1 to 3; row 3, column 2"),
    ((3, 4), "row_sum", [(0,), (2,)], "rows 1 and 3"),
    ((2, 3, 4), "scores", [(1, 0, 2)], "head 2, row 1, column 3"),
    ((2, 3, 4), "row_sum", [(0, 0), (1, 1), (1, 2)], "head 1, row 1; head 2, rows 2 and 3"),
    ((2, 2, 3, 4), "output", [(1, 0, 2, 3)], "batch element 2, head 1, row 3, column 4"),
    ((2, 3, 4), "part_output", [(1, 0, 2, 3)], "part 2, head 1, row 3, column 4"),
    ((9, 4), "output", [(i, 0) for i in range(9)], "; ".join(f"row {i}, column 1" for i in (1, 2, 3, 4)) + " and 5 more rows"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "step", "entries", "words"), PLACES, ids=[row[3][:40] for row in PLACES])
def test_places_count_from_1_with_heads_and_batch_elements_in_front(shape, step, entries, words):
    ones = np.ones(shape)
    problem = Problem(query=ones, key=ones, value=ones, chunks=[1, shape[-2] - 1])
    assert place_words(problem, step, np.array(entries)) == words
