"""A scripted learner works every exercise of the first two sets: every hint, every typical wrong way, then right."""

import re

import pytest
from worked_by_hand import RIGHT

from headwork.workbook.course import course
from headwork.workbook.events import Marked, Said
from headwork.workbook.finding import find_exercise
from headwork.workbook.judging import judge
from headwork.workbook.progress import Progress
from headwork.workbook.questions import ChoiceQuestion, CodeQuestion, ExplainQuestion
from headwork.workbook.session import Session
from headwork.workbook.standing import standing

SETS = ("three-tokens", "levels")
EXERCISES = [each for one in course() if one.id in SETS for each in one.exercises]

# Typical wrong ways with a step: the answer, worked by hand as somebody would who does that, and the mistake
# that has to be named, or come first among those that give these numbers.
WRONG_STEPS = [
    # exercise     question        answer                     mistake, and how the answer comes about
    ("scores",     "scores",       "2 0 0; 0 2 4; 4 0 0",     "scores-transposed: KQᵀ"),
    ("scaling",    "scaled",       "0.5 0 1; 0 0.5 0; 0 1 0", "scale-d-k-instead-of-sqrt: over 4"),
    ("scaling",    "scaled",       "2 0 4; 0 2 0; 0 4 0",     "scale-missing: as they were"),
    ("scaling",    "scaled",       "1 0 0; 0 1 2; 2 0 0",     "scores-transposed: KQᵀ/2"),
    ("softmax",    "exponentials", "1 0 2",                   "softmax-not-exponentiated: the scores"),
    ("softmax",    "exponentials", "2 1 4",                   "softmax-base-two: 2¹ 2⁰ 2²"),
    ("softmax",    "weights",      "0.333 0 0.667",           "softmax-not-exponentiated: over 3"),
    ("softmax",    "weights",      "0.117 0.016 0.867",       "scale-missing: softmax of [2 0 4]"),
    ("causal",     "masked",       "1 0 0; 0 1 0; 0 2 0",     "mask-fill-zero: 0 for −∞"),
    ("causal",     "masked",       "1 0 2; -inf 1 0; -inf -inf 0", "causal-reversed: the past hidden"),
    ("causal",     "masked",       "-inf -inf -inf; 0 -inf -inf; 0 2 -inf", "causal-strict: itself hidden"),
    ("causal",     "weights",      "0.245 0 0; 0.212 0.576 0; 0.107 0.787 0.107", "mask-after-softmax: then 0"),
    ("causal",     "weights",      "0.245 0.090 0.665; 0.212 0.576 0.212; 0.107 0.787 0.107",
                                                              "causal-skipped: as before"),
    ("causal",     "outputs",      "0.910 0.755; 0.424 0.788", "causal-skipped: as before"),
    ("level-2.1",  "scaled",       "1 0",                     "scale-d-k-instead-of-sqrt: 4/4"),
    ("level-2.1",  "scaled",       "4 0",                     "scale-missing: as they were"),
    ("level-2.2",  "exponentials", "2 0",                     "softmax-not-exponentiated: the scores"),
    ("level-2.2",  "sum",          "7.389",                   "softmax-sum-without-last-key: e² alone"),
    ("level-2.2",  "weights",      "1 0",                     "softmax-not-exponentiated: 2/2 and 0/2"),
    ("level-2.2",  "weights",      "0.119 0.881",             "softmin: e⁻² and e⁰"),
    ("level-2.3",  "output",       "5 5",                     "values-averaged: half of each"),
    ("level-2.3",  "output",       "20 0",                    "softmax-missing: 2·10 and 0·10"),
    ("level-4.1",  "masked",       "1 2 0",                   "mask-fill-zero: 0 for −∞"),
    ("level-4.1",  "masked",       "1 2 5",                   "causal-skipped: as before"),
    ("level-4.1",  "masked",       "1 -inf -inf",             "causal-strict: itself hidden"),
    ("level-4.1",  "sum",          "11.107",                  "mask-fill-zero: e⁰ more"),
    ("level-4.1",  "weights",      "0.017 0.047 0.936",       "causal-skipped: softmax of [1 2 5]"),
    ("level-4.1",  "weights",      "0.017 0.047 0",           "mask-after-softmax: then 0"),
    ("level-4.1",  "weights",      "0.245 0.665 0.090",       "mask-fill-zero: softmax of [1 2 0]"),
    ("level-5.3",  "scaled",       "4 0",                     "scale-missing: as they were"),
    ("level-5.3",  "weights",      "0.8808 0.1192",           "scale-d-k-instead-of-sqrt: softmax of [2 0]"),
    ("level-5.3",  "weights",      "0.9820 0.0180",           "scale-missing: softmax of [4 0]"),
]  # fmt: skip


class Learner:
    """Types lines; what came of the last one is in `seen`."""

    def __init__(self, progress, exercise):
        self.progress, self.exercise = progress, exercise
        self.session = Session(progress)
        self.seen = list(self.session.begin(exercise))

    def types(self, line):
        self.seen = list(self.session.receive(line))
        return self.seen

    @property
    def question(self):
        return self.session.question

    def mark(self, line):
        (marked,) = (event for event in self.types(line) if isinstance(event, Marked))
        return marked


def right_answer(exercise, question):
    return next(row[2] for row in RIGHT if row[:2] == (exercise.id, question.id))


def typical(question):
    """Each typical wrong answer with what has to be said about it."""
    if isinstance(question, ChoiceQuestion):
        if not question.guess:
            yield from ((option.text, option.says) for option in question.options if not option.right)
    else:
        yield from ((wrong.value, wrong.says) for wrong in getattr(question, "wrong", ()))


def ask_every_hint(learner):
    for at, hint in enumerate(learner.question.hints, 1):
        (said,) = learner.types("hint")
        assert isinstance(said, Said)
        assert (said.text, said.title) == (hint, f"Hint {at} of {len(learner.question.hints)}")
    (last,) = learner.types("hint")
    assert "all of them are open" in last.title


def answer_wrongly(learner):
    for answer, says in typical(learner.question):
        marked = learner.mark(answer)
        assert marked.judged.verdict == "not right", answer
        assert says in marked.judged.sentence, answer
        why = learner.types("why")
        assert any(says in event.text for event in why if isinstance(event, Said)), answer
    assert learner.types("show")


def answer_rightly(learner, exercise):
    question = learner.question
    if isinstance(question, CodeQuestion):
        learner.progress.record(exercise.id, question.id, "answer", "attention.py", "right")
        learner.types("check")
    elif isinstance(question, ExplainQuestion):
        for line in ("In my own words.", "", *("y" for _ in question.points)):
            learner.types(line)
    elif getattr(question, "guess", False):
        assert learner.mark("2").judged.verdict == "guess"
    else:
        answer = right_answer(exercise, question)
        assert learner.mark(answer).judged.verdict == "right", answer


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_every_hint_every_typical_wrong_way_and_then_the_right_one(exercise):
    with Progress(None) as progress:
        learner = Learner(progress, exercise)
        for question in exercise.questions:
            assert learner.question is question
            ask_every_hint(learner)
            answer_wrongly(learner)
            answer_rightly(learner, exercise)
        assert standing(exercise, progress.acts()).state == "done"
        assert any(event.what == "recap" for event in learner.seen if isinstance(event, Said))


def test_two_misconceptions_are_never_told_the_same():
    for exercise in EXERCISES:
        for question in exercise.questions:
            said = [says for _, says in typical(question)]
            assert len(set(said)) == len(said), (exercise.id, question.id)


def test_every_question_that_a_program_marks_knows_two_typical_wrong_answers():
    for exercise in EXERCISES:
        for question in exercise.questions:
            if question.kind in ("number", "shape") or (question.kind == "choice" and not question.guess):
                assert len(list(typical(question))) >= 2, (exercise.id, question.id)


@pytest.mark.parametrize(("exercise", "question", "answer", "mistake"), WRONG_STEPS)
def test_a_step_that_is_wrong_in_a_typical_way_is_named(exercise, question, answer, mistake):
    found = find_exercise(exercise)
    asked = next(one for one in found.questions if one.id == question)
    mark = judge(found, asked, answer, {})
    assert mark.verdict == "not right"
    first = mark.explanation.to_dict()["mistakes"][0]
    assert first["readings"][0] == [mistake.partition(":")[0]]


def test_what_is_said_of_a_wrong_number_begins_with_that_number():
    for exercise in EXERCISES:
        for question in exercise.questions:
            if question.kind in ("number", "shape"):
                for value, says in typical(question):
                    named = re.match(
                        r"([√0-9][0-9./^]*(?: × [0-9]+)*)(?: is| would| counts| adds| comes| =| are)", says
                    )
                    if named:
                        assert judge(exercise, question, named[1], {}).sentence == says, (exercise.id, value)
