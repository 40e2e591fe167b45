"""Arithmetic slips, made by hand on the three tokens: each is found among the readings."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from three_tokens import SCORES, VALUE, changed, softmax, three_tokens

from headwork import Problem, diagnose, trace
from headwork.diagnosis.slips import MOST_READINGS

WEIGHTS = np.round(softmax(SCORES / 2), 3)  # [0.245 0.090 0.665] [0.212 0.576 0.212] [0.107 0.787 0.107]
OUTPUT = np.round(softmax(SCORES / 2) @ np.array(VALUE), 3)
SHIFTED = np.round(np.exp(SCORES / 2 - [[2], [1], [2]]), 3)
PLAIN = np.round(np.exp(SCORES / 2), 3)
UNDIVIDED = np.vstack([WEIGHTS[0], SHIFTED[1], WEIGHTS[2]])

ALONE = [
    # kind                 step            answer                                       source
    ("term-dropped", "scores", changed(SCORES, (3, 2, 2)), "q₃·k₂ = 2·1 + 2·1, one of the two is missing"),
    ("term-doubled", "scores", changed(SCORES, (3, 2, 6)), "one of them twice"),
    ("term-sign", "scores", changed(SCORES, (3, 2, 0)), "2·1 − 2·1"),
    ("term-partner", "scores", changed(SCORES, (3, 2, 2)), "q₃₂ meets k₂₁ = 0 in place of k₂₂ = 1"),
    ("sign-lost", "scores", changed(SCORES, (1, 3, -4)), "4 is −4"),
    ("entries-swapped", "scores", changed(SCORES, (1, 1, 4), (3, 2, 2)), "2 and 4 changed places"),
    ("rows-swapped", "scores", SCORES[[1, 0, 2]], "rows 1 and 2 changed places"),
    ("columns-swapped", "scores", SCORES[:, [1, 0, 2]], "columns 1 and 2 changed places"),
    ("point-moved", "scores", changed(SCORES, (3, 2, 40)), "4 is 40"),
    ("point-moved", "weights", changed(WEIGHTS, (1, 1, 2.45)), "0.245 is 2.45"),
    ("point-moved", "weights", changed(WEIGHTS, (1, 3, 0.067)), "0.665 is 0.067"),
    ("digits-transposed", "weights", changed(WEIGHTS, (1, 1, 0.254)), "0.245 is 0.254"),
    ("row-not-normalised", "weights", UNDIVIDED, "e^0/e^1 …, not divided"),
    ("row-not-normalised", "weights", np.vstack([WEIGHTS[0], PLAIN[1], WEIGHTS[2]]), "e^0 …"),
    ("exponential-off", "exponentials", changed(SHIFTED, (1, 1, 0.135)), "e^−2 for e^−1"),
    ("exponential-sign", "exponentials", changed(PLAIN, (1, 1, 0.368)), "e^−1 for e^1"),
    ("exponential-missing", "exponentials", changed(PLAIN, (1, 3, 2)), "2 for e²"),
    ("entry-copied", "scores", changed(SCORES, (3, 2, 2)), "the number above it"),
    ("term-dropped", "output", changed(OUTPUT, (3, 2, 0.107)), "z₃₂ without 0.787 · 1"),
    ("sign-lost", "output", changed(OUTPUT, (1, 1, -0.910)), "0.910 is −0.910"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "step", "answer", "source"), ALONE, ids=[f"{row[0]}-{row[1]}" for row in ALONE]
)
def test_a_slip_is_among_the_readings(kind, step, answer, source):
    found = diagnose(three_tokens(), answer, step, 3)
    assert found.verdict == "slip", source
    assert found.after == ()
    assert kind in [slip.kind for slip in found.slips], source
    per_entry = [slip.entries for slip in found.slips]
    assert max(map(per_entry.count, per_entry)) <= MOST_READINGS


SAID = [
    ("scores", changed(SCORES, (3, 2, 2)), "Row 3, column 2 would be right with one more 2 × 1"),
    ("scores", SCORES[[1, 0, 2]], "Rows 1 and 2 have changed places."),
    ("weights", changed(WEIGHTS, (1, 1, 0.254)), "Row 1, column 1 is 0.245 with 4 and 5 transposed."),
    ("weights", UNDIVIDED,
     "Row 2 holds the exponentials; what is left is to divide them by their sum."),
    ("exponentials", changed(SHIFTED, (1, 1, 0.135)),
     "Row 1, column 1 is e to the power of −2; the exponent is −1"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "answer", "expected"), SAID)
def test_a_slip_is_said_in_the_numbers_of_the_problem(step, answer, expected):
    assert diagnose(three_tokens(), answer, step, 3).sentence.startswith(expected)


def test_two_wrong_entries_are_both_told():
    sentence = diagnose(three_tokens(), changed(SCORES, (1, 3, -4), (3, 2, 6)), "scores").sentence
    assert "ow 1, column 3" in sentence
    assert "; and row 3, column 2" in sentence


AFTER = [
    # step     answer                                             after                        kind, entry
    ("scaled", changed(SCORES / 4, (2, 2, -0.5)), "scale-d-k-instead-of-sqrt", "sign-lost", (0, 1, 1)),
    ("scaled", changed(SCORES, (3, 2, -4)), "scale-missing", "sign-lost", (0, 2, 1)),
    ("weights", changed(np.round(softmax(SCORES / 4), 3), (3, 2, 0.567)), "scale-d-k-instead-of-sqrt",
     "digits-transposed", (0, 2, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("step", "answer", "mistake", "kind", "entry"), AFTER)
def test_a_slip_after_a_mistake(step, answer, mistake, kind, entry):
    found = diagnose(three_tokens(), answer, step, 3)
    assert found.verdict == "slip"
    assert [each.id for each in found.after] == [mistake]
    assert (kind, (entry,)) in [(slip.kind, slip.entries) for slip in found.slips]


def test_divided_by_d_k_and_row_2_column_1_lost_its_sign():
    query = [[2, 0, 0, 0], [1, -2, 0, 0], [0, 2, 2, 0]]  # row 2: −2, and 4 under the third key
    problem = Problem(query=query, key=[[0, 1, 1, 0], [0, 1, 1, 0], [4, 0, 0, 0]], value=VALUE)
    scaled = trace(problem)["scores"] / 4
    found = diagnose(problem, changed(scaled, (2, 1, -scaled[1, 0])), "scaled", 3)
    assert found.sentence == (
        "These are the numbers of somebody who divided by d_k instead of √d_k (d_k = 4, √d_k = 2), "
        "but for a slip: row 2, column 1 has the opposite sign."
    )


def test_a_negative_factor_stands_in_brackets():
    problem = Problem(query=[[1, -3], [2, 1]], key=[[1, 2], [3, 1]], value=[[1], [2]])  # q₁·k₁ = 1 − 6
    assert diagnose(problem, [[1, 0], [4, 7]], "scores").sentence.startswith(
        "Row 1, column 1 would be right with one more (−3) × 2"
    )


def test_many_wrong_entries_are_no_slip():
    found = diagnose(three_tokens(), SCORES + np.array([[1.1, 2.2, 3.3], [1.7, 2.3, 0], [0, 0, 0]]), "scores")
    assert found.slips == ()


@settings(max_examples=40)
@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(0, 3), st.sampled_from(["dropped", "doubled", "sign"])
)
def test_a_product_dropped_doubled_or_subtracted_is_always_among_the_readings(row, column, term, how):
    rng = np.random.default_rng(row * 100 + column * 10 + term)
    query, key = (rng.choice([-3, -2, -1, 1, 2, 3], (3, 4)) for _ in range(2))
    problem = Problem(query=query, key=key, value=VALUE)
    product = query[row - 1, term] * key[column - 1, term]
    wrong = (
        trace(problem)["scores"][row - 1, column - 1]
        + {"dropped": -1, "doubled": 1, "sign": -2}[how] * product
    )
    found = diagnose(problem, changed(trace(problem)["scores"], (row, column, wrong)), "scores")
    assert found.verdict in ("slip", "consistent")  # a mistake may give the same single number
    assert f"term-{how}" in [slip.kind for slip in found.slips]


HEADS = Problem(**{name: np.arange(24.0).reshape(2, 3, 4) % 5 for name in ("query", "key", "value")})


def test_with_heads_the_entry_is_named_with_its_head():
    scores = trace(HEADS)["scores"].copy()
    scores[1, 0, 2] *= -1
    sentence = diagnose(HEADS, scores, "scores").sentence
    assert sentence.startswith("Head 2, row 1, column 3")


def test_row_quantities_have_slips_too():
    sums = np.round(np.exp(SCORES / 2).sum(axis=1), 3)  # 11.107 4.718 9.389
    found = diagnose(three_tokens(), [sums[0], 4.781, sums[2]], "row_sum", 3)
    assert [slip.kind for slip in found.slips] == ["digits-transposed"]
    assert found.sentence == "Row 2 is 4.718 with 1 and 8 transposed."


def test_rows_that_changed_places_in_one_head_only():
    rng = np.random.default_rng(0)
    problem = Problem(**{name: rng.normal(size=(2, 3, 4)).round(1) for name in ("query", "key", "value")})
    right = np.round(trace(problem)["output"], 3)
    answer = right.copy()
    answer[1, [0, 2]] = right[1, [2, 0]]
    found = diagnose(problem, answer, "output", 3)
    assert found.sentence == "Head 2, rows 1 and 3 have changed places."
    assert found.slips[0].entries == tuple((1, i, c) for i in (0, 2) for c in range(4))
    answer[0, [0, 1]] = right[0, [1, 0]]
    sentence = diagnose(problem, answer, "output", 3).sentence
    assert (
        sentence == "Head 1, rows 1 and 2 have changed places; and head 2, rows 1 and 3 have changed places."
    )
    both = diagnose(problem, right[:, [0, 2, 1]], "output", 3)
    assert both.sentence == "Rows 2 and 3 have changed places."


def test_exponents_too_large_for_a_number_are_no_reading_and_no_warning(recwarn):
    """Source: by hand; e^900 is beyond float64."""
    problem = Problem(query=[[30.0], [1.0]], key=[[30.0], [1.0]], value=[[1.0], [2.0]], scale=1.0)
    diagnose(problem, [[1.0, 5.0], [1.0, 0.0]], "exponentials", 3)
    diagnose(
        problem, {"scaled": [[-900.0, 30.0], [30.0, 1.0]], "exponentials": [[1.0, 0.5], [1.0, 0.0]]}, digits=3
    )
    assert not [each.message for each in recwarn]
