"""Evidence is pooled: a rule that stands gives what came back on every case, and more is asked where it is unclear."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from zoo import mutated

from headwork import check
from headwork.conformance.adapter import recognise
from headwork.conformance.battery import Case, draw_battery
from headwork.conformance.cases import Cases
from headwork.conformance.checking import explained_by
from headwork.conformance.comparing import Asked, ask
from headwork.conformance.explaining import explain
from headwork.conformance.explaining_numbers import plain_number
from headwork.conformance.here import Here
from headwork.conformance.left_open import cut_in_parts
from headwork.conformance.rules import Found, Group, Rule
from headwork.conformance.second_round import told_apart
from headwork.conformance.stated import Stated
from headwork.diagnosis.search import MOST_ENTRIES, applicable
from headwork.mistakes.lookup import mistake_named
from headwork.problem import Problem


def answered(function: Any, *ids: str, **stated: Any) -> tuple[Here, Any, list[Asked]]:
    """The function's answers to some cases of the battery."""
    subject = Here(function)
    interface = recognise(subject, Stated(dtypes=("float64",), **stated))
    cases: dict[str, Case] = {
        case.id: case for case in draw_battery(lambda name: bool(interface.supports(name)), interface.dtypes)
    }
    return subject, interface, [ask(subject, interface, cases[id]) for id in ids]


def cases_of(asked: list[Asked]) -> Cases:
    return Cases([each for each in asked if each.is_wrong], [each for each in asked if not each.is_wrong])


def rule(*ids: str) -> Rule:
    return Rule(tuple(map(mistake_named, ids)))


def ids_of(one: Rule) -> tuple[str, ...]:
    return tuple(mistake.id for mistake in one.mistakes)


def test_a_rule_that_fits_one_case_and_not_another_does_not_stand() -> None:
    """With as many keys as columns, √Tk is √d_k."""
    _, _, asked = answered(mutated.mutated("scale-missing"), "basic/sizes-agree", "basic/sizes-differ")
    cases = cases_of(asked)
    assert cases.hold(rule("scale-missing"))
    assert not cases.hold(rule("scale-by-key-count"))
    assert [each.rules[0].hypothesis for each in explain(cases)] == [rule("scale-missing").hypothesis]


def test_a_rule_that_spoils_a_right_case_does_not_stand() -> None:
    _, _, asked = answered(mutated.mutated("mask-ignored"), "basic/sizes-differ", "mask-bool/per-head")
    cases = cases_of(asked)
    assert [each.case.id for each in cases.passing] == ["basic/sizes-differ"]
    assert cases.hold(rule("mask-ignored"))
    assert not cases.hold(rule("scale-missing"))


def test_a_mistake_that_a_case_has_no_place_for_gives_the_right_numbers_there() -> None:
    _, _, asked = answered(mutated.mutated(), "basic/sizes-differ")
    assert Cases([], asked).hold(rule("softcap-ignored"))


def test_numbers_in_a_rule_are_solved_for_and_said_with_the_fewest_digits() -> None:
    _, _, asked = answered(
        mutated.mutated("softmax-another-base", theta=3.0), "basic/sizes-differ", "basic/square"
    )
    groups = explain(cases_of(asked))
    thetas = {one.theta for group in groups for one in group.rules}
    assert 3.0 in thetas
    assert plain_number(2.9999999, 1e-6) == 3.0
    assert plain_number(2.718281828, 1e-9) == 2.718281828


def test_an_input_is_asked_that_tells_apart_what_was_left() -> None:
    """On one key alone nothing tells these apart; the second round draws more keys."""
    subject, interface, asked = answered(
        mutated.mutated("values-averaged"), "basic/sizes-differ", "basic/one-token", "basic/square"
    )
    cases = cases_of(asked[:1])
    both = explain(cases)[0]
    doubtful = type(both)((rule("values-averaged"), rule("scale-missing")), both.bits)
    left, more = told_apart(subject, interface, (doubtful,), cases, 1)
    assert len(more) == 1
    assert "second-round" in more[0].case.id
    assert [one.hypothesis for group in left for one in group.rules] == [rule("values-averaged").hypothesis]


# --- rows that are too many to try every rule on all of them ---------------------------------------


@pytest.mark.parametrize(
    ("id", "theta", "said"),
    [
        ("scale-d-k-instead-of-sqrt", None, "divided by d_k"),  # on a few rows as on all
        ("softmax-over-queries", None, "down the columns"),  # needs all queries
        ("softmax-another-base", 3.0, "θ = 3"),  # a number to solve for
    ],
)
def test_on_long_inputs_a_mistake_is_named_from_a_few_rows(id: str, theta: float | None, said: str) -> None:
    wrong = mutated.mutated(id) if theta is None else mutated.mutated(id, theta=theta)
    report = check(wrong, dtypes=("float64",), sizes="B=1; H=1; T=256; D=8").of("basic")
    long = report.cases[0].case.problem
    assert len(applicable(long, "output")) * long.Tq * long.Tk > MOST_ENTRIES
    assert [each.ids[0] for each in report.explanations] == [(id,)]
    assert said in report.sentence


def columns_and_scale_twice(query: Any, key: Any, value: Any, scale: float | None = None) -> Any:
    """Over the queries, which needs all of them; and beside that a scale of one's own, twice."""
    exps = np.exp(query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale**2))
    return exps / exps.sum(-2, keepdims=True) @ value


def columns_under_a_mask(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """Over the queries where there is a mask, and NaN where a query may see nothing."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    exps = np.exp(scores) if mask is None else np.where(mask, np.exp(scores), 0)
    with np.errstate(invalid="ignore"):
        return exps / exps.sum(-1 if mask is None else -2, keepdims=True) @ value


@pytest.mark.parametrize("T", [16, 256])
@pytest.mark.parametrize(
    ("wrong", "feature", "id", "stated"),
    [
        (columns_and_scale_twice, "scale", "scale-given-twice", {}),
        (columns_under_a_mask, "mask-bool", "softmax-over-queries", {"empty_rows": "nan"}),
    ],
)
def test_on_long_inputs_what_needs_all_queries_stays_beside_the_rest(
    wrong: Any, feature: str, id: str, stated: dict[str, str], T: int
) -> None:
    report = check(wrong, dtypes="float64", sizes=f"B=1; H=1; T={T}; D=8", **stated).of(feature)
    assert id in report.explanations[0].ids[0], report.sentence


# --- a second flaw that shows on some cases only --------------------------------------------------


def exponentials_of_raw_scores(q: Any, k: Any, v: Any) -> Any:
    """Normalised over the queries, and no maximum subtracted: two faults in one step."""
    with np.errstate(all="ignore"):
        e = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        return e / e.sum(-2, keepdims=True) @ v


def test_a_mistake_is_named_by_its_numbers_and_the_second_one_where_it_overflows() -> None:
    report = check(exponentials_of_raw_scores, layout="BHTD", dtypes=("float64",)).of("basic")
    first, second = report.explanations
    assert first.ids == (("softmax-over-queries",),)
    assert second.ids == (("softmax-without-max",),)
    assert set(second.cases) == {"basic/far-scores", "basic/low-scores"}
    assert not set(first.cases) & set(second.cases)
    assert "Beside that, on basic/far-scores, basic/low-scores, it exponentiated" in report.sentence
    assert report.unexplained == ()


def test_a_rule_explains_nan_only_where_exponentials_leave_the_range() -> None:
    _, _, (far, plain) = answered(exponentials_of_raw_scores, "basic/far-scores", "basic/sizes-differ")
    both = cases_of([far, plain])
    one = rule("softmax-over-queries")
    assert both.holds(one, plain)
    assert not both.holds(one, far)
    assert both.holds(replace(one, overflows=True), far)
    spoilt = replace(plain, values={"output": np.where(plain.off, np.nan, plain.values["output"])})
    assert not both.holds(replace(one, overflows=True), spoilt)
    assert not both.holds(replace(rule("scale-missing"), overflows=True), plain)


def test_an_explanation_that_belongs_to_an_earlier_feature_keeps_what_was_found_there() -> None:
    """It names only those of the cases that it explains."""
    _, _, asked = answered(exponentials_of_raw_scores, "basic/far-scores", "basic/sizes-differ")
    found = Found((Group((rule("softmax-over-queries"),), 100.0),), ())
    assert [one.cases for one in explained_by(found, asked)] == [(asked[1],)]
    assert [*explained_by(replace(found, groups=(Group((rule("scale-missing"),), 1.0),)), asked)] == []


def test_a_rule_that_raises_its_own_zero_sums_may_give_nan_for_them() -> None:
    """0/0 is NaN in NumPy, and 0 where nobody may look: code has no such case."""

    def attention(q: Any, k: Any, v: Any) -> Any:
        with np.errstate(all="ignore"):
            s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
            e = np.exp(s - s.max(-2, keepdims=True))
            return e / e.sum(-1, keepdims=True) @ v

    _, _, (far,) = answered(attention, "basic/far-scores")
    assert np.isnan(far.values["output"]).any()
    assert cases_of([far]).holds(rule("row-max-over-queries"), far)


def test_dropout_explains_only_what_it_can_be_read_off() -> None:
    _, _, asked = answered(mutated.mutated("scale-missing"), "basic/sizes-agree", "basic/sizes-differ")
    cases = cases_of(asked)
    chance = replace(rule("dropout-at-inference"), theta=0.25, by_chance=True)
    assert not cases.holds(chance, asked[0])
    assert cases.holds(chance, asked[1])  # 7 keys: too many to tell
    assert {id for group in explain(cases) for one in group.rules for id in ids_of(one)} == {"scale-missing"}


def test_dropout_that_is_left_on_is_named_although_its_pattern_is_chance() -> None:
    random = np.random.RandomState(3)

    def attention(q: Any, k: Any, v: Any) -> Any:
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        w = np.exp(s - s.max(-1, keepdims=True))
        w /= w.sum(-1, keepdims=True)
        return np.where(random.random_sample(w.shape) < 0.25, 0, w / 0.75) @ v

    result = check(attention, layout="BHTD", dtypes=("float64",))
    assert result.of("basic").explanations[0].ids == (("dropout-at-inference",),)
    assert result.of("basic").explanations[0].thetas == (0.25,)


def test_evidence_is_counted_without_anything_else_being_asked_first() -> None:
    _, _, asked = answered(mutated.mutated("scale-missing"), "basic/sizes-agree", "basic/sizes-differ")
    assert cases_of(asked).bits > 100


def test_keys_are_cut_in_two_and_three_parts_in_every_way() -> None:
    rows = np.ones((4, 2))
    cuts = {
        tuple(problem.chunks or ()) for problem in cut_in_parts(Problem(query=rows, key=rows, value=rows))
    }
    assert cuts == {(1, 3), (2, 2), (3, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)}


def test_conventions_that_were_found_amid_mixed_heads_are_looked_at_again() -> None:
    """Joined feature by feature, the heads' masks seem to be the other way round."""
    result = check(mutated.mutated("head-merge-interleaved"), layout="BTE", dtypes=("float64",))
    assert result.of("basic").explanations[0].ids == (("head-merge-interleaved",),)
    assert result.of("mask-bool").follows == "basic"
