"""Formulas that the course types as text become MathML that says the same."""

import re
from xml.etree import ElementTree

import pytest

from headwork.interfaces.web.prose import prose, signs
from headwork.interfaces.web.typed_maths import typed_maths

# what a formula says, read off by hand: each row of MathML in (…), each element by the sign of its kind
FORMULAS = [
    ("S = QKᵀ", "S = Q sup(K T)"),
    ("QKᵀ / √d_k", "Q sup(K T) / sqrt(sub(d k))"),
    ("sᵢⱼ = qᵢ · kⱼ", "sub(s i j) = sub(q i) · sub(k j)"),
    ("z = w₁₁ v₁", "z = sub(w 1 1) sub(v 1)"),
    ("e^(score j)", "sup(e score j)"),
    ("J = diag(p) − ppᵀ", "J = diag ( p ) − p sup(p T)"),
    ("√(1/64)", "sqrt(1 / 64)"),
    ("√((a + b) c)", "sqrt(( a + b ) c)"),
    ("a < b & c", "a < b & c"),
    ("√", "sqrt()"),
]
KINDS = {"msup": "sup", "msub": "sub", "msqrt": "sqrt"}


def said(element: ElementTree.Element) -> str:
    inner = " ".join(filter(None, (said(child) for child in element)))
    text = (element.text or "").strip(" \xa0")
    return f"{KINDS[element.tag]}({inner})" if element.tag in KINDS else text or inner


@pytest.mark.parametrize(("text", "formula"), FORMULAS, ids=[text for text, _ in FORMULAS])
def test_a_typed_formula_says_the_same(text, formula):
    assert said(ElementTree.fromstring(typed_maths(text).replace("&nbsp;", "\xa0"))) == formula


def test_a_block_of_the_course_is_a_formula_for_each_line():
    made = prose("Before.\n\n    S = QKᵀ\n    z = w₁ v₁\n\nAfter.")
    assert made.count('<math display="block">') == 2
    assert "<pre" not in made


def test_a_root_in_a_sentence_reaches_over_what_it_is_of():
    assert re.fullmatch(
        r"divided by <math [^>]*><mrow><msqrt><msub>.*</msqrt></mrow></math>\.", signs("divided by √d_k.")
    )
    assert "&lt;b&gt;" in signs("√<b>")
