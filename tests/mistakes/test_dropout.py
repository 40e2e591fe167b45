"""Dropout read off an answer: from weights, from outputs, and never from right ones."""

import numpy as np
import pytest
from cases import cases
from made import made

from headwork.mechanism.tracing import trace
from headwork.mistakes.dropout import DROPOUT_AT_INFERENCE, DROPOUT_NOT_RESCALED, dropout_explains
from headwork.problem import Problem

(REPORTED,) = cases("dropout-at-inference")  # pytorch/pytorch#124464, p = 0.25
WORK = trace(REPORTED.problem)
KEPT = np.array(REPORTED.inputs["dropout_keep"])
WEIGHTS = np.array([[1 / 2, 1 / 4, 1 / 4], [1 / 8, 1 / 8, 3 / 4]])
VALUE = np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 1.0]])


def test_the_reported_weights_tell_p_and_what_was_kept() -> None:
    found = dropout_explains(REPORTED.wrong["weights"], WORK.weights, 1e-9)
    assert found is not None
    assert found.mistake is DROPOUT_AT_INFERENCE
    assert (found.p, found.keep.tolist()) == (pytest.approx(0.25), KEPT.tolist())


def test_the_reported_output_tells_p_and_what_was_kept() -> None:
    found = dropout_explains(REPORTED.wrong["output"], WORK.weights, 1e-9, REPORTED.problem.value[0])
    assert found is not None
    assert (found.p, found.keep.tolist()) == (pytest.approx(0.25), KEPT.tolist())


DROPPED = [
    # answer                                            factor  what is kept                     source
    ([[1, 0, 1 / 2], [1 / 4, 1 / 4, 3 / 2]], 2.0, [[1, 0, 1], [1, 1, 1]], "by hand: p = 0.5"),
    ([[0, 1 / 4, 1 / 4], [0, 1 / 8, 3 / 4]], 1.0, [[0, 1, 1], [0, 1, 1]], "by hand: not rescaled"),
    ([[0.75, 0, 0.375], [0.1875, 0, 0]], 1.5, [[1, 0, 1], [1, 0, 0]], "by hand: p = 1/3"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "factor", "keep", "source"), DROPPED)
def test_dropout_is_read_off_weights_and_outputs(
    answer: list[list[float]], factor: float, keep: list[list[int]], source: str
) -> None:
    weights = np.array(answer)
    for given, value in ((weights, None), (weights @ VALUE, VALUE)):
        found = dropout_explains(given, WEIGHTS, 1e-9, value)
        assert found is not None, source
        assert found.factor == pytest.approx(factor), source
        assert found.keep.astype(int).tolist() == keep, source
        assert found.mistake is (DROPOUT_NOT_RESCALED if factor == 1 else DROPOUT_AT_INFERENCE)


NOT_DROPPED = [
    # why                          answer
    ("right",                      WEIGHTS),
    ("all scaled, none dropped",   2 * WEIGHTS),
    ("two factors",                WEIGHTS * [[2, 0, 3], [2, 2, 2]]),
    ("shrunk",                     WEIGHTS * [[0.5, 0, 0.5], [0.5, 0.5, 0.5]]),
    ("all zero",                   0 * WEIGHTS),
    ("NaN",                        WEIGHTS * np.nan),
]  # fmt: skip


@pytest.mark.parametrize(("why", "answer"), NOT_DROPPED)
def test_other_answers_are_no_dropout(why: str, answer: np.ndarray) -> None:
    assert dropout_explains(answer, WEIGHTS, 1e-9) is None, why


def test_a_right_output_is_no_dropout() -> None:
    assert dropout_explains(WEIGHTS @ VALUE, WEIGHTS, 1e-9, VALUE) is None


def test_outputs_of_many_keys_are_not_tried() -> None:
    weights = np.full((1, 7), 1 / 7)
    assert dropout_explains(np.zeros((1, 2)), weights, 1e-9, np.ones((7, 2))) is None


def test_a_masked_weight_of_zero_counts_as_kept() -> None:
    found = dropout_explains(np.array([[0.0, 1.0, 0.0]]), np.array([[0.5, 0.5, 0.0]]), 1e-9)
    assert found is not None
    assert (found.factor, found.keep.tolist()) == (2.0, [[False, True, True]])


def test_what_all_weights_times_one_number_give() -> None:
    problem = Problem(query=[[0.0]], key=[[0.0]] * 2, value=[[1.0], [3.0]])
    assert made(problem, "output", "dropout-scaled-down", theta=0.75).tolist() == [[1.5]]  # by hand: 2·0.75
