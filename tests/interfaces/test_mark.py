"""`headwork mark`: what is printed, and the exit status."""

import json

import numpy as np
import pytest

from headwork import HeadworkError, Problem, mark
from headwork.interfaces.json_text import json_text
from headwork.interfaces.marking_text import render_step, run_mark

RECORD = {
    "query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    "key": [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    "value": [[1, 0], [0, 1], [1, 1]],
    "causal": True,
}


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(RECORD), encoding="utf-8")
    return str(path)


def file(tmp_path, record):
    path = tmp_path / "answers.json"
    path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    return str(path)


def test_right_answers_exit_with_0(problem, capsys):
    assert run_mark(problem, "2 0 4; 0 2 0; 0 4 0", step="scores") == 0
    assert "All 9 entries are right." in capsys.readouterr().out


def test_an_entry_that_is_not_right_has_a_sign_and_a_word_and_exits_with_1(problem, capsys):
    assert run_mark(problem, "2 0 5; 0 2 0; 0 4 0", step="scores") == 1
    out = capsys.readouterr().out
    assert "✗ 5" in out
    assert "✓ right   ✗ not right" in out
    assert "8 of 9 entries are right; row 1, column 3 is not." in out


def test_what_was_read_is_echoed_where_it_could_be_missed(problem, capsys):
    run_mark(problem, "0,269 0,731 0", step="weights", row=(1,))
    out = capsys.readouterr().out
    assert "I read row 2 as 0.269 | 0.731 | 0, with decimal commas" in out
    assert "query 1" not in out
    run_mark(problem, "0.269", step="weights", entry=(1, 0))
    assert "I read" not in capsys.readouterr().out


def test_a_file_may_answer_several_steps_and_its_decimals_keep_their_digits(problem, tmp_path, capsys):
    answers = (
        '{"scaled": [[1, 0, 2.5], [0, 1, 0], [0, 2, 0]], "weights": {"row": 1, "values": [0.27, 0.731, 0]}}'
    )
    assert run_mark(problem, file(tmp_path, answers)) == 1
    out = capsys.readouterr().out
    assert "✗ 2.5" in out
    assert "… 0.27" in out
    assert "give three digits after the point" in " ".join(out.split())


def test_one_of_the_steps_of_a_file_may_be_chosen(problem, tmp_path, capsys):
    path = file(tmp_path, {"scores": "9 9 9; 9 9 9; 9 9 9", "scaled": "1 0 2; 0 1 0; 0 2 0"})
    assert run_mark(problem, path, step="scaled") == 0
    capsys.readouterr()


def test_arrays_are_marked_too(problem, tmp_path, capsys):
    np.savez(tmp_path / "answers.npz", output=np.array([[1.0, 0.0], [0.269, 0.731], [0.213, 0.893]]))
    assert run_mark(problem, str(tmp_path / "answers.npz")) == 0
    assert "3 digits after the point, as every number given has at most that many" in " ".join(
        capsys.readouterr().out.split()
    )


def test_lines_fit_into_80_columns(problem, tmp_path, capsys):
    run_mark(
        problem,
        file(tmp_path, {"scores": "2 0 5; 0 2 0; 0 4 0", "weights": "0.2 0.3 0.5; 0.2 0.3 0.5; 0.2 0.3 0.5"}),
    )
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_plain_text_says_it_in_words_alone(problem, capsys):
    run_mark(problem, "1 -1e9 -inf; 0 1 0; 0 2 _", step="masked", plain=True)
    out = capsys.readouterr().out
    assert out.isascii()
    assert "query 2: 0 right, 1 right, 0 not right" in out
    assert "query 3: 0 right, 2 right, blank" in out
    assert "Row 1, column 2: read as -infinity" in out


def test_json_prints_the_record(problem, capsys):
    assert run_mark(problem, "2 0 5; 0 2 0; 0 4 0", step="scores", digits=2, json=True) == 1
    record = json.loads(capsys.readouterr().out)
    expected = mark(Problem(**RECORD), {"scores": "2 0 5; 0 2 0; 0 4 0"}, 2).to_dict()
    assert record == json.loads(json_text(expected))
    assert record["steps"][0]["explanation"]["step"] == "scores"


# ---------------------------------------------------------------- why: the scores divided by d_k = 4

DIVIDED_BY_4 = "0.5 0 1; 0 0.5 0; 0 1 0"


def flat(out):
    return " ".join(out.split())


def test_a_wrong_step_comes_with_where_to_look_and_not_with_what_is_wrong_there(problem, capsys):
    run_mark(problem, DIVIDED_BY_4, step="scaled")
    out = flat(capsys.readouterr().out)
    assert "Look again at this step: scale the scores. Start with row 1, column 1." in out
    assert "--why says what gives these numbers." in out
    assert "d_k" not in out


def test_on_request_it_comes_with_everything_in_the_problem_s_numbers(problem, capsys):
    run_mark(problem, DIVIDED_BY_4, step="scaled", why=True)
    out = flat(capsys.readouterr().out)
    for text in (
        "divided by d_k instead of √d_k (d_k = 4, √d_k = 2). Take the root: divide by √d_k.",
        "For example row 1, column 1: s₁₁ = 2 / √4 = 1. With this mistake it is 0.5, as yours is.",
        "As a formula: S/d_k instead of S / √d_k.",
        "headwork explain scale-d-k-instead-of-sqrt says more.",
    ):
        assert text in out
    assert "--why" not in out


@pytest.mark.parametrize("why", [False, True])
def test_what_follows_from_the_learner_s_own_step_is_not_explained_again(problem, tmp_path, capsys, why):
    # from 0.5 alone, 0 and 0.5, and 0 1 0: e^0.5 = 1.649, 1.649/2.649 = 0.622; e/4.718 = 0.576
    answers = {"scaled": DIVIDED_BY_4, "weights": "1 0 0; 0.378 0.622 0; 0.212 0.576 0.212"}
    run_mark(problem, file(tmp_path, answers), why=why)
    scaled, weights, _ = capsys.readouterr().out.split("\n\n", 2)
    assert ("scale" in scaled.split("row 3, column 2.")[1]) is True
    assert weights.rstrip().endswith("The rest follows from your step before.")


def test_numbers_that_nothing_explains_promise_no_explanation(problem, capsys):
    run_mark(problem, "7 1 3; 9 5 1; 8 3 6", step="scores")
    assert "--why" not in capsys.readouterr().out
    run_mark(problem, "7 1 3; 9 5 1; 8 3 6", step="scores", why=True)
    assert "nothing in the catalogue gives them" in flat(capsys.readouterr().out)


@pytest.mark.parametrize("width", ["40", "80"])
def test_all_of_it_keeps_to_the_width_of_the_page(problem, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    run_mark(problem, DIVIDED_BY_4, step="scaled", why=True)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= int(width)


def test_heads_have_a_table_each(rng):
    problem = Problem(
        query=rng.normal(size=(2, 1, 4)), key=rng.normal(size=(2, 2, 4)), value=rng.normal(size=(2, 2, 3))
    )
    lines = list(render_step(problem, mark(problem, {"scores": "1 2; 3 4"}).steps[0]))
    assert "  head 1:" in lines
    assert "  head 2:" in lines


@pytest.mark.parametrize(
    ("answers", "options", "says"),
    [
        ("2 0 4; 0 2 0; 0 4 0", {}, "do not say which step they answer. Name it: --step scores"),
        ("1", {"step": "weights", "row": (0,), "entry": (0, 0)}, "keep one of the two"),
        ("2 0; 0 2", {"step": "scores"}, "scores is 3 × 3 here; I read 2 rows of 2"),
    ],
)
def test_what_cannot_be_marked_says_how_to_mend_it(problem, answers, options, says):
    with pytest.raises(HeadworkError) as caught:
        run_mark(problem, answers, **options)
    assert says in str(caught.value)


def test_names_in_a_file_go_without_row_and_entry(problem, tmp_path):
    path = file(tmp_path, {"scores": "2 0 4; 0 2 0; 0 4 0"})
    with pytest.raises(HeadworkError, match="go with numbers alone"):
        run_mark(problem, path, row=(0,))
    with pytest.raises(HeadworkError, match="there is no answer to weights here; there is one to scores"):
        run_mark(problem, path, step="weights")
