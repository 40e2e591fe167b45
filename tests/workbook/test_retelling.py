"""What a learner is told with drawn numbers can be followed from what is on the page, line by line."""

import random
from dataclasses import replace

import pytest

from headwork.workbook.drawing import draw_fields
from headwork.workbook.finding import find_exercise
from headwork.workbook.numbers import drawn
from headwork.workbook.questions import StepQuestion
from headwork.workbook.retelling import helpers, step_hints
from headwork.workbook.solutions import UNROUNDED, solution


def hints_of(name, question):
    """Hints as they are made, here from the exercise's own numbers, which were worked by hand."""
    exercise = find_exercise(name)
    return step_hints(exercise, next(one for one in exercise.questions if one.id == question))


FIRST = [
    # exercise           question   what the first hint works out, by hand
    ("level-5.3",        "scaled",  "s₁₁ = 2·2 + 0·0 = 4"),
    ("cross-attention",  "weights", "s₁₁ = 4 / √4 = 2"),
    ("two-heads",        "joined",  "z₁₂ = 0.731·0 + 0.269·3 = 0.807"),
    ("alibi",            "biased",  "s₁₂ = 4 / √4 = 2"),
    ("softcap",          "weights", "s₁₄ = −∞: the mask hides key 4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "line"), FIRST)
def test_what_was_not_asked_before_is_worked_first(name, question, line):
    first = hints_of(name, question)[0]
    assert first.startswith("First the ")
    assert line in first


@pytest.mark.parametrize(
    ("name", "question"),
    [("level-2.1", "scaled"), ("grouped-heads", "weights"), ("alibi", "weights"), ("softmax", "weights")],
)
def test_what_is_known_or_changes_nothing_is_not_worked_again(name, question):
    assert not [hint for hint in hints_of(name, question) if hint.startswith("First the ")]


def test_sums_of_rounded_terms_are_told_as_that():
    assert UNROUNDED in hints_of("all-rows", "outputs")[-1]
    assert UNROUNDED not in hints_of("causal", "masked")[-1]
    assert UNROUNDED not in hints_of("output-projection", "blended")[-1], "0.5·2 + 0.5·0 is exact"


METHODS = [
    # exercise         question   what it has more than plain attention
    ("float-mask",     "masked",  "Add the entry of the mask to each score"),
    ("causal",         "masked",  "every other score stays as it is"),
    ("maximum",        "exponentials", "Take the maximum of its row off each score"),
    ("sink",           "weights", "the exponential of the sink included"),
    ("online-softmax", "output",  "Take the blocks in turn"),
    ("merging",        "output",  "each times e^(its logsumexp − that of the row)"),
    ("two-heads",      "joined",  "lay the heads' outputs side by side"),
    ("output-projection", "output", "times the columns of W_O"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "said"), METHODS)
def test_the_way_is_that_of_the_exercise(name, question, said):
    assert [hint for hint in hints_of(name, question) if said in hint]


SOLUTIONS = [
    # exercise         question   lines, worked by hand from the first numbers
    ("float-mask",     "masked",  ["s₂₁ = 1 + 2 = 3", "s₃₁ = 2 + (−1) = 1"]),
    ("merging",        "lse",     ["lse₁ = ln(1 + 7.389 + 20.086) = ln 28.475 = 3.349"]),
    ("merging",        "output",  ["z⁽¹⁾₁₂ = 0.119·0 + 0.881·2 = 1.762", "z⁽²⁾₁₂ = 1·5 = 5"]),
    ("online-softmax", "output",  ["block 1: m = 2; ℓ = 1.368, values [1.736 3]",
                                   "block 2: m = 4, so that what was before counts e^(2 − 4) times as much; "
                                   "ℓ = 1.368·0.135 + 1.135 = 1.320, values [0.912 4.541]",
                                   "z₁ = [0.912 4.541] / 1.320 = [0.690 3.439]"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "lines"), SOLUTIONS)
def test_a_solution_goes_the_way_that_the_exercise_asks_for(name, question, lines):
    exercise = find_exercise(name)
    found = solution(exercise, next(one for one in exercise.questions if one.id == question))
    assert [line for line in lines if line not in found] == []


HELPERS = [
    # exercise    what is given, and why
    ("level-5.3", "e^2.8284 ≈ 16.919", "weights are asked to four digits"),
    ("softmax",   "e^1 ≈ 2.718, e^2 ≈ 7.389", "to three"),
    ("saturation", "e^5 ≈ 148.41", "to four"),
    ("sink",      "e^1 ≈ 2.718", "the sink's own exponential"),
    ("softcap",   "tanh 0.5 ≈ 0.4621, tanh 1 ≈ 0.7616, tanh 2 ≈ 0.9640; e^(−∞) = 0", "1.5/3, 3/3 and 6/3"),
    ("rope",      "cos 1 ≈ 0.5403, sin 1 ≈ 0.8415", "positions are as they were"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "why"), HELPERS)
def test_helper_values_are_what_the_questions_need(name, given, why):
    assert given in helpers(find_exercise(name)), why


def test_a_power_below_1_has_as_many_digits_as_are_asked():
    exercise = find_exercise("level-5.3")
    fresh = replace(exercise, given={"query": [[1, 0]], "key": [[0, -1], [-2, 0]], "value": [[0, 1], [1, 0]]})
    assert helpers(fresh) == "e^(−1.4142) ≈ 0.2431, e^0 = 1"  # e^(−√2) = 0.24312


@pytest.mark.parametrize("name", ["level-2.2", "level-2.3"])
def test_two_scores_are_drawn_in_dozens_of_ways(name):
    given = find_exercise(name).given
    tables = {str(draw_fields(given, random.Random(seed))["given"]) for seed in range(300)}
    assert len(tables) > 80


def test_drawn_hints_have_the_scores_that_they_start_from():
    fresh = drawn(find_exercise("level-5.3"), 7)
    scaled = next(one for one in fresh.questions if isinstance(one, StepQuestion))
    assert "s₁₂ = 1·(−2) + 0·0 = −2" in scaled.hints[0]
