"""Several answered steps, one explanation: what each says beyond the steps before it is added up."""

import numpy as np
import pytest
from three_tokens import SCORES, VALUE, softmax, three_tokens

from headwork import Problem, diagnose
from headwork.diagnosis.diagnosing import Diagnosis
from headwork.diagnosis.search import applicable
from headwork.mechanism.fields import in_kind
from headwork.mistakes.wrong_run import run_wrong

# two keys, one query; s = 1, 2, d_k = 2; values far apart
TWO_KEYS = Problem(query=[[1.0, 1.0]], key=[[1.0, 0.0], [0.0, 2.0]], value=[[100.0, 3.0], [-200.0, 40.0]])
WRONG = softmax(np.array([[1.0, 2.0]]))  # the scale is missing
OUTPUT = WRONG @ np.array([[100.0, 3.0], [-200.0, 40.0]])

# query = x w + b and so on; x and the weights by hand, biases forgotten
X, W, B = np.array([[1.0, 0.5], [-0.5, 2.0]]), np.array([[0.3, -0.7], [1.1, 0.4]]), np.array([0.37, -0.81])
PROJECTED = Problem(x=X, w_query=W, w_key=W.T, w_value=W, b_query=B, b_key=B + 0.19, b_value=B)


def bits(found: Diagnosis) -> float:
    return found.findings[0].bits


def ids(found: Diagnosis) -> set[str]:
    return {reading[0] for reading in found.mistakes if len(reading) == 1}


def test_what_follows_to_the_last_digit_that_is_known_adds_nothing():
    """From weights of 0.269 0.731, whatever mistake they come from, this output follows."""
    problem = Problem(query=[[1.0, 1.0]], key=[[1.0, 0.0], [0.0, 2.0]], value=[[1.0], [0.0]])
    alone = diagnose(problem, {"weights": np.round(WRONG, 3)}, digits=3)
    both = diagnose(problem, {"weights": np.round(WRONG, 3), "output": [[0.269]]}, digits=3)
    assert both.steps[1].follows
    assert bits(both) == pytest.approx(bits(alone))


def test_an_output_that_shows_more_of_the_weights_than_was_written_adds_just_that():
    """The output is 300 p − 200 for the first column: three more digits of the only free weight p."""
    alone = diagnose(TWO_KEYS, {"weights": np.round(WRONG, 3)}, digits=3)
    both = diagnose(TWO_KEYS, {"weights": np.round(WRONG, 3), "output": np.round(OUTPUT, 3)}, digits=3)
    assert alone.verdict == both.verdict == "consistent"
    off = np.abs(np.round(OUTPUT, 3) - np.round(WRONG, 3) @ np.array([[100.0, 3.0], [-200.0, 40.0]]))[0]
    assert bits(both) - bits(alone) == pytest.approx(np.log2(off.min() / (0.484 * 0.0005)), abs=0.05)


def test_an_output_that_was_worked_from_the_weights_as_written_adds_nothing():
    rounded = np.round(WRONG, 3)
    output = np.round(rounded @ np.array([[100.0, 3.0], [-200.0, 40.0]]), 3)
    alone = diagnose(TWO_KEYS, {"weights": rounded}, digits=3)
    both = diagnose(TWO_KEYS, {"weights": rounded, "output": output}, digits=3)
    assert bits(both) == pytest.approx(bits(alone))


def test_steps_that_do_not_follow_from_each_other_add_up():
    query, key = X @ W, X @ W.T
    alone = diagnose(PROJECTED, {"query": query.round(3)}, digits=3)
    both = diagnose(PROJECTED, {"query": query.round(3), "key": key.round(3)}, digits=3)
    assert ids(alone) == {"projection-biases-forgotten", "b-q-forgotten"}
    assert ids(both) == {"projection-biases-forgotten"}  # the keys have lost theirs as well
    key_alone = diagnose(PROJECTED, {"key": key.round(3)}, digits=3)
    assert bits(both) > bits(alone) + bits(key_alone) - 1


def test_a_later_step_that_contradicts_a_reading_drops_it():
    """Unscaled scores: the weights tell whether the scale comes later."""
    scaled = {"scaled": SCORES}
    assert ids(diagnose(three_tokens(), scaled)) >= {"scale-missing", "scale-after-softmax"}
    from_them = softmax(SCORES).round(3)
    assert "scale-after-softmax" not in ids(diagnose(three_tokens(), scaled | {"weights": from_them}))
    halved = diagnose(three_tokens(), scaled | {"weights": (softmax(SCORES) / 2).round(3)}, digits=3)
    assert ids(halved) == {"scale-after-softmax"}
    assert halved.verdict == "mistake"


def test_right_scores_leave_fewer_mistakes_to_choose_from():
    weights = {"weights": softmax(SCORES).round(3)}
    alone, both = (
        diagnose(three_tokens(), each, digits=3) for each in (weights, {"scores": SCORES} | weights)
    )
    assert "scale-missing" in ids(alone) & ids(both)
    assert bits(both) >= bits(alone)


def test_steps_that_contradict_every_reading_leave_the_first_as_it_was():
    """Weights of somebody who divided by 4; then the right output, from a neighbour."""
    wrong, right = softmax(SCORES / 4).round(3), (softmax(SCORES / 2) @ np.array(VALUE)).round(3)
    alone = diagnose(three_tokens(), {"weights": wrong}, digits=3)
    both = diagnose(three_tokens(), {"weights": wrong, "output": right}, digits=3)
    assert both.mistakes == alone.mistakes
    assert bits(both) == bits(alone)


def test_the_pooled_evidence_is_in_the_step_and_in_the_whole():
    found = diagnose(PROJECTED, {"query": (X @ W).round(3), "key": (X @ W.T).round(3)}, digits=3)
    assert found.steps[0].findings == found.findings
    assert found.to_dict()["steps"][0]["mistakes"] == found.to_dict()["mistakes"]


def test_a_dropout_that_later_steps_follow_from_stays():
    keep = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]])
    weights = softmax(SCORES / 2) * keep / 0.75
    found = diagnose(three_tokens(), {"weights": weights, "output": weights @ np.array(VALUE)})
    assert found.mistakes == (("dropout-at-inference",),)
    assert found.steps[1].follows


TYPICAL = [m for m in applicable(three_tokens(causal=True), "output") if m.typical]


@pytest.mark.parametrize("mistake", TYPICAL, ids=lambda mistake: mistake.id)
def test_a_mistake_made_all_the_way_is_never_dropped_for_a_later_step(mistake):
    """Whoever makes a mistake and works every step after it gets these numbers."""
    problem = three_tokens(causal=True)
    made = run_wrong(problem, (mistake,))
    fields = {"scaled": "scaled", "masked": "logits", "weights": "attention", "output": "output"}
    answers = {step: np.round(in_kind(problem, step, made[name]), 3) for step, name in fields.items()}
    found = diagnose(problem, answers, digits=3)
    alone = diagnose(problem, {found.step: answers[found.step]}, digits=3)
    assert (mistake.id in ids(alone)) <= (mistake.id in ids(found))
    assert (found.verdict == "right") == (alone.verdict == "right")


def test_an_output_worked_from_right_weights_as_they_were_written_follows():
    """Weights with three decimals are right; the output of just these is not to twelve places, and follows."""
    weights = softmax(SCORES / 2).round(3)
    output = weights @ (np.array(VALUE) * np.pi)
    problem = three_tokens()
    problem = Problem(query=problem.query[0], key=problem.key[0], value=np.array(VALUE) * np.pi)
    found = diagnose(problem, {"weights": weights, "output": output})
    assert [(step.verdict, step.follows) for step in found.steps] == [("right", False), ("right", True)]
    assert found.verdict == "right"
