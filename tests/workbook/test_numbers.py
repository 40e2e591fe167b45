"""Fresh numbers: the same for a seed everywhere, as much work as the first ones, and proven to tell mistakes apart."""

import random
from dataclasses import replace

import numpy as np
import pytest

from headwork.errors import FileError, OptionError
from headwork.workbook import numbers
from headwork.workbook.course import exercises
from headwork.workbook.drawing import draw_fields
from headwork.workbook.effort import Effort, effort
from headwork.workbook.finding import find_exercise
from headwork.workbook.gate import all_seen, seen
from headwork.workbook.likeness import MOST_EFFORT, SPARE, likeness
from headwork.workbook.numbers import MOST_SEED, drawing, drawn
from headwork.workbook.quantities import quantity

DRAWN = [exercise for exercise in exercises() if exercise.separates]


def named(exercise):
    return exercise.id


@pytest.mark.parametrize("exercise", DRAWN, ids=named)
def test_drawn_numbers_show_every_mistake_of_the_list_and_are_as_much_work(exercise):
    fresh = drawn(exercise, 7)
    assert seen(fresh).is_all
    assert effort(fresh).total <= MOST_EFFORT * effort(exercise).total + SPARE
    assert fresh.given != exercise.given


# --- a seed ----------------------------------------------------------------------------------------

# What these seeds gave when they were published: learners compare theirs.
PINNED = [
    # exercise      seed  field       numbers
    ("scores", 7, "query", [[0, 0, 1, 0], [-2, 0, 0, 0], [-1, 0, 0, -2]]),
    ("scores", 7, "key", [[0, 2, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0]]),
    ("scaling", 2**63, "value", [[2, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 2, 0]]),
    ("softmax", 3, "query", [[0, 0, 0, 2], [1, 0, 1, 0], [0, 1, 0, 0]]),
    ("saturation", 1, "scaled", [[10, 5, 0]]),
    ("causal", 0, "key", [[2, 0, 0, 0], [0, 2, 2, 0], [0, 0, 0, 1]]),
    ("level-2.2", 7, "scaled", [[-1, -2]]),
    ("level-5.3", 11, "query", [[1, 0]]),
    ("projection", 5, "w_query", [[1, 0], [1, 2]]),
    ("cache", 2, "scaled", [[3, 0, 3, 2], [2, 2, 1, 2]]),
    ("output-projection", 1, "weights", [[[0.75, 0.25], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]]),
]


@pytest.mark.parametrize(("name", "seed", "field", "numbers"), PINNED)
def test_a_seed_gives_the_numbers_that_it_always_gave(name, seed, field, numbers):
    given = drawn(find_exercise(name), seed).given
    assert {**given, **given.get("given", {})}[field] == numbers


@pytest.mark.parametrize("seed", [-1, MOST_SEED + 1, 1.0, "7", None, True])
def test_a_seed_that_is_none_is_refused(seed):
    drawn(find_exercise("scores"), 1)  # kept, and not handed out for True
    with pytest.raises(OptionError, match="a whole number from 0 to 9223372036854775808 was expected"):
        drawn(find_exercise("scores"), seed)


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**53 + 1, MOST_SEED])
def test_small_and_large_seeds_do(seed):
    assert drawn(find_exercise("scores"), seed).id == f"scores@{seed}"


def test_an_exercise_in_words_has_no_numbers_to_draw():
    with pytest.raises(OptionError, match="asymmetry has no numbers to draw"):
        drawn(find_exercise("asymmetry"), 7)


def test_a_list_that_no_numbers_satisfy_is_told_and_not_waited_for(monkeypatch):
    monkeypatch.setattr(numbers, "MOST_PROVED", 5)
    mistakes = ("causal-skipped", *find_exercise("scores").separates)
    with pytest.raises(OptionError, match="no numbers were found for scores@0"):
        drawn(replace(find_exercise("scores"), separates=mistakes), 0)


def test_a_variant_is_part_of_the_name():
    assert drawn(replace(find_exercise("scores"), variant=2), 7).id == "scores.2@7"


# --- what a learner reads --------------------------------------------------------------------------


def test_no_text_of_the_first_numbers_is_told_with_drawn_ones():
    fresh = drawn(find_exercise("softmax"), 7)
    texts = [fresh.opening, fresh.recap, fresh.about, fresh.title, *fresh.questions[0].hints]
    assert not [text for text in texts if "11.107" in text or "[1 0 2]" in text or "0.245" in text]
    assert fresh.title == "Softmax, numbers of seed 7"


def test_what_is_left_out_is_said():
    fresh = drawn(find_exercise("softmax"), 7)
    assert [question.id for question in fresh.questions] == ["exponentials", "sum", "weights", "total"]
    assert "One question asks about the first numbers, and headwork practice softmax" in fresh.opening


def test_helper_values_are_those_of_the_drawn_row():
    fresh = drawn(find_exercise("saturation"), 7)
    row = sorted(fresh.given["given"]["scaled"][0])
    assert fresh.helpers.count("e^") == len(set(row))
    assert "e^10 ≈ 22026" in fresh.helpers


def test_a_variance_does_not_depend_on_the_numbers_and_stays():
    ids = [question.id for question in drawn(find_exercise("scaling"), 7).questions]
    assert ids == ["scaled", "variance", "variance-after", "why"]


# --- drawing ---------------------------------------------------------------------------------------


def test_as_many_zeros_are_drawn_as_there_were():
    given = find_exercise("scores").given
    for seed in range(20):
        fields = draw_fields(given, random.Random(seed))
        for name in ("query", "key", "value"):
            counts = [sorted(np.count_nonzero(rows, axis=1)) for rows in (given[name], fields[name])]
            assert counts[0] == counts[1]


def test_options_stay_and_minus_infinity_keeps_its_place():
    given = {"given": {"masked": [[1, "-inf", 2]]}, "causal": True, "value": [[1], [2], [3]]}
    fields = draw_fields(given, random.Random(1))
    assert fields["causal"] is True
    assert np.isneginf(fields["given"]["masked"][0]).tolist() == [False, True, False]


def test_a_row_far_from_0_stays_there_and_its_maximum_is_taken_off():
    fresh = drawn(find_exercise("maximum"), 2)
    rows = fresh.given["given"]["scaled"]
    assert min(rows[0]) >= 998
    assert max(rows[1]) <= 3
    hints = " ".join(next(one for one in fresh.questions if one.id == "exponentials").hints)
    assert f"e^({rows[1][0]} − {max(rows[1])})" in hints


def test_rows_of_weights_still_sum_to_1():
    given = {"given": {"weights": [[0.25, 0.75], [0.5, 0.5]]}}
    fields = draw_fields(given, random.Random(1))
    assert np.sum(fields["given"]["weights"], axis=1).tolist() == [1, 1]


def test_an_array_can_be_drawn_in_another_shape():
    fields = draw_fields({"value": [[1, 0], [0, 1]]}, random.Random(1), {"value": (2, 5)})
    assert np.shape(fields["value"]) == (2, 5)


# --- effort, likeness, quantities ------------------------------------------------------------------

EFFORTS = [
    # exercise     products additions exponentials divisions   source
    ("scores", Effort(5, 1, 0, 0), "2·1, 2·2; 2·1; 2·1 + 2·1: counted in Q and K"),
    ("scaling", Effort(4, 0, 0, 0), "the scores are in view; 2, 4, 2 and 4 are halved"),
    ("softmax", Effort(0, 2, 2, 3), "e¹ and e²; two additions; three divisions by 11.107"),
    ("blend", Effort(4, 2, 0, 0), "two components of two products each"),
]


@pytest.mark.parametrize(("name", "work", "source"), EFFORTS)
def test_effort_counts_what_is_worked_with_a_pencil(name, work, source):
    assert effort(find_exercise(name)) == work, source


def test_a_saturated_row_stays_saturated():
    like = likeness(find_exercise("saturation"))
    assert like.lead == 5
    for seed in range(5):
        row = sorted(drawn(find_exercise("saturation"), seed).given["given"]["scaled"][0])
        assert row[-1] - row[-2] >= 5


UNLIKE = [
    # exercise     fields                                                     why
    ("saturation", {"given": {"scaled": [[10, 10, 0]]}}, "two keys share the lead"),
    ("saturation", {"given": {"scaled": [[15, 0, 5]]}}, "an exponent larger than the first ones"),
    ("scores", {"query": [[1, 2, 1, 2], [2, 1, 2, 2], [1, 1, 2, 1]]}, "three times as many products"),
    ("scores", {"query": [[2, 0, 0, 0], [2, 0, 0, 0], [0, 2, 2, 0]]}, "two queries are the same"),
    ("scores", {"query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 2]]}, "a query that meets no key"),
    ("softmax", {"query": [[1, 0, 0, 0.5], [0, 2, 0, 0], [0, 2, 2, 1]], "key": [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0]]},
     "an exponent of three quarters"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "why"), UNLIKE, ids=[row[2] for row in UNLIKE])
def test_numbers_that_are_more_work_or_another_lesson_are_refused(name, fields, why):
    exercise = find_exercise(name)
    like, given = likeness(exercise), {**exercise.given, **fields}
    assert not (like.may_fit(given) and like.fits(replace(exercise, given=given))), why


QUANTITIES = [
    # exercise     formula                    value               source
    ("scores", "scores[1,3]", 4, "q₁ · k₃ = 2·2"),
    ("scores", "largest of scores[1]", 3, "row 1 is [2 0 4]"),
    ("softmax", "sum of weights[1]", 1, "weights sum to 1"),
    ("saturation", "slope of weights[1]", 0.0066923, "e¹⁰/(e¹⁰ + e⁵ + 1) = 0.993262, times 1 − 0.993262"),
]


@pytest.mark.parametrize(("name", "formula", "value", "source"), QUANTITIES)
def test_a_quantity_is_worked_from_the_numbers(name, formula, value, source):
    assert quantity(find_exercise(name), formula).value == pytest.approx(value, abs=1e-6), source


@pytest.mark.parametrize(
    "formula",
    ["", "scores", "scores[1]", "scores[9,9]", "scores[0,1]", "sum of", "most of scores[1]", "x[1,1]"],
)
def test_a_formula_that_names_nothing_is_told(formula):
    with pytest.raises(FileError, match="which names nothing in these numbers"):
        quantity(find_exercise("scores"), formula)


def test_the_largest_of_two_equal_entries_is_no_answer():
    level = find_exercise("level-2.2")
    even = replace(level, given={"given": {"scaled": [[2, 2]]}})
    with pytest.raises(OptionError, match="row 1 of scaled has its largest entry twice"):
        quantity(even, "largest of scaled[1]")


def test_numbers_that_hide_a_mistake_do_not_pass():
    # By hand: with d_k = 4 and d_v = 2, dividing by d_v is dividing by √d_k
    blind = replace(find_exercise("blend"), separates=("scale-by-value-width-unrooted", "scale-missing"))
    assert not all_seen(blind)
    assert seen(blind).hidden == ("scale-by-value-width-unrooted",)


def test_a_draw_says_how_many_were_looked_at():
    found = drawing(find_exercise("scores"), 0)
    assert found.draws >= found.proved >= 1
