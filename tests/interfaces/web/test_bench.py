"""The bench: what it works out, what it compares, and that its address holds all of it."""

import html
import json
import re

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.interfaces.web.bench_state import START, address_of, problem_of, state_in, state_of

TWO = {"q": "1 1 1 1", "k": "1 1 1 1; 1 -1 1 -1", "v": "1 0; 0 1"}  # by hand: scores 4 and 0, scaled 2 and 0
CASES = [
    # options                      weights of query 1 of TWO                source
    ({},                           [np.exp(2) / (np.exp(2) + 1), 1 / (np.exp(2) + 1)], "2 and 0, by hand"),
    ({"scale": "none"},            [np.exp(4) / (np.exp(4) + 1), 1 / (np.exp(4) + 1)], "4 and 0, by hand"),
    ({"scale": "1/4"},             [np.exp(1) / (np.exp(1) + 1), 1 / (np.exp(1) + 1)], "1 and 0, by hand"),
    ({"mask": "0 1"},              [0.0, 1.0], "key 1 may not be seen"),
    ({"mask": "-2 0.0"},           [0.5, 0.5], "2 − 2 = 0 and 0"),
    ({"softcap": "0,000001"},      [0.5, 0.5], "a cap near 0 leaves no difference"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "weights", "source"), CASES, ids=[case[2] for case in CASES])
def test_options_change_what_is_worked(options, weights, source):
    work = trace(problem_of(state_in(TWO | options)))
    np.testing.assert_allclose(work["weights"].ravel(), weights, atol=1e-6)


@pytest.mark.parametrize(
    ("window", "seen"),
    [
        ("1", [[1, 1, 0], [1, 1, 1], [0, 1, 1]]),
        ("1, 0", [[1, 0, 0], [1, 1, 0], [0, 1, 1]]),
        ("none 0", [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
    ],
)
def test_a_window_counts_keys_before_and_after_each_query(window, seen):
    three = "1; 1; 1"
    work = trace(problem_of(state_in({"q": three, "k": three, "window": window})))
    np.testing.assert_array_equal(work["weights"] > 0, np.array(seen, bool))


@pytest.mark.parametrize(
    "problem",
    [
        Problem(query=[[1.5, -2]], key=[[1, 0], [0, 1]], value=[[1], [2]], causal=True),
        Problem(query=np.ones((2, 4)), key=np.ones((2, 2)), value=np.ones((2, 2)), heads=2, kv_heads=1),
        Problem(query=[[1, 2, 3, 4]], key=[[1, 2, 3, 4]], rope=True, sink=[0.5], window=(1, None)),
        Problem(given={"scores": [[1, 2]]}, head_dim=4, alibi=True, mask=[[True, False]]),
        Problem(
            query=np.arange(8.0).reshape(2, 2, 2),
            key=np.arange(8.0).reshape(2, 2, 2),
            scale=0.1,
            softcap=3,
            dtype="float32",
        ),
    ],
    ids=["plain", "packed heads", "positions", "given scores", "heads"],
)
def test_the_address_of_a_problem_restores_it(problem):
    restored = problem_of(state_of(problem))
    assert json.dumps(restored.to_dict(), default=np.ndarray.tolist) == json.dumps(
        problem.to_dict(), default=np.ndarray.tolist
    )
    assert address_of(problem).startswith("/bench?")


def test_the_page_begins_with_numbers_and_works_them(learner):
    page = learner.get("/bench").text
    assert START["q"] in html.unescape(page)
    work = trace(problem_of(state_in({})))
    assert 'data-step="weights-0"' in page
    assert page.count("masked") > work.problem.Tq  # the hatched cells


def test_a_cell_says_its_arithmetic_in_the_page_and_for_javascript(learner):
    # By hand: query 1 meets key 1 in four ones.
    page = learner.get("/bench", params=TWO | {"at": "1,1"}).text
    assert "1·1 + 1·1 + 1·1 + 1·1 = 4" in page
    lines = dict(
        learner.get("/bench/cell", params=TWO | {"at": "1,1,2", "field": "scores-0"}).json()["lines"]
    )
    assert "1·1 + 1·(−1) + 1·1 + 1·(−1) = 0" in lines["scores"]
    output = dict(learner.get("/bench/cell", params=TWO | {"at": "1,1", "field": "output-0"}).json()["lines"])
    assert "0.881·1 + 0.119·0 = 0.881" in output["output"]


def test_a_mistake_stands_beside_the_right_result_cell_by_cell(learner):
    page = learner.get("/bench", params=TWO | {"mistake": "scale-missing"}).text
    # By hand: 4 and 0 instead of 2 and 0; e⁴/(e⁴ + 1) = 0.982 instead of 0.881.
    assert re.search(
        r'<td class="differs"[^>]*><span class="sign" aria-hidden="true">≠</span><span class="unseen">differs: </span> 0.982</td>',
        page,
    )
    assert "no place for it" in learner.get("/bench", params=TWO | {"mistake": "causal-skipped"}).text


def test_numbers_are_diagnosed(learner):
    page = learner.get("/bench", params=TWO | {"answer": "0.982 0.018", "step": "weights"}).text
    assert "/mistakes/scale-missing" in page
    assert "could not read" in learner.get("/bench", params=TWO | {"answer": "a b"}).text.lower()


def test_blind_spots_are_named(learner):
    # With equal keys the weights are even whatever the scale.
    page = learner.get("/bench", params={"q": "1 2", "k": "1 1; 1 1", "v": "1; 2", "blind": "1"}).text
    blind = page[page.index('id="blind"') :]
    assert "/mistakes/scale-missing" in blind


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"q": "1 2; 3", "k": "1 2"}, "row"),
        ({"q": "1 x", "k": "1 2"}, "Q:"),
        ({"q": "1 _", "k": "1 2"}, "missing"),
        ({"q": "1 2", "k": "1 2 3"}, "3"),
        ({"q": "1 2", "k": "1 2", "heads": "two"}, "whole number"),
        ({"q": "\n".join(["1"] * 17), "k": "1"}, "larger"),
        ({"problem": "{"}, "JSON"),
        ({"problem": '{"nothing": 1}'}, "nothing"),
    ],
)
def test_what_cannot_be_worked_is_said_on_the_page(learner, fields, said):
    answer = learner.get("/bench", params=fields)
    assert answer.status_code == 422
    error = answer.text[answer.text.index('role="alert"') :].split("</p>")[0]
    assert said in error


def test_json_latex_python_and_a_picture_hold_the_weights(learner):
    written = {
        kind: learner.get("/bench/export", params=TWO | {"as": kind})
        for kind in ("json", "latex", "python", "svg")
    }
    assert all("attachment" in answer.headers["content-disposition"] for answer in written.values())
    steps = {step["name"]: step for step in json.loads(written["json"].text)["steps"]}
    assert "weights" in json.dumps(steps)
    assert r"0.881 & 0.119 \\" in written["latex"].text
    assert ">0.881</text>" in written["svg"].text
    made = {}
    exec(compile(written["python"].text.replace("print", "str"), "export", "exec"), made)
    np.testing.assert_allclose(made["work"]["weights"], [[1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))]])
