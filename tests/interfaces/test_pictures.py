"""Pictures: their words, the two themes, the same file every time, and `headwork show --plot`."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from headwork import Problem, trace
from headwork.errors import HeadworkError, OptionError
from headwork.interfaces.cli import main
from headwork.interfaces.curves import cost_picture, hill_picture, saturation_picture, variance_picture
from headwork.interfaces.drawing import DARK, LIGHT, drawn
from headwork.interfaces.heat_maps import weights_picture
from headwork.interfaces.pictures import OF_EXERCISE, PICTURES, picture_named
from headwork.workbook.course import exercises

matplotlib = pytest.importorskip("matplotlib")

Q = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]]
K = [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]]
V = [[1, 0], [0, 1], [1, 1]]
CAUSAL = trace(Problem(query=Q, key=K, value=V, causal=True))
MADE = {
    "weights": weights_picture(CAUSAL),
    "hill": hill_picture(),
    "variance": variance_picture(),
    "saturation": saturation_picture(),
    "cost": cost_picture(),
}
SVG = "{http://www.w3.org/2000/svg}"
every = pytest.mark.parametrize("name", MADE)


def test_there_is_a_picture_for_each_name():
    assert tuple(MADE) == PICTURES
    assert set(OF_EXERCISE.values()) <= set(PICTURES)
    assert set(OF_EXERCISE) <= {exercise.id for exercise in exercises()}


# ---------------------------------------------------------------- what they say

SAYS = [
    # picture      words                                                                        source
    ("weights", "Query 2: key 1 0.269, key 2 0.731, key 3 hidden.", "e⁰ and e¹ over 3.718"),
    ("weights", "Query 1: key 1 1, key 2 hidden, key 3 hidden.", "one exponential over itself"),
    ("hill", "without scaling, the first weight is 0.6225 and the slope 0.2350", "1/(1 + e^(−0.5)), p(1 − p)"),
    ("hill", "scaled, the first weight is 0.5156 and the slope 0.2498", "1/(1 + e^(−0.0625))"),
    ("hill", "equal steps along it are equal steps of the log-odds ln(σ/(1 − σ))", "it is drawn over those"),
    ("variance", "At d_k = 64 the three are 64, 1 and 1/64 = 0.015625.", "the sum of 64 variances of 1"),
    ("saturation", "Times 1, the weights are 0.245 0.090 0.665", "softmax of [1 0 2]"),
    ("saturation", "times 5, the weights are 0.007 0.0000451 0.993", "softmax of [5 0 10]"),
    ("cost", "1,000,000 entries for 1,000 tokens, 4,000,000 for 2,000", "n²"),
    ("cost", "Beyond 256 tokens it is the larger of the two.", "n² = 4 · 64 · n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words", "source"), SAYS)
def test_what_is_shown_is_said_in_words(name, words, source):
    assert words in MADE[name].says


def test_a_stretched_axis_says_so():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    hill_picture().draw([axes], LIGHT)
    ticks = dict(zip([label.get_text() for label in axes.get_xticklabels()], axes.get_xticks(), strict=True))
    assert ticks["0.9"] == pytest.approx(np.log(9)), "0.9 stands at ln(0.9/0.1), not at 0.9"
    assert axes.get_xlabel() == "weight σ (stretched: equal steps of ln(σ/(1 − σ)))"


def test_an_empty_row_and_heads_are_said():
    work = trace(
        Problem(
            query=np.zeros((2, 1, 2)),
            key=np.zeros((2, 2, 2)),
            value=np.zeros((2, 2, 1)),
            mask=[[False, False]],
        )
    )
    assert weights_picture(work).says == "Head 1: Query 1 sees no key. Head 2: Query 1 sees no key."


def test_many_weights_are_summed_up():
    rows = np.arange(40.0).reshape(20, 2) / 10
    work = trace(Problem(query=rows, key=rows, value=rows, causal=True))
    says = weights_picture(work).says
    assert says.startswith(
        "20 queries and 20 keys, 190 of the 400 pairs hidden. The largest weight is 1, of query 1 for key 1;"
    )


def test_of_many_heads_the_first_few_are_drawn_and_that_is_said():
    work = trace(Problem(query=np.ones((6, 2, 2)), key=np.ones((6, 2, 2)), value=np.ones((6, 2, 2))))
    picture = weights_picture(work)
    assert picture.panels == 4
    assert picture.says.startswith("The first 4 of 6 matrices. Head 1: Query 1: key 1 0.5, key 2 0.5.")


def test_scores_that_share_the_first_place_share_the_weight():
    assert "The largest scores share all the weight in the end" in saturation_picture((2, 2, 0)).says


@pytest.mark.parametrize("scores", [(), (1,) * 7, (1, np.inf)])
def test_a_row_that_cannot_be_drawn_is_refused(scores):
    with pytest.raises(OptionError, match="a row of 1 to 6 finite scores can be drawn"):
        saturation_picture(scores)


# ---------------------------------------------------------------- the files


@every
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_picture_is_the_same_file(name, kind):
    assert drawn(MADE[name], kind) == drawn(MADE[name], kind)


def test_another_process_with_other_settings_draws_the_same_file(tmp_path):
    script = (
        "import sys, matplotlib; matplotlib.rcParams['font.size'] = 30; matplotlib.rcParams['lines.linewidth'] = 9\n"
        "from headwork.interfaces.curves import hill_picture\nfrom headwork.interfaces.drawing import drawn\n"
        "sys.stdout.buffer.write(drawn(hill_picture(), 'svg'))"
    )
    environment = {"PYTHONHASHSEED": "7", "MPLCONFIGDIR": str(tmp_path)}
    import os

    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, env=os.environ | environment
    )
    assert run.stdout == drawn(MADE["hill"], "svg")


@every
def test_an_svg_has_its_words_for_a_screen_reader(name):
    root = ElementTree.fromstring(drawn(MADE[name], "svg"))
    assert root.get("role") == "img"
    assert [root.find(f"{SVG}{tag}").text for tag in ("title", "desc")] == [MADE[name].title, MADE[name].says]


@every
def test_a_png_has_its_words_too(name):
    from io import BytesIO

    from PIL import Image

    image = Image.open(BytesIO(drawn(MADE[name], "png")))
    assert (image.text["Title"], image.text["Description"]) == (MADE[name].title, MADE[name].says)
    assert 400 <= image.width <= 1400


@every
def test_light_and_dark_stand_on_their_own_paper(name):
    light, dark = drawn(MADE[name], "svg").decode(), drawn(MADE[name], "svg", dark=True).decode()
    assert LIGHT.paper in light
    assert DARK.paper in dark
    assert LIGHT.paper not in dark


def test_every_letter_is_there_to_be_drawn(recwarn):
    for picture in MADE.values():
        drawn(picture, "svg")
    assert [str(each.message) for each in recwarn] == []


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    "colours", [("ink", "paper"), ("ink", "shade"), ("soft", "paper"), ("accent", "paper")]
)
def test_letters_can_be_told_from_what_they_stand_on(theme, colours):
    """4.5 to 1, as WCAG 2 asks of text."""
    assert contrast(*(getattr(theme, name) for name in colours)) >= 4.5


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_another_kind_of_file_is_refused():
    with pytest.raises(OptionError, match="svg or png, not 'pdf'"):
        drawn(MADE["hill"], "pdf")


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(HeadworkError, match="pip install matplotlib"):
        drawn(MADE["hill"], "svg")


# ---------------------------------------------------------------- headwork show --plot


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def show(*arguments):
        status = main(["show", *arguments])
        return status, *capsys.readouterr()

    return show


PLOTS = [
    # exercise     picture                                     source
    ("causal", "Attention weights", "its own weights"),
    ("level-3.2", "How fast a weight changes with its score", "the hill"),
    ("level-3.1", "What dividing by √d_k keeps steady", "it asks for the variance, and has no problem"),
    ("saturation", "A row saturates as its scores grow", "row 1, five times"),
    ("code-causal", "Twice the text, four times the scores", "it asks what length costs"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "title", "source"), PLOTS)
def test_an_exercise_is_drawn_as_the_picture_that_belongs_to_it(run, tmp_path, exercise, title, source):
    status, page, _ = run(exercise, "--plot", "out.svg")
    assert status == 0
    assert page.startswith(f"Written: out.svg.\n{title}\n")
    assert f"<title>{title}</title>" in (tmp_path / "out.svg").read_text(encoding="utf-8")


def test_another_picture_can_be_asked_for(run, tmp_path):
    assert run("causal", "--plot", "out.PNG", "--picture", "hill", "--dark")[0] == 0
    assert (tmp_path / "out.PNG").read_bytes().startswith(b"\x89PNG")


def test_data_has_the_words(run):
    _, text, _ = run("causal", "--plot", "out.svg", "--json")
    assert json.loads(text)["written"] == "out.svg"
    assert json.loads(text)["says"] == MADE["weights"].says


def test_plain_words_have_no_signs(run):
    _, page, _ = run("level-3.1", "--plot", "out.svg", "--plain")
    assert not re.search("[√·]", page)


REFUSED = [
    # arguments                                          said                                          source
    (["causal", "--plot", "out.pdf"], "a picture is written to a file that ends in .svg or .png", "another kind"),
    (["causal", "--plot", "out"], "ends in .svg or .png", "no ending"),
    (["causal", "--picture", "hill"], "--plot FILE.svg or FILE.png says where", "no file"),
    (["causal", "--plot", "o.svg", "--picture", "hil"], "it is one of weights, hill, variance", "a slip"),
    (["causal", "--plot", "no/o.svg"], "cannot write no/o.svg: No such file or directory", "no folder"),
    (["level-1.1", "--plot", "o.svg"], "there is no problem here whose weights could be drawn", "no problem"),
    (["nothing", "--plot", "o.svg"], "no exercise", "neither exercise nor file"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said", "source"), REFUSED)
def test_what_cannot_be_drawn_is_said_and_nothing_is_written(run, tmp_path, arguments, said, source):
    status, _, message = run(*arguments)
    assert status == 2
    assert said in " ".join(message.split())
    assert list(tmp_path.iterdir()) == []


def test_showing_numbers_loads_no_matplotlib(tmp_path):
    script = "import sys; from headwork.interfaces.cli import main; main(['show', 'causal']); print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("False\n")


def test_a_picture_is_found_by_its_name():
    assert picture_named("weights", CAUSAL).says == MADE["weights"].says
    with pytest.raises(OptionError, match="there is no picture 'tree'"):
        picture_named("tree", CAUSAL)
