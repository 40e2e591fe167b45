"""Every page is there, says what it should, and is made of our own files alone."""

import html
import re

import pytest

from headwork.interfaces.web.prose import line, mathml, prose
from headwork.mechanism.steps import STEPS
from headwork.mistakes.lookup import entries
from headwork.workbook.course import exercises

PAGES = (
    "/",
    "/keys",
    "/mistakes",
    "/mistakes?q=mask",
    "/bench",
    *(f"/exercise/{each.id}" for each in exercises()),
)
SOME_MISTAKES = [entry.id for entry in entries()][::9]


@pytest.mark.parametrize("address", [*PAGES, *(f"/mistakes/{id}" for id in SOME_MISTAKES)])
def test_every_page_is_whole_and_needs_nothing_from_elsewhere(learner, address):
    answer = learner.get(address)
    assert answer.status_code == 200
    page = answer.text
    assert page.count("<h1") == 1
    assert "</html>" in page
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page)
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", page)  # the policy forbids them
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "{{" not in page
    assert "Undefined" not in page


@pytest.mark.parametrize(
    "address", ["/", "/mistakes", "/exercise/scores", "/mistakes/scale-missing", "/bench"]
)
def test_every_link_of_a_page_leads_somewhere(learner, address):
    page = learner.get(address).text
    links = {html.unescape(link).partition("#")[0] for link in re.findall(r'href="(/[^"]*)"', page)}
    for link in sorted(links)[:40]:
        assert learner.get(link).status_code == 200, link


def test_the_contents_list_every_exercise(learner):
    page = learner.get("/").text
    for exercise in exercises():
        assert f'href="/exercise/{exercise.id}"' in page


def test_an_exercise_under_another_spelling_leads_to_its_own_address(learner):
    answer = learner.get("/exercise/3", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/exercise/scaling")


@pytest.mark.parametrize(
    "address",
    [
        "/exercise/nothing-like-it",
        "/mistakes/nothing-like-it",
        "/nothing",
        "/static/../app.py",
        "/static/app.py",
        "/exercise/..%2f..%2fetc",
        "/exercise/%00",
        "/bench/export?as=exe",
    ],
)
def test_what_is_not_there_is_said_on_a_page_of_ours(learner, address):
    answer = learner.get(address)
    assert answer.status_code in (404, 422)
    assert "<h1>" in answer.text


def test_every_formula_becomes_mathml():
    formulas = [step.formula for step in STEPS] + [entry.mistake.formula for entry in entries()]
    for latex in formulas:
        assert mathml(latex).startswith("<math"), latex
        assert " style=" not in mathml(latex)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        (
            "e^(m_p)·ℓ_p and d_k²",
            "e<sup><i>m</i><sub>p</sub></sup>·<i>ℓ</i><sub>p</sub> and <i>d</i><sub>k</sub>²",
        ),
        ("the first `dim` features", "the first <code>dim</code> features"),
        ("from head_dim to x_1", "from head_dim to <i>x</i><sub>1</sub>"),
        ("e^(−1) and e^2.", "e<sup>−1</sup> and e<sup>2</sup>."),
        (
            "headwork explain scale-missing says more.",
            '<a href="/mistakes/scale-missing">scale-missing</a> says more.',
        ),
        ("headwork practice scores@8 asks.", '<a href="/exercise/scores@8">scores@8</a> asks.'),
        ('headwork explain "><img', "headwork explain &#34;&gt;&lt;img"),
    ],
)
def test_a_line_sets_signs_links_commands_and_escapes_the_rest(text, html):
    assert line(text) == html


def test_a_mistake_leads_to_its_neighbours_in_the_catalogue(learner):
    first, second, third = entries()[:3]
    page = learner.get(f"/mistakes/{second.id}").text
    assert f'href="/mistakes/{first.id}" rel="prev"' in page
    assert f'href="/mistakes/{third.id}" rel="next"' in page
    assert 'rel="next"' not in learner.get(f"/mistakes/{entries()[-1].id}").text


def test_a_sign_is_no_difference_and_a_word_is_one_word():
    assert '<mo form="prefix">&#x02212;</mo><mi mathvariant="normal">∞</mi>' in mathml(r"S = -\infty")
    assert '<mi mathvariant="normal">lse</mi>' in mathml(r"\mathrm{lse} - 1")
    assert "prefix" not in mathml("a - 1")


def test_markdown_shows_html_as_it_was_typed():
    assert "<script" not in prose("<script>alert(1)</script>\n\n![x](http://elsewhere/x.png)")
    assert "<img" not in prose("![x](http://elsewhere/x.png)")


def test_a_search_finds_and_says_where_it_finds_nothing(learner):
    assert "scale-missing" in learner.get("/mistakes?q=unscaled").text
    assert "No mistake has these words." in learner.get("/mistakes?q=zzzz").text
    assert "&lt;b&gt;" in learner.get("/mistakes?q=<b>").text


def test_the_theme_comes_from_a_cookie_and_from_nothing_else(learner):
    learner.cookies.set("theme", "dark")
    assert 'data-theme="dark"' in learner.get("/").text
    learner.cookies.set("theme", 'x" onload="y')
    assert "data-theme=" not in learner.get("/").text
