"""What a finding says, in the words and numbers of the problem."""

import numpy as np
import pytest
from made import BY_ID
from three_tokens import three_tokens

from headwork import Problem
from headwork.diagnosis.search import Finding
from headwork.diagnosis.wording import describe, finding_sentence, number, size_values
from headwork.mistakes.catalogue import CATALOGUE

WIDE = Problem(query=np.ones((2, 3, 4)), key=np.ones((1, 5, 4)), value=np.ones((1, 5, 6)))


def test_sizes_go_by_the_names_that_people_use():
    sizes = size_values(WIDE)
    assert {name: sizes[name] for name in ("d_k", "d_v", "d_model", "Tq", "Tk", "H", "Hkv")} == {
        "d_k": 4, "d_v": 6, "d_model": 8, "Tq": 3, "Tk": 5, "H": 2, "Hkv": 1,
    }  # fmt: skip
    assert sizes["√d_k"] == 2
    assert "d_v" not in size_values(Problem(given={"weights": [[0.5, 0.5]]}))


PHRASES = [
    # mistakes, θ                                     says
    (("scale-d-k-instead-of-sqrt",), None, "divided by d_k instead of √d_k (d_k = 4, √d_k = 2)"),
    (("scale-by-another-number",), 5.0, "(θ = 5 = Tk"),
    (("scale-by-another-number",), -4.0, "(θ = -4 = −d_k"),
    (("scale-by-another-number",), 3.1, "(θ = 3.1, which is no size of this problem"),
    (("output-times-another-number",), 4.0, "(θ = 4)"),
]


@pytest.mark.parametrize(("ids", "theta", "words"), PHRASES)
def test_a_mistake_is_told_with_the_sizes_that_it_speaks_of(ids, theta, words):
    assert words in describe(WIDE, tuple(BY_ID[id] for id in ids), theta)


def test_two_mistakes_are_joined_by_and():
    pair = (BY_ID["scale-missing"], BY_ID["softmax-over-queries"])
    assert describe(WIDE, pair) == " and ".join(describe(WIDE, (each,)) for each in pair)


NUMBERS = [(2.0, "2"), (0.12346, "0.1235"), (-8.0, "-8"), (1234567.0, "1.235e+06"), (1e-9, "1e-09")]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_a_number_has_four_significant_digits(value, text):
    assert number(value) == text


def finding(*readings: tuple[str, ...], bits: float) -> Finding:
    return Finding(tuple(tuple(BY_ID[id] for id in ids) for ids in readings), np.zeros(1), bits)


def test_what_is_named_is_said_to_the_learner_and_how_to_mend_it():
    said = finding_sentence(three_tokens(), finding(("scale-missing",), bits=40))
    assert said.startswith("You ")
    assert "these are exactly the numbers that gives" in said
    assert said.endswith(BY_ID["scale-missing"].mend)


def test_what_is_not_sure_is_said_of_somebody():
    said = finding_sentence(three_tokens(), finding(("scale-missing",), bits=5))
    assert "somebody who" in said
    assert "You " not in said


def test_a_convention_is_no_mistake_and_has_nothing_to_mend():
    said = finding_sentence(three_tokens(), finding(("mask-polarity",), bits=40))
    assert "under another convention" in said
    assert "You " not in said
    assert BY_ID["mask-polarity"].mend not in said


def test_of_a_mistake_and_a_convention_together_only_the_mistake_is_mended():
    said = finding_sentence(three_tokens(), finding(("causal-strict", "fully-masked-row-nan"), bits=40))
    assert said.endswith(BY_ID["causal-strict"].mend)


@pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)
def test_every_mistake_reads_as_a_sentence(mistake):
    problem = mistake.witness.draw()
    for bits in (5.0, 40.0):
        said = finding_sentence(problem, Finding(((mistake,),), np.zeros(1), bits, 2.0))
        assert said[0].isupper()
        assert said[-1] in ".…"
        assert "  " not in said
        assert " ." not in said
        assert "you you" not in said.lower()
