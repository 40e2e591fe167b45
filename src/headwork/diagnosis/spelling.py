"""One alphabet for what people type: their minus signs, their blanks, their LaTeX.

Nothing here knows what a number is; it only makes that different ways to write the same sign look alike.
"""

import re
import unicodedata

__all__ = ["close_up", "plain", "quoted"]

_ALIKE = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-"}
    | {"×": "*", "·": "*", "⋅": "*", "∙": "*", "∗": "*", "÷": "/", "⁄": "/", "∕": "/"}
    | {"٫": ",", "\xa0": " ", "\r": "\n", "\v": "\n", "\f": "\n", "\x85": "\n"}
    | {"\u2028": "\n", "\u2029": "\n"}
)
_LATEX = [
    (re.compile(r"\\[dt]frac(?![a-z])"), r"\\frac"),
    (re.compile(r"\\frac ?([0-9])([0-9])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\(?:cdot|times)(?![a-z])"), "*"),
    (re.compile(r"\\infty(?![a-z])"), "∞"),
    (re.compile(r"\\sqrt(?![a-z])"), "√"),
    (re.compile(r"\\(?=(?:exp|ln|pi)(?![a-z]))"), ""),
    (re.compile(r"\\(?=%)"), ""),
    (re.compile(r"\\(?:left|right)(?![a-z])|\\[,;!:](?!\n)"), ""),
    (re.compile(r"\{,\}"), ","),
]


def plain(text: str) -> str:
    """The text in one alphabet: one minus, one times, ASCII digits, blanks for what cannot be seen.

    Superscripts and fractions such as ½ stay, since their plain digits would mean something else.
    """
    text = text.replace("\r\n", "\n").translate(_ALIKE)
    if not text.isascii():
        text = "".join(c if c.isascii() else _plain_character(c) for c in text)
    if "\\" in text or "{" in text:
        for pattern, spelling in _LATEX:
            text = pattern.sub(spelling, text)
    return text


def _plain_character(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cf", "Zs"):  # zero-width characters, direction marks, blanks of any width
        return " "
    if category == "No" or character in "⁺⁻":
        return character
    if category == "Nd":
        return str(unicodedata.decimal(character))
    folded = unicodedata.normalize("NFKC", character).translate(_ALIKE)
    return folded if len(folded) <= 3 else character  # some ligatures unfold to 18 letters


_AROUND_OPERATOR = re.compile(r" ?(\*\*|[*/^]) ?| (?=%)")
_AFTER_FUNCTION = re.compile(r"(√|(?<![A-Za-z])(?:sqrt|exp|ln)) (?=[0-9.(√{eπp])")


def close_up(text: str) -> str:
    """Without the blanks that can only stand inside one number: "1 / 2", "1/(1 + e)", "ln 2", "5 %"."""
    text = re.sub(r" +", " ", text)
    text = _AFTER_FUNCTION.sub(r"\1", _AROUND_OPERATOR.sub(r"\1", text))
    return _closed_parentheses(text) if "(" in text or "{" in text else text


def _closed_parentheses(text: str) -> str:
    # "1/(1 + e)" belongs together, "(0.5 0.5)" is a row: only parentheses that follow something count.
    kept: list[str] = []
    attached: list[bool] = []
    for character, after in zip(text, text[1:] + " ", strict=True):
        before = kept[-1] if kept else " "
        inside = bool(attached) and attached[-1]
        if character == " " and inside and (before in "+-({" or after in "+-)}"):
            continue
        if character in "({":
            attached.append(inside or before not in " ([\n")
        elif character in ")}" and attached:
            attached.pop()
        kept.append(character)
    return "".join(kept)


def quoted(text: str) -> str:
    """The text in quotation marks, short, and safe to print whatever is in it."""
    short = text if len(text) <= 40 else text[:37] + "..."
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short) + '"'
