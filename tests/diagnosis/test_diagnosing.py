"""The verdict on one step's numbers, and on several: right is right, and nothing crashes."""

import ml_dtypes
import numpy as np
import pytest
from drawn_problems import SEEDS, records
from hypothesis import given, settings, strategies as st
from three_tokens import SCORES, VALUE, changed, softmax, three_tokens

from headwork import HeadworkError, Problem, diagnose, trace
from headwork.diagnosis.diagnosing import VERDICTS, Diagnosis
from headwork.errors import UnknownNameError

PROBLEM = three_tokens()
SCALED, WEIGHTS = SCORES / 2, softmax(SCORES / 2)
OUTPUT = WEIGHTS @ np.array(VALUE)
SHIFTED, PLAIN = np.exp(SCALED - SCALED.max(axis=1, keepdims=True)), np.exp(SCALED)


def text(table, digits: int = 3) -> str:
    return "; ".join(" ".join(f"{value:.{digits}f}" for value in row) for row in np.atleast_2d(table))


def open_steps(problem: Problem) -> list[str]:
    """The fields that a problem's own steps give."""
    work = trace(problem)
    return [name for step in work.steps for name in step.writes if name in work]


# ---------------------------------------------------------------- right is right


@settings(max_examples=60)
@given(records(), st.integers(2, 8), SEEDS)
def test_right_answers_rounded_to_any_digits_are_never_accused(record, digits, seed):
    problem = Problem(**record)
    step = np.random.default_rng(seed).choice(open_steps(problem))
    right = trace(problem)[step]
    if right.dtype != bool:
        rounded = np.round(right, digits)
        assert diagnose(problem, rounded, step, digits).verdict == "right", step
        assert diagnose(problem, right, step).verdict == "right", step
        assert digits > 6 or diagnose(problem, rounded, step).verdict == "right", f"{step}, inferred"


@settings(max_examples=25)
@given(records(without=("rope",)), st.sampled_from(["float32", "float16", "bfloat16"]), SEEDS)
def test_what_the_dtype_itself_gives_is_right(record, dtype, seed):
    problem = Problem(**record, dtype=dtype)
    step = np.random.default_rng(seed).choice([name for name in open_steps(problem) if name != "allowed"])
    assert diagnose(problem, trace(problem)[step], step).verdict == "right", step


@settings(max_examples=40)
@given(records(without=("chunks",)), st.integers(2, 6), SEEDS)
def test_exponentials_and_their_sums_are_right_in_either_way_row_by_row(record, digits, seed):
    problem = Problem(**record)
    masked, top = trace(problem)["masked"], trace(problem)["row_max"]
    subtracted = np.where(
        np.random.default_rng(seed).random(top.shape) < 0.5, 0, np.where(np.isfinite(top), top, 0)
    )
    exps = np.exp(masked - subtracted[..., None])
    sink = problem.sink
    extra = 0 if sink is None else np.exp((sink[0] if problem.single else sink[:, None]) - subtracted)
    assert diagnose(problem, np.round(exps, digits), "exponentials", digits).verdict == "right"
    assert (
        diagnose(problem, np.round(exps.sum(axis=-1) + extra, digits), "row_sum", digits).verdict == "right"
    )


@settings(max_examples=30)
@given(st.sampled_from(["scores", "scaled", "exponentials", "weights", "output"]), SEEDS)
def test_a_blank_entry_never_turns_right_into_wrong(step, seed):
    rng = np.random.default_rng(seed)
    right = trace(PROBLEM)[step]
    blank = rng.random(right.shape) < 0.5
    blank.flat[rng.integers(blank.size)] = False
    answer = [
        ["_" if b else f"{v:.3f}" for v, b in zip(row, gaps, strict=True)]
        for row, gaps in zip(right, blank, strict=True)
    ]
    assert diagnose(PROBLEM, answer, step, 3).verdict == "right"


RIGHT = [
    # step      answer                                     source
    ("scores", "2 0 4; 0 2 0; 0 4 0", "by hand"),
    ("weights", text(WEIGHTS), "by hand"),
    ("output", "0.910 0.755; 0.424 0.788; 0.214 0.894", "z₃ from weights rounded to three digits"),
    ("exponentials", text(PLAIN), "nothing subtracted"),
    ("row_sum", "11.107 4.718 9.389", "nothing subtracted"),
    ("row_sum", "1.503 1.736 1.271", "the maximum subtracted"),
    ("allowed", np.ones((3, 3), dtype=bool), "all keys may be seen"),
    ("weights", {"row": 1, "values": "0.212 0.576 0.212"}, "one row of it"),
    ("weights", {"entry": [0, 2], "value": "0.665"}, "one entry"),
]


@pytest.mark.parametrize(("step", "answer", "source"), RIGHT)
def test_these_are_right(step, answer, source):
    found = diagnose(PROBLEM, answer, step)
    assert (found.verdict, found.mistakes, found.wrong) == ("right", (), ()), source
    assert found.sentence == "This is right."


def test_fewer_digits_that_agree_are_right_so_far():
    found = diagnose(PROBLEM, "0.2 0.1 0.7; 0.2 0.6 0.2; 0.1 0.8 0.1", "weights")
    assert found.verdict == "rounding"
    assert found.sentence == "Right so far: give three digits after the point."


# ---------------------------------------------------------------- both ways of working the softmax

WAYS = {"shifted": lambda s: np.exp(s - s.max(axis=1, keepdims=True)), "not shifted": np.exp}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("step", ["exponentials", "row_sum"])
def test_a_mistake_in_the_exponentials_is_named_in_either_way(step, way):
    exps = WAYS[way](SCORES / 4)
    answer = exps if step == "exponentials" else exps.sum(axis=1)
    found = diagnose(PROBLEM, np.round(answer, 3), step, 3)
    assert found.mistakes[0] == ("scale-d-k-instead-of-sqrt",)
    assert {len(reading) for reading in found.mistakes} == {1}


@pytest.mark.parametrize("way", WAYS)
def test_a_slip_in_the_exponentials_is_one_slip_in_either_way(way):
    answer = changed(np.round(WAYS[way](SCALED), 3), (3, 2, 1.5))
    answer[2, 1] = -np.round(WAYS[way](SCALED), 3)[2, 1]
    found = diagnose(PROBLEM, answer, "exponentials", 3)
    assert (found.verdict, found.wrong, found.after) == ("slip", ((2, 1),), ())


def test_subtracting_nothing_is_no_mistake_at_the_exponentials():
    assert diagnose(PROBLEM, np.round(PLAIN, 3), "exponentials").verdict == "right"


# ---------------------------------------------------------------- several steps


def steps(answers, problem: Problem = PROBLEM) -> list[tuple[str, str, bool]]:
    return [(each.step, each.verdict, each.follows) for each in diagnose(problem, answers).steps]


WRONG = softmax(SCORES / 4)


def test_the_first_wrong_step_is_the_diagnosis_and_the_rest_follows():
    answers = {
        "output": text(WRONG @ np.array(VALUE)),
        "scaled": text(SCORES / 4),
        "scores": text(SCORES, 0),
        "weights": text(WRONG),
    }
    found = diagnose(PROBLEM, answers)
    assert (found.step, found.mistakes[0]) == ("scaled", ("scale-d-k-instead-of-sqrt",))
    assert steps(answers) == [
        ("scores", "right", False),
        ("scaled", found.verdict, False),
        ("weights", "right", True),
        ("output", "right", True),
    ]
    assert found.steps[2].sentence == "This follows from your own scaled scores."
    assert found.steps[3].sentence == "This follows from your own weights."


def test_a_later_mistake_is_named_by_itself():
    transposed = softmax(SCORES / 4, axis=0)
    found = diagnose(PROBLEM, {"scaled": text(SCORES / 4), "weights": text(transposed)})
    assert found.steps[0].mistakes[0] == ("scale-d-k-instead-of-sqrt",)
    assert found.steps[1].mistakes[0] == ("softmax-over-queries",)  # not both


def test_what_follows_may_have_been_carried_with_more_digits_than_were_written():
    large = three_tokens()
    problem = Problem(query=large.query[0], key=large.key[0], value=[[7, 0], [0, 9], [11, 5]])
    exps = changed(SHIFTED, (1, 2, 0.5))  # a slip; all that follows is carried in full
    weights = exps / exps.sum(axis=1, keepdims=True)
    answers = {
        "exponentials": text(exps),
        "row_sum": text(exps.sum(axis=1)),
        "weights": text(weights),
        "output": text(weights @ [[7, 0], [0, 9], [11, 5]]),
    }
    assert [follows for _, _, follows in steps(answers, problem)] == [False, True, True, True]


def test_exponentials_of_ones_own_are_followed_whichever_way_they_were_worked():
    exps = changed(PLAIN, (1, 3, 8.389))  # e² is 7.389
    answers = {
        "exponentials": text(exps),
        "row_sum": text(exps.sum(axis=1)),
        "logsumexp": text(np.log(exps.sum(axis=1))),
    }
    assert [follows for _, _, follows in steps(answers)] == [False, True, True]


def test_after_right_steps_nothing_follows_it_is_right_or_wrong_by_itself():
    assert steps({"scores": text(SCORES, 0), "weights": text(WEIGHTS)}) == [
        ("scores", "right", False),
        ("weights", "right", False),
    ]


def test_with_heads_and_projections_too(rng):
    x, w = (
        rng.normal(size=(4, 6)).round(1),
        {f"w_{n}": rng.normal(size=(6, 4)).round(1) for n in ("query", "key", "value")},
    )
    problem = Problem(x=x, **w, heads=2)
    work = trace(problem)
    scaled = work["scores"] / 2  # d_k is 2
    weights = softmax(scaled)
    blended = weights @ np.stack([(x @ w["w_value"])[:, :2], (x @ w["w_value"])[:, 2:]])
    answers = {
        "scaled": scaled.round(3),
        "weights": weights.round(3),
        "output": np.concatenate(list(blended), axis=1).round(3),
    }
    found = diagnose(problem, answers, digits=3)
    assert [each.follows for each in found.steps] == [False, True, True]
    assert ("scale-d-k-instead-of-sqrt",) in found.mistakes


def test_one_answer_may_say_its_step_itself():
    assert diagnose(PROBLEM, {"step": "scores", "values": "2 0 4; 0 2 0; 0 4 0"}).verdict == "right"


# ---------------------------------------------------------------- what it says


def test_all_of_it_is_plain_data():
    for values, step in (
        (text(WRONG), "weights"),
        (changed(SCORES, (3, 2, 2)), "scores"),
        ("9 9; 9 9", "scores"),
    ):
        record = diagnose(PROBLEM, values, step).to_dict()
        assert record["verdict"] in VERDICTS
        assert set(record) >= {
            "step",
            "verdict",
            "mistakes",
            "slips",
            "after",
            "wrong",
            "sentence",
            "assumed",
        }
        for mistake in record["mistakes"]:
            assert isinstance(mistake["bits"], float)


def test_the_wrong_entries_are_counted_from_0_and_index_the_answer():
    assert diagnose(PROBLEM, changed(SCORES, (3, 2, 2)), "scores").wrong == ((2, 1),)


SENTENCES = [
    # answer                           step      says
    (changed(SCORES, (1, 1, 77.7)), "scores", "These numbers are not right, and nothing"),
    ({"entry": [0, 0], "value": "77.7"}, "scores", "This number is not right, and nothing"),
    (text(WRONG), "weights", "You divided by d_k instead of √d_k (d_k = 4, √d_k = 2)"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "step", "says"), SENTENCES)
def test_a_sentence_counts_rightly(answer, step, says):
    sentence = diagnose(PROBLEM, answer, step, 3).sentence
    assert sentence.startswith(says) or sentence.startswith(
        says.replace("You ", "These are also the numbers of somebody who ")
    )


def test_of_a_convention_and_a_mistake_with_the_same_numbers_the_convention_is_told():
    empty = three_tokens(mask=np.zeros((3, 3), dtype=bool))
    found = diagnose(empty, np.ones((3, 3), dtype=bool), "allowed")
    assert found.verdict == "convention"
    assert all(mistake.convention for mistake in found.findings[0].readings[0])


# ---------------------------------------------------------------- what does not fit

ODD = [
    # answer                                        said
    (np.zeros((2, 3)), "scores is 3 × 3 here; I read 2 rows of 3."),
    (np.zeros((3, 3), dtype=complex), "complex"),
    (
        np.array([[1, 2, object()], [1, 2, 3], [1, 2, 3]], dtype=object),
        "a number, a text or null was expected",
    ),
    (np.array([["2", "0", "x"]] * 3), "x"),
    ([], "empty"),
    (np.zeros((0, 3)), "no entry"),
    ("", "no entry"),
    ("_ _ _; _ _ _; _ _ _", "no entry that is given"),
    ([[1, 2], [3]], "every row needs the same number"),
    ([["a", "b", "c"]] * 3, "a"),
    (None, "scores is 3 × 3 here"),
    ({"row": 7, "values": [1, 2, 3]}, "it has no 8th query"),
    (float("nan"), "I read 1 entry"),
    (np.datetime64("2026-01-01"), "scores"),
]


@pytest.mark.parametrize(("answer", "said"), ODD, ids=[repr(row[0])[:30] for row in ODD])
def test_what_does_not_fit_is_told_plainly(answer, said):
    found = diagnose(PROBLEM, answer, "scores")
    assert found.verdict == "invalid"
    assert said in found.sentence


def test_a_step_that_does_not_exist_is_the_callers_error():
    with pytest.raises(UnknownNameError, match="there is no step called 'wieghts'"):
        diagnose(PROBLEM, "1", "wieghts")


@pytest.mark.parametrize("step", ["query", "part_output"])
def test_a_step_that_the_problem_does_not_have_is_invalid(step):
    assert diagnose(PROBLEM, SCORES, step).verdict == "invalid"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "step", ["scores", "row_max", "exponentials", "row_sum", "weights", "logsumexp", "output"]
)
def test_nan_and_infinity_are_numbers_like_others(step, value):
    answer = np.full(trace(PROBLEM)[step].shape, value)
    assert diagnose(PROBLEM, answer, step).verdict in ("unexplained", "mistake", "consistent", "slip")
    answer = trace(PROBLEM)[step].copy()
    answer.flat[1] = value
    assert diagnose(PROBLEM, answer, step).wrong == (np.unravel_index(1, answer.shape),)


ENTRIES = st.sampled_from([0, 1, -2, 0.5, "1/2", "√2", "x", "", None, np.nan, np.inf, True])
KINDS = st.sampled_from(
    [np.float16, np.float32, np.int8, np.uint64, bool, complex, object, "S3", "U4", ml_dtypes.bfloat16]
)
SHAPES = st.sampled_from([(3, 3), (1, 3, 3), (3,), (), (0,), (3, 2), (9,)])
ANSWERS = st.one_of(
    st.lists(st.lists(ENTRIES, max_size=4), max_size=4),
    st.text("0123456789.,;_-+/ \n[]()einfa√π", max_size=30),
    st.builds(lambda kind, shape: np.ones(shape).astype(kind), KINDS, SHAPES),
    st.sampled_from([1e308, -1e308, 5e-324, 10**400, b"1 2", {}, {"x": 1}, {1, 2}, object(), lambda: 1]),
)  # fmt: skip


@settings(max_examples=150)
@given(
    ANSWERS,
    st.sampled_from(["scores", "row_max", "exponentials", "row_sum", "weights", "output", "allowed"]),
    st.sampled_from([None, 0, 2, 3, 9]),
)
def test_nothing_that_is_handed_over_crashes_it(answer, step, digits):
    try:
        found = diagnose(PROBLEM, answer, step, digits)
    except HeadworkError:
        return
    assert isinstance(found, Diagnosis)
    assert found.verdict in VERDICTS
    assert found.sentence


@settings(max_examples=40)
@given(records(), SEEDS, st.sampled_from([None, 2, 3]))
def test_no_wrong_answer_to_any_step_of_any_problem_crashes_it(record, seed, digits):
    problem, rng = Problem(**record), np.random.default_rng(seed)
    step = rng.choice(open_steps(problem))
    right = trace(problem)[step].astype(float)
    answer = right + rng.normal(size=right.shape) * rng.choice([0, 0.01, 1, 100], right.shape)
    answer = np.where(rng.random(right.shape) < 0.1, rng.choice([np.nan, np.inf, 0]), answer)
    found = diagnose(problem, answer if digits is None else np.round(answer, digits), step, digits)
    assert found.verdict in VERDICTS
