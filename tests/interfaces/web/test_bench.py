"""The bench: what it works out, what it compares, and that its address holds all of it."""

import html
import json
import re
import sys

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.interfaces.web.bench_grid import grids_of
from headwork.interfaces.web.bench_options import OPTIONS
from headwork.interfaces.web.bench_page import hill, worked_state
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
    ({"lengths": "1"},             [1.0, 0.0], "key 2 is padding"),
    ({"causal": "1"},              [np.exp(2) / (np.exp(2) + 1), 1 / (np.exp(2) + 1)], "the query stands at the last key"),
    ({"causal": "1", "offset": "0"}, [1.0, 0.0], "the query stands at the first key"),
    ({"alibi": "1"},               [np.exp(1) / (np.exp(1) + 1), 1 / (np.exp(1) + 1)], "2 − 1·1 and 0 − 1·0"),
    ({"alibi": "published"},       [np.exp(2 - 2**-8) / (np.exp(2 - 2**-8) + 1), 1 / (np.exp(2 - 2**-8) + 1)], "Press et al. 2022: 2^−8 for one head"),
    ({"sink": "2"},                [np.exp(2) / (2 * np.exp(2) + 1), 1 / (2 * np.exp(2) + 1)], "one more e² in the sum"),
    ({"chunks": "1, 1"},           [np.exp(2) / (np.exp(2) + 1), 1 / (np.exp(2) + 1)], "parts change nothing"),
    ({"heads": "2"},               [np.exp(2**0.5) / (np.exp(2**0.5) + 1), 1 / (np.exp(2**0.5) + 1)] * 2, "two heads of 2 wide: 2/√2 and 0"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "weights", "source"), CASES, ids=[case[2] for case in CASES])
def test_options_change_what_is_worked(options, weights, source):
    work = trace(problem_of(state_in(TWO | options)))
    np.testing.assert_allclose(work["weights"].ravel(), weights, atol=1e-6)


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_positions_turn_queries_and_keys(pairing):
    # By hand: q stands at key 2, one radian on from key 1, so the scores are cos 1 and 1.
    state = state_in({"q": "1 0", "k": "1 0; 1 0", "rope": pairing, "rope_base": "7", "scale": "none"})
    np.testing.assert_allclose(trace(problem_of(state))["scores"], [[np.cos(1), 1.0]])


def test_several_heads_of_queries_share_one_of_keys():
    # By hand: head 1 meets (1, 0) and (0, 1) with (1, 0), head 2 with (0, 1).
    state = state_in({"q": "1 0 0 1", "k": "1 0; 0 1", "heads": "2", "kv_heads": "1", "scale": "none"})
    np.testing.assert_array_equal(trace(problem_of(state))["scores"], [[[1, 0]], [[0, 1]]])


def test_the_arithmetic_can_be_of_fewer_bits():
    state = state_in({"q": "1", "k": "0,1", "dtype": "float16"})
    assert float(problem_of(state).key.ravel()[0]) == 1638 / 2**14  # the nearest to 0.1 with 11 bits


def test_what_belongs_to_positions_or_heads_is_left_aside_without_them():
    assert problem_of(state_in(TWO | {"rope_base": "5", "kv_heads": "2"})).rope is None


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
    assert same(problem_of(state_of(problem)), problem)
    assert address_of(problem).startswith("/bench?")


def same(one, other):
    texts = [json.dumps(each.to_dict(), default=np.ndarray.tolist) for each in (one, other)]
    return texts[0] == texts[1]


SQUARE = {"query": np.eye(4) / 3, "key": np.arange(16.0).reshape(4, 4), "value": [[1], [2], [0.1], [1e-7]]}


@pytest.mark.parametrize(
    "options",
    [
        {"causal": "upper_left", "window": (1, None), "softcap": 2.5},
        {"rope": {"base": 500, "pairing": "interleaved", "dim": 2}, "scale": 1 / 3},
        {"alibi": True, "sink": -0.25, "lengths": 3, "chunks": [1, 3]},
        {"mask": np.tri(4, dtype=bool)},
        {"mask": [[-np.inf, 0.5, 0, 0]], "dtype": "float32"},
        {"offset": -1, "causal": True, "dtype": "bfloat16"},
    ],
)
def test_what_a_problem_can_do_is_said_by_the_controls(options):
    problem = Problem(**SQUARE, **options)
    state = state_of(problem)
    assert state.problem == ""  # no JSON
    assert same(problem_of(state), problem)
    assert same(problem_of(state_in(state.query())), problem)


GOOD = {
    "causal": "1", "window": "1, none", "scale": "1/4", "heads": "2", "mask": "1 1 0 1", "offset": "-1", "lengths": "3",
    "softcap": "2", "alibi": "published", "rope": "half", "rope_base": "100", "rope_dim": "2", "kv_heads": "1", "sink": "0",
    "chunks": "1, 3", "dtype": "float16",
}  # fmt: skip


@pytest.mark.parametrize("option", OPTIONS, ids=[option.name for option in OPTIONS])
def test_every_control_says_what_it_does_and_keeps_what_was_chosen(learner, option):
    fields = {"q": START["q"], "k": START["k"], "v": START["v"], option.name: GOOD[option.name]}
    answer = learner.get("/bench", params=fields)
    assert answer.status_code == 200
    page = answer.text
    control = re.search(rf'<div class="option">(?:(?!</div>).)*name="{option.name}".*?</div>', page, re.S)[0]
    assert option.says in html.unescape(control)
    assert re.search(
        rf'value="{re.escape(GOOD[option.name])}"(?: checked| selected| placeholder)|>{GOOD[option.name]}</textarea>',
        control,
    )
    link = html.unescape(re.search(r'href="([^"]*)" data-link', page)[1])
    assert learner.get(link).text == page


@pytest.mark.parametrize("option", OPTIONS, ids=[option.name for option in OPTIONS])
@pytest.mark.parametrize("text", ["1e999", "9999", '"><script>alert(1)</script>', "1 " * 5000])
def test_a_control_takes_anything_and_says_what_it_cannot_read(learner, option, text):
    heads = {"heads": "2", "rope": "half"} if option.name != "heads" else {}
    answer = learner.get("/bench", params=TWO | heads | {option.name: text})
    assert answer.status_code in (200, 422)
    assert "<script>alert" not in answer.text
    assert "fault in Headwork" not in answer.text


def test_a_grid_has_what_was_typed(learner):
    page = learner.get("/bench", params={"q": "1/2 √2; _ 0,5", "k": "1 2", "v": ""}).text
    cells = dict(re.findall(r'<input id="(q-\d-\d|v-\d-\d)" value="([^"]*)"', page))
    assert cells == {"q-0-0": "1/2", "q-0-1": "√2", "q-1-0": "", "q-1-1": "0,5"} | {
        f"v-{i}-{j}": "" for i in (0, 1) for j in (0, 1)
    }
    assert "Q, query 2, dimension 1" in page
    assert len(re.findall(r'aria-invalid="true"', page)) == 1  # the one that is missing


def test_a_grid_shows_where_it_cannot_be_read():
    q, *_ = grids_of(state_in({"q": "1 2x 3\n4 5"}))
    assert [[cell for cell, _ in row] for row in q.rows] == [["1", "2x", "3"], ["4", "5", ""]]
    assert [[bad for _, bad in row] for row in q.rows] == [[False, True, False], [False, False, True]]


def test_a_matrix_that_no_grid_holds_is_text_alone(learner):
    q, *_ = grids_of(state_in({"q": "\n".join(["1"] * 17)}))
    assert q.rows == ()
    assert 'id="q-0-0"' not in learner.get("/bench", params={"q": "1 " * 33, "k": "1"}).text


def test_the_way_a_matrix_was_read_is_said(learner):
    assert "Read with decimal commas." in learner.get("/bench", params={"q": "0,5", "k": "1"}).text


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


def test_forms_keep_what_the_others_ask(learner):
    page = learner.get(
        "/bench", params=TWO | {"mistake": "scale-missing", "answer": "1 0", "step": "weights"}
    ).text
    what_if, diagnose = (
        page[page.index(f'action="/bench#{name}"') :].split("</form>")[0] for name in ("what-if", "diagnose")
    )
    assert 'type="hidden" name="answer" value="1 0"' in what_if
    assert 'type="hidden" name="mistake" value="scale-missing"' in diagnose
    assert 'type="hidden" name="answer"' not in diagnose


def test_the_hill_has_every_query_and_compares_only_what_the_scale_changed():
    found = hill(worked_state(state_in(TWO)), (0, 0, 0))
    assert (found["now"]["p"], found["was"]["p"]) == ("0.881", "0.982")  # e²/(e² + 1), e⁴/(e⁴ + 1)
    assert json.loads(found["rows"]) == [[[2.0, 0.0]]]
    assert hill(worked_state(state_in(TWO | {"softcap": "3"})), (0, 0, 0))["was"] is None
    causal = {"q": "1; 1", "k": "1; 1", "causal": "1"}
    assert hill(worked_state(state_in(causal)), (0, 0, 0))["now"]["p"] == "1.000"  # query 1 sees one key
    assert hill(worked_state(state_in({"q": "1", "k": "1"})), (0, 0, 0)) is None


def test_every_step_has_its_formula_as_mathml(learner):
    page = learner.get("/bench", params=TWO | {"scale": "1/4"}).text
    captions = re.findall(r'<figcaption id="t-[^"]*">.*?</figcaption>', page)
    assert all("<math" in caption for caption in captions)
    assert any("0.25" in caption for caption in captions)


def test_json_latex_python_and_pictures_hold_the_weights(learner):
    written = {
        kind: learner.get("/bench/export", params=TWO | {"as": kind})
        for kind in ("json", "latex", "python", "svg", "png")
    }
    assert all("attachment" in answer.headers["content-disposition"] for answer in written.values())
    steps = {step["name"]: step for step in json.loads(written["json"].text)["steps"]}
    assert "weights" in json.dumps(steps)
    assert r"0.881 & 0.119 \\" in written["latex"].text
    assert "Query 1: key 1 0.881, key 2 0.119." in written["svg"].text  # in words, for who does not see it
    assert written["png"].content.startswith(b"\x89PNG\r\n")
    assert written["png"].headers["content-type"] == "image/png"
    made = {}
    exec(compile(written["python"].text.replace("print", "str"), "export", "exec"), made)
    np.testing.assert_allclose(made["work"]["weights"], [[1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))]])


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_picture_without_matplotlib_says_how_to_have_it(learner, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    answer = learner.get("/bench/export", params=TWO | {"as": kind})
    assert answer.status_code == 422
    assert "pip install matplotlib" in answer.text
    assert "content-disposition" not in answer.headers
