"""Where several mistakes give somebody's numbers, those that the exercise is about are told first."""

from headwork.workbook.finding import find_exercise
from headwork.workbook.judging import judge
from headwork.workbook.typical import typical_first


def found(exercise: str, question: str, answer: str):
    exercise = find_exercise(exercise)
    asked = next(one for one in exercise.questions if one.id == question)
    return judge(exercise, asked, answer, {}).marking.explanations[asked.step]


def first(diagnosis) -> tuple[str, ...]:
    return diagnosis.mistakes[0]


def test_what_the_exercise_is_about_comes_first():
    # [0.5 0.5] with the values [1 0] and [0 1]: the plain average, and many a way to two equal scores
    even = found("level-5.3", "output", "0.5 0.5")
    assert even.verdict == "consistent"
    averaged = typical_first(even, ("scale-missing", "values-averaged"))
    assert first(averaged) == ("values-averaged",)
    assert "averaged all the values" in averaged.sentence
    assert sorted(averaged.mistakes) == sorted(even.mistakes), "none is lost"
    zero = typical_first(even, ("scale-zero", "values-averaged"))
    assert (first(zero), zero.mistakes[1]) == (("scale-zero",), ("values-averaged",))


def test_without_a_list_or_with_one_that_is_not_met_nothing_changes():
    even = found("level-5.3", "output", "0.5 0.5")
    assert typical_first(even, ()) is even
    assert typical_first(even, ("causal-strict",)).mistakes == even.mistakes


def test_a_mistake_that_is_named_stays_what_it_is():
    named = found("causal", "weights", "0.245 0 0; 0.212 0.576 0; 0.107 0.787 0.107")
    assert named.verdict == "mistake"
    assert typical_first(named, ("softmax-sum-includes-masked",)) is named
