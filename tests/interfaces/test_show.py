"""`headwork show`: every number of the three tokens, in 80 columns, and large problems summed up."""

import json
import re

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.errors import UnknownNameError
from headwork.interfaces.formulas import FORMULAS
from headwork.interfaces.grids import Choice, Grid, places_of
from headwork.interfaces.json_text import json_text, parse_json
from headwork.interfaces.mistake_text import show_mistake
from headwork.interfaces.notebook import html_of
from headwork.interfaces.sections import entry_sections, fields_named, sections_of
from headwork.interfaces.show import page, show_record
from headwork.interfaces.text import plain_lines, spelled, table_lines, wrapped
from headwork.mechanism.steps import STEPS

QKV = {
    "query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    "key": [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    "value": [[1, 0], [0, 1], [1, 1]],
}
THREE_TOKENS = Problem(**QKV)
CAUSAL = Problem(**QKV, causal=True)
LARGE = np.random.default_rng(0).standard_normal((2, 50, 8))


def text_of(problem: Problem, *fields: str, plain: bool = False, digits: int = 3) -> str:
    sections = sections_of(trace(problem), digits, fields=fields)
    return "\n".join(page(problem, sections, digits, plain))


def rows_of(text: str) -> dict[str, list[list[str]]]:
    """The rows of every table that has them: "query 1" to its entries, once for each table."""
    rows: dict[str, list[list[str]]] = {}
    for name, entries in re.findall(r"^ +(\w+ \d+) │ (.*)$", text, re.MULTILINE):
        rows.setdefault(name, []).append(entries.split())
    return rows


# ---------------------------------------------------------------- the core course's numbers, worked by hand

TABLES = [
    # problem       field           rows
    (THREE_TOKENS, "scores", ["2 0 4", "0 2 0", "0 4 0"]),
    (THREE_TOKENS, "scaled", ["1 0 2", "0 1 0", "0 2 0"]),
    (THREE_TOKENS, "weights", ["0.245 0.090 0.665", "0.212 0.576 0.212", "0.107 0.787 0.107"]),
    (THREE_TOKENS, "output", ["0.910 0.755", "0.424 0.788", "0.213 0.893"]),
    (CAUSAL, "masked", ["1 −∞ −∞", "0 1 −∞", "0 2 0"]),
    (CAUSAL, "weights", ["1 0 0", "0.269 0.731 0", "0.107 0.787 0.107"]),
    (CAUSAL, "output", ["1 0", "0.269 0.731", "0.213 0.893"]),
]


@pytest.mark.parametrize(("problem", "field", "rows"), TABLES)
def test_every_table_of_the_three_tokens(problem, field, rows):
    shown = rows_of(text_of(problem, field))
    assert [" ".join(shown[f"query {i + 1}"][0]) for i in range(3)] == rows


@pytest.mark.parametrize(
    "total", ["2.718 + 1 + 7.389 = 11.107", "1 + 2.718 + 1 = 4.718", "1 + 7.389 + 1 = 9.389"]
)
def test_the_sums_that_people_write_are_there(total):
    assert total in text_of(THREE_TOKENS)


def test_a_masked_score_says_why():
    assert "s₁₃ = −∞: key 3 is after query 1" in text_of(CAUSAL)


def test_everything_is_shown_in_order():
    titles = [section.title for section in sections_of(trace(CAUSAL))]
    assert titles == [
        "Given: queries",
        "Given: keys",
        "Given: values",
        *(step.title for step in trace(CAUSAL).steps),
    ]


def test_more_digits_are_shown_when_asked_for():
    assert "0.24473" in text_of(THREE_TOKENS, "weights", digits=5)  # e / (e + 1 + e²) = 0.244728…


def test_without_decimals_there_are_none():
    text = text_of(THREE_TOKENS, "weights", digits=0)
    assert rows_of(text)["query 1"] == [["0", "0", "1"]]
    assert "shown without decimals" in text
    assert not re.search(r"\d\.\d", text)


def test_every_step_has_a_formula():
    assert set(FORMULAS) == {step.name for step in STEPS}


# ---------------------------------------------------------------- in 80 columns, aloud, in colour

WIDE = Problem(
    query=LARGE[0, :4] * 100, key=LARGE[1, :11] * 100, value=LARGE[1, :11], alibi=True, softcap=30, sink=1.0
)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "problem", [THREE_TOKENS, CAUSAL, WIDE, Problem(query=LARGE, key=LARGE, value=LARGE)]
)
def test_no_line_is_longer_than_80_columns(monkeypatch, problem, plain):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, text_of(problem, plain=plain).splitlines())) <= 80


def test_columns_that_do_not_fit_come_below(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = text_of(WIDE, "scores")
    assert [len(row) for row in rows_of(text)["query 4"]] != [11]
    assert sum(len(row) for row in rows_of(text)["query 4"]) == 11


def test_plain_text_has_no_sign_that_is_not_read_aloud():
    text = text_of(CAUSAL, plain=True) + text_of(WIDE, plain=True)
    assert text.isascii(), sorted({c for c in text if not c.isascii()})
    assert "query 1: 1, -infinity, -infinity" in text


def test_formulas_can_be_read_aloud():
    assert all(spelled(formula).isascii() for formula in FORMULAS.values())


def test_signs_have_words():
    assert spelled("s₁₃ = 2·(−1) / √4, z⁽²⁾ and 10⁻³") == "s[1,3] = 2 * (-1) / sqrt 4, z^(2) and 10^-3"


def test_one_line_for_each_row():
    grid = Grid("", ("key 1", "key 2"), ("query 1", "query 2"), (("2", "0"), ("−∞", "4")))
    assert list(plain_lines(grid)) == ["columns: key 1, key 2", "query 1: 2, 0", "query 2: −∞, 4"]


def test_a_table_is_aligned():
    grid = Grid("", ("key 1", "key 2"), ("query 1", "query 10"), (("2", "0.245"), ("−∞", "4")))
    assert list(table_lines(grid, 80, margin="")) == [
        "         │  key 1  key 2",
        "─────────┼──────────────",
        " query 1 │      2  0.245",
        "query 10 │     −∞      4",
    ]


def test_parentheses_stay_together():
    assert wrapped("a = e^(1 − 2)", 10, margin="", hang=" ") == "a =\n e^(1 − 2)"


# ---------------------------------------------------------------- several heads, large problems

HEADS = Problem(query=LARGE[:, None, :3], key=LARGE[:, None, :3], value=LARGE[:, None, :3])


def test_heads_and_batches_are_shown_one_after_the_other():
    captions = [block.caption for block in sections_of(trace(HEADS), fields=["weights"])[0].blocks]
    assert captions == ["batch 1, head 1", "batch 2, head 1"]


def test_one_batch_element_can_be_chosen():
    (section,) = sections_of(trace(HEADS), choice=Choice(batch=(1,)), fields=["weights"])
    assert [block.caption for block in section.blocks] == ["batch 2, head 1"]


def test_a_query_head_chooses_the_key_head_that_it_uses():
    work = trace(Problem(query=np.ones((4, 2, 2)), key=np.ones((2, 3, 2)), value=np.ones((2, 3, 2))))
    assert [list(places_of(work, "key", Choice(head=head))) for head in (1, 2)] == [[(0,)], [(1,)]]
    assert list(places_of(work, "scores", Choice(head=3))) == [(3,)]


@pytest.mark.parametrize("choice", [Choice(head=1), Choice(batch=(2,)), Choice(batch=(0, 0))])
def test_a_head_or_batch_element_that_is_not_there_is_refused(choice):
    with pytest.raises(UnknownNameError, match=r"there is no (head|batch element)"):
        sections_of(trace(HEADS), choice=choice)


def test_a_large_matrix_is_summed_up_and_its_corners_shown():
    scores = np.full((40, 30), 2.0)
    scores[0, 0], scores[0, -1], scores[-1, 0], scores[5, 5] = 5, np.nan, -np.inf, -3
    told, corners = (block.grid for block in sections_of(trace(Problem(given={"scaled": scores})))[0].blocks)
    facts = dict(zip(told.rows, [cells[0] for cells in told.cells], strict=True))
    finite = np.array([5.0, -3.0] + [2.0] * (40 * 30 - 4))
    assert facts == {
        "shape": "40 queries × 30 keys",
        "smallest": "−3",
        "mean": f"{finite.mean():.3f}",
        "largest": "5",
        "standard deviation": f"{finite.std():.3f}",
        "entries that are −∞": "1 of 1,200",
        "entries that are NaN": "1 of 1,200",
    }
    assert (corners.columns, corners.rows) == (("key 1", "key 30"), ("query 1", "query 40"))
    assert corners.cells == (("5", "NaN"), ("−∞", "2"))


def test_a_mask_is_summed_up_by_what_may_be_seen():
    (section,) = sections_of(
        trace(Problem(query=LARGE, key=LARGE, value=LARGE, causal=True)), fields=["allowed"]
    )
    assert section.blocks[0].grid.cells[1] == ("2,550 of 5,000 entries",)  # twice 50 · 51 / 2


def test_nothing_to_show_is_no_fault():
    empty = Problem(query=np.ones((0, 2)), key=np.ones((3, 2)), value=np.ones((3, 1)))
    assert "0 queries" in text_of(empty)
    none = Problem(query=np.ones((0, 1, 2, 2)), key=np.ones((0, 1, 3, 2)), value=np.ones((0, 1, 3, 1)))
    assert "batch 0" in text_of(none)


# ---------------------------------------------------------------- one step, one entry


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ("weights", ("weights",)),
        ("scale", ("scaled",)),  # a step's own name
        ("blended", ("output",)),  # no heads to join: the blend is the output
        ("masked", ("scaled",)),  # nothing is masked
    ],
)
def test_a_step_is_found_by_any_of_its_names(asked, fields):
    assert fields_named(trace(THREE_TOKENS), asked) == fields


def test_a_step_that_is_not_there_names_the_nearest():
    with pytest.raises(
        UnknownNameError, match=r"no step 'wieghts'. Did you mean weights\? Its steps are scores,"
    ):
        fields_named(trace(THREE_TOKENS), "wieghts")


def test_an_entry_is_followed_through_every_step():
    lines = [
        one.text()
        for section in entry_sections(trace(CAUSAL), (1, 0))
        for block in section.blocks
        for one in block.worked
    ]
    assert lines[0] == "s₂₁ = 0·1 + 2·0 + 0·0 + 0·0 = 0"
    assert "w₂₁ = 0.368 / 1.368 = 0.269" in lines
    assert "m₂ = max(0, 1, −∞) = 1" in lines


def test_an_entry_of_one_step():
    (section,) = entry_sections(trace(CAUSAL), (0, 1), fields=["output"])
    assert [one.text() for one in section.blocks[0].worked] == ["z₁₂ = 1·0 + 0·1 + 0·1 = 0"]


@pytest.mark.parametrize(("field", "entry"), [("scores", (3, 0)), ("scores", (0,)), ("output", (0, 2))])
def test_an_entry_that_is_not_there_is_refused(field, entry):
    with pytest.raises(
        UnknownNameError, match=f"{field} has no entry .*, counted from 1: its size is 3 × [23]"
    ):
        entry_sections(trace(THREE_TOKENS), entry, fields=[field])


# ---------------------------------------------------------------- JSON


def test_json_is_valid_and_full():
    record = json.loads(json_text(show_record(trace(CAUSAL), [], None, Choice())), parse_constant=pytest.fail)
    steps = {step["name"]: step["fields"] for step in record["steps"]}
    assert steps["mask"]["masked"][0] == [1.0, "-inf", "-inf"]
    assert steps["weights"]["weights"] == trace(CAUSAL).weights.tolist()
    assert record["output"] == trace(CAUSAL).output.tolist()


def test_the_problem_in_json_can_be_read_again():
    record = json.loads(json_text(show_record(trace(CAUSAL), [], None, Choice())))
    again = Problem.from_dict(record["problem"])
    np.testing.assert_equal(trace(again).output, trace(CAUSAL).output)


def test_json_of_one_step_and_one_entry():
    record = show_record(trace(CAUSAL), ["weights"], (0, 2), Choice())
    assert [step["name"] for step in record["steps"]] == ["weights"]
    assert [one.text() for one in record["worked"]] == ["w₁₃ = 0 / 1 = 0"]


def test_rows_stand_on_lines_of_their_own():
    assert json_text({"a": [[1, 2], [3, 4]], "b": {}, "c": np.float32(0.5)}) == (
        '{\n  "a": [\n    [1, 2],\n    [3, 4]\n  ],\n  "b": {},\n  "c": 0.5\n}'
    )


def test_what_is_written_is_read_again():
    record = {"a": [0.1, 1e-300, "inf"], "b": [[]], "c": None, "d": '√ " \\', "e": True}
    assert parse_json(json_text(record), "here") == record


# ---------------------------------------------------------------- notebooks


def test_a_trace_shows_itself_in_a_notebook():
    import headwork

    assert headwork.trace(CAUSAL)._repr_html_() == html_of(trace(CAUSAL))


def test_tables_in_a_notebook_can_be_walked_through():
    html = html_of(trace(CAUSAL))
    assert html.count("<table>") == html.count("<caption>") == len(sections_of(trace(CAUSAL)))
    assert '<th scope="col">key 3</th>' in html
    assert '<tr><th scope="row">query 1</th><td>1</td><td>−∞</td><td>−∞</td></tr>' in html


def test_what_is_large_stays_small_in_a_notebook():
    assert (
        len(html_of(trace(Problem(query=LARGE, key=LARGE, value=LARGE)))) < 30_000
    )  # whole, it would be ten times that


def test_a_trace_names_its_results():
    assert repr(trace(THREE_TOKENS)).startswith("Trace(scores (3, 3), scaled (3, 3), row_max (3,),")
    assert repr(trace(THREE_TOKENS)).endswith("output (3, 2))")


# ---------------------------------------------------------------- mistakes


def test_each_step_names_what_is_typically_got_wrong_there():
    text = " ".join(text_of(CAUSAL, "scaled").split())
    assert (
        "Typical mistakes: scale-missing, scale-d-k-instead-of-sqrt, scale-by-key-count and 4 more." in text
    )
    record = show_record(trace(CAUSAL), (), None, Choice())
    steps = {step["name"]: step["typical_mistakes"] for step in record["steps"]}
    assert steps["scale"][0] == "scale-missing"
    assert "causal-strict" in steps["allow"]
    assert steps["row-sum"] == []


def test_what_is_named_at_a_step_can_be_shown(capsys):
    for problem in (THREE_TOKENS, CAUSAL):
        for section in sections_of(trace(problem)):
            for name in section.mistakes:
                assert show_mistake(trace(problem), name, (), json=False, plain=False) == 0
                assert name in capsys.readouterr().out


UNSCALED = [
    # field, wrong rows: the scores as they are; e^2, e^0 and e^4 of row 1 are 7.389, 1 and 54.598, 62.987 in all
    ("scaled", ["≠ 2 0 ≠ 4", "0 ≠ 2 0", "0 ≠ 4 0"]),
    ("weights", ["≠ 0.117 ≠ 0.016 ≠ 0.867", "≠ 0.107 ≠ 0.787 ≠ 0.107", "≠ 0.018 ≠ 0.965 ≠ 0.018"]),
    ("output", ["≠ 0.984 ≠ 0.883", "≠ 0.213 ≠ 0.893", "≠ 0.035 ≠ 0.982"]),
]


@pytest.mark.parametrize(("field", "rows"), UNSCALED)
def test_a_mistake_stands_beside_the_right_numbers_cell_by_cell(capsys, monkeypatch, field, rows):
    monkeypatch.setenv("COLUMNS", "80")
    assert show_mistake(trace(THREE_TOKENS), "scale-mis", [field], json=False, plain=False) == 0
    out = capsys.readouterr().out
    right = [
        " ".join(row) for row in (rows_of(text_of(THREE_TOKENS, field))[f"query {i}"][0] for i in (1, 2, 3))
    ]
    lines = [" ".join(line.split()) for line in out.splitlines() if "│" in line and "query" in line]
    assert lines == [
        f"query {i} │ {a} query {i} │ {b}" for i, (a, b) in enumerate(zip(right, rows, strict=True), 1)
    ]
    assert max(map(len, out.splitlines())) <= 80


def test_every_step_that_differs_is_shown_and_none_that_does_not(capsys):
    show_mistake(trace(THREE_TOKENS), "scale-missing", (), json=False, plain=False)
    titles = re.findall(r"^  [A-Z].* \((\w+)\)$", capsys.readouterr().out, re.MULTILINE)
    assert titles == ["scaled", "row_max", "exponentials", "row_sum", "weights", "logsumexp", "output"]
    show_mistake(
        trace(THREE_TOKENS), "values-averaged", (), json=False, plain=False
    )  # blended is the output here
    titles = re.findall(r"^  [A-Z].* \((\w+)\)$", capsys.readouterr().out, re.MULTILINE)
    assert titles == ["output"]


def test_a_mistake_that_these_numbers_hide_is_said_to_be_hidden(capsys):
    show_mistake(
        trace(THREE_TOKENS), "scale-by-value-width-unrooted", (), json=False, plain=False
    )  # d_v = √d_k
    out = " ".join(capsys.readouterr().out.split())
    assert "These numbers do not show it there: every entry is the right one. It hides when d_v" in out


def test_what_a_mistake_makes_of_a_problem_as_data_and_in_plain_words(capsys):
    show_mistake(trace(THREE_TOKENS), "scale-missing", ["scaled"], json=True, plain=False)
    record = parse_json(capsys.readouterr().out, "output")
    assert record["mistake"]["id"] == "scale-missing"
    assert record["fields"]["scaled"] == {
        "right": trace(THREE_TOKENS).scaled.tolist(),
        "wrong": trace(THREE_TOKENS).scores.tolist(),
    }
    show_mistake(trace(THREE_TOKENS), "scale-missing", ["scaled"], json=False, plain=True)
    out = capsys.readouterr().out
    assert "wrong, query 1: 2 differs, 0, 4 differs" in out
    assert out.isascii()
