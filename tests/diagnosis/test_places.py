"""Where an entry stands, in words."""

import numpy as np
import pytest
from three_tokens import three_tokens

from headwork import Problem, trace
from headwork.diagnosis.places import entry_words, row_words, seen_index


def arrays(*lead: int, width: int = 4) -> dict[str, np.ndarray]:
    return {name: np.ones((*lead, 3, width)) for name in ("query", "key", "value")}


ONE, HEADS, BATCH = three_tokens(), Problem(**arrays(2)), Problem(**arrays(2, 2))
GROUPED = Problem(query=np.ones((4, 3, 2)), key=np.ones((2, 3, 2)), value=np.ones((2, 3, 2)))
PACKED, PARTS = Problem(**arrays(), heads=2), Problem(**arrays(2), chunks=[1, 2])
ENTRIES = [
    # problem step            index             words
    (ONE, "scores", (0, 2, 1), "row 3, column 2"),
    (ONE, "row_max", (0, 1, 0), "row 2"),
    (ONE, "output", (0, 2, 1), "row 3, column 2"),
    (HEADS, "weights", (1, 0, 2), "head 2, row 1, column 3"),
    (HEADS, "logsumexp", (1, 0, 0), "head 2, row 1"),
    (GROUPED, "key_heads", (1, 0, 1), "head 2, row 1, column 2"),
    (PACKED, "output", (2, 3), "row 3, column 4"),
    (PACKED, "weights", (1, 0, 0), "head 2, row 1, column 1"),
    (BATCH, "scores", (1, 0, 2, 0), "batch element 2, head 1, row 3, column 1"),
    (PARTS, "part_output", (1, 0, 2, 3), "part 2, head 1, row 3, column 4"),
    (PARTS, "part_logsumexp", (0, 1, 2, 0), "part 1, head 2, row 3"),
]


@pytest.mark.parametrize(("problem", "step", "index", "words"), ENTRIES)
def test_an_entry_is_counted_from_1_as_people_see_it(problem, step, index, words):
    assert entry_words(problem, step, index) == words


def test_a_row_has_no_column():
    assert row_words(ONE, "weights", (0, 1)) == "row 2"
    assert row_words(HEADS, "weights", (1, 1)) == "head 2, row 2"


SEEN = [
    # problem, step, canonical index, as people see it
    (ONE, "scores", (0, 2, 1), (2, 1)),
    (ONE, "row_sum", (0, 2, 0), (2,)),
    (HEADS, "scores", (1, 2, 1), (1, 2, 1)),
    (BATCH, "row_max", (1, 0, 2, 0), (1, 0, 2)),
    (PACKED, "output", (2, 3), (2, 3)),
    (PARTS, "part_output", (1, 0, 2, 3), (1, 0, 2, 3)),
]


@pytest.mark.parametrize(("problem", "step", "index", "seen"), SEEN)
def test_an_index_as_people_see_the_step_has_no_axis_that_they_never_had(problem, step, index, seen):
    assert seen_index(problem, step, index) == seen
    assert np.ndim(trace(problem)[step][seen]) == 0
