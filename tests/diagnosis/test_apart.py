"""Explanations that give the same numbers here, and the numbers that tell them apart."""

import numpy as np
import pytest
from cases import load
from three_tokens import SCORES, softmax, three_tokens

from headwork import Problem, diagnose
from headwork.diagnosis.apart import MOST, tell_apart
from headwork.interfaces.json_text import json_text
from headwork.mechanism.fields import in_kind
from headwork.mistakes.lookup import mistake_named
from headwork.mistakes.wrong_run import run_wrong

SURE = 0.001  # at three decimals: apart by more than two half units


def one(*ids):
    return tuple((mistake_named(id),) for id in ids)


def given_by(problem: Problem, reading, step: str):
    return in_kind(problem, step, run_wrong(problem, reading)["attention" if step == "weights" else step])


def test_where_one_explanation_is_left_there_is_nothing_to_tell_apart():
    assert diagnose(three_tokens(), SCORES / 4, "scaled").apart is None
    assert diagnose(three_tokens(), SCORES / 2, "scaled").apart is None


def test_two_mistakes_with_the_same_numbers_come_with_an_input_that_tells_them_apart():
    found = diagnose(three_tokens(), np.round(softmax(SCORES / 3), 3), "weights", 3)  # Tk = Tq = 3
    assert found.mistakes == (("scale-by-key-count-unrooted",), ("scale-by-query-count-unrooted",))
    apart = found.apart
    assert (apart.step, apart.digits, apart.together) == ("weights", 3, ())
    (near,) = apart.inputs
    assert near.problem.Tq != near.problem.Tk
    assert [[mistake.id for (mistake,) in group] for group in near.groups] == [
        ["scale-by-key-count-unrooted"],
        ["scale-by-query-count-unrooted"],
    ]
    for (reading,), numbers in zip(near.groups, near.numbers, strict=True):
        np.testing.assert_allclose(numbers, given_by(near.problem, reading, "weights"))
        assert np.abs(numbers - near.right).max() > SURE
    assert np.abs(near.numbers[0] - near.numbers[1]).max() > SURE


def test_what_no_input_tells_apart_is_said_to_differ_at_another_step():
    apart = diagnose(three_tokens(), SCORES, "scaled").apart
    assert apart.inputs == ()
    told = {(pair.a[0].id, pair.b[0].id): pair.other_step for pair in apart.together}
    assert told["scale-missing", "scale-after-softmax"] == "blended"
    assert told["scale-after-softmax", "scale-output"] == "weights"


def test_what_is_the_same_everywhere_is_said_to_differ_nowhere():
    """A fill of 0 and one of 10⁻⁹."""
    masked = three_tokens(mask=np.tri(3, dtype=bool))
    apart = tell_apart(masked, one("mask-fill-zero", "mask-fill-tiny"), "output")
    assert apart.inputs == ()
    assert [pair.other_step for pair in apart.together] == [""]


def test_more_than_two_take_as_few_inputs_as_tell_all_of_them_apart():
    case = next(case for case in load() if case.id == "H08")
    found = diagnose(case.problem, case.wrong["output"])
    apart = found.apart
    assert len(found.mistakes) == 8
    (near,) = apart.inputs
    assert len(near.groups) == 7
    (pair,) = apart.together
    assert {pair.a[0].id, pair.b[0].id} == {"softmax-over-axis-of-one", "values-summed"}
    assert pair.other_step == "weights"  # the weights are 1, or right


def test_one_that_gives_the_right_numbers_is_told_from_one_that_does_not():
    """Only scores below −10,000 show a fill of −10⁴: elsewhere it is told from a fill of 0 by being right."""
    apart = tell_apart(three_tokens(causal=True), one("mask-fill-zero", "mask-fill-minus-1e4"), "weights")
    (near,) = apart.inputs
    assert apart.together == ()
    assert len(near.groups) == 2


def test_rules_with_a_number_of_their_own_are_left_out():
    found = diagnose(three_tokens(), np.round(softmax(SCORES / 3.3), 3), "weights", 3)
    assert len(found.findings[0].readings) == 2
    assert (found.apart.inputs, found.apart.together) == ((), ())


def test_pairs_of_mistakes_are_told_apart_too():
    a, b = one("scale-missing", "softmax-over-queries")
    apart = tell_apart(three_tokens(), [(*a, *b), b, a], "output")
    assert len(apart.inputs[0].groups) == 3


def test_the_most_likely_dozen_is_enough():
    many = one(*("scale-missing", "softmin", "softmax-over-queries") * 6)
    apart = tell_apart(three_tokens(), many, "output")
    assert sum(len(group) for near in apart.inputs[:1] for group in near.groups) == MOST


def test_a_large_problem_is_told_apart_by_a_small_one():
    rng = np.random.default_rng(0)
    large = Problem(**{name: rng.normal(size=(2, 40, 16)) for name in ("query", "key", "value")})
    apart = tell_apart(large, one("scale-by-key-count", "scale-by-query-count"), "output")
    assert apart.inputs[0].problem.query.size < 1000


@pytest.mark.parametrize("step", ["scaled", "weights", "output"])
def test_all_of_it_is_plain_data(step):
    apart = tell_apart(
        three_tokens(), one("scale-missing", "scale-after-softmax", "scale-by-key-count"), step
    )
    assert '"step"' in json_text(apart)


def test_diagnosing_does_not_work_it_out():
    found = diagnose(three_tokens(), SCORES @ np.eye(3), "scaled")
    assert "apart" not in vars(found)
    assert found.apart is found.apart
