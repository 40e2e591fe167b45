"""Formulas that the course types as text, as MathML: sᵢⱼ = qᵢ · kⱼ, QKᵀ / √d_k, e^(s − m)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

LOW, HIGH = "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀⁱⁿ"
PLAIN = str.maketrans(LOW + HIGH, "0123456789aehijklmnoprstuvx" + "0123456789−Tin")
FUNCTIONS = "cos|diag|exp|ln|max|min|sin|softmax|tanh"
PIECE = re.compile(
    rf"""(?P<gap>\s{{2,}}) | (?P<function>\b(?:{FUNCTIONS})\b)
    | (?P<words>\s?(?!(?:{FUNCTIONS})\b)[A-Z]?[a-z]{{2,}}(?![{LOW}{HIGH}_^])\s?)  # ppᵀ: p times pᵀ
    | (?P<number>\d+(?:[.,]\d+)?)
    | (?P<letter>[A-Za-zͰ-Ͽℓ])
      (?:_(?P<index>[A-Za-z]{{1,5}}|\d{{1,2}})(?!\w) | (?P<low>[{LOW}]*)) (?P<high>[{HIGH}]*)
    | (?P<root>√) | (?P<power>\^) | (?P<sign>\S)""",
    re.VERBOSE,
)


def typed_maths(text: str, display: str = "inline") -> Markup:
    """A formula that was typed as text.

    text  the formula; display: inline or block
    Raises nothing. Special cases: what is no mathematics is a sign of its own.
    """
    made = "".join(_row(_Pieces(text)))
    return Markup(f'<math display="{display}"><mrow>{made}</mrow></math>')


class _Pieces:
    """The pieces of a formula, one after the other; blanks between signs say nothing."""

    def __init__(self, text: str) -> None:
        self._rest = PIECE.finditer(text)
        self.next = next(self._rest, None)

    def take(self) -> re.Match[str]:
        taken = self.next
        assert taken is not None
        self.next = next(self._rest, None)
        return taken

    def at(self, sign: str) -> bool:
        return self.next is not None and self.next[0] == sign


def _row(pieces: _Pieces, until: str = "") -> Iterator[str]:
    """All that follows, or what stands before a closing parenthesis."""
    while pieces.next is not None and not (until and pieces.at(until)):
        made = _piece(pieces)
        while pieces.at("^"):
            pieces.take()
            made = f"<msup>{made}{_group(pieces)}</msup>"
        yield made


def _piece(pieces: _Pieces) -> str:
    piece = pieces.take()
    text = str(escape(piece[0]))
    match piece.lastgroup if piece["letter"] is None else "letter":
        case "gap":
            return '<mspace width="2em"/>'
        case "function":
            return f'<mi mathvariant="normal">{text}</mi>'
        case "words":
            return f"<mtext>{text.replace(' ', '&nbsp;')}</mtext>"
        case "number":
            return f"<mn>{text}</mn>"
        case "letter":
            return _letter(piece)
        case "root":
            return f"<msqrt>{_group(pieces)}</msqrt>"
    return f"<mo>(</mo>{_inside(pieces)}<mo>)</mo>" if text == "(" else f"<mo>{text}</mo>"


def _group(pieces: _Pieces) -> str:
    """What a root or a power holds: one piece, or parentheses without their signs."""
    if pieces.next is None:
        return "<mrow></mrow>"
    if not pieces.at("("):
        return _piece(pieces)
    pieces.take()
    return _inside(pieces)


def _inside(pieces: _Pieces) -> str:
    """What stands in parentheses that have been opened."""
    made = "".join(_row(pieces, ")"))
    if pieces.next is not None:
        pieces.take()
    return f"<mrow>{made}</mrow>"


def _letter(piece: re.Match[str]) -> str:
    made = f"<mi>{piece['letter']}</mi>"
    low, high = piece["index"] or (piece["low"] or "").translate(PLAIN), piece["high"].translate(PLAIN)
    if low:
        made = f"<msub>{made}<mrow>{_signs(low)}</mrow></msub>"
    return f"<msup>{made}<mrow>{_signs(high)}</mrow></msup>" if high else made


def _signs(text: str) -> str:
    """An index: a number, a word such as kv, or letters."""
    return "".join(f"<mn>{each}</mn>" if each.isdecimal() else f"<mi>{each}</mi>" for each in text)
