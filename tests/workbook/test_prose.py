"""Every number that a learner reads was worked by hand, and every equation holds."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from headwork.workbook.course import course, exercises
from headwork.workbook.exercises import Exercise
from headwork.workbook.questions import ExplainQuestion, NumberQuestion

e = math.e

# Decimals, as they stand in the texts: what each is, worked here from e and whole numbers.
BY_HAND = {
    # text      value                                source
    "2.718": (e, "e, a helper value"),
    "7.389": (e**2, "e², a helper value"),
    "148.4": (e**5, "e⁵, a helper value"),
    "2.72": (e, "e to two digits"),
    "7.39": (e**2, "e² to two digits"),
    "0.14": (e**-2, "the ratio of weights 2 and 3 of row 1"),
    "11.107": (e + 1 + e**2, "sum of row 1: e¹ + e⁰ + e²"),
    "0.245": (e / (e + 1 + e**2), "weight 1 of row 1"),
    "0.090": (1 / (e + 1 + e**2), "weight 2 of row 1"),
    "0.665": (e**2 / (e + 1 + e**2), "weight 3 of row 1"),
    "1.000": (1, "weights sum to 1"),
    "0.910": ((e + e**2) / (e + 1 + e**2), "z₁₁ = w₁₁ + w₁₃"),
    "0.755": ((1 + e**2) / (e + 1 + e**2), "z₁₂ = w₁₂ + w₁₃"),
    "4.718": (2 + e, "sum of row 2: e⁰ + e¹ + e⁰"),
    "9.389": (2 + e**2, "sum of row 3: e⁰ + e² + e⁰"),
    "0.212": (1 / (2 + e), "weights 1 and 3 of row 2"),
    "0.576": (e / (2 + e), "weight 2 of row 2"),
    "0.107": (1 / (2 + e**2), "weights 1 and 3 of row 3"),
    "0.787": (e**2 / (2 + e**2), "weight 2 of row 3"),
    "0.424": (2 / (2 + e), "z₂₁"),
    "0.788": ((1 + e) / (2 + e), "z₂₂"),
    "0.213": (2 / (2 + e**2), "z₃₁"),
    "0.214": (0.107 + 0.107, "z₃₁ from weights rounded to three digits"),
    "0.269": (1 / (1 + e), "row 2 masked: e⁰ / (e⁰ + e¹)"),
    "0.731": (e / (1 + e), "row 2 masked: e¹ / (e⁰ + e¹)"),
    "3.718": (1 + e, "sum of row 2, masked"),
    "22175.4": (148.4 + 1 + 22026, "sum of [5 0 10] from the helper values"),
    "22174.4": (148.4 + 22026, "the same without e⁰"),
    "0.0067": (e**5 / (e**5 + 1 + e**10), "weight 1 of [5 0 10]; also its σ(1 − σ)"),
    "0.00005": (1 / (e**5 + 1 + e**10), "weight 2 of [5 0 10]"),
    "0.0000": (1 / (e**5 + 1 + e**10), "weight 2 of [5 0 10] to four digits"),
    "0.9933": (e**10 / (e**5 + 1 + e**10), "weight 3 of [5 0 10]"),
    "0.9866": (0.9933**2, "σ² of the largest weight of [5 0 10]"),
    "0.0066": (0.0066, "σ(1 − σ), the lower end of what rounding gives"),
    "0.00666": (0.9933 * 0.0067, "σ(1 − σ) from rounded weights"),
    "0.00669": (e**10 / (e**5 + 1 + e**10) * (1 - e**10 / (e**5 + 1 + e**10)), "σ(1 − σ) unrounded"),
    "0.007": (0.00669, "the same to three digits"),
    "0.335": (1 - 0.665, "1 − σ of row 1"),
    "0.4422": (0.665**2, "σ² of row 1"),
    "0.2228": (0.665 * 0.335, "σ(1 − σ) of row 1 from the rounded weight"),
    "0.2227": (0.66524 * 0.33476, "σ(1 − σ) of row 1 unrounded"),
    "0.223": (0.2228, "the same to three digits"),
    "0.25": (1 / 4, "the top of σ(1 − σ), at σ = 1/2"),
}

# Rows in brackets, with where they come from: by hand from Q, K and V, or from the table above.
ROWS = {
    "2 0 0 0": "q₁, also k₃",
    "0 2 0 0": "q₂",
    "0 2 2 0": "q₃",
    "1 0 0 0": "k₁",
    "0 1 1 0": "k₂",
    "1 0": "v₁",
    "0 1": "v₂",
    "2 0 4": "S, row 1: 2·1, 2·0, 2·2",
    "0 2 0": "S, row 2: 2·0, 2·1, 2·0; also scaled row 3",
    "0 4 0": "S, row 3: 0, 2·1 + 2·1, 0",
    "1 0 2": "S/2, row 1",
    "0 1 0": "S/2, row 2",
    "5 0 10": "five times [1 0 2]",
    "0.245 0.090 0.665": "weights, row 1",
    "0.910 0.755": "z₁",
    "0.424 0.788": "z₂",
    "0.107 0.787 0.107": "weights, row 3",
    "1 −∞ −∞": "masked row 1",
    "0 1 −∞": "masked row 2",
    "0.269 0.731 0": "masked weights, row 2",
    "0.269 0.731": "z₂ under the causal mask",
}


def texts(exercise: Exercise) -> Iterator[str]:
    yield from (exercise.title, exercise.about, exercise.opening, exercise.recap, exercise.helpers)
    for question in exercise.questions:
        yield from (question.prompt, *question.hints)
        if isinstance(question, NumberQuestion):
            yield question.source
            yield from (f"{wrong.value}: {wrong.says}" for wrong in question.wrong)
        if isinstance(question, ExplainQuestion):
            yield from (question.ours, *question.points)


ALL = [
    *((exercise.id, text) for exercise in exercises() for text in texts(exercise)),
    *((one.id, part.opening + part.recap) for one in course() for part in one.parts),
    *((one.id, f"{one.opening} {one.closing}") for one in course()),
]


@pytest.mark.parametrize(("text", "value", "source"), [(text, *rest) for text, rest in BY_HAND.items()])
def test_the_table_itself_is_right(text, value, source):
    digits = len(text.partition(".")[2])
    # 22174.4 and 22175.4 come from rounded helper values; all others are the exact value, rounded
    assert abs(float(text) - value) <= 0.5000001 * 10**-digits, source


def test_every_decimal_in_the_texts_was_worked_by_hand():
    found = {number for _, text in ALL for number in re.findall(r"\d+\.\d+", text)}
    assert found - set(BY_HAND) == set()
    assert set(BY_HAND) - found == set(), "these are in the table and in no text"


def test_every_row_in_brackets_was_worked_by_hand():
    found = {row for _, text in ALL for row in re.findall(r"\[([^\]]*)\]", text)}
    assert found == set(ROWS)


NUMBER = r"\d+(?:\.\d+)?"
SUM = rf"(?:{NUMBER})(?: ?[·+/−*] ?{NUMBER})*"
EQUATION = re.compile(rf"(?<![\w.√·/²^])({SUM})(?: (?:=|≈) {SUM})+(?![\w²^]| [·+/−*])")


def equations() -> Iterator[tuple[str, list[str]]]:
    for _, text in ALL:
        for found in EQUATION.finditer(" ".join(text.split())):
            yield found.group(), re.split(r" [=≈] ", found.group())


def value(text: str) -> float:
    return float(eval(text.replace("·", "*").replace("−", "-")))


def test_every_equation_between_numbers_holds():
    found = list(equations())
    assert len(found) > 20, "the pattern finds nothing any more"
    for whole, sides in found:
        for left, right in pairwise(sides):
            digits = len(right.partition(".")[2]) if re.fullmatch(NUMBER, right) else 3
            assert abs(value(left) - value(right)) <= 0.5000001 * 10**-digits, whole


@pytest.mark.parametrize("word", ["just", "simply", "obviously", "of course", "great", "well done", "easy"])
def test_no_word_that_makes_a_learner_feel_small(word):
    assert [text for _, text in ALL if re.search(rf"\b{word}\b", text, re.IGNORECASE)] == []


def test_no_symbol_is_used_before_the_card_names_it():
    card = " ".join(symbol.sign + symbol.says for one in course() for symbol in one.symbols)
    for symbol in ("Q", "K", "V", "d_k", "d_v", "S", "weights", "z", "qᵢ", "kⱼ", "vⱼ", "sᵢⱼ", "wᵢⱼ", "zᵢ"):
        assert symbol in card
