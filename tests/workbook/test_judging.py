"""Right answers get full marks however they were rounded, and typical wrong ones are named."""

import pytest
from worked_by_hand import RIGHT

from headwork.diagnosis import verdicts
from headwork.errors import AnswerError
from headwork.workbook.answers import Table
from headwork.workbook.course import course, exercises
from headwork.workbook.finding import find_exercise
from headwork.workbook.judging import judge, judge_number, judge_step, ungrouped
from headwork.workbook.questions import NumberQuestion, StepQuestion
from headwork.workbook.standing import COUNTS, DONE, GUESSED

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
    return judge(found, asked, answer, {})


@pytest.mark.parametrize(("exercise", "question", "answer", "source"), RIGHT)
def test_a_right_answer_has_full_marks(exercise, question, answer, source):
    assert judged(exercise, question, answer).verdict == "right", source


def is_marked(question) -> bool:
    return question.kind not in ("explain", "code") and not getattr(question, "guess", False)


def test_every_question_with_a_right_answer_is_in_the_table():
    own = [each for one in course() if one.id in ("three-tokens", "levels") for each in one.exercises]
    asked = {(each.id, one.id) for each in own for one in each.questions if is_marked(one)}
    assert {row[:2] for row in RIGHT} == asked


@pytest.mark.parametrize(("exercise", "question", "answer", "said"), NOT_RIGHT)
def test_a_typical_wrong_number_is_named(exercise, question, answer, said):
    mark = judged(exercise, question, answer)
    assert mark.verdict == "not right"
    assert said in mark.sentence


CUT_OFF = [
    # exercise   question     answer     verdict      source
    ("level-5.3", "scaled",  "2 0",     "not right", "4/2: divided by d_k = 2, and 2.8284 cut off"),
    ("level-5.3", "scaled",  "2.0 0",   "not right", "the same"),
    ("level-5.3", "scaled",  "3 0",     "short",     "2.8284 rounded, which no mistake of the list gives"),
    ("level-5.3", "scaled",  "2.8 0",   "short",     "2.8284 to one digit"),
    ("level-5.3", "scaled",  "2.82 0",  "short",     "2.8284 cut off after two digits, and nobody's mistake"),
    ("level-5.3", "weights", "0.9 0.1", "short",     "0.9442 0.0558 to one digit"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "question", "answer", "verdict", "source"), CUT_OFF)
def test_what_a_typical_mistake_gives_is_no_right_answer_cut_off(exercise, question, answer, verdict, source):
    assert judged(exercise, question, answer).verdict == verdict, source


def test_such_an_answer_is_explained_and_shown_as_it_was_typed():
    mark = judged("level-5.3", "scaled", "2 0")
    assert ("scale-d-k-instead-of-sqrt",) in mark.explanation.mistakes
    assert [entry.text for entry in mark.step.entries] == ["2", "0"]


def test_no_typical_wrong_number_is_right_and_none_is_taken_for_another():
    for exercise in exercises():
        for question in exercise.questions:
            if isinstance(question, NumberQuestion):
                for wrong in question.wrong:
                    mark = judge_number(question, wrong.value)
                    assert (mark.verdict, mark.sentence) == ("not right", wrong.says)


def test_what_counts_as_done_is_what_marking_says_and_a_guess():
    assert COUNTS == (verdicts.RIGHT, verdicts.FOLLOWS)
    assert (*COUNTS, GUESSED) == DONE


def test_the_answer_that_a_file_states_is_right():
    for exercise in exercises():
        for question in exercise.questions:
            if isinstance(question, NumberQuestion):
                assert judge_number(question, question.answer).verdict == "right"


CHOICES = [
    # exercise    question      answer                     verdict      what is said
    ("level-1.2", "properties", "every weight is above 0", "short",     "Right so far: 2 more hold."),
    ("level-1.2", "properties", "every weight is above 0 | the largest score gets the largest weight",
                                                           "short",     "Right so far: one more holds."),
    ("level-1.2", "properties", "every weight is above 0 | a score of 0 gets a weight of 0",
                                                           "not right", "b: A score of 0 has the exponential"),
    ("level-1.2", "operation",  "dividing by √d_k",        "not right", "scaling makes weights"),
    ("level-2.2", "guess",      "none",                    "guess",     "The weights will show it."),
    ("level-2.2", "guess",      "half",                    "guess",     "The weights will show it."),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "question", "answer", "verdict", "said"), CHOICES)
def test_a_choice_is_told_what_it_believes(exercise, question, answer, verdict, said):
    mark = judged(exercise, question, answer)
    assert mark.verdict == verdict
    assert said in mark.sentence
    assert mark.is_done is (verdict == "guess")


def test_no_guess_before_the_work_says_which_is_so():
    for exercise in (each for one in course()[:2] for each in one.exercises):
        for question in exercise.questions:
            if getattr(question, "guess", False):
                assert len({option.says for option in question.options}) == 1, "it would give it away"


def test_a_shape_of_other_axes_is_told_how_many():
    assert "This has 3 axes, and 2 axes were asked for." in judged("level-1.1", "shape", "3×1×5").sentence
    assert judged("level-1.1", "shape", "4 × 4").sentence == ""


GROUPED = [
    # typed        digits  read as      why
    ("1,000,000",  3, "1000000",   "commas between thousands"),
    ("1 000 000",  3, "1000000",   "blanks"),
    ("1_000",      3, "1000",      "an underscore, as in Python"),
    ("1'000",      3, "1000",      "as in Switzerland"),
    ("4,000",      0, "4000",      "one comma where whole numbers are asked for"),
    ("4,000",      3, "4,000",     "one comma may be a decimal comma"),
    ("0,245",      3, "0,245",     "a decimal comma"),
    ("1,000,00",   3, "1,000,00",  "no groups of three"),
    ("1 000,000",  3, "1 000,000", "two marks"),
    ("1 2 3",      3, "1 2 3",     "three numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "digits", "read", "why"), GROUPED)
def test_thousands_may_stand_apart(typed, digits, read, why):
    assert ungrouped(typed, digits) == read, why


def test_fewer_digits_that_agree_are_right_so_far():
    assert judged("softmax", "ratio", "7.4").verdict == "short"
    assert judged("softmax", "weights", "0.24 0.09 0.67").verdict == "short"
    assert "three digits" in judged("softmax", "sum", "11.1").sentence


def test_a_step_that_follows_from_the_learners_own_slip_earns_its_mark():
    exercise = find_exercise("all-rows")
    sums, weights = [one for one in exercise.questions if isinstance(one, StepQuestion)][:2]
    # row 2 summed without its last term: 1 + 2.718 = 3.718; then 1/3.718 = 0.269 and 2.718/3.718 = 0.731
    mark = judge_step(weights, exercise.work, "0.269 0.731 0.269; 0.107 0.787 0.107", {sums: "3.718; 9.389"})
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


@pytest.mark.parametrize("answer", ["", "x", "_", "1 2 3", "1 2 3; 4 5 6; 7 8 9"])
def test_more_or_fewer_rows_than_are_asked_are_said(answer):
    """As a file of progress may have them that was written for an exercise which has changed since."""
    exercise = find_exercise("all-rows")
    with pytest.raises(AnswerError, match=r"rows of weights asked here: 2; I read [13]"):
        judge(exercise, exercise.questions[1], answer, {})
