"""The two sets of exercises that the course is built on, as people work them with a calculator.

Every right value was worked by hand to the digits given, apart from this program.
"""

import numpy as np
import pytest

from headwork import Problem, trace

Q = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]]
K = [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]]
V = [[1, 0], [0, 1], [1, 1]]
THREE = {"query": Q, "key": K, "value": V}
E2, E5 = 7.389, 148.413
NEG = -np.inf

CASES = [
    # problem, step, right, decimals to which it is given
    (THREE, "scores", [[2, 0, 4], [0, 2, 0], [0, 4, 0]], None),
    (THREE, "scaled", [[1, 0, 2], [0, 1, 0], [0, 2, 0]], None),
    (THREE, "row_max", [2, 1, 2], None),
    (THREE, "weights", [[0.245, 0.090, 0.665], [0.212, 0.576, 0.212], [0.107, 0.787, 0.107]], 3),
    (THREE, "output", [[0.910, 0.755], [0.424, 0.788], [0.213, 0.893]], 3),
    # the sums of e^s, not shifted: 11.107, 4.718, 9.389
    (THREE, "row_sum", [11.107 / E2, 4.718 / 2.718, 9.389 / E2], 3),
    (THREE, "logsumexp", [np.log(11.107), np.log(4.718), np.log(9.389)], 3),
    # row 1 scaled up five times: [5 0 10], sum 22175
    ({"given": {"scaled": [[5, 0, 10]]}}, "weights", [[0.0067, 0.00005, 0.9933]], 4),
    ({"given": {"scaled": [[5, 0, 10]]}}, "logsumexp", [np.log(22175)], 4),
    (THREE | {"causal": True}, "masked", [[1, NEG, NEG], [0, 1, NEG], [0, 2, 0]], None),
    (THREE | {"causal": True}, "weights", [[1, 0, 0], [0.269, 0.731, 0], [0.107, 0.787, 0.107]], 3),
    (THREE | {"causal": True}, "output", [[1, 0], [0.269, 0.731], [0.213, 0.893]], 3),
    # five levels
    ({"query": [[1, 1, 1, 1]], "key": [[1, 1, 1, 1], [1, -1, 1, -1]]}, "scaled", [[2, 0]], None),
    ({"given": {"scaled": [[2, 0]]}}, "weights", [[0.881, 0.119]], 3),
    ({"given": {"weights": [[0.881, 0.119]]}, "value": [[10, 0], [0, 10]]}, "output", [[8.81, 1.19]], 12),
    ({"given": {"scores": [[8.0, 7.5]]}, "head_dim": 64}, "scaled", [[1.0, 0.9375]], None),
    ({"given": {"scaled": [[8.0, 7.5]]}}, "weights", [[0.6225, 0.3775]], 4),
    ({"given": {"scores": [[8.0, 7.5]]}, "head_dim": 64}, "weights", [[0.5156, 0.4844]], 4),
    ({"given": {"scaled": [[1, 2, 5]]}, "mask": [[True, True, False]]}, "weights", [[0.269, 0.731, 0]], 3),
    ({"query": [[1, 0]], "key": [[1, 1], [1, -1]]}, "weights", [[0.5, 0.5]], None),
    ({"query": [[2, 0]], "key": [[2, 0], [0, 2]]}, "scaled", [[2.8284, 0]], 4),
    ({"query": [[2, 0]], "key": [[2, 0], [0, 2]], "value": np.eye(2)}, "output", [[0.9442, 0.0558]], 4),
    ({"query": [[2, 0]], "key": [[2, 0], [0, 2]]}, "row_sum", [17.918 / np.exp(2.8284)], 4),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "step", "right", "decimals"), CASES)
def test_every_step_is_what_people_get_by_hand(problem, step, right, decimals):
    got = trace(Problem(**problem))[step]
    np.testing.assert_allclose(got, right, rtol=0, atol=0 if decimals is None else 0.5001 * 10.0**-decimals)


def test_the_shape_of_the_score_matrix():
    assert trace(np.ones((3, 8)), np.ones((5, 8))).scores.shape == (3, 5)


def test_entry_2_4_is_the_second_query_times_the_fourth_key():
    query, key = np.arange(24.0).reshape(3, 8), np.arange(40.0).reshape(5, 8)
    assert trace(query, key).scores[1, 3] == sum(query[1, d] * key[3, d] for d in range(8))
