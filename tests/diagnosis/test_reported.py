"""Every bug reported in public is named from its wrong numbers alone; right ones are never accused.

The file's numbers come from two programs that share nothing with this package (tests/data/README.md).
"""

import pytest
from cases import load

from headwork import diagnose
from headwork.diagnosis.diagnosing import Diagnosis
from headwork.mistakes.lookup import mistake_named

CASES = {case.id: case for case in load()}

# The case's kind where `diagnose` calls it by another name, and why.
NAMES = {
    "H16": (
        "fully-masked-row-nan",
        "an overflow to −∞ empties the row; what the program shows is an empty row that is NaN",
    ),
}
# Told as a fact that fits, not as what was done; each with the reason why the numbers cannot say more.
CONSISTENT = {
    (
        "H08",
        "output",
    ): "one query: every weight is 1, and the output is the sum of the values by any of eight rules",
    ("H08", "weights"): "every weight is 1",
    ("H15", "output"): "one row is wrong, 0.7 and 0.0: plain numbers, which five fills give",
    ("H15", "weights"): "one row is wrong: 0, 0, 1/2, 1/2",
    ("H27", "output"): "four right entries have changed places, and there are only eight",
}
CONVENTIONS = {"H10", "H11", "H16", "H17", "H19", "H21", "H22", "H25"}


def found(id: str, step: str) -> Diagnosis:
    return diagnose(CASES[id].problem, CASES[id].wrong[step], step)


WRONG = [
    (case.id, step)
    for case in CASES.values()
    for step in case.wrong
    if (case.id, step) not in (("H27", "weights"), ("H30", "weights"))
]


def test_all_38_cases_are_here_and_their_weights_where_they_are_known():
    assert len(CASES) == 38
    assert len(WRONG) == 73


@pytest.mark.parametrize(("id", "step"), WRONG)
def test_it_is_named_from_the_wrong_numbers_alone(id, step):
    diagnosis = found(id, step)
    kind = NAMES[id][0] if id in NAMES else CASES[id].kind
    readings = {name for reading in diagnosis.mistakes for name in reading}
    assert mistake_named(kind).id in {mistake_named(name).id for name in readings}, diagnosis.sentence
    if id in CONVENTIONS:
        assert diagnosis.verdict == "convention"
    elif (id, step) in CONSISTENT:
        assert diagnosis.verdict == "consistent", CONSISTENT[id, step]
    else:
        assert diagnosis.verdict in ("mistake", "rounding")
        assert any(finding.named for finding in diagnosis.findings)


@pytest.mark.parametrize("id", ["H27", "H30"])
def test_weights_that_are_right_in_spite_of_the_bug_are_right(id):
    assert found(id, "weights").verdict == "right"


@pytest.mark.parametrize("id", sorted(CASES))
def test_the_right_numbers_are_never_accused(id):
    case = CASES[id]
    for step, right in case.right.items():
        verdict = diagnose(case.problem, right, step).verdict
        assert verdict == ("convention" if id == "H16" else "right"), step


def test_where_rules_give_the_same_numbers_all_are_named():
    both = {"mask-fill-zero", "mask-fill-not-low-enough"}
    assert both <= {name for reading in found("H15", "output").mistakes for name in reading}


def test_a_mistake_hidden_by_a_convention_is_told_with_it():
    assert ("fully-masked-row-nan", "causal-strict") in found("H23", "output").mistakes
