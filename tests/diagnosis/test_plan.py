"""Which results hypotheses share, and in what order they are worked out: no numbers here."""

import numpy as np
import pytest
from made import BY_ID
from three_tokens import three_tokens

from headwork.diagnosis.consequences import asked_steps
from headwork.diagnosis.plan import RIGHT, Plan, compatible, plan, plan_for, sets_of
from headwork.mechanism.tracing import seeds

MISSING, D_K = BY_ID["scale-missing"], BY_ID["scale-d-k-instead-of-sqrt"]
OVER_QUERIES, TRANSPOSED = BY_ID["softmax-over-queries"], BY_ID["weights-transposed"]
NOT_SPLIT = BY_ID["heads-not-split"]

TOGETHER = [
    # mistakes                             together  why
    ((), True, "the right pipeline"),
    ((MISSING,), True, "one mistake"),
    ((MISSING, OVER_QUERIES), True, "two steps"),
    ((MISSING, D_K), False, "the same step cannot be wrong in two ways"),
    ((NOT_SPLIT,), True, "another problem, by itself"),
    ((NOT_SPLIT, MISSING), False, "nothing goes beside another problem"),
]


@pytest.mark.parametrize(("mistakes", "expected", "why"), TOGETHER)
def test_mistakes_go_together_where_they_share_no_step(mistakes, expected, why):
    assert compatible(mistakes) is expected, why


def test_sets_come_smallest_first_and_only_those_that_go_together():
    assert sets_of((MISSING, D_K, OVER_QUERIES), 2) == (
        RIGHT,
        *((MISSING,), (D_K,), (OVER_QUERIES,)),
        *((MISSING, OVER_QUERIES), (D_K, OVER_QUERIES)),
    )


def test_of_some_mistakes_there_may_be_sets_of_one_more():
    known = frozenset(seeds(three_tokens()))
    mistakes, few = (MISSING, D_K, OVER_QUERIES, TRANSPOSED), (MISSING, OVER_QUERIES, TRANSPOSED)
    planned = plan(mistakes, 2, "attention", known, asked_steps(three_tokens()), few)
    assert planned.hypotheses == (*sets_of(mistakes, 2), few)
    assert planned.sizes.tolist() == [len(hypothesis) for hypothesis in planned.hypotheses]


def made(hypotheses, target: str = "attention", **options) -> Plan:
    problem = three_tokens(**options)
    return plan_for(tuple(hypotheses), target, frozenset(seeds(problem)), asked_steps(problem))


def calls(planned: Plan, step: str) -> list[int]:
    """How many results each call of a step works out."""
    return [len(call.nodes) for stage in planned.stages if stage.step.name == step for call in stage.calls]


def test_what_hypotheses_share_is_worked_out_once():
    planned = made([RIGHT, (MISSING,), (TRANSPOSED,), (MISSING, TRANSPOSED)])
    assert calls(planned, "scores") == [1]
    assert calls(planned, "scale") == [1, 1]  # the right version once, the wrong one once
    assert calls(planned, "weights") == [2]  # stacked: one call for both
    assert calls(planned, "after-softmax") == [2, 2]  # handed on, and transposed
    assert len(set(planned.node.tolist())) == 4


def test_a_mistake_that_comes_after_the_target_leads_to_the_right_node():
    planned = made([RIGHT, (TRANSPOSED,)], "masked")
    assert planned.node[0] == planned.node[1]
    assert planned.stages[-1].step.name == "mask"


def test_a_step_that_nobody_asks_for_is_no_call():
    stages = {stage.step.name: stage.calls for stage in made([RIGHT, (MISSING,)], causal=True).stages}
    assert stages["softcap"] == ()
    assert len(stages["mask"]) == 1


def test_what_does_not_lead_to_the_target_is_not_worked_out():
    steps = [stage.step.name for stage in made([RIGHT, (MISSING,)], "output").stages]
    assert "weights" in steps
    assert "logsumexp" not in steps  # only parts are merged by it
    assert "logsumexp" in [stage.step.name for stage in made([RIGHT], "output", chunks=[2, 1]).stages]


def test_rules_with_a_number_of_their_own_share_nothing():
    rule = BY_ID["scale-by-another-number"]
    planned = made([RIGHT, (rule,), (rule,)])
    assert calls(planned, "scale") == [1, 2]
    assert len(set(planned.node.tolist())) == 3


def test_a_plan_does_not_depend_on_the_numbers_and_is_kept():
    first, again = (
        plan((MISSING, TRANSPOSED), 2, "attention", frozenset(seeds(problem)), asked_steps(problem))
        for problem in (three_tokens(), three_tokens(scale=1.0))
    )
    assert first is again


def test_every_result_is_a_node_that_some_call_gives():
    planned = made(sets_of((MISSING, D_K, OVER_QUERIES, TRANSPOSED), 2), "blended")
    last = np.concatenate([call.nodes for call in planned.stages[-1].calls])
    assert set(planned.node.tolist()) == set(last.tolist())
