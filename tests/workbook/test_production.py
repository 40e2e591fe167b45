"""The set *what production adds*: every result worked in plain Python, every right answer, every word checked."""

import math
import re

import numpy as np
import pytest
from prose_checks import DECIMAL, ROW, holds, texts
from worked_in_production import DECIMALS, HELPERS, RIGHT, ROWS

from headwork.diagnosis.marking import mark
from headwork.workbook.choosing import read_choice
from headwork.workbook.course import course
from headwork.workbook.finding import find_exercise
from headwork.workbook.gate import seen
from headwork.workbook.judging import judge
from headwork.workbook.numbers import drawn
from headwork.workbook.questions import ChoiceQuestion, NumberQuestion, ShapeQuestion, StepQuestion

PRODUCTION = next(one for one in course() if one.id == "production")
IDS = [exercise.id for exercise in PRODUCTION.exercises]
FRESH = [exercise.id for exercise in PRODUCTION.exercises if exercise.separates]

# --- attention in plain Python, on lists ----------------------------------------------------------------


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def transposed(m):
    return [list(column) for column in zip(*m, strict=True)]


def times(a, b):
    return [[dot(row, column) for column in transposed(b)] for row in a]


def scores(query, key):
    return [[dot(q, k) for k in key] for q in query]


def over(m, divisor):
    return [[x / divisor for x in row] for row in m]


def softmax(row, sink=None):
    """No key at all gives zeros; a sink is in the sum alone."""
    total = sum(math.exp(s) for s in row) + (0 if sink is None else math.exp(sink))
    return [math.exp(s) / total if total else 0.0 for s in row]


def weights(m, sink=None):
    return [softmax(row, sink) for row in m]


def hidden(m, may_see):
    """−∞ where `may_see(query, key)`, both counted from 1, says no."""
    return [[s if may_see(i, j) else -math.inf for j, s in enumerate(row, 1)] for i, row in enumerate(m, 1)]


def columns(m, first, last):
    return [row[first - 1 : last] for row in m]


def turned(pair, angle):
    (a, b), cos, sin = pair, math.cos(angle), math.sin(angle)
    return [a * cos - b * sin, a * sin + b * cos]


# what each exercise gives
X, W_Q, W_K, W_V = [[1, 2], [3, 1]], [[1, 0], [1, 2]], [[0, 2], [1, -1]], [[1, 2], [0, 1]]
Q, K, V = times(X, W_Q), times(X, W_K), times(X, W_V)
CROSS_Q, CROSS_K = [[2, 0, 1, 0], [0, 2, 0, -2]], [[1, 0, 2, 0], [1, 2, 0, 1], [-1, 0, 0, -2]]
CROSS_V = [[2, 0, 1], [0, 3, 0], [1, 0, 2]]
CROSS_W = weights(over(scores(CROSS_Q, CROSS_K), 2))
WIDE_Q = [[2, 0, 0, 0, 0, 1, 0, 1], [0, 0, 2, 0, 2, 0, 0, 0]]
WIDE_K = [[1, 0, 1, 0, 0, 0, 0, 2], [0, 1, 2, 0, -1, 2, 0, 0]]
WIDE_V = [[1, 0, 2, 0], [0, 3, 1, 1]]
SPLIT_S = [scores(columns(WIDE_Q, a, a + 3), columns(WIDE_K, a, a + 3)) for a in (1, 5)]
SPLIT_W = [weights(over(head, 2)) for head in SPLIT_S]
SPLIT_Z = [times(w, columns(WIDE_V, a, a + 1)) for w, a in zip(SPLIT_W, (1, 3), strict=True)]
TWO_W, TWO_V = [[[0.5, 0.5], [0.25, 0.75]], [[0, 1], [0.5, 0.5]]], [[[2, 0], [0, 4]], [[1, 2], [3, 0]]]
TWO_Z = [times(w, v) for w, v in zip(TWO_W, TWO_V, strict=True)]
JOINED = [a + b for a, b in zip(*TWO_Z, strict=True)]
W_O, B_O = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, -1]], [1, 0, 0, -1]
SHARED = (0, 0, 0, 1, 1, 1)  # the head of keys and values of each query head
GROUP_S = [
    scores([[q]], [[[1], [0]], [[-1], [1]]][g]) for q, g in zip((1, 2, -1, 1, -1, 2), SHARED, strict=True)
]
GROUP_W = [weights(s) for s in GROUP_S]
GROUP_Z = [times(w, [[[4], [0]], [[1], [5]]][g]) for w, g in zip(GROUP_W, SHARED, strict=True)]
PADDED = hidden([[1, 0, 3], [0, 2, 1], [2, 0, 1]], lambda i, j: j <= 2)
BIASED = [[1, -math.inf, -math.inf], [1 + 2, 0 + 0, -math.inf], [2 - 1, 0 + 2, 1 + 0]]
EMPTY = hidden([[2, 0, 1], [1, 0, 3]], lambda i, j: i == 1 and j != 2)
CACHED = hidden([[1, 0, 2, 3], [0, 1, 0, 2]], lambda i, j: j <= i + 2)
WINDOW = hidden([[1, 0, 2, 1], [0, 1, 3, 0], [2, 0, 1, 2], [3, 1, 0, 2]], lambda i, j: i - 2 <= j <= i)
SHIFTED = [[-2, 0, -1], [0, -2, 0]]
ONLINE_V = [[2, 0], [1, 3], [0, 4], [5, 1]]
MERGE_V = [[4, 0], [0, 2], [1, 5]]
TURNED_Q, TURNED_K = [turned([2, 1], p) for p in range(3)], [turned([1, 0], p) for p in range(3)]
PENALTY = [[-slope * (4 - j) for j in (1, 2, 3, 4)] for slope in (1 / 2, 1 / 4)]
ALIBI = [[s + b for s, b in zip((0, 2, 1, 1), head, strict=True)] for head in PENALTY]
CAPPED = [[3 * math.tanh(s / 3) for s in (1.5, 6, -3, 3)]]
SINK_W = weights([[1, 0, 2], [-2, -3, -2]], sink=1)

WORKED = [
    # exercise            step             worked in plain Python from what the exercise gives
    ("projection",        "query",         Q),
    ("projection",        "key",           K),
    ("projection",        "value",         V),
    ("projection",        "scores",        scores(Q, K)),
    ("cross-attention",   "scores",        scores(CROSS_Q, CROSS_K)),
    ("cross-attention",   "weights",       CROSS_W),
    ("cross-attention",   "output",        times(CROSS_W, CROSS_V)),
    ("two-heads",         "scores",        SPLIT_S),
    ("two-heads",         "weights",       SPLIT_W),
    ("two-heads",         "output",        [a + b for a, b in zip(*SPLIT_Z, strict=True)]),
    ("output-projection", "blended",       TWO_Z),
    ("output-projection", "merged",        JOINED),
    ("output-projection", "output",        [[x + b for x, b in zip(row, B_O, strict=True)] for row in times(JOINED, W_O)]),
    ("grouped-heads",     "scores",        GROUP_S),
    ("grouped-heads",     "weights",       GROUP_W),
    ("grouped-heads",     "output",        GROUP_Z),
    ("padding-mask",      "masked",        PADDED),
    ("padding-mask",      "weights",       weights(PADDED)),
    ("padding-mask",      "output",        times(weights(PADDED), [[2, 0], [0, 1], [4, 4]])),
    ("float-mask",        "masked",        BIASED),
    ("float-mask",        "weights",       weights(BIASED)),
    ("empty-row",         "masked",        EMPTY),
    ("empty-row",         "weights",       weights(EMPTY)),
    ("empty-row",         "output",        times(weights(EMPTY), [[1, 0], [0, 2], [3, 1]])),
    ("cache",             "masked",        CACHED),
    ("cache",             "weights",       weights(CACHED)),
    ("sliding-window",    "masked",        WINDOW),
    ("sliding-window",    "weights",       weights(WINDOW)),
    ("maximum",           "row_max",       [1000, 3]),
    ("maximum",           "exponentials",  [[math.exp(s) for s in row] for row in SHIFTED]),
    ("maximum",           "weights",       weights(SHIFTED)),
    ("online-softmax",    "output",        times(weights([[1, 2, 4, 2]]), ONLINE_V)),
    ("merging",           "logsumexp",     [math.log(1 + math.exp(2) + math.exp(3))]),
    ("merging",           "output",        times(weights([[0, 2, 3]]), MERGE_V)),
    ("rope",              "query_rotated", TURNED_Q),
    ("rope",              "key_rotated",   TURNED_K),
    ("rope",              "scores",        scores(TURNED_Q, TURNED_K)),
    ("alibi",             "bias",          [[row] for row in PENALTY]),
    ("alibi",             "biased",        [[row] for row in ALIBI]),
    ("alibi",             "weights",       [weights([row]) for row in ALIBI]),
    ("softcap",           "capped",        CAPPED),
    ("softcap",           "weights",       weights(hidden(CAPPED, lambda i, j: j < 4))),
    ("sink",              "weights",       SINK_W),
    ("sink",              "output",        times(SINK_W, [[1, 0], [0, 2], [3, 1]])),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "step", "worked"), WORKED)
def test_every_step_is_what_plain_python_gives(exercise, step, worked):
    np.testing.assert_allclose(find_exercise(exercise).work[step], worked, rtol=0, atol=1e-12)


def test_every_step_that_is_asked_is_worked_in_plain_python():
    asked = {(e.id, q.step) for e in PRODUCTION.exercises for q in e.questions if isinstance(q, StepQuestion)}
    assert {(exercise, step) for exercise, step, _ in WORKED} == asked


def test_parts_merged_one_after_the_other_give_the_whole_row():
    """The arithmetic of exercises 12 and 13, step by step, against the softmax of the whole row."""
    m, total, added = -math.inf, 0.0, [0.0, 0.0]
    for block in (0, 2):
        row = (1, 2, 4, 2)[block : block + 2]
        new = max(m, *row)
        exps = [math.exp(s - new) for s in row]
        total = total * math.exp(m - new) + sum(exps)
        added = [
            a * math.exp(m - new) + dot(exps, v)
            for a, v in zip(added, transposed(ONLINE_V[block : block + 2]), strict=True)
        ]
        m = new
    assert [a / total for a in added] == pytest.approx(find_exercise("online-softmax").work.output[0])
    assert total == pytest.approx(1.3204573)  # e⁻³ + e⁻² + 1 + e⁻²


def test_the_gradients_are_those_of_finite_differences():
    """Exercises 18 and 19: p moves as −0.004 says, and L = z·∂L/∂z answers to scores, q and V as stated."""
    start = [math.log(p) for p in (0.4, 0.1, 0.5)]
    nudged = softmax([start[0], start[1] + 0.1, start[2]])
    assert round(nudged[0] - 0.4, 3) == -0.004

    def loss(s, v):
        return dot(times([softmax(s)], v)[0], [1, -1])

    h, value = 1e-6, [[2, 0], [0, 1], [1, 1]]
    slopes = [
        (loss([s + h * (i == j) for j, s in enumerate(start)], value) - loss(start, value)) / h
        for i in range(3)
    ]
    assert slopes == pytest.approx([0.52, -0.17, -0.35], abs=1e-4)
    assert dot(slopes, [1, 0, 2]) / 2 == pytest.approx(-0.09, abs=1e-4)
    moved = [[2, 0], [0, 1], [1, 1 + h]]
    assert (loss(start, moved) - loss(start, value)) / h == pytest.approx(-0.5, abs=1e-4)


# --- answers --------------------------------------------------------------------------------------------


def judged(exercise: str, question: str, answer: str):
    found = find_exercise(exercise)
    asked = next(one for one in found.questions if one.id == question)
    return judge(
        found, asked, read_choice(asked, answer) if isinstance(asked, ChoiceQuestion) else answer, {}
    )


@pytest.mark.parametrize(("exercise", "question", "answer", "source"), RIGHT)
def test_a_right_answer_has_full_marks(exercise, question, answer, source):
    assert judged(exercise, question, answer).verdict == "right", source


def test_every_question_with_a_right_answer_is_in_the_table():
    asked = {
        (e.id, q.id)
        for e in PRODUCTION.exercises
        for q in e.questions
        if q.kind != "explain" and not getattr(q, "guess", False)
    }
    assert {row[:2] for row in RIGHT} == asked


@pytest.mark.parametrize("exercise", PRODUCTION.exercises, ids=IDS)
def test_an_exercise_worked_through_has_full_marks(exercise):
    """All its steps at once, as `headwork mark` would take them."""
    steps = {q.id: q for q in exercise.questions if isinstance(q, StepQuestion) and not q.rows}
    answers = {steps[row[1]].step: row[2] for row in RIGHT if row[0] == exercise.id and row[1] in steps}
    if answers:
        marking = mark(exercise.problem, answers, digits=3)
        assert marking.marks == marking.out_of


@pytest.mark.parametrize("exercise", PRODUCTION.exercises, ids=IDS)
def test_every_typical_wrong_answer_is_named_and_none_is_right(exercise):
    for question in exercise.questions:
        if isinstance(question, NumberQuestion | ShapeQuestion):
            assert question.wrong
            for wrong in question.wrong:
                mark = judge(exercise, question, wrong.value, {})
                assert (mark.verdict, mark.sentence) == ("not right", wrong.says), wrong.value
        if isinstance(question, ChoiceQuestion) and not question.guess:
            for option in question.options:
                mark = judge(exercise, question, option.text, {})
                assert mark.verdict == ("right" if option.right else "not right")
                assert option.says in mark.sentence


# --- the set and its numbers ----------------------------------------------------------------------------


def test_the_set_has_twenty_exercises_in_five_parts_numbered_in_order():
    assert [exercise.number for exercise in PRODUCTION.exercises] == list(range(1, 21))
    names = [part.id for part in PRODUCTION.parts]
    assert [names.index(exercise.part) for exercise in PRODUCTION.exercises] == [0] * 5 + [1] * 5 + [
        2
    ] * 3 + [3] * 4 + [4] * 3


@pytest.mark.parametrize("exercise", PRODUCTION.exercises, ids=IDS)
def test_an_exercise_asks_two_to_six_questions_each_with_hints(exercise):
    assert 2 <= len(exercise.questions) <= 6
    assert all(question.hints for question in exercise.questions)


def test_exercises_with_steps_have_fresh_numbers():
    with_steps = {e.id for e in PRODUCTION.exercises if any(q.kind == "step" for q in e.questions)}
    assert with_steps == set(FRESH)


@pytest.mark.parametrize("name", FRESH)
def test_the_first_numbers_show_what_the_exercise_is_about(name):
    assert seen(find_exercise(name)).is_all
    assert 10 <= len(find_exercise(name).separates) <= 25


@pytest.mark.parametrize("name", FRESH)
def test_fresh_numbers_show_it_too(name):
    assert seen(drawn(find_exercise(name), 7)).is_all


# --- the words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", PRODUCTION.exercises, ids=IDS)
def test_every_decimal_in_the_texts_was_worked_by_hand(exercise):
    found = {number for text in texts(exercise) for number in re.findall(DECIMAL, text)}
    table = DECIMALS.get(exercise.id, {})
    assert found - set(table) - set(HELPERS) == set()
    assert set(table) - found == set(), "these are in the table and in no text"


VALUES = [
    *(
        (name, text, value, source)
        for name, table in DECIMALS.items()
        for text, (value, source) in table.items()
    ),
    *(("helpers", text, value, "a power of e") for text, value in HELPERS.items()),
]


@pytest.mark.parametrize(("exercise", "text", "value", "source"), VALUES)
def test_the_table_itself_is_right(exercise, text, value, source):
    digits = len(text.partition(".")[2])
    assert abs(float(text) - value) <= 0.5000001 * 10**-digits, source


@pytest.mark.parametrize("exercise", PRODUCTION.exercises, ids=IDS)
def test_every_row_in_brackets_was_worked_by_hand(exercise):
    found = {row for text in texts(exercise) for row in re.findall(ROW, text)}
    assert found == set(ROWS.get(exercise.id, {}))


def test_every_equation_between_numbers_holds():
    checked = [holds(text) for exercise in PRODUCTION.exercises for text in texts(exercise)]
    assert sum(checked) > 100, "the pattern finds nothing any more"


def test_the_opening_and_the_parts_have_no_numbers_of_their_own():
    parts = [part.opening + part.recap for part in PRODUCTION.parts]
    assert [
        text for text in (PRODUCTION.opening, PRODUCTION.closing, *parts) if re.search(DECIMAL, text)
    ] == []


WORDS = r"\b(just|simply|obviously|of course|great|well done|easy|trivial|wrong)\b"


def test_no_word_that_makes_a_learner_feel_small():
    said = [text for exercise in PRODUCTION.exercises for text in texts(exercise)]
    said += [part.opening + part.recap for part in PRODUCTION.parts] + [
        PRODUCTION.opening,
        PRODUCTION.closing,
    ]
    assert [text for text in said if re.search(WORDS, text, re.IGNORECASE)] == []
