"""The catalogue's LaTeX in plain characters, as people write a formula in a line: S/√d_k, e^(sᵢⱼ − mᵢ)."""

from __future__ import annotations

import re

SIGNS = {
    "cdot": " · ", "le": "≤", "ge": "≥", "ne": "≠", "in": "∈", "to": "→", "leftarrow": "←", "infty": "∞",
    "theta": "θ", "alpha": "α", "ell": "ℓ", "sum": "Σ", "odot": "⊙", "vee": "∨", "neg": "¬", "ldots": "…",
    "lfloor": "⌊", "rfloor": "⌋", "bmod": "mod", "quad": " ",
    "|": "‖", "{": "{", "}": "}", ",": " ", ";": " ", " ": " ", "!": "",
    "textstyle": "", "left": "", "right": "", "Big": "", "displaystyle": "",
}  # fmt: skip
NAMES = ("ln", "log", "max", "min", "tanh", "sin", "cos", "exp")
BINARY = "≤≥≠∈→←⊙∨=<>"  # one blank on each side
NO_FACTOR = ("cdot", "le", "ge", "ne", "in", "to", "leftarrow", "odot", "vee", "right", "Big")
BLANK = (r"\,", r"\;", r"\ ", r"\quad", r"\textstyle")
LOW = str.maketrans("0123456789ij", "₀₁₂₃₄₅₆₇₈₉ᵢⱼ")
HIGH = str.maketrans("0123456789−()pT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁽⁾ᵖᵀ")
WORDS = r"\\(?:text|mathrm)\{([^{}]*)\}"
TOKEN = re.compile(rf"{WORDS}|\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
ATOM = re.compile(r"\w*|[⌊‖][^⌊‖]*[⌋‖]|\w\^\([^()]*\)")  # needs no parentheses under a root or in a fraction


def plain_formula(latex: str) -> str:
    """The formula in plain characters.

    latex  what the catalogue writes: letters, \\frac, \\sqrt, \\text, sub- and superscripts, signs by name.
    An unknown name stays as a word.
    """
    text, _ = _group(_tokens(latex), 0)
    return _tidied(text)


def _tokens(latex: str) -> list[str]:
    """Words in braces, commands with their backslash, blanks, single characters."""
    return [match.group() for match in TOKEN.finditer(latex)]


def _group(tokens: list[str], at: int) -> tuple[str, int]:
    """The text up to the closing brace or the end, and the place behind it."""
    text = ""
    while at < len(tokens) and tokens[at] != "}":
        part, at = _next(tokens, at, text)
        runs_on = re.search(r"_[^\W_]+$", text) and re.match("[A-Za-z0-9]", part)  # q_ic k_jc
        text += f" {part}" if runs_on else part
    return text, at + 1


def _next(tokens: list[str], at: int, before: str = "") -> tuple[str, int]:
    """One unit from this place on, and the place behind it."""
    token = tokens[at]
    if token == "{":
        return _group(tokens, at + 1)
    if token in "^_":
        inner, at = _next(tokens, _skip_blanks(tokens, at + 1))
        return (_raised if token == "^" else _lowered)(_tidied(inner)), at
    if token in (r"\frac", r"\tfrac"):
        above, at = _next(tokens, _skip_blanks(tokens, at + 1))
        below, at = _next(tokens, _skip_blanks(tokens, at))
        times = " · " if _is_factor(tokens, at) else ""
        return f"{_bracketed(_tidied(above))}/{_bracketed(_tidied(below))}{times}", at
    if token == r"\sqrt":
        return _root(tokens, at + 1)
    words = re.fullmatch(WORDS, token)
    if words:
        return words[1], at + 1
    return (_sign(token[1:], before) if token.startswith("\\") else token.replace("-", "−")), at + 1


def _skip_blanks(tokens: list[str], at: int) -> int:
    while tokens[at].isspace():
        at += 1
    return at


def _is_factor(tokens: list[str], at: int) -> bool:
    """Whether something stands there that a fraction before it multiplies."""
    while at < len(tokens) and (tokens[at].isspace() or tokens[at] in BLANK):
        at += 1
    token = tokens[at] if at < len(tokens) else ""
    return token.isalnum() or (token[:1] == "\\" and token[1:].isalpha() and token[1:] not in NO_FACTOR)


def _root(tokens: list[str], at: int) -> tuple[str, int]:
    degree = ""
    if tokens[at] == "[":
        end = tokens.index("]", at)
        degree, at = "".join(tokens[at + 1 : end]).translate(HIGH), end + 1
    inner, at = _next(tokens, at)
    return f"{degree}√{_bracketed(_tidied(inner))}", at


def _sign(name: str, before: str) -> str:
    """A sign by its name; a function's name, with a multiplication before it where a factor stands there."""
    if name in NAMES:
        return f"·{name}" if before[-1:].isalnum() else name
    return SIGNS.get(name, name)


def _raised(text: str) -> str:
    is_short = re.fullmatch(r"−?\d+|T|\([\dp]\)", text)
    if is_short:
        return text.translate(HIGH)
    is_one = len(text) == 1 or (text.startswith("(") and text.endswith(")"))
    return f"^{text}" if is_one else f"^({text})"


def _lowered(text: str) -> str:
    if re.fullmatch(r"(?!2i)[0-9ij]+", text):  # x with index 2·i is no entry (2, i)
        return text.translate(LOW)
    return f"_{text}" if re.fullmatch(r"[^\W_]+|⌊[^⌊⌋]*⌋", text) else f"_({text})"


def _bracketed(text: str) -> str:
    return text if ATOM.fullmatch(text) else f"({text})"


def _tidied(text: str) -> str:
    """One blank around signs of comparison and in general; none inside brackets' edges."""
    text = re.sub(rf"\s*([{BINARY}])\s*", r" \1 ", text)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?<=[([⌊¬]) | (?=[,;)\]⌋])", "", text)
    return text.strip()
