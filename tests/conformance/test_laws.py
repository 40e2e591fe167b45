"""Laws hold for what is right, in every dtype, and each is broken by a mistake that breaks it."""

from functools import cache

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.arrays import DTYPES
from headwork.conformance.battery import draw_battery
from headwork.conformance.features import feature_named
from headwork.conformance.laws import LAWS, MOST_CASES, cases_for
from headwork.conformance.sizes import read_sizes
from headwork.mistakes.lookup import mistake_named
from headwork.mistakes.wrong_run import can_be_made, run_wrong

BY_ID = {law.id: law for law in LAWS}


@cache
def battery(dtype="float64"):
    return draw_battery(lambda feature: True, (dtype,))


def test_every_law_has_an_id_of_its_own_a_feature_and_a_sentence():
    assert len(BY_ID) == len(LAWS)
    for law in LAWS:
        assert feature_named(law.feature)
        assert len(law.says) > 20


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)
def test_a_law_holds_for_right_attention(law, dtype):
    """On every case, those for robustness too; in half precision no vector is added to the keys."""
    cases = [case for case in battery(dtype) if case.step == "output" and law.problems(case)]
    assert cases or (law.id == "scores-shift" and dtype in ("float16", "bfloat16"))
    for case in cases[:: 2 if dtype == "float32" else 5]:
        outputs = [trace(problem).output for problem in law.problems(case)]
        assert not law.violations(case, outputs).any(), case.id


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sizes", ["T=256; D=64", "T=1000; D=16"])
def test_long_rows_are_summed_in_any_order(sizes, dtype):
    """256 weights add up to 1 but for 1.3·10⁻¹⁵, textbook or not: more than a unit or two of the last place."""
    cases = draw_battery(lambda feature: feature in ("basic", "scale"), (dtype,), read_sizes(sizes))
    for case in cases[0], next(case for case in cases if case.feature == "scale"):
        (ones,) = BY_ID["rows-sum-to-one"].problems(case)
        scores = ones.query @ ones.key.swapaxes(-1, -2) * ones.query.dtype.type(ones.factor)
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
        one_by_one = exps.cumsum(axis=-1)[..., -1:]
        for output in (
            exps / exps.sum(axis=-1, keepdims=True) @ ones.value,
            exps / one_by_one @ ones.value,
            np.broadcast_to((exps / one_by_one).cumsum(axis=-1)[..., -1:], ones.value.shape),
        ):
            assert output.dtype == dtype
            assert not BY_ID["rows-sum-to-one"].violations(case, [output]).any()


BROKEN = [
    # law, a mistake that breaks it, why
    ("rows-sum-to-one", "softmax-not-normalised", "weights that sum to something else"),
    ("rows-sum-to-one", "mask-after-softmax", "the masked keys have had their share"),
    ("values-scale", "softmax-after-blend", "a softmax of twice the values is not twice the softmax"),
    ("scores-shift", "softmax-missing", "without a softmax nothing cancels the shift"),
    ("scores-shift", "scores-absolute", "a shift turns signs"),
    ("keys-have-no-order", "softmax-sum-without-last-key", "the last key is another one"),
    ("queries-are-apart", "output-accumulated", "a row holds what came before it"),
    ("queries-are-apart", "softmax-over-table", "a row's sum holds other rows"),
    ("samples-are-apart", "softmax-over-batch", "samples share one unit of weight"),
    ("samples-are-apart", "value-of-first-sample", "the last sample blends the first one's values"),
    ("heads-are-apart", "scores-summed-over-heads", "heads see one another's scores"),
    ("future-is-hidden", "causal-one-too-many", "every query sees one key ahead"),
    ("future-is-hidden", "causal-skipped", "every query sees all keys"),
    ("hidden-is-hidden", "lengths-one-too-many", "one key of the padding is seen"),
    ("cache-step", "softmax-over-queries", "with one query every weight is 1"),
    ("cache-step", "causal-top-left-for-bottom-right", "the last query counts as the first"),
]


@pytest.mark.parametrize(("id", "mistake", "why"), BROKEN)
def test_a_law_is_broken_by_a_mistake_that_breaks_it(id, mistake, why):
    law, wrong = BY_ID[id], mistake_named(mistake)
    broken = [
        case.id for case in cases_of(law) if law.violations(case, wrong_outputs(law, case, wrong)).any()
    ]
    assert broken


def cases_of(law):
    return [case for case in battery() if case.step == "output" and not case.lenient and law.problems(case)]


def wrong_outputs(law, case, wrong):
    """What a function gives that makes the mistake wherever it can."""
    return [
        run_wrong(problem, (wrong,) if can_be_made(problem, wrong) else ())["output"]
        for problem in law.problems(case)
    ]


def test_what_a_query_that_sees_nothing_gives_is_no_law():
    law = BY_ID["hidden-is-hidden"]
    case = next(case for case in battery() if case.id == "lengths/empty-sample")
    outputs = [trace(problem).output for problem in law.problems(case)]
    outputs[0][0] = np.nan
    assert not law.violations(case, outputs).any()


def test_a_law_is_tried_on_a_few_cases_of_different_features():
    for law in LAWS:
        chosen = cases_for(law, battery())
        assert 0 < len(chosen) <= MOST_CASES
        assert len({case.feature for case in chosen}) == len(chosen)
        assert not any(case.lenient for case in chosen)


def test_nan_breaks_a_law_unless_both_sides_have_it():
    law, case = BY_ID["values-scale"], battery()[0]
    outputs = [trace(problem).output for problem in law.problems(case)]
    outputs[1][0, 0, 0, 0] = np.nan
    assert law.violations(case, outputs).sum() == 1


def test_doubled_values_are_exactly_doubled():
    law, case = BY_ID["values-scale"], battery()[0]
    first, second = law.problems(case)
    assert isinstance(second, Problem)
    np.testing.assert_array_equal(second.value, 2 * first.value)
