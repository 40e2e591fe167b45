"""What mistakes give, worked out together: the same as one at a time, whatever is shared and stacked."""

import numpy as np
import pytest
from drawn_problems import records
from hypothesis import given, settings, strategies as st
from made import BY_ID
from three_tokens import SCORES, softmax, three_tokens

from headwork import Problem
from headwork.diagnosis.consequences import consequences, consequences_of, under_numbers
from headwork.diagnosis.plan import compatible
from headwork.diagnosis.reach import FINAL
from headwork.diagnosis.right import right_fields
from headwork.diagnosis.search import applicable
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.wrong_run import run_wrong

STEPS = ("scaled", "masked", "row_sum", "weights", "logsumexp", "output")
FEW = 12  # mistakes of a drawn problem that are tried in pairs


def same(a, b) -> bool:
    return np.broadcast_shapes(a.shape, b.shape) == b.shape and np.allclose(
        a, b, rtol=1e-9, atol=1e-12, equal_nan=True
    )


def alone(problem, step, hypothesis):
    return run_wrong(problem, hypothesis)[FINAL.get(step, step)]


BY_HAND = [
    # step      mistakes                     gives                                         source
    ("scaled", ("scale-missing",), SCORES, "the scores themselves"),
    ("scaled", ("scale-d-k-instead-of-sqrt",), SCORES / 4, "d_k = 4"),
    ("weights", ("scale-d-k-instead-of-sqrt",), softmax(SCORES / 4), "by definition"),
    ("weights", ("softmax-over-queries",), softmax(SCORES / 2, axis=0), "by definition"),
    ("weights", ("scale-missing", "softmax-over-queries"), softmax(SCORES, axis=0), "both"),
    ("row_max", ("scale-missing",), np.array([[4.0], [2], [4]]), "the largest score of each row"),
]


@pytest.mark.parametrize(("step", "ids", "expected", "source"), BY_HAND)
def test_three_tokens_by_hand(step, ids, expected, source):
    hypothesis = tuple(BY_ID[id] for id in ids)
    found = consequences_of(three_tokens(), step, ((), hypothesis))
    np.testing.assert_allclose(found.values[found.node[1]][0], expected, atol=1e-12, err_msg=source)


@settings(max_examples=12)
@given(records(without=("chunks",)), st.sampled_from(STEPS), st.randoms(use_true_random=False))
def test_together_they_give_what_each_gives_alone(record, step, random):
    problem = Problem(**record)
    mistakes = list(applicable(problem, step))
    chosen = tuple(random.sample(mistakes, min(FEW, len(mistakes))))
    found = consequences(problem, step, chosen, most=2)
    for index, hypothesis in enumerate(found.hypotheses):
        value, expected = found.values[found.node[index]], alone(problem, step, hypothesis)
        if expected.shape != value.shape and np.isnan(value).all():
            continue  # a result of another shape explains nothing
        assert same(expected, value), [m.id for m in hypothesis]


@settings(max_examples=12)
@given(records(without=("chunks",)), st.sampled_from(STEPS), st.randoms(use_true_random=False))
def test_the_order_of_mistakes_changes_nothing(record, step, random):
    problem = Problem(**record)
    mistakes = list(applicable(problem, step))
    pairs = [tuple(random.sample(mistakes, 2)) for _ in range(4) if len(mistakes) > 1]
    pairs = [pair for pair in pairs if compatible(pair)]
    both = (*pairs, *((b, a) for a, b in pairs))
    found = consequences_of(problem, step, ((), *both))
    for index in range(1, len(pairs) + 1):
        one, other = found.values[found.node[index]], found.values[found.node[index + len(pairs)]]
        assert np.array_equal(one, other, equal_nan=True)


@settings(max_examples=8)
@given(records(without=("chunks",)), st.randoms(use_true_random=False))
def test_what_stands_beside_a_mistake_does_not_change_what_it_gives(record, random):
    problem = Problem(**record)
    mistakes = applicable(problem, "output")
    whole = consequences(problem, "output", mistakes)
    for mistake in random.sample(list(mistakes), min(8, len(mistakes))):
        few = consequences(problem, "output", (mistake,))
        index = whole.hypotheses.index((mistake,))
        assert same(few.values[few.node[1]], whole.values[whole.node[index]]), mistake.id


# what these do to a batch element depends on where it stands, or on what stands beside it
BATCH_ORDER_COUNTS = {
    *("batch-and-tokens-swapped", "batch-and-time-by-a-view", "head-merge-batch-swapped", "causal-flattened"),
    "value-of-first-sample",
}


def test_batch_elements_in_another_order_give_the_same_in_that_order(rng):
    arrays = {name: rng.normal(size=(3, 2, 4, 4)).round(1) for name in ("query", "key", "value")}
    order = [2, 0, 1]
    problem = Problem(**arrays, causal=True)
    other = Problem(**{name: array[order] for name, array in arrays.items()}, causal=True)
    mistakes = applicable(problem, "output")
    assert len(mistakes) > 80
    here, there = (consequences(each, "output", mistakes) for each in (problem, other))
    moved = {
        hypothesis[0].id
        for hypothesis, node, elsewhere in zip(
            here.hypotheses[1:], here.node[1:], there.node[1:], strict=True
        )
        if not same(here.values[node][order], there.values[elsewhere])
    }
    assert moved <= BATCH_ORDER_COUNTS


FAMILIES = [mistake for mistake in CATALOGUE if mistake.parameter is not None]


@pytest.mark.parametrize("rule", FAMILIES, ids=lambda rule: rule.id)
def test_many_numbers_at_once_give_what_each_gives_alone(rule):
    problem = rule.witness.draw(3)
    numbers = np.unique(rule.parameter.values(problem))[:FEW]
    steps = ("logsumexp",) if "logsumexp" in rule.wrong else ("output", "weights", "scores")
    step = next(name for name in steps if name in right_fields(problem))
    found = under_numbers(problem, step, (rule,) * len(numbers), numbers)
    for theta, values in zip(numbers, found, strict=True):
        alone = run_wrong(problem, (rule,), float(theta))[FINAL.get(step, step)]
        assert same(alone, values), theta


def test_several_rules_have_their_numbers_at_once():
    scaled, based = BY_ID["scale-by-another-number"], BY_ID["softmax-another-base"]
    found = under_numbers(three_tokens(), "weights", (scaled, based, scaled), np.array([4.0, 10.0, 1.0]))
    expected = [softmax(SCORES / 4), softmax(SCORES / 2 * np.log(10)), softmax(SCORES)]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-12)


def test_fewer_mistakes_come_first_and_can_be_looked_at_alone():
    mistakes = tuple(BY_ID[id] for id in ("scale-missing", "softmax-over-queries"))
    both = consequences(three_tokens(), "weights", mistakes, most=2)
    one = both.up_to(1)
    assert one.hypotheses == ((), *((mistake,) for mistake in mistakes))
    np.testing.assert_array_equal(one.values[one.node], both.values[both.node[:3]])
    assert len(both.hypotheses) == 4


def test_mistakes_that_give_one_result_are_counted_once():
    mistakes = tuple(BY_ID[id] for id in ("scale-missing", "scale-d-k-instead-of-sqrt", "weights-transposed"))
    found = consequences(three_tokens(), "scaled", mistakes)
    assert found.tried(1) == 3  # transposing comes later: the right numbers, once


def test_another_problem_gives_a_result_of_its_own(rng):
    packed = Problem(**{name: rng.normal(size=(3, 4)) for name in ("query", "key", "value")}, heads=2)
    plain = Problem(**{name: getattr(packed, name) for name in ("query", "key", "value")}, heads=1)
    found = consequences_of(packed, "output", ((), (BY_ID["heads-not-split"],)))
    np.testing.assert_allclose(found.values[found.node[1]], alone(plain, "output", ()))


def test_a_mask_is_seen_at_its_full_shape():
    found = consequences_of(
        three_tokens(mask=[True, True, False]), "allowed", ((), (BY_ID["mask-polarity"],))
    )
    assert found.values.shape[1:] == (1, 3, 3)
    assert (found.values[found.node[1]] == [False, False, True]).all()
