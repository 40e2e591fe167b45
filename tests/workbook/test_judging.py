"""Right answers get full marks however they were rounded, and typical wrong ones are named."""

import pytest

from headwork.diagnosis import verdicts
from headwork.errors import AnswerError
from headwork.workbook.answers import Table
from headwork.workbook.course import exercises, find_exercise
from headwork.workbook.judging import judge_number, judge_step
from headwork.workbook.questions import NumberQuestion, StepQuestion
from headwork.workbook.standing import COUNTS

RIGHT = [
    # exercise      question          answer and its source, all worked by hand from Q, K and V
    ("scores",      "scores",         "2 0 4; 0 2 0; 0 4 0", "nine dot products"),
    ("scores",      "token-1",        "3", "row 1 is [2 0 4]"),
    ("scores",      "tokens-2-and-3", "2", "rows 2 and 3 are [0 2 0], [0 4 0]"),
    ("asymmetry",   "s13",            "4", "2·2"),
    ("asymmetry",   "s31",            "0", "0·1 + 2·0 + 2·0 + 0·0"),
    ("scaling",     "divisor",        "2", "√4"),
    ("scaling",     "divisor",        "√4", "√4 said as a root"),
    ("scaling",     "scaled",         "1 0 2; 0 1 0; 0 2 0", "S/2"),
    ("scaling",     "variance",       "4", "d_k products of variance 1"),
    ("scaling",     "variance-after", "1", "4/2²"),
    ("softmax",     "exponentials",   "2.718 1 7.389", "e¹ e⁰ e²"),
    ("softmax",     "exponentials",   "e 1 e^2", "said exactly"),
    ("softmax",     "exponentials",   "0.368 0.135 1", "shifted by the maximum: e⁻¹ e⁻² e⁰"),
    ("softmax",     "sum",            "11.107", "2.718 + 1 + 7.389"),
    ("softmax",     "weights",        "0.245 0.090 0.665", "each over 11.107"),
    ("softmax",     "weights",        "0.2447 0.0900 0.6652", "with more digits than asked"),
    ("softmax",     "total",          "1.000", "0.245 + 0.090 + 0.665"),
    ("softmax",     "ratio",          "7.39", "e²"),
    ("softmax",     "ratio",          "7.389", "0.665/0.090, from rounded weights"),
    ("blend",       "output",         "0.910 0.755", "0.245 + 0.665, 0.090 + 0.665"),
    ("all-rows",    "sums",           "4.718; 9.389", "2 + e, 2 + e²"),
    ("all-rows",    "weights",        "0.212 0.576 0.212; 0.107 0.787 0.107", "over 4.718 and 9.389"),
    ("all-rows",    "outputs",        "0.424 0.788; 0.213 0.893", "unrounded: 2/9.389, 8.389/9.389"),
    ("all-rows",    "outputs",        "0.424 0.788; 0.214 0.894", "from rounded weights: 0.107 + 0.107"),
    ("saturation",  "sum",            "22175", "148.4 + 1 + 22026 = 22175.4"),
    ("saturation",  "sum",            "22176", "unrounded: 22175.879"),
    ("saturation",  "weights",        "0.0067 0.00005 0.9933", "over 22175"),
    ("saturation",  "weights",        "0.0067 0.0000 0.9933", "the middle one to four digits"),
    ("saturation",  "weights",        "0.0067 0 0.9933", "0.00005 rounds to 0 in four digits"),
    ("saturation",  "before",         "0.2228", "0.665 · 0.335"),
    ("saturation",  "before",         "0.2227", "unrounded: 0.66524 · 0.33476"),
    ("saturation",  "after",          "0.0067", "0.9933 · 0.0067"),
    ("saturation",  "after",          "0.0066", "the lower end that the exercise allows"),
    ("causal",      "masked",         "1 -inf -inf; 0 1 -inf; 0 2 0", "keys after the query are gone"),
    ("causal",      "masked",         "1 −∞ −∞; 0 1 −∞; 0 2 0", "with the sign itself"),
    ("causal",      "weights",        "1 0 0; 0.269 0.731 0; 0.107 0.787 0.107", "row 2 over 3.718"),
    ("causal",      "outputs",        "1 0; 0.269 0.731", "v₁; 0.269 v₁ + 0.731 v₂"),
]  # fmt: skip

NOT_RIGHT = [
    # exercise      question          answer     what is said
    ("scaling",     "divisor",        "4", "4 is d_k; the divisor is its root, 2"),
    ("scaling",     "divisor",        "1.414", "d_v"),
    ("scaling",     "variance",       "2", "standard deviation"),
    ("scaling",     "variance-after", "0.25", "dividing by d_k itself"),
    ("asymmetry",   "s13",            "0", "the other direction"),
    ("softmax",     "total",          "11.107", "the sum of the exponentials"),
    ("softmax",     "ratio",          "2", "the gap between the scores"),
    ("softmax",     "ratio",          "0.135", "the other way round"),
    ("saturation",  "sum",            "22174", "The term e⁰ = 1 is missing"),
    ("saturation",  "before",         "0.335", "1 − σ"),
    ("saturation",  "after",          "0.9933", "σ itself"),
    ("scores",      "token-1",        "1", "it rates higher"),
]  # fmt: skip


def judged(exercise: str, question: str, answer: str):
    found = find_exercise(exercise)
    asked = next(one for one in found.questions if one.id == question)
    if isinstance(asked, NumberQuestion):
        return judge_number(asked, answer)
    return judge_step(asked, found.problem, answer, {})


@pytest.mark.parametrize(("exercise", "question", "answer", "source"), RIGHT)
def test_a_right_answer_has_full_marks(exercise, question, answer, source):
    assert judged(exercise, question, answer).verdict == "right", source


def test_every_question_with_a_right_answer_is_in_the_table():
    asked = {(each.id, one.id) for each in exercises() for one in each.questions if one.kind != "explain"}
    assert {row[:2] for row in RIGHT} == asked


@pytest.mark.parametrize(("exercise", "question", "answer", "said"), NOT_RIGHT)
def test_a_typical_wrong_number_is_named(exercise, question, answer, said):
    mark = judged(exercise, question, answer)
    assert mark.verdict == "not right"
    assert said in mark.sentence


def test_no_typical_wrong_number_is_right_and_none_is_taken_for_another():
    for exercise in exercises():
        for question in exercise.questions:
            if isinstance(question, NumberQuestion):
                for wrong in question.wrong:
                    mark = judge_number(question, wrong.value)
                    assert (mark.verdict, mark.sentence) == ("not right", wrong.says)


def test_what_counts_as_done_is_what_marking_says():
    assert COUNTS == (verdicts.RIGHT, verdicts.FOLLOWS)


def test_the_answer_that_a_file_states_is_right():
    for exercise in exercises():
        for question in exercise.questions:
            if isinstance(question, NumberQuestion):
                assert judge_number(question, question.answer).verdict == "right"


def test_fewer_digits_that_agree_are_right_so_far():
    assert judged("softmax", "ratio", "7.4").verdict == "short"
    assert judged("softmax", "weights", "0.24 0.09 0.67").verdict == "short"
    assert "three digits" in judged("softmax", "sum", "11.1").sentence


def test_a_step_that_follows_from_the_learners_own_slip_earns_its_mark():
    exercise = find_exercise("all-rows")
    sums, weights = (one for one in exercise.questions[:2] if isinstance(one, StepQuestion))
    # row 2 summed without its last term: 1 + 2.718 = 3.718; then 1/3.718 = 0.269 and 2.718/3.718 = 0.731
    mark = judge_step(
        weights, exercise.problem, "0.269 0.731 0.269; 0.107 0.787 0.107", {sums: "3.718; 9.389"}
    )
    assert mark.verdict == "follows"
    assert mark.is_done


# --- an answer line by line ------------------------------------------------------------------------

LINES = [
    # lines                               rows × columns  the answer                why
    (["2 0 4; 0 2 0; 0 4 0"],             (3, 3), "2 0 4; 0 2 0; 0 4 0", "all in one line"),
    (["2 0 4", "0 2 0", "0 4 0"],         (3, 3), "2 0 4; 0 2 0; 0 4 0", "a line each"),
    (["2 0 4; 0 2 0", "0 4 0"],           (3, 3), "2 0 4; 0 2 0; 0 4 0", "some together"),
    (["2 0 4 0 2 0 0 4 0"],               (3, 3), "2 0 4; 0 2 0; 0 4 0", "row after row without ;"),
    (["1 1 1", "2 0 4; 0 2 0; 0 4 0"],    (3, 3), "2 0 4; 0 2 0; 0 4 0", "the whole answer after a row"),
    (["[2, 0, 4]", "[0, 2, 0]", "0 4 0"], (3, 3), "2 0 4; 0 2 0; 0 4 0", "lists"),
    (["4.718 9.389"],                     (2, 1), "4.718; 9.389",        "a column typed as a row"),
    (["0,245 0,09 _"],                    (1, 3), "0,245 0,09 _",        "decimal commas, one not given"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "size", "answer", "why"), LINES)
def test_an_answer_may_come_in_one_line_or_several(lines, size, answer, why):
    table = Table(*size)
    for line in lines:
        assert not table.is_complete
        table.add(line)
    assert table.is_complete
    assert table.text == answer, why


UNFIT = [
    # before     line             what the error says
    ([],         "1 2",           "A row here has 3 numbers; I read 2 numbers: 1 | 2"),
    (["1 2 3", "1 2 3"], "1 2 3; 1 2 3", "I read 2 rows, and 1 row is still asked for"),
    ([],         "1 2 3; 1 2 3; 1 2 3; 1 2 3", "I read 4 rows, and 3 rows are still asked for"),
    (["1 2 3"],  "1 2 3 4 5 6", "A row here has 3 numbers; I read 6 numbers"),
    (["1 2 3"],  "one two three", "could not read"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "line", "said"), UNFIT)
def test_a_line_that_does_not_fit_costs_nothing(before, line, said):
    table = Table(3, 3)
    for row in before:
        table.add(row)
    kept = table.text
    with pytest.raises(AnswerError, match=said.replace("|", r"\|")):
        table.add(line)
    assert table.text == kept
