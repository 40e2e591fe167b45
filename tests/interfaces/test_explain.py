"""The catalogue as people read it: `headwork explain`, `headwork mistakes`, formulas, docs/mistakes.md."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headwork.interfaces.catalogue_text import DIFFERS
from headwork.interfaces.cli import main
from headwork.interfaces.latex_text import plain_formula
from headwork.mistakes.catalogue import CATALOGUE, TOPICS
from headwork.mistakes.example import example_of
from headwork.mistakes.lookup import entries, entry_named, mistake_named, search

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT_FREE = ("COLUMNS", "NO_COLOR")


@pytest.fixture
def headwork(monkeypatch, capsys):
    """The command line in this process: status, standard output, standard error."""
    for name in ENVIRONMENT_FREE:
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        return (main(arguments), *capsys.readouterr())

    return run


# ---------------------------------------------------------------- finding one


def test_a_mistake_is_found_by_its_own_id_and_by_that_of_another_reading():
    assert mistake_named("scale-missing").id == "scale-missing"
    assert mistake_named("scale-twice").id == "scale-d-k-instead-of-sqrt"
    assert entry_named("scale-twice").id == "scale-twice"


@pytest.mark.parametrize(
    "name", ["softmax-over-q", "Softmax over queries", "softmax_over_queries", " softmax-over-queries "]
)
def test_a_unique_beginning_will_do(name):
    assert entry_named(name).id == "softmax-over-queries"


NOT_FOUND = [
    # name, what the message says
    ("scale-mising", r"there is no mistake 'scale-mising'\. Did you mean scale-missing"),
    ("mask", r"'mask' begins \d+ ids: mask-.* and \d+ more\. Give more of one"),
    ("zzz", r"there is no mistake 'zzz'\. headwork mistakes lists them all"),
    ("", r"there is no mistake ''"),
    ("x" * 500, r"^headwork: there is no mistake 'x{60}'"),
]


@pytest.mark.parametrize(("name", "message"), NOT_FOUND)
def test_an_unknown_name_is_met_with_the_nearest(headwork, name, message):
    status, out, err = headwork("explain", name)
    assert (status, out) == (2, "")
    assert re.search(message, err.strip())
    assert len(err) < 300


def test_a_search_finds_what_has_every_word_and_puts_names_first():
    found = [entry.id for entry in search(["softmax", "queries"])]
    assert found[0] == "softmax-over-queries"
    assert search(["softmax"], step="masking")
    assert {entry.topic.id for entry in search(["softmax"], step="masking")} == {"masking"}
    assert search(["Softmax  QUERIES"]) == search(["softmax", "queries"])
    assert search(["softmax", "nowhere at all"]) == ()


def test_without_words_a_search_gives_everything_in_order():
    assert search() == entries()
    assert len(entries()) == sum(len(mistake.ids) for mistake in CATALOGUE)


@pytest.mark.parametrize(
    ("step", "id"), [("masking", "mask-polarity"), ("allow", "causal-strict"), ("weights", "softmax-odds")]
)
def test_a_search_can_be_for_a_topic_a_step_or_a_field(step, id):
    assert id in {entry.id for entry in search(step=step)}


# ---------------------------------------------------------------- headwork explain


def test_explain_says_what_why_how_when_and_shows_it(headwork):
    status, out, err = headwork("explain", "scale-d-k-inst")
    assert (status, err) == (0, "")
    record = mistake_named("scale-d-k-instead-of-sqrt")
    said = " ".join(out.split())
    for text in (
        record.id,
        record.title,
        record.why,
        record.mend,
        record.hides_when,
        record.source,
        "scale-twice",
    ):
        assert text in said
    assert "S/d_k" in out
    assert "d_k = 1" in said  # the blind spot
    scaled, output = re.split(r"Output \(output\)", out.split("Scaled scores (scaled)")[1])
    assert scaled.count(DIFFERS) == 9
    assert output.count(DIFFERS) == 12


def test_the_example_holds_the_numbers_of_the_witness():
    """By hand: the witness's scores are QKᵀ; d_k is 4, so right is half of them and wrong a quarter."""
    example = example_of(mistake_named("scale-d-k-instead-of-sqrt"))
    assert example.ends == ("scaled", "output")
    scores = example.problem.query @ example.problem.key.swapaxes(-1, -2)
    np.testing.assert_allclose(example.right["scaled"], scores[0] / 2)
    np.testing.assert_allclose(example.wrong["scaled"], scores[0] / 4)


def test_another_reading_is_explained_in_its_own_words(headwork):
    _, out, _ = headwork("explain", "scale-twice")
    assert out.startswith("scale-twice: divided by √d_k twice")
    assert "Scale once: either the queries or the scores." in out
    assert "scale-d-k-instead-of-sqrt" in out.split("Always the same numbers:")[1]


def test_a_convention_is_not_called_wrong(headwork):
    _, out, _ = headwork("explain", "mask-polarity")
    assert "Good systems differ here" in out
    assert not re.search(r"\b(wrong|not right)\b", out)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.id)
def test_every_mistake_can_be_explained_in_80_columns(headwork, entry):
    status, out, err = headwork("explain", entry.id)
    assert (status, err) == (0, "")
    assert entry.id in out
    assert DIFFERS in out.split("For example")[1]
    assert max(map(len, out.splitlines())) <= 80
    assert not [line for line in out.splitlines() if line != line.rstrip()]


SIGNS = re.compile(r"[^\x00-\x7f“”‘’–é²³]")


@pytest.mark.parametrize(
    "id", ["scale-d-k-instead-of-sqrt", "mask-polarity", "scores-cosine", "softmax-over-queries"]
)
def test_plain_text_has_no_tables_and_says_what_differs(headwork, id):
    status, out, _ = headwork("explain", id, "--plain")
    assert status == 0
    assert "│" not in out
    assert "differs" in out
    assert SIGNS.findall(out) == []


def test_explain_as_data_has_the_example_and_the_blind_spot(headwork):
    status, out, _ = headwork("explain", "scale-by-key-count", "--json")
    record = json.loads(out)
    assert status == 0
    assert (record["id"], record["topic"], record["steps"]) == ("scale-by-key-count", "scale", ["scale"])
    fields = record["example"]["fields"]
    assert set(fields) == {"scaled", "output"}
    # T_k is 5 and d_k is 4: what was divided by √5 and should have been by 2
    np.testing.assert_allclose(
        np.array(fields["scaled"]["wrong"]) * np.sqrt(5) / 2, fields["scaled"]["right"]
    )
    assert np.shape(record["blind_spot"]["key"]) == (4, 4)


# ---------------------------------------------------------------- headwork mistakes


def test_the_list_has_every_name_under_its_topic(headwork):
    status, out, _ = headwork("mistakes")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    for topic in TOPICS:
        assert topic.title in out
    listed = re.findall(r"^  ([a-z0-9-]+) ", out, re.MULTILINE)
    assert listed == [entry.id for entry in entries()]
    assert out.startswith(f"{len(CATALOGUE)} mistakes under {len(entries())} names")


def test_the_list_can_be_searched(headwork):
    _, out, _ = headwork("mistakes", "padding", "--step", "masking")
    assert out.startswith(f"{len(search(['padding'], 'masking'))} mistakes, the best first.")
    _, out, _ = headwork("mistakes", "nothing of the kind")
    assert out.startswith("No mistake has 'nothing of the kind' in its words.")
    status, _, err = headwork("mistakes", "--step", "masks")
    assert status == 2
    assert "Did you mean masking" in err or "Did you mean mask" in err


def test_the_list_as_data(headwork):
    _, out, _ = headwork("mistakes", "--json", "--step", "dropout")
    record = json.loads(out)
    assert record["count"] == len(record["mistakes"]) == len(search(step="dropout"))


def test_the_plain_list_has_one_line_for_each(headwork):
    _, out, _ = headwork("mistakes", "--plain", "--step", "scale")
    assert "scale-missing: left the scores unscaled" in out.splitlines()


# ---------------------------------------------------------------- formulas

FORMULAS = [
    # LaTeX, in a line: by hand
    (r"S/\sqrt{d_k}", "S/√d_k"),
    (r"S/\sqrt{d_k/2}", "S/√(d_k/2)"),
    (r"S/\sqrt[4]{d_k}", "S/⁴√d_k"),
    (r"\frac{1}{H}\sum_h Q_h K_h^T", "1/H · Σ_h Q_h K_hᵀ"),
    (r"\frac{q_i \cdot k_j}{\|q_i\|\,\|k_j\|}", "(qᵢ · kⱼ)/(‖qᵢ‖ ‖kⱼ‖)"),
    (r"e^{s_{ij} - m_i} / \sum_j e^{s_{ij} - m_i}", "e^(sᵢⱼ − mᵢ) / Σⱼ e^(sᵢⱼ − mᵢ)"),
    (r"K_h = K_{\lfloor h H_{kv}/H \rfloor}", "K_h = K_⌊h H_kv/H⌋"),
    (r"S \text{ instead of } c\tanh(S/c)", "S instead of c·tanh(S/c)"),
    (r"S_{ij} = -10^{-9} \text{ where masked}", "Sᵢⱼ = −10⁻⁹ where masked"),
    (r"\sum_{c<d_k} q_{ic}k_{jc}", "Σ_(c < d_k) q_ic k_jc"),
    (r"\left(x\right) \bmod 2", "(x) mod 2"),
    ("", ""),
]


@pytest.mark.parametrize(("latex", "line"), FORMULAS)
def test_latex_becomes_a_formula_in_a_line(latex, line):
    assert plain_formula(latex) == line


def test_no_formula_keeps_a_command_or_a_brace():
    for mistake in CATALOGUE:
        assert not re.search(r"\\|\$|\s\s|^\s|\s$", plain_formula(mistake.formula)), mistake.id


# ---------------------------------------------------------------- the page


def test_the_page_is_what_the_script_writes():
    path = ROOT / "scripts" / "catalogue_page.py"
    spec = importlib.util.spec_from_file_location("catalogue_page", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    is_same = script.PAGE.read_text(encoding="utf-8") == script.page()
    assert is_same, "docs/mistakes.md is stale. Run: python scripts/catalogue_page.py"


def test_explain_loads_no_search_engine():
    """Looking a mistake up must answer at once: nothing of the diagnosis is loaded."""
    code = (
        "import sys; from headwork.interfaces.cli import main; main(['explain', 'scale-missing']); "
        "print([name for name in sys.modules if name.startswith('headwork.diagnosis')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
