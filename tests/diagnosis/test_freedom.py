"""How many entries of a row are free."""

import numpy as np
import pytest
from three_tokens import VALUE, softmax, three_tokens

from headwork import Problem, trace
from headwork.diagnosis.freedom import freedom, most_telling
from headwork.diagnosis.target import Target
from headwork.mechanism.fields import canonical


def target(problem: Problem, step: str, values, tolerance: float = 0.0005) -> Target:
    right = trace(problem).fields[step]
    values = canonical(problem, step, np.asarray(values, dtype=float))
    spread = np.full(right.shape, tolerance)
    return Target(problem, step, values, np.isfinite(values), right, lambda *_: spread, spread, 3)


JOINED = {
    "query": np.ones((3, 4)),
    "key": np.ones((3, 4)),
    "value": [[1, 0, 2, 1], [0, 1, 1, 1], [1, 1, 0, 3]],
}


def line(**options) -> Problem:
    """One query, and two values, between which lies a line."""
    return Problem(query=[[1]], key=[[1], [2]], value=[[1, 2, 3], [0, 0, 1]], **options)


ROWS = [
    # problem                                step       answer                          free        source
    (three_tokens(), "weights", softmax(np.eye(3)), [2, 2, 2], "three weights that sum to 1"),
    (three_tokens(), "weights", np.eye(3) * 2, [3, 3, 3], "rows that sum to 2 are bound by nothing"),
    (three_tokens(), "weights", [[0.2, 0.3, 0.5], [1, 1, 1], [0, 0, 0]], [2, 3, 3], "row by row"),
    (three_tokens(), "output", np.ones((3, 2)), [2, 2, 2], "a plane spanned by three values"),
    (three_tokens(mask=[True] * 3), "output", np.ones((3, 2)), [2, 2, 2], "the same"),
    (Problem(**JOINED, heads=2), "output", np.ones((3, 4)), [2, 2, 2, 2, 2, 2], "two columns of each of 2 heads"),
    (line(), "output", [[0.25, 0.5, 1.5]], [1], "between two values lies a line"),
    (line(), "output", [[2.0, 4.0, 5.0]], [1], "on the line, and beyond its ends"),
    (line(), "output", np.ones((1, 3)), [3], "beside the line: no blend"),
    (line(), "output", [[0.25, np.nan, 1.5]], [1], "what is not given is nowhere"),
    (line(sink=0), "output", [[0.5, 1.0, 2.0]], [2], "with a sink, between two values and 0 lies a plane"),
    (line(sink=0), "output", [[0.5, 0.0, 2.0]], [3], "beside that plane"),
    (Problem(query=[[1]], key=[[1]] * 3, value=[[1, 2], [1, 2], [3, 4]]), "output", [[2.0, 3.0]], [1],
     "two equal values are one"),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "step", "answer", "expected", "source"), ROWS)
def test_a_row_has_so_many_free_entries(problem, step, answer, expected, source):
    found = freedom(target(problem, step, answer))
    assert np.ravel(found).tolist() == expected, source


@pytest.mark.parametrize("step", ["scores", "scaled", "exponentials", "row_sum", "logsumexp"])
def test_other_steps_bind_nothing(step):
    problem = three_tokens()
    assert freedom(target(problem, step, trace(problem)[step])) is None


def test_a_projected_output_is_bound_by_nothing():
    problem = three_tokens(w_output=np.eye(2))
    assert freedom(target(problem, "output", np.ones((3, 2)))) is None
    assert freedom(target(problem, "blended", VALUE)) is not None


def test_the_most_telling_entry_is_the_farthest_in_tolerances():
    problem = three_tokens()
    right = trace(problem)["scores"]
    near = target(problem, "scores", right + np.diag([0.1231, 0, 0]))
    far = target(problem, "scores", right + np.diag([0.1231, 0, 37.1231]))
    assert 0 < most_telling(near) < most_telling(far)
    assert most_telling(target(problem, "scores", right)) == 0
