"""Where a wrong rule and the right one part: one entry, in the numbers of the problem."""

import numpy as np
import pytest

from headwork import Problem, diagnose
from headwork.mechanism.fields import in_kind
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.wrong_run import run_wrong

QKV = {
    "query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    "key": [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    "value": [[1, 0], [0, 1], [1, 1]],
}
HAND, CAUSAL = Problem(**QKV), Problem(**QKV, causal=True)

SAID = [
    # problem, step, answer (by hand), what is said
    (HAND, "scaled", "2 0 4; 0 2 0; 0 4 0",
     "For example row 1, column 1: s₁₁ = 2 / √4 = 1. With this mistake it is 2, as yours is."),
    # the first row is right: the example is one of the wrong entries
    (HAND, "scaled", "1 0 2; 0 2 0; 0 4 0", None),
    (HAND, "output", "0.984 0.883; 0.212 0.894; 0.036 0.982",
     "For example the scaled scores, row 1, column 1: s₁₁ = 2 / √4 = 1. With this mistake it is 2."),
    # z₂ and z₃ alone, unscaled: e²/(1 + e² + 1) = 0.787, so [0.213 0.893]; the example stands in row 2
    (HAND, "output", "_ _; 0.213 0.893; 0.035 0.982",
     "For example the scaled scores, row 2, column 2: s₂₂ = 2 / √4 = 1. With this mistake it is 2."),
    (HAND, "output", "1 0; 0.269 0.731; 0.213 0.893",
     "For example the masked scores, row 1, column 2: s₁₂ = 0 / √4 = 0. With this mistake it is −∞."),
    (CAUSAL, "output", "0.910 0.755; 0.424 0.788; 0.213 0.893",
     "For example the masked scores, row 1, column 2: s₁₂ = −∞: key 2 is after query 1. With this mistake it is 0."),
    (HAND, "exponentials", "1 0 2; 0 1 0; 0 2 0",
     "For example row 1, column 1: e₁₁ = e^(1 − 2) = 0.368, or not shifted e^1 = 2.718. "
     "With this mistake it is 1, as yours is."),
    # after the softmax: rows became columns, [0.245 0.212 0.107] and so on
    (HAND, "weights", "0.245 0.212 0.107; 0.090 0.576 0.787; 0.665 0.212 0.107",
     "For example row 1, column 2: w₁₂ = 0.135 / 1.503 = 0.090. With this mistake it is 0.212, as yours is."),
    (HAND, "logsumexp", "3.474 2.238 3.232",  # 2.408, 1.551, 2.240 divided by ln 2
     "For example row 1: lse₁ = 2 + ln 1.503 = 2.408. Under that convention it is 3.473, as yours is."),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "step", "answer", "says"), SAID)
def test_one_entry_shows_both_rules_in_the_numbers_of_the_problem(problem, step, answer, says):
    example = diagnose(problem, answer, step, 3).example
    assert (example and example.says) == says


@pytest.mark.parametrize("answer", ["2 0 4; 0 2 0; 0 4 0", "2 0 5; 0 2 0; 0 4 0", "2 0 4; 0 2 0; 0 2 0"])
def test_what_is_right_a_slip_or_unexplained_has_no_example(answer):
    assert diagnose(HAND, answer, "scores").example is None


def test_what_was_dropped_by_chance_has_no_example():
    # 0.2447 0.0900 0.6652; 0.2119 0.5761 0.2119; 0.1065 0.7870 0.1065, doubled where they were kept
    found = diagnose(HAND, "0.489 0 1.330; 0 1.152 0.424; 0.213 1.574 0", "weights", 3)
    assert found.mistakes[0] == ("dropout-at-inference",)
    assert found.example is None


def test_the_example_goes_on_from_the_learner_s_own_numbers():
    # scaled by d_k; then e^0.5 = 1.649, so 0.307 0.186 0.506 follows in row 1; the blend forgets to weigh: means
    answers = {"scaled": "0.5 0 1; 0 0.5 0; 0 1 0", "output": "0.667 0.667; 0.667 0.667; 0.667 0.667"}
    found = diagnose(HAND, answers, digits=3).steps[-1]
    assert found.example.right.pieces[0] == pytest.approx(0.307, abs=1e-3)  # w₁₁ of their own row
    assert found.example.says.startswith(
        "For example row 1, column 1: z₁₁ = 0.307·1 + 0.186·0 + 0.506·1 = 0.814."
    )


@pytest.mark.parametrize("mistake", CATALOGUE[::12], ids=lambda mistake: mistake.id)
def test_every_rule_has_an_example_that_is_true(mistake):
    problem = mistake.witness.draw()
    if mistake.parameter is not None or mistake.narrow or "output" not in run_wrong(problem, ()):
        return
    values = run_wrong(problem, (mistake,))["output"]
    found = diagnose(problem, np.round(in_kind(problem, "output", values).astype(float), 6))
    if not found.findings or found.example is None:
        return
    first = found.findings[0].readings[0]
    field, index = found.example.right.field, found.example.right.index
    made = in_kind(
        problem, field, np.broadcast_to(run_wrong(problem, first)[field], run_wrong(problem, ())[field].shape)
    )
    assert found.example.wrong == pytest.approx(made[index], nan_ok=True)
    assert found.example.right.value == pytest.approx(
        in_kind(problem, field, run_wrong(problem, ())[field])[index]
    )
