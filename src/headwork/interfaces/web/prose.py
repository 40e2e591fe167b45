"""Texts of the course as HTML: Markdown without raw HTML, d_k with a real index, commands as links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from .typed_maths import typed_maths

# d_k, W_Q, T_kv, √d_k, and e^2, e^(−∞): one letter with an index, roots and powers
INDEX = re.compile(r"(?<![\w.])([A-Za-zΣℓ]|lse)_([A-Za-z]{1,5}|\d{1,2})(?![A-Za-z0-9_])")
ROOT = re.compile(r"√(?:\([^()<>&]{1,40}\)|\d{1,9}|[A-Za-z](?:_[A-Za-z]{1,5})?(?!\w))")
POWER = re.compile(r"\be\^(\([^()<>]{1,40}\)|[−-]?\w{1,12}(?:[.,]\w{1,12})?)")
# what latex2mathml makes of a sign, a word and ∞, as MathML has them
NEGATIVE = re.compile(r"(<mo>&#x[0-9A-F]+;</mo>|<mo>[,=]</mo>)<mo>(&#x02212;)</mo>")
WORD = re.compile(r'<mi>\w{2,}</mi>|(?:<mi mathvariant="normal">\w</mi>){2,}')
UPRIGHT = '<mi mathvariant="normal">{}</mi>'
CODE = re.compile(r"`([^`<>]{1,80})`")
LINKS = (
    (re.compile(r"headwork explain ([a-z0-9-]+)"), "/mistakes/{}"),
    (re.compile(r"headwork practice ([a-z0-9.-]+(?:@\d+)?)(?![\w@])"), "/exercise/{}"),
)
PLACES = (
    ("headwork mistakes", "/mistakes", "the list of mistakes"),
    ("headwork list", "/", "the list of exercises"),
)


def signs(text: str) -> Markup:
    """A line of text with its indices, roots, powers and code set.

    text  as the course writes it: d_k, √64, e^2, `dim`
    Raises nothing. Special cases: none.
    """
    marked = CODE.sub(r"<code>\1</code>", str(escape(text)))
    marked = POWER.sub(lambda match: f"e<sup>{match[1].strip('()')}</sup>", marked)
    marked = ROOT.sub(lambda match: str(typed_maths(match[0])), marked)
    return Markup(INDEX.sub(r"<i>\1</i><sub>\2</sub>", marked))


def line(text: str) -> Markup:
    """A line of text, and the commands in it as links to the pages that show the same.

    text  as a terminal prints it
    Raises nothing. Special cases: none.
    """
    html = str(signs(text))
    for pattern, address in LINKS:
        html = pattern.sub(partial(_page_of, address), html)
    for command, address, words in PLACES:
        html = re.sub(rf"(^|[.?!] )?{command}", partial(_place, address, words), html)
    return Markup(html)


def _place(address: str, words: str, match: re.Match[str]) -> str:
    """A link in place of a command, with a capital where a sentence begins."""
    begins = match[1] is not None
    return (match[1] or "") + _link(address, opened(words) if begins else words)


def opened(text: str) -> str:
    """A phrase as a line of its own begins: with a capital."""
    return text[:1].upper() + text[1:]


def _page_of(address: str, match: re.Match[str]) -> str:
    return _link(address.format(match[1].rstrip(".")), match[1])


def _link(address: str, text: str) -> str:
    stop = "." if text.endswith(".") else ""
    return f'<a href="{address}">{text.rstrip(".")}</a>{stop}'


@lru_cache(maxsize=4096)
def prose(text: str) -> Markup:
    """Markdown as HTML; an indented block is a formula on lines of its own.

    text  Markdown
    Raises nothing. Special cases: HTML in it is shown as it was typed.
    """
    return Markup(_markdown().render(text))


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table").disable("image")


class _Renderer(RendererHTML):
    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return str(line(tokens[idx].content))

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        lines = tokens[idx].content.rstrip("\n").split("\n")
        made = "".join(typed_maths(each, "block") for each in lines if each.strip())
        return f'<div class="scroll formula">{made}</div>\n'


@lru_cache(maxsize=1024)
def mathml(latex: str, display: str = "inline") -> Markup:
    """A formula as MathML.

    latex  as steps and mistakes write it; display: inline or block
    Raises nothing. Special cases: what cannot be read is shown as it is written.
    """
    from latex2mathml.converter import convert

    try:
        made = convert(latex.replace(r"\tfrac", r"\frac"), display=display)
    except Exception:  # the catalogue is ours, and a test reads every formula; a page never fails for one
        return Markup(f"<code>{escape(latex)}</code>")
    made = re.sub(r'\s(?:style|xmlns)="[^"]*"', "", made)
    made = WORD.sub(lambda match: UPRIGHT.format(re.sub("<[^>]*>", "", match[0])), made)
    made = made.replace("<mo>&#x0221E;</mo>", UPRIGHT.format("∞"))
    made = made.replace(">ln</mi><m", '>ln</mi><mspace width=".2em"/><m')
    return Markup(NEGATIVE.sub(r'\1<mo form="prefix">\2</mo>', made))
