"""Rules with a free number: it is recovered from the answer, to its stated error."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from made import BY_ID
from three_tokens import SCORES, VALUE, softmax, three_tokens

from headwork.diagnosis.answers import read_answers
from headwork.diagnosis.diagnosing import target_of
from headwork.diagnosis.families import Solution, solve
from headwork.diagnosis.right import worked
from headwork.diagnosis.search import SOLVED, _solved_finding, families, solved_findings
from headwork.diagnosis.tolerance import Precision, asked_precision

SCALED = SCORES / 2
CAUSAL = np.tril(np.ones((3, 3), dtype=bool))
EXACT = Precision(None, "float64", "")


def solved(id: str, values, step: str = "weights", digits: int | None = None, **options) -> Solution | None:
    """The number with which the rule gives these values, rounded to `digits`."""
    problem = three_tokens(**options)
    values = values if digits is None else np.round(values, digits)
    (answer,) = read_answers(worked(problem), {step: values})
    target = target_of(problem, answer, EXACT if digits is None else asked_precision(digits))
    found = solve(target, (BY_ID[id],))
    return found[0][1] if found else None


def base(theta: float):
    return softmax(SCALED * math.log(theta))


def filled(theta: float):
    return softmax(np.where(CAUSAL, SCALED, theta))


def epsilon(theta: float):
    exps = np.exp(SCALED - SCALED.max(axis=1, keepdims=True))
    return exps / (exps.sum(axis=1, keepdims=True) + theta)


RULES = [
    # id                            what it gives, by definition       numbers from … to     options
    ("scale-by-another-number", lambda theta: softmax(SCORES / theta), (0.5, 30), {}),
    ("softmax-another-base", base, (1.3, 20), {}),
    ("mask-fill-another-number", filled, (-8, 3), {"causal": True}),
    ("softmax-epsilon", epsilon, (0.01, 50), {}),
    ("dropout-scaled-nothing-dropped", lambda theta: theta * softmax(SCALED), (0.2, 5), {}),
]
each_rule = pytest.mark.parametrize(("id", "gives", "span", "options"), RULES, ids=[row[0] for row in RULES])


@each_rule
@settings(max_examples=15)
@given(share=st.floats(0.02, 0.98))
def test_a_number_is_recovered_from_all_its_digits(id, gives, span, options, share):
    theta = span[0] + share * (span[1] - span[0])
    if abs(theta) < 1e-3 or abs(theta - (math.e if "base" in id else 2 if "scale" in id else 1)) < 1e-3:
        return  # the right number, or nothing to see
    found = solved(id, gives(theta), **options)
    assert found is not None
    assert found.theta == pytest.approx(theta, rel=1e-6)


@each_rule
@settings(max_examples=15)
@given(share=st.floats(0.05, 0.95))
def test_from_three_digits_it_is_recovered_to_the_error_that_is_stated(id, gives, span, options, share):
    theta = span[0] + share * (span[1] - span[0])
    found = solved(id, gives(theta), digits=3, **options)
    if found is None:  # near the right number three digits cannot tell
        right = {"scale-by-another-number": 2, "softmax-another-base": math.e}.get(id, 1)
        assert abs(theta / right - 1) < 0.1 or id in ("mask-fill-another-number", "softmax-epsilon")
        return
    assert abs(found.theta - theta) <= 2 * found.error


def test_the_right_number_is_no_mistake():
    assert solved("scale-by-another-number", softmax(SCALED)) is None
    assert solved("softmax-another-base", softmax(SCALED)) is None


def test_numbers_that_no_factor_gives_have_none():
    assert solved("scale-by-another-number", softmax(SCORES / 3.3)[[1, 0, 2]], digits=3) is None


def test_a_factor_is_read_off_the_output_too():
    found = solved("output-times-another-number", 1.7 * softmax(SCALED) @ np.array(VALUE), "output")
    assert found is not None
    assert found.theta == pytest.approx(1.7)


def test_a_whole_number_is_exact():
    seen = np.arange(3)[None, :] <= np.arange(3)[:, None] - 1
    masked = np.where(seen, SCALED, -np.inf)
    found = solved("causal-another-offset", masked, "masked", causal=True)
    assert found is not None
    assert (found.theta, found.error) == (-1, 0)


@settings(max_examples=25)
@given(
    theta=st.floats(0.6, 6),
    rows=st.sets(st.integers(0, 2)),
    slip=st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0, 1)),
)
@example(theta=3.0, rows={0, 1, 2}, slip=(0, 0, -1.0))
@example(theta=3.0, rows=set(), slip=(1, 1, 0.9))
def test_not_to_look_where_nothing_could_be_said_leaves_nothing_out(theta, rows, slip):
    """Some rows with another divisor, or one entry off: what is found is what all rules, solved, would say."""
    values, wrong = softmax(SCALED).round(3), softmax(SCORES / theta).round(3)
    for row in rows:
        values[row] = wrong[row]
    if not rows and slip[2] >= 0:
        values[slip[:2]] = round(slip[2], 3)
    (answer,) = read_answers(worked(three_tokens()), {"weights": values})
    target = target_of(three_tokens(), answer, asked_precision(3))
    rules = families(target.problem, "weights")
    each = [_solved_finding(target, rule, found, len(rules)) for rule, found in solve(target, rules)]
    always = {rule for one in each if one.bits >= SOLVED for rule in one.readings}
    found = solved_findings(target, rules, len(rules))
    assert {rule for one in found for rule in one.readings} == always
    assert found or rows != {0, 1, 2} or abs(theta - 2) < 0.2
