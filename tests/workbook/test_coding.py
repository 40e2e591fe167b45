"""A learner's function is checked: what passes, what is named and how, and files that nobody wants to run."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
from mutants.as_code import ANSWERS, file_text
from mutants.in_catalogue import names

from headwork.conformance.limits import Limits
from headwork.workbook.coding import NOT_ASKED, STOPPED, check_code
from headwork.workbook.tracks import track_named

SOFTMAX = """
import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""
EVERY = 9  # of the mutants are looked at here; bench/code_mutants.py looks at all


def checked(folder: Path, track: str, text: str, limits: Limits | None = None):
    """The check of a file with this text."""
    path = folder / track_named(track).file_name
    path.write_text(text, encoding="utf-8")
    return check_code(track_named(track), path, **({"limits": limits} if limits else {}))


def attention(folder: Path, body: str):
    return checked(folder, "attention", f"{SOFTMAX}\n\ndef attention(query, key, value):\n    {body}\n")


# ---------------------------------------------------------------- what passes


def test_a_first_version_without_the_maximum_passes_and_is_told_what_comes_next(tmp_path):
    check = attention(
        tmp_path,
        "e = np.exp(query @ key.T / np.sqrt(query.shape[-1])); return e / e.sum(-1, keepdims=True) @ value",
    )
    assert check.is_right
    assert {extra.beyond.case.id: extra.is_there for extra in check.extras} == {
        "overflow": False,
        "batches": False,
    }


def test_float32_is_judged_as_float32_and_said(tmp_path):
    check = attention(
        tmp_path, "return (softmax(query @ key.T / np.sqrt(query.shape[-1])) @ value).astype('f4')"
    )
    assert check.is_right
    assert check.tried[0].notes == ("It was given float64 and returned float32.",)


def test_what_is_returned_beside_the_output_does_not_count(tmp_path):
    check = attention(tmp_path, "w = softmax(query @ key.T / np.sqrt(query.shape[-1])); return w @ value, w")
    assert check.is_right
    assert check.tried[0].notes == ("It returned 2 arrays; only the first 1 counted here.",)


@pytest.mark.parametrize("track", ["attention", "cache", "backward"])
def test_plain_loops_pass_although_they_return_lists(tmp_path, track):
    check = checked(tmp_path, track, track_named(track).spec)
    assert check.is_right
    assert check.tried[0].notes == ()


def test_a_list_of_rows_is_put_together(tmp_path):
    body = "return [softmax(q @ key.T / np.sqrt(len(q))) @ value for q in query]"
    assert attention(tmp_path, body).is_right


def test_an_argument_that_is_changed_is_said_and_no_failure(tmp_path):
    check = attention(tmp_path, "query /= np.sqrt(query.shape[-1]); return softmax(query @ key.T) @ value")
    assert check.is_right
    assert "It changes its argument query" in check.tried[0].notes[0]


def test_a_helper_from_the_file_beside_it_can_be_imported(tmp_path):
    (tmp_path / "softmax.py").write_text(SOFTMAX, encoding="utf-8")
    text = "from softmax import softmax\n\n\ndef attention(query, key, value):\n    return softmax(query @ key.T / query.shape[-1] ** 0.5) @ value\n"
    assert checked(tmp_path, "attention", text).is_right


def test_pytorch_functions_are_handed_tensors(tmp_path):
    pytest.importorskip("torch")
    text = (
        "import torch\n\n\ndef attention(query: torch.Tensor, key, value):\n"
        "    return torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value\n"
    )
    check = checked(tmp_path, "attention", text)
    assert (check.library, check.is_right) == ("torch", True)


def test_jax_functions_are_handed_its_arrays(tmp_path):
    pytest.importorskip("jax")
    text = "import jax\n\n\ndef softmax(scores):\n    return jax.nn.softmax(scores, axis=0)\n"
    check = checked(tmp_path, "softmax", text)
    assert (check.library, check.is_right) == ("jax", False)
    assert check.named[0].ids == ("softmax-over-queries",)


# ---------------------------------------------------------------- what is named


@pytest.mark.parametrize("sums", ["e.sum(axis=0)", "e.sum(axis=0, keepdims=True)"])
def test_a_softmax_down_the_columns_is_named_though_it_overflows_besides(tmp_path, sums):
    text = f"import numpy as np\n\n\ndef softmax(scores):\n    e = np.exp(scores)\n    return e / {sums}\n"
    (named,) = checked(tmp_path, "softmax", text).named
    assert named.ids == ("softmax-over-queries",)
    assert "large" not in named.cases  # e^1000 is ∞ there


NAMED = [
    # body                                                                                  ids                                          source
    ("return softmax(query @ key.T) @ value", ("scale-missing",), "no division"),
    ("return softmax(query @ key.T / query.shape[-1]) @ value", ("scale-d-k-instead-of-sqrt",), "d_k, not its root"),
    ("return softmax(query @ key.T / np.sqrt(query.shape[-1]), 0) @ value", ("softmax-over-queries",), "axis 0 are the queries"),
    ("return softmax(query @ key.T, 0) @ value", ("scale-missing", "softmax-over-queries"), "two of them"),
    ("return np.round(softmax(query @ key.T / np.sqrt(query.shape[-1])), 3) @ value", ("weights-rounded-early",), "np.round"),
    ("return softmax(query @ key.T / np.sqrt(query.shape[-1])) @ value + 1e-3", None, "nobody's rule"),
    ("return np.nan * softmax(query @ key.T) @ value", None, "NaN says nothing"),
    ("return softmax(query @ key.T / np.sqrt(query.shape[-1]))", None, "weights, of another shape"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "ids", "source"), NAMED)
def test_the_mistake_is_named_from_all_cases_together(tmp_path, body, ids, source):
    check = attention(tmp_path, body)
    assert not check.is_right
    assert (check.named[0].ids if check.named else None) == ids


def test_rounding_on_the_way_is_named_where_the_exercise_starts_behind_the_scale(tmp_path):
    text = SOFTMAX.replace("):\n", "):\n    x = np.round(x)\n")
    (named,) = checked(tmp_path, "softmax", text).named
    assert named.ids == ("scores-rounded-early",)


def test_a_mistake_in_one_branch_is_named_on_the_cases_that_take_it(tmp_path):
    body = "d = query.shape[-1]; return softmax(query @ key.T / (d**0.5 if d != 6 else d)) @ value"
    found = attention(tmp_path, body).named[0]
    assert (found.ids, found.cases) == (("scale-d-k-instead-of-sqrt",), ("more-keys",))


def test_overflow_fails_where_stability_is_asked_for(tmp_path):
    text = "import numpy as np\n\n\ndef softmax(scores):\n    e = np.exp(scores)\n    return e / e.sum(-1, keepdims=True)\n"
    check = checked(tmp_path, "softmax", text)
    assert check.first_failing.case.id == "large"
    assert check.named[0].ids == ("softmax-without-max",)


GRADIENTS = [
    # old                                                         new                                      id                             source
    ("d_scaled @ key * scale", "d_scaled @ key", "gradient-query-scale-missing", "dQ is scaled too"),
    (" - (weights * d_weights).sum(axis=-1, keepdims=True)", "", "gradient-row-not-subtracted", "the row's sum"),
    ("d_scaled = weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))", "d_scaled = weights * (1 - weights) * d_weights", "gradient-sigmoid", "the diagonal alone"),
    ("return d_query, d_key, d_value", "return -d_query, -d_key, -d_value", "gradient-negated", "the sign"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "id", "source"), GRADIENTS)
def test_a_wrong_gradient_is_named(tmp_path, old, new, id, source):
    solution = track_named("backward").solution
    assert old in solution
    check = checked(tmp_path, "backward", solution.replace(old, new))
    assert not check.is_right
    assert check.named[0].ids == (id,)


def test_a_wrong_gradient_is_named_in_float32(tmp_path):
    solution = track_named("backward").solution.replace("d_scaled @ key * scale", "d_scaled @ key")
    text = solution.replace(
        "return d_query, d_key, d_value", "return tuple(x.astype('f4') for x in (d_query, d_key, d_value))"
    )
    assert checked(tmp_path, "backward", text).named[0].ids == ("gradient-query-scale-missing",)


def test_gradients_that_are_missing_are_counted(tmp_path):
    text = "def attention_backward(query, key, value, d_output):\n    return query, key\n"
    assert (
        "It returned 2 arrays, and 3 arrays are asked for: query, key, value."
        in checked(tmp_path, "backward", text).tried[0].said
    )


@pytest.mark.parametrize(("track", "mutant"), ANSWERS[::EVERY], ids=lambda one: getattr(one, "id", one))
def test_a_mutant_passes_no_exercise_that_asks_for_what_it_breaks_and_is_named(tmp_path, track, mutant):
    check = checked(tmp_path, track, file_text(track_named(track).function, track, mutant.id))
    assert not check.is_right
    assert set(names(mutant)) & {id for each in check.named for id in (*each.ids, *each.alike)}


def test_there_are_mutants_for_every_track_but_the_backward_pass():
    assert {track for track, _ in ANSWERS} == {
        "softmax", "attention", "causal", "masks", "heads", "grouped-heads", "cache", "online-softmax",
    }  # fmt: skip


# ---------------------------------------------------------------- files that nobody wants to run

HOSTILE = [
    # text                                                                     said                                       source
    ("def attention(q, k, v):\n    return q @ k.T +\n", "attention.py is not valid Python: line 2: invalid syntax.", "half typed"),
    ("", "attention.py has no 'attention'; there is no public function in it.", "empty"),
    ("def atention(q, k, v):\n    return q\n", "did you mean atention?", "a wrong name"),
    ("attention = 5\n", "attention is of type int, which cannot be called", "no function"),
    ("import sys\nsys.exit(1)\n", "It called sys.exit(1)", "ends while it is imported"),
    ("import nothing_of_that_name\n", "No module named 'nothing_of_that_name'", "not installed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said", "source"), HOSTILE)
def test_a_file_that_cannot_be_loaded_says_why(tmp_path, text, said, source):
    check = checked(tmp_path, "attention", text)
    assert said in check.failure
    assert (check.is_right, check.tried) == (False, ())


def test_bytes_that_are_no_text_are_told(tmp_path):
    path = tmp_path / "attention.py"
    path.write_bytes(b"def attention(q, k, v):\n    return '\xe9\xff'\n")
    assert "not valid Python" in check_code(track_named("attention"), path).failure


ENDS = [
    # body                                          verdicts                said                                     source
    ("import sys; sys.exit(3)", [STOPPED] * 5, "It called sys.exit(3)", "not the end of ours"),
    ("import os; os._exit(0)", [STOPPED] + [NOT_ASKED] * 4, "It ended its own process", "not even so"),
    ("return None", [STOPPED] * 5, "It returned None", "a forgotten return"),
    ("return input()", [STOPPED] * 5, "EOFError", "nobody is there to type"),
    ("return query @ key", [STOPPED] * 4 + ["not right"], "ValueError: matmul", "the square case alone goes through"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "verdicts", "said", "source"), ENDS)
def test_whatever_a_function_does_it_is_a_finding(tmp_path, body, verdicts, said, source):
    check = attention(tmp_path, body)
    assert [each.verdict for each in check.tried] == verdicts
    assert said in check.tried[0].said


def test_an_endless_loop_is_ended_and_the_other_cases_are_not_asked(tmp_path):
    begun = time.monotonic()
    text = "def attention(query, key, value):\n    while True:\n        pass\n"
    check = checked(tmp_path, "attention", text, Limits(seconds=0.5, first_seconds=0.5))
    assert [each.verdict for each in check.tried] == [STOPPED, *[NOT_ASKED] * 4]
    assert re.search(r"It gave no answer within 0.5 s \(attention.py, line [23]\)", check.tried[0].said)
    assert time.monotonic() - begun < 30


def test_what_is_printed_is_kept_and_not_shown(tmp_path, capfd):
    check = attention(tmp_path, "print('scores', query.shape); return query")
    assert check.tried[0].printed == "scores (3, 4)\n"
    assert capfd.readouterr().out == ""


def test_data_is_plain(tmp_path):
    data = attention(tmp_path, "return softmax(query @ key.T) @ value").to_dict()
    assert (data["track"], data["passed"], data["right"]) == ("attention", 0, False)
    assert data["named"][0]["ids"] == ["scale-missing"]
    assert np.shape(data["cases"][0]["expected"]) == (3, 2)
