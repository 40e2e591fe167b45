"""A few queries of a problem give what they give in the whole, also under mistakes that keep to a row."""

import numpy as np
import pytest
from drawn_problems import records
from hypothesis import given, settings, strategies as st

from headwork import Problem, trace
from headwork.mechanism.fields import canonical_axes
from headwork.mechanism.resuming import resumed
from headwork.mechanism.sampling import in_heads, one_head, sample
from headwork.mechanism.tracing import run, seeds
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.wrong_run import can_be_made, run_wrong

GIVES = (
    "masked",
    "logits",
    "exponentials",
    "row_sum",
    "attention",
    "logsumexp",
    "blended",
    "merged",
    "output",
)
SAME_AXES = {"logits": "masked", "settled": "weights", "attention": "weights"}
# a sum of products may differ in its last bit, which decides how a tie is rounded
TIES = ("scores-rounded-early",)
SEEDS = range(6)  # draws of a witness, among which one must show that a rule mixes queries


def rows_of(problem: Problem, fields, rows) -> dict[str, np.ndarray]:
    """The rows of the fields that have one for each query; a mask may be held with one row for all."""
    return {
        name: np.broadcast_to(array, (*array.shape[:-2], problem.Tq, array.shape[-1]))[..., rows, :]
        for name, array in fields.items()
        if name in GIVES and array.shape[-2] in (1, problem.Tq)
    }


def differ(problem: Problem, mistakes, rows, theta=None) -> list[str]:
    """The fields in which a sample of the rows is something else than those rows of the whole."""
    whole = rows_of(problem, run_wrong(problem, mistakes, theta), rows)
    part = run_wrong(sample(problem, rows), mistakes, theta)
    return [
        name
        for name, expected in whole.items()
        if name not in part
        or part[name].shape not in (expected.shape, (*expected.shape[:-2], 1, expected.shape[-1]))
        or not np.allclose(part[name], expected, atol=1e-6, rtol=1e-6, equal_nan=True)
    ]


@settings(max_examples=40)
@given(records(), st.randoms(use_true_random=False))
def test_some_rows_are_worked_out_as_in_the_whole(record, random):
    problem = Problem(**record)
    rows = np.array(sorted(random.sample(range(problem.Tq), random.randint(1, problem.Tq))))
    part = sample(problem, rows)
    assert part.matrix_shape == (*problem.batch, problem.H, len(rows), problem.Tk)
    here, whole = run(part, seeds(part)), trace(problem).fields
    for name, array in here.items():
        expected = whole[name]
        if "Tq" in canonical_axes(problem, SAME_AXES.get(name, name)) and expected.shape[-2] == problem.Tq:
            expected = expected[..., rows, :]
        np.testing.assert_allclose(array, expected, atol=1e-12, err_msg=name)


def theta_of(mistake, problem):
    right = mistake.parameter.right(problem)
    values = [v for v in mistake.parameter.values(problem) if v != right]
    return values[len(values) // 2] if values else None


def drawn(mistake):
    for seed in SEEDS:
        problem = mistake.witness.draw(seed)
        if can_be_made(problem, mistake) and problem.Tq > 1:
            yield problem, None if mistake.parameter is None else theta_of(mistake, problem)


BY_ROWS = [m for m in CATALOGUE if not m.mixes_queries and m.rewrite is None and m.id not in TIES]
MIXING = [m for m in CATALOGUE if m.mixes_queries]


@pytest.mark.parametrize("mistake", BY_ROWS, ids=lambda mistake: mistake.id)
def test_a_mistake_that_keeps_to_a_row_shows_on_a_sample_as_in_the_whole(mistake):
    for problem, theta in list(drawn(mistake))[:2]:
        for rows in ([problem.Tq - 1], range(0, problem.Tq, 2)):
            assert differ(problem, (mistake,), np.array(rows), theta) == []


@pytest.mark.parametrize("mistake", MIXING, ids=lambda mistake: mistake.id)
def test_a_mistake_that_mixes_queries_needs_them_all(mistake):
    def shows(problem, rows) -> bool:
        try:
            return bool(differ(problem, (mistake,), np.array(rows)))
        except ValueError:  # shapes that only fit where all queries are there
            return True

    assert any(
        shows(problem, rows)
        for problem, _ in drawn(mistake)
        for rows in ([problem.Tq - 1], [0], [1], [0, problem.Tq - 1])
    )


def test_what_stands_for_a_step_is_sampled_with_its_rows():
    whole = Problem(query=np.eye(3), key=np.eye(3), value=np.eye(3))
    own, nothing = np.arange(9.0).reshape(1, 3, 3), np.zeros(1)
    part = sample(resumed(whole, {"scores": (own, nothing)}), np.array([2]))
    assert run(part, seeds(part))["scores"].tolist() == [[[6, 7, 8]]]


@settings(max_examples=20)
@given(records(batch_axes=1))
def test_one_head_of_one_batch_element_is_worked_out_as_in_the_whole(record):
    problem = Problem(**record)
    batch = (problem.batch[0] - 1,)
    whole = trace(problem).fields["blended"]
    for head in range(problem.H):
        one = one_head(in_heads(problem), batch, head)
        np.testing.assert_allclose(
            trace(one).fields["output"].reshape(whole.shape[-2:]), whole[batch][head], atol=1e-12
        )
