"""Every number that a learner reads was worked by hand, and every equation holds."""

import math
import re

import pytest
from prose_checks import DECIMAL, ROW, holds, texts

from headwork.workbook.course import course

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
    # five levels
    "8.389": (e**2 + 1, "2.2: sum of the exponentials of [2 0]"),
    "0.881": (e**2 / (e**2 + 1), "2.2: weight 1"),
    "0.119": (1 / (e**2 + 1), "2.2: weight 2"),
    "8.81": (0.881 * 10, "2.3: component 1"),
    "1.19": (0.119 * 10, "2.3: component 2"),
    "8.0": (8, "3.2: a raw score"),
    "7.5": (7.5, "3.2: a raw score"),
    "0.5": (8.0 - 7.5, "3.2: their gap; in 4.2 half of the weight"),
    "1.6487": (e**0.5, "3.2: e^0.5"),
    "2.6487": (e**0.5 + 1, "3.2: the sum with it"),
    "0.6225": (1 / (1 + e**-0.5), "3.2: weight 1 without scaling"),
    "0.3775": (1 / (1 + e**0.5), "3.2: weight 2 without scaling"),
    "0.2350": (0.6225 * 0.3775, "3.2: σ(1 − σ) without scaling"),
    "0.3875": (0.6225**2, "3.2: σ² without scaling"),
    "0.5161": (8 / 15.5, "3.2: plain shares of 8 and 7.5, also of 1 and 0.9375"),
    "0.0625": (0.5 / 8, "3.2: the gap after scaling"),
    "0.9375": (7.5 / 8, "3.2: the second scaled score"),
    "0.0078": (0.5 / 64, "3.2: the gap over 64"),
    "1.0645": (e**0.0625, "3.2: e^0.0625"),
    "2.0645": (e**0.0625 + 1, "3.2: the sum with it"),
    "0.5156": (1 / (1 + e**-0.0625), "3.2: weight 1 after scaling"),
    "0.4844": (1 / (1 + e**0.0625), "3.2: weight 2 after scaling"),
    "0.2498": (0.5156 * 0.4844, "3.2: σ(1 − σ) after scaling"),
    "0.2658": (0.5156**2, "3.2: σ² after scaling"),
    "0.5020": (1 / (1 + e ** (-0.5 / 64)), "3.2: weight 1 where the gap is divided by 64"),
    "10.107": (e + e**2, "4.1: sum of [1 2], key 3 hidden"),
    "0.936": (e**5 / (e + e**2 + e**5), "4.1: weight 3 of [1 2 5], nothing hidden"),
    "0.099": (1 / (e + e**2), "4.1: 1 over a sum without it"),
    "0.015625": (64 / 64**2, "5.1: variance after dividing by 64"),
    "0.125": (1 / 8, "5.1: its root"),
    "1.1331": (e**0.125, "5.1: e^0.125"),
    "1.133": (e**0.125, "5.1: the same to three digits"),
    "0.531": (1 / (1 + e**-0.125), "5.1: weight 1 at a gap of 0.125"),
    "0.469": (1 / (1 + e**0.125), "5.1: weight 2 at a gap of 0.125"),
    "0.504": (1 / (1 + e ** (-1 / 64)), "5.1: weight 1 at a gap of 1/64"),
    "1.4142": (math.sqrt(2), "5.3: √2"),
    "2.8284": (4 / math.sqrt(2), "5.3: scaled score of key 1"),
    "16.918": (e**2.8284, "5.3: its exponential, from four digits"),
    "17.918": (e**2.8284 + 1, "5.3: the sum"),
    "0.9442": (1 / (1 + e ** -(4 / math.sqrt(2))), "5.3: weight 1"),
    "0.0558": (1 / (1 + e ** (4 / math.sqrt(2))), "5.3: weight 2"),
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
    "-1": "query.shape[-1], in code",
    # five levels
    "2 0": "2.1: scaled scores, 4/2 and 0/2; in 4.2 a key",
    "2 1": "1.2: scores, one twice the other",
    "0.881 0.119": "2.2: weights",
    "8.81 1.19": "2.3: output",
    "8.0 7.5": "3.2: given",
    "0.5 0": "3.2: 8.0 and 7.5, less 7.5",
    "1 2 5": "4.1: given",
    "1 2 −∞": "4.1: key 3 hidden",
    "1 2 0": "4.1: with 0 for −∞",
    "0.5 0.5": "4.2: asked for",
    "1 1": "4.2: k₁ of the example",
    "1 −1": "4.2: k₂ of the example",
    "3 0": "4.2: half-way between [2 0] and [4 0]",
    "4 0": "4.2: a key, 3·4 = 12",
    "0.125 0": "5.1: a gap of 1/8",
    "0.9442 0.0558": "5.3: weights and output",
}

EXERCISE = re.compile(r"(?:[Ee]xercise |level-)\d\.\d")  # a number that is a name


SETS = [one for one in course() if one.id in ("three-tokens", "levels")]
ALL = [
    *((exercise.id, text) for one in SETS for exercise in one.exercises for text in texts(exercise)),
    *((one.id, part.opening + part.recap) for one in SETS for part in one.parts),
    *((one.id, f"{one.opening} {one.closing}") for one in SETS),
    *((one.id, symbol.says) for one in SETS for symbol in one.symbols),
]


@pytest.mark.parametrize(("text", "value", "source"), [(text, *rest) for text, rest in BY_HAND.items()])
def test_the_table_itself_is_right(text, value, source):
    digits = len(text.partition(".")[2])
    # 22174.4 and 22175.4 come from rounded helper values; all others are the exact value, rounded
    assert abs(float(text) - value) <= 0.5000001 * 10**-digits, source


def test_every_decimal_in_the_texts_was_worked_by_hand():
    found = {number for _, text in ALL for number in re.findall(DECIMAL, EXERCISE.sub("", text))}
    assert found - set(BY_HAND) == set()
    assert set(BY_HAND) - found == set(), "these are in the table and in no text"


def test_every_row_in_brackets_was_worked_by_hand():
    found = {row for _, text in ALL for row in re.findall(ROW, text)}
    assert found == set(ROWS)


def test_every_equation_between_numbers_holds():
    checked = sum(holds(text) for _, text in ALL)
    assert checked > 20, "the pattern finds nothing any more"


@pytest.mark.parametrize("word", ["just", "simply", "obviously", "of course", "great", "well done", "easy"])
def test_no_word_that_makes_a_learner_feel_small(word):
    assert [text for _, text in ALL if re.search(rf"\b{word}\b", text, re.IGNORECASE)] == []


def test_no_symbol_is_used_before_the_card_names_it():
    card = " ".join(symbol.sign + symbol.says for one in course() for symbol in one.symbols)
    for symbol in ("Q", "K", "V", "d_k", "d_v", "S", "weights", "z", "qᵢ", "kⱼ", "vⱼ", "sᵢⱼ", "wᵢⱼ", "zᵢ"):
        assert symbol in card
