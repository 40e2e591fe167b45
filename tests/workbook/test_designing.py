"""Whatever has the property is right, and is told what its own is."""

import pytest

from headwork.errors import AnswerError
from headwork.workbook.designing import design_rows, designed, without_names
from headwork.workbook.finding import find_exercise

EVEN = find_exercise("level-4.2")
QUESTION = EVEN.questions[0]

DESIGNS = [
    # q, k₁, k₂              right   what is said, by hand
    ("1 0; 1 1; 1 -1", True, "[1 1]"),
    ("3 -2; 2 0; 4 3", True, "[6 6]"),  # 3·2 − 2·0 and 3·4 − 2·3
    ("0 0; 1 2; 3 4", True, "[0 0]"),
    ("0.1 0.2; 3 0; 1 1", True, "[0.3 0.3]"),  # 0.1·3 is not 0.1 + 0.2 in float64
    ("√2 0; √2 1; 2/√2 5", True, "[2 2]"),
    ("1 0; 1 1; 2 1", False, "[1 2], and the weights [0.330 0.670]"),  # e^(1/√2) = 2.028: 1/3.028
    ("1 0; 1 1; 1.0001 1", False, "[1 1.0001], and the weights [0.499982 0.500018]"),  # gap 0.0001/√2
    ("0 1; 0 0; 0 -1", False, "[0 −1]"),
]

REFUSED = ["1 0; 1 1; 1 _", "nan 0; 1 1; 1 1", "1 0; inf 0; 1 1", "1e200 0; 1e200 0; 1 1"]


@pytest.mark.parametrize(("answer", "is_right", "said"), DESIGNS)
def test_a_design_is_right_where_it_has_the_property(answer, is_right, said):
    found = designed(EVEN, QUESTION, answer)
    assert found.is_right is is_right
    assert said in found.says


@pytest.mark.parametrize("answer", REFUSED)
def test_numbers_that_cannot_be_worked_cost_nothing(answer):
    with pytest.raises(AnswerError):
        designed(EVEN, QUESTION, answer)


def test_rows_are_called_by_what_they_are():
    assert design_rows(QUESTION) == ("q", "k₁", "k₂")


def test_names_before_the_numbers_are_read_over():
    assert without_names("q = 1 0; k₁: 1 1;k2=1 -1").replace(" ", "") == "10;11;1-1"
    assert without_names("1 0; e 1; -inf 2") == "1 0; e 1; -inf 2"
