"""Marking: the course's right answers, rounding, follow-through."""

import json
import subprocess
import sys

import numpy as np
import pytest
from learners import Learner, draw_problem

from headwork import Problem, diagnose, mark, trace

Q = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]]
K = [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]]
HAND = Problem(query=Q, key=K, value=[[1, 0], [0, 1], [1, 1]])
CAUSAL = Problem(query=Q, key=K, value=[[1, 0], [0, 1], [1, 1]], causal=True)
SATURATED = Problem(given={"scaled": [[5, 0, 10]]})
FUTURE = Problem(given={"scaled": [[1, 2, 5]]}, mask=[[True, True, False]])
PAIR = Problem(query=[[1, 1, 1, 1]], key=[[1, 1, 1, 1], [1, -1, 1, -1]], value=[[10, 0], [0, 10]])
CAPSTONE = Problem(query=[[2, 0]], key=[[2, 0], [0, 2]], value=[[1, 0], [0, 1]])


def row_1(**texts):
    return {step: {"row": 0, "values": text} for step, text in texts.items()}


RIGHT = [
    # name                          problem    answers                                              digits
    ("1 scores", HAND, {"scores": "2 0 4; 0 2 0; 0 4 0"}, 3),
    ("3 scaling", HAND, {"scaled": "1 0 2; 0 1 0; 0 2 0"}, 3),
    ("4 unshifted", HAND, row_1(exponentials="2.718 1 7.389", row_sum="11.107"), 3),
    ("4 shifted", HAND, row_1(exponentials="0.368 0.135 1", row_sum="1.503"), 3),
    ("4 as powers", HAND, {"exponentials": {"row": 0, "values": "e 1 e^2"}}, 3),
    ("4 weights", HAND, {"weights": {"row": 0, "values": "0.245 0.090 0.665"}}, 3),
    ("5 blend", HAND, {"output": {"row": 0, "values": "0.910 0.755"}}, 3),
    ("6 weights", HAND, {"weights": {"rows": [1, 2], "values": "0.212 0.576 0.212; 0.107 0.787 0.107"}}, 3),
    ("6 sums", HAND, {"row_sum": "11.107 4.718 9.389"}, 3),
    ("6 z2", HAND, {"output": {"row": 1, "values": "0.424 0.788"}}, 3),
    ("6 z3, full precision", HAND, {"output": {"row": 2, "values": "0.213 0.893"}}, 3),
    ("6 z3, from rounded weights", HAND, {"output": {"row": 2, "values": "0.214 0.894"}}, 3),
    ("7 weights", SATURATED, {"weights": "0.0067 0.00005 0.9933"}, 4),
    ("7 sum", SATURATED, {"row_sum": "22175"}, 0),
    ("8 masked", CAUSAL, {"masked": "1 -inf -inf; 0 1 -inf; 0 2 0"}, 3),
    ("8 masked by a large number", CAUSAL, {"masked": "1 -1e9 -10000; 0 1 -1e9; 0 2 0"}, 3),
    ("8 weights", CAUSAL, {"weights": "1 0 0; 0.269 0.731 0; 0.107 0.787 0.107"}, 3),
    ("8 output", CAUSAL, {"output": {"rows": [0, 1], "values": "1 0; 0.269 0.731"}}, 3),
    ("2.1 scaled", PAIR, {"scaled": "2 0"}, 3),
    ("2.2 weights", PAIR, {"row_sum": "8.389", "weights": "0.881 0.119"}, 3),
    ("2.3 output, two digits", PAIR, {"output": "8.81 1.19"}, 2),
    ("2.3 output from rounded weights", PAIR, {"output": "8.810 1.190"}, 3),
    ("4.1 future", FUTURE, {"row_sum": "10.107", "weights": "0.269 0.731 0"}, 3),
    ("5.3 scaled", CAPSTONE, {"scaled": "2.8284 0"}, 4),
    ("5.3 as a root", CAPSTONE, {"scaled": "2√2 0"}, 4),
    ("5.3 all", CAPSTONE, {"row_sum": "17.918", "weights": "0.9442 0.0558", "output": "0.9442 0.0558"}, 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "problem", "answers", "digits"), RIGHT, ids=[row[0] for row in RIGHT])
def test_the_course_s_answers_are_right(name, problem, answers, digits):
    marking = mark(problem, answers, digits)
    assert marking.is_right, marking.to_dict()
    assert marking.marks == marking.out_of


def written(array, digits):
    words = np.vectorize(lambda x: "-inf" if np.isneginf(x) else f"{x:.{digits}f}", otypes=[object])
    return words(array).tolist()


def packed(rng):
    query, key, value = (rng.normal(size=(2, 3, width)) for width in (8, 4, 4))
    return {"query": query, "key": key, "value": value, "heads": 4, "kv_heads": 2, "lengths": [2, 3]}


def test_the_true_result_of_every_step_is_right_typed_and_as_an_array(rng):
    seen = set()
    for run in range(60):
        problem = Problem(**(packed(rng) if run % 6 == 0 else draw_problem(rng)))
        work = trace(problem)
        steps = [name for step in work.steps for name in step.writes]
        typed = mark(problem, {name: written(work[name].astype(float), 3) for name in steps}, 3)
        assert typed.is_right, (typed.sentence, problem.to_dict())
        assert mark(problem, {name: work[name].astype(float) for name in steps}).is_right
        seen |= set(steps)
    assert {
        "query",
        "query_heads",
        "key_repeated",
        "query_rotated",
        "capped",
        "biased",
        "part_output",
        "merged",
    } <= seen


def verdicts(problem, answers, digits=3):
    return {step.step: step.verdicts.tolist() for step in mark(problem, answers, digits).steps}


def test_entries_are_marked_one_by_one():
    marking = mark(HAND, {"weights": "0.246 0.09 0.67; _ 0.58 0.212; 0.107 0.787 0"})
    assert marking["weights"].verdicts.tolist() == [
        ["not right", "right", "short"],
        ["blank", "short", "right"],
        ["right", "right", "not right"],
    ]
    assert marking.sentence == (
        "4 of 9 entries are right. Not right: row 1, column 1; row 3, column 3. "
        "2 entries: right so far: give three digits after the point. 1 entry is still to be filled in."
    )
    assert (marking.marks, marking.out_of) == (4, 9)


def test_exponentials_and_their_sum_are_shifted_or_not_but_not_both_in_one_row():
    mixed = verdicts(
        HAND,
        {"exponentials": "2.718 0.135 7.389; 0.368 1 0.368; 0.135 1 0.135", "row_sum": "1.503 4.718 1.271"},
    )
    assert mixed["exponentials"] == [["right", "not right", "right"], ["right"] * 3, ["right"] * 3]
    # row 1 was not shifted, so its sum is not 1.503; row 2 was, so its sum is 1.736
    assert mixed["row_sum"] == ["not right", "not right", "right"]


# --- follow-through ---------------------------------------------------------------------------------

W_ROWS = "0.212 0.576 0.212; 0.107 0.787 0.107"  # rows 2 and 3, right
Z_ROWS = "0.424 0.788; 0.213 0.893"
S_SLIP = "2 0 5; 0 2 0; 0 4 0"  # s₁₃ is 4; the rest by hand: 5/2, e^1 + 1 + e^2.5 = 15.901, …
FOLLOWED = [
    # name                       answers after the slip in the scores                step        first row
    ("scaled", {"scaled": "1 0 2.5; 0 1 0; 0 2 0"}, "scaled", ["right", "right", "follows"]),
    ("skipping steps", {"weights": f"0.171 0.063 0.766; {W_ROWS}"}, "weights", ["follows"] * 3),
    ("all the way", {"output": f"0.937 0.829; {Z_ROWS}"}, "output", ["follows"] * 2),
    ("right after all", {"output": f"0.910 0.755; {Z_ROWS}"}, "output", ["right"] * 2),
    ("another slip", {"scaled": "1 0 3; 0 1 0; 0 2 0"}, "scaled", ["right", "right", "not right"]),
    ("sum, unshifted", {"row_sum": "15.901 4.718 9.389"}, "row_sum", "follows"),
    ("sum, shifted", {"row_sum": "1.305 1.736 1.271"}, "row_sum", "follows"),
    ("logsumexp", {"logsumexp": "2.766 1.551 2.240"}, "logsumexp", "follows"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "later", "step", "first"), FOLLOWED, ids=[row[0] for row in FOLLOWED])
def test_one_slip_costs_one_mark(name, later, step, first):
    marking = mark(HAND, {"scores": S_SLIP, **later}, 3)
    assert marking[step].verdicts.tolist()[0] == first
    lost = 2 if name == "another slip" else 1
    assert marking.out_of - marking.marks == lost


def test_weights_follow_from_exponentials_and_sums_of_their_own_though_they_do_not_sum_to_1():
    answers = {"exponentials": "2.718 1 7.389; 1 2.718 1; 1 7.389 1", "row_sum": "12.107 4.718 9.389"}
    answers["weights"] = f"0.225 0.083 0.610; {W_ROWS}"
    answers["output"] = f"0.835 0.693; {Z_ROWS}"
    found = verdicts(HAND, answers)
    assert found["row_sum"] == ["not right", "right", "right"]
    assert found["weights"][0] == ["follows"] * 3
    assert found["output"][0] == ["follows"] * 2


def test_the_logsumexp_follows_from_exponentials_that_were_not_shifted():
    found = verdicts(
        HAND, {"exponentials": "2.718 1 8.389; 1 2.718 1; 1 7.389 1", "logsumexp": "2.494 1.551 2.240"}
    )
    assert found["logsumexp"] == ["follows", "right", "right"]  # ln 12.107


def test_what_follows_uses_what_was_written_however_it_was_rounded():
    # fewer digits than asked: z₁ = [0.5 + 0.41, 0.09 + 0.41] is taken from them as they stand
    found = verdicts(
        HAND,
        {
            "weights": "0.5 0.09 0.41; 0.212 0.576 0.212; 0.107 0.787 0.107",
            "output": "0.910 0.500; 0.424 0.788; 0.213 0.893",
        },
    )
    assert found["output"][0] == ["right", "follows"]


EXPS = {"exponentials": "e 1 e^2; 1 e 1; 1 e^2 1"}
TRIVIAL = [
    # name            problem  answers
    ("zeros", HAND, {"scores": "0 0 0; 0 2 0; 0 4 0", "scaled": "0 0 0; 0 1 0; 0 2 0"}, "scaled"),
    ("constant", HAND, {"scaled": "1 1 1; 0 1 0; 0 2 0", "weights": f"1/3 1/3 1/3; {W_ROWS}"}, "weights"),
    ("one weight of 1", HAND, {"weights": f"0 0 1; {W_ROWS}", "output": f"1 1; {Z_ROWS}"}, "output"),
    ("sum of 1", HAND, {"row_sum": "1 4.718 9.389", "weights": f"2.718 1 7.389; {W_ROWS}"} | EXPS, "weights"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "problem", "answers", "step"), TRIVIAL, ids=[row[0] for row in TRIVIAL])
def test_a_step_that_leaves_nothing_to_work_out_earns_nothing_for_the_next(name, problem, answers, step):
    marking = mark(problem, answers, 3)
    first = [entry for entry in marking[step].entries if entry.index[0] == 0]
    assert "follows" not in {entry.verdict for entry in first}
    assert any("leaves nothing to work out" in entry.note for entry in first)
    assert {entry.verdict for entry in marking[step].entries if entry.index[0] > 0} == {"right"}


def test_rows_that_are_trivial_in_truth_too_are_marked_as_usual():
    ones = Problem(query=[[0, 0]], key=[[1, 2], [3, 4]], value=[[1], [2]])
    assert mark(ones, {"scores": "0 0", "scaled": "0 0", "weights": "1/2 1/2", "output": "1.5"}).is_right
    assert verdicts(ones, {"scores": "3 3", "scaled": "2.121 2.121"})["scaled"] == [["follows", "follows"]]


class Slipper(Learner):
    """A learner who gets one entry of one step wrong, and goes on."""

    slip_step = "scores"

    def write(self, name, x):
        if name == self.slip_step and not self.answers[name]:
            x = np.asarray(x, float).copy()
            x.flat[0] += 0.7 if name == "weights" else 2.0
        return super().write(name, x)


@pytest.mark.parametrize("slip_step", ["scores", "scaled", "exponentials", "row_sum", "weights"])
def test_after_one_slip_every_later_entry_is_right_or_follows_however_it_was_rounded(slip_step):
    rng = np.random.default_rng(3)
    lost, runs = 0, 0
    while runs < 40:
        record = draw_problem(rng)
        problem = Problem(**record)
        if {"given", "sink", "chunks", "w_output", "rope", "softcap"} & set(record) or problem.Tk < 2:
            continue
        digits = int(rng.integers(2, 5))
        learner = Slipper(rng, digits)
        learner.slip_step = slip_step
        answers = learner.work(problem)
        names = ("scores", "scaled", "masked", "exponentials", "row_sum", "weights", "output")
        shapes = {name: trace(problem)[name].shape for name in names}
        marking = mark(
            problem, {name: written(answers[name].reshape(shapes[name]), digits) for name in names}, digits
        )
        noted = sum("leaves nothing" in entry.note for step in marking.steps for entry in step.entries)
        wrong = [
            (step.step, entry)
            for step in marking.steps
            for entry in step.entries
            if entry.verdict == "not right"
        ]
        assert all(step == slip_step or "leaves nothing" in entry.note for step, entry in wrong), (
            record,
            digits,
            wrong,
        )
        lost += len(wrong) - noted
        runs += 1
    assert lost >= 25  # some slips fall on a masked entry, or are swallowed by rounding


# --- precision --------------------------------------------------------------------------------------


def test_what_was_assumed_is_said():
    exact = trace(HAND).output
    assert (
        "3 digits after the point, as no number of digits was asked"
        in mark(HAND, {"output": "1 1; 1 1; 1 1"}).assumed
    )
    assert "2 digits after the point, as asked" in mark(HAND, {"output": "1 1; 1 1; 1 1"}, 2).assumed
    assert "float64 arithmetic" in mark(HAND, {"output": exact}).assumed
    assert "4 digits" in mark(HAND, {"output": np.round(exact, 4)}).assumed
    assert "whole numbers" in mark(HAND, {"scores": trace(HAND).scores}).assumed
    assert mark(HAND, {"output": np.round(exact, 4)}).is_right
    assert not mark(HAND, {"output": exact + 1e-9}).is_right


def test_whole_numbers_of_an_array_are_exact_and_do_not_excuse_wrong_ones():
    assert not mark(HAND, {"weights": np.array([[0, 0, 1], [0, 1, 0], [0, 1, 0]])}).marks


def test_a_nan_that_was_given_is_not_right_and_a_blank_is_blank():
    step = mark(HAND, {"output": [[np.nan, None], [0.424, 0.788], [0.213, 0.893]]}, 3).steps[0]
    assert step.verdicts[0].tolist() == ["not right", "blank"]


def test_a_float_mask_s_minus_infinity_may_be_added_or_selected():
    problem = Problem(query=Q, key=K, value=[[1, 0], [0, 1], [1, 1]], mask=[0.0, 0.5, -np.inf])
    for biased in ("1 0.5 -inf; 0 1.5 -inf; 0 2.5 -inf", "1 0.5 2; 0 1.5 0; 0 2.5 0"):
        assert mark(problem, {"biased": biased}).is_right


def test_which_keys_may_be_seen_may_be_answered_with_true_and_false():
    assert (
        mark(CAUSAL, {"scores": "0 0 0; 0 0 0; 0 0 0", "allowed": np.tri(3, dtype=bool)})["allowed"].marks
        == 9
    )
    assert (
        mark(CAUSAL, {"scores": "0 0 0; 0 0 0; 0 0 0", "allowed": "1 1 0; 1 1 0; 1 1 1"})["allowed"].marks
        == 8
    )


def test_a_row_that_may_see_nothing():
    problem = Problem(
        query=[[1.0], [1.0]], key=[[1.0], [2.0]], value=[[1.0], [2.0]], mask=[[False, False], [True, True]]
    )
    answers = {
        "masked": "-inf -inf; 1 2",
        "weights": "0 0; 0.269 0.731",
        "logsumexp": "-inf 2.313",
        "output": "0; 1.731",
    }
    assert mark(problem, answers).is_right


# --- what explains it -------------------------------------------------------------------------------

DIVIDED_BY_4 = "0.5 0 1; 0 0.5 0; 0 1 0"  # d_k in place of its root
# and from there: e^0.5 = 1.649, e^1 = 2.718: 5.367 in row 1, 3.649 in row 2, 4.718 in row 3
FOLLOWING = "0.307 0.186 0.506; 0.274 0.452 0.274; 0.212 0.576 0.212"


def test_a_step_that_is_not_right_comes_with_its_explanation():
    marking = mark(HAND, {"scores": "2 0 4; 0 2 0; 0 4 0", "scaled": DIVIDED_BY_4}, 3)
    assert list(marking.explanations) == ["scaled"]
    found = marking.explanations["scaled"]
    assert found.mistakes[0] == ("scale-d-k-instead-of-sqrt",)
    assert "d_k = 4" in found.sentence


def test_what_follows_is_not_explained_again_and_what_does_not_is_explained_from_the_learner_s_own_numbers():
    marking = mark(
        HAND, {"scaled": DIVIDED_BY_4, "weights": FOLLOWING, "output": "0.5 0.5; 0.5 0.5; 0.5 0.5"}, 3
    )
    assert [step.verdict for step in marking.steps] == ["not right", "follows", "not right"]
    assert list(marking.explanations) == ["scaled", "output"]
    # z₁₁ = 0.307 + 0.506 and z₂₁ = 0.274 + 0.274, with the second entry of row 1 left out: 0.186
    slip = mark(
        HAND,
        {"scaled": DIVIDED_BY_4, "weights": FOLLOWING, "output": "0.814 0.506; 0.548 0.726; 0.424 0.788"},
        3,
    )
    assert slip.explanations["output"].verdict == "slip"
    assert slip.explanations["output"].wrong == ((0, 1),)


@pytest.mark.parametrize(
    "answers", [{"scaled": "1 0 2; 0 1 0; 0 2 0"}, {"weights": "0.2 0.1 0.7; _ _ _; _ _ _"}]
)
def test_what_is_right_or_right_so_far_or_blank_has_nothing_to_explain(answers):
    assert mark(HAND, answers, 3).explanations == {}


def test_a_step_that_leaves_nothing_to_work_out_is_explained_where_it_was_made_so():
    marking = mark(HAND, {"scores": "0 0 0; 0 2 0; 0 4 0", "scaled": "0 0 0; 0 1 0; 0 2 0"}, 3)
    assert list(marking.explanations) == ["scores"]


def test_the_record_carries_hint_sentence_mistakes_and_slips_of_each_step():
    record = json.loads(json.dumps(mark(HAND, {"scores": S_SLIP, "scaled": DIVIDED_BY_4}, 3).to_dict()))
    scores, scaled = (step["explanation"] for step in record["steps"])
    assert scores["verdict"] == "unexplained"
    assert scaled["verdict"] in ("consistent", "slip", "mistake", "unexplained")
    for explanation in (scores, scaled):
        assert {"hint", "sentence", "mistakes", "slips", "example", "wrong"} <= set(explanation)
    right = json.loads(json.dumps(mark(HAND, {"scaled": "1 0 2; 0 1 0; 0 2 0"}).to_dict()))
    assert right["steps"][0]["explanation"] is None


def test_right_answers_load_no_catalogue():
    script = (
        "import sys; from headwork import Problem, mark; p = Problem(query=[[2]], key=[[1]], value=[[1]]);"
        "mark(p, {'scores': '2'}).to_dict(); sys.exit('headwork.mistakes.catalogue' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_marking_and_diagnosis_agree_on_what_the_arithmetic_of_a_problem_may_do(rng, dtype):
    arrays = {name: rng.normal(size=(4, 8)) for name in ("query", "key", "value")}
    coarse = Problem(**arrays, dtype=dtype)
    plain = trace(coarse).output.astype(np.float64)  # as somebody may have read it from a file
    assert mark(coarse, {"output": plain}).is_right
    assert diagnose(coarse, plain).verdict == "right"


def test_numbers_that_are_marked_right_are_diagnosed_right_and_the_other_way_round():
    rng = np.random.default_rng(4)
    for _ in range(25):
        answer = np.round(trace(HAND).output + rng.choice([0, 0, 0, 4e-4, 2e-3]) * rng.normal(size=(3, 2)), 3)
        text = "; ".join(" ".join(f"{x:.3f}" for x in row) for row in answer)
        assert mark(HAND, {"output": text}, 3).is_right == (diagnose(HAND, text, digits=3).verdict == "right")


# --- the record -------------------------------------------------------------------------------------


def test_the_marking_of_several_steps_names_the_first_that_is_not_right():
    marking = mark(HAND, {"scores": S_SLIP, "scaled": "1 0 2.5; 0 1 0; 0 2 0"})
    assert marking.first_not_right == "scores"
    assert (
        marking.sentence
        == "17 of 18 marks. The first that is not right: scores, row 1, column 3. The rest follows."
    )
    assert [step.verdict for step in marking.steps] == ["not right", "follows"]


def test_the_record_is_json_whatever_it_holds():
    marking = mark(CAUSAL, {"masked": [[1, "-inf", "nan"], [0, 1, None], [0, 2, "inf"]]})
    entries = json.loads(json.dumps(marking.to_dict(), allow_nan=False))["steps"][0]["entries"]
    assert [entry["value"] for entry in entries] == [1, "-inf", "nan", 0, 1, None, 0, 2, "inf"]
    assert [entry["right"] for entry in entries][:3] == [1, "-inf", "-inf"]
    assert entries[0]["index"] == [0, 0]
