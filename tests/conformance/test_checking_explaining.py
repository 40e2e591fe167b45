"""Evidence is pooled: a rule that stands gives what came back on every case, and more is asked where it is unclear."""

from __future__ import annotations

from typing import Any

import numpy as np
from zoo import mutated

from headwork import check
from headwork.conformance.adapter import recognise
from headwork.conformance.battery import Case, draw_battery
from headwork.conformance.comparing import Asked, ask
from headwork.conformance.explaining import Cases, Rule, cut_in_parts, explain, plain_number
from headwork.conformance.here import Here
from headwork.conformance.second_round import told_apart
from headwork.conformance.stated import Stated
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
