"""`headwork mark`: what is printed, and the exit status."""

import json

import numpy as np
import pytest

from headwork import HeadworkError, Problem, mark
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
    assert record.pop("diagnosis")["step"] == "scores"  # what is behind the first step that is not right
    assert record == json.loads(json.dumps(expected))


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
