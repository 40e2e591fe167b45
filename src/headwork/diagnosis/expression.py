"""One typed number: decimals, fractions, roots, powers of e, infinities.

`read_number` gives the value and what was said about its precision. A plain decimal keeps its
digits; anything else is worked out by a small parser, since mathematics as people write it (2√3, e²,
½, \\frac{1}{2}) is no Python. What could mean two things is refused with both readings, never guessed.
"""

import math
import operator
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import AnswerError
from .spelling import close_up, plain, quoted

__all__ = ["EXAMPLES", "Number", "read_number"]

LONGEST = 80  # characters in one entry: room for any hand-written number, and a bound on nesting
EXPONENTS = range(-400, 309)  # past every float64 downwards; upwards so that 10.0**-places is finite
EXAMPLES = "Write numbers such as 0.25, 1/4, √2, e^2, -inf"


@dataclass(frozen=True)
class Number:
    """One number and how precisely it was meant.

    Fields
    text    as typed, without the blanks around it
    value   the nearest float64
    places  decimals typed: "0.090" 3, "1.20e-3" 5, "26.9%" 3, "1.2e3" -2 (known to the hundreds), "7" 0;
            None when none were typed
    exact   True for an integer, fraction, root, power of e, infinity, NaN: meant exactly where the
            truth is exact. An integer is both: exact, and zero decimals.

    places None and exact False: the precision is unknown (a float out of an array, or 1.5√2).
    """

    text: str
    value: float
    places: int | None = None
    exact: bool = False


class _UnreadableError(Exception):
    """Why a text is no number; empty when it reads as nothing at all."""


def read_number(text: str, *, where: str = "", mend: str = EXAMPLES) -> Number:
    """The number that a text says.

    where  said in an error after the text, such as "row 1, entry 2"
    mend   the last sentence of an error

    Special cases: "inf" and "nan" are values. A comma between digits is a decimal comma.
    Raises AnswerError: unreadable, ambiguous, divided by zero, no real value, outside float64.
    """
    typed = text.strip()
    try:
        return _read(typed)
    except _UnreadableError as refusal:
        place = f" ({where})" if where else ""
        reason = str(refusal)
        said = f"{quoted(typed)}{place} {reason}" if reason else f"I could not read {quoted(typed)}{place}"
        raise AnswerError(f"{said}. {mend}.") from None


def _read(typed: str) -> Number:
    if not typed:
        raise _UnreadableError("is empty; a number was expected")
    if len(typed) > LONGEST:
        raise _UnreadableError(f"has {len(typed)} characters; one number has at most {LONGEST}")
    spelled = _without_outer_parentheses(_joined(close_up(plain(typed))))
    _refuse_unclear_marks(spelled)
    return _decimal(typed, spelled) or _Reading(spelled).number(typed)


def _joined(text: str) -> str:
    # In a text that is one number, a sign with blanks on both sides adds; "1 -2" stays two numbers.
    return re.sub(r"^([+-]) | ([+-]) ", r"\1\2", text.strip())


def _without_outer_parentheses(text: str) -> str:
    while text[:1] == "(" and text[-1:] == ")" and "(" not in text[1:] and ")" not in text[:-1]:
        text = text[1:-1].strip()
    return text


def _refuse_unclear_marks(text: str) -> None:
    commas = text.count(",")
    if commas and "." in text:
        raise _UnreadableError(
            "has a comma and a point; write one decimal mark, no thousands mark, blanks between entries"
        )
    if commas > 1:
        count = "two" if commas == 2 else str(commas)
        raise _UnreadableError(
            f"has {count} commas: write blanks between entries: {quoted(text.replace(',', ' '))[1:-1]}"
        )
    if commas and not _DECIMAL.fullmatch(_with_carets(text)) and _is_outside_parentheses(text):
        left, right = text.split(",")
        raise _UnreadableError(
            f"could be the two entries {quoted(left)} and {quoted(right)}, or one with a decimal comma; "
            "write a blank or a point"
        )


def _is_outside_parentheses(text: str) -> bool:
    before = text.partition(",")[0]
    return before.count("(") + before.count("{") <= before.count(")") + before.count("}")


# A plain decimal ------------------------------------------------------------------------------------

_DECIMAL = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?:[.,](?P<decimals>[0-9]*))?|\.(?P<only>[0-9]+))"
    r"(?:[eE](?P<e>[+-]?[0-9]+)|\*10(?:\^|\*\*)[({]?(?P<ten>[+-]?[0-9]+)[)}]?)?(?P<percent>%?)"
)
_SUPERSCRIPT = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_RAISED = re.compile("[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


def _decimal(typed: str, spelled: str) -> Number | None:
    """The number with the decimals typed, or None when the text is an expression."""
    found = _DECIMAL.fullmatch(_with_carets(spelled))
    if found is None:
        return None
    decimals = found["decimals"] or found["only"] or ""
    power = found["e"] or found["ten"]
    exponent = int(power or 0) - (2 if found["percent"] else 0)
    value = _float64(f"{found['sign']}{found['whole'] or '0'}.{decimals or '0'}e{exponent}")
    is_integer = not (decimals or power or found["percent"])
    return Number(typed, value, len(decimals) - exponent, is_integer)


def _float64(text: str) -> float:
    """The value of a decimal; the digits of a zero's exponent are bounded too, for 10**places."""
    value = float(text)
    digits, _, exponent = text.lower().partition("e")
    is_lost = value == 0 and digits.strip("+-0.") != ""
    if math.isinf(value) or is_lost or int(exponent or 0) not in EXPONENTS:
        raise _UnreadableError(_OUTSIDE)
    return value


def _with_carets(text: str) -> str:
    return _RAISED.sub(lambda raised: "^" + raised[0].translate(_SUPERSCRIPT), text)


# An expression --------------------------------------------------------------------------------------

_OUTSIDE = "is too large or too small for a float64 (5e-324 to 1.8e308)"
_AMBIGUOUS = "could mean two things; add parentheses or a *, as in (1/2)*√3 or 1/(2*√3)"
_CONSTANTS = {"e": math.e, "π": math.pi, "pi": math.pi, "nan": math.nan}
_CONSTANTS |= {"∞": math.inf, "inf": math.inf, "infinity": math.inf}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "√": math.sqrt,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "ln": math.log,
}
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*|,[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>\\?[A-Za-z]+|[√∞π])"
    r"|(?P<fraction>[¼½¾⅐-⅞↉])"
    rf"|(?P<raised>{_RAISED.pattern})"
    r"|(?P<power>\^|\*\*)"
    r"|(?P<sign>[+-])|(?P<times>[*/])|(?P<open>[({])|(?P<close>[)}])"
)


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _UnreadableError
        kind = str(token.lastgroup)
        found.append((kind, _name(token[0]) if kind == "name" else token[0]))
        at = token.end()
    return found


def _name(text: str) -> str:
    if text == "log":
        raise _UnreadableError("could be a logarithm to base e or 10; write ln for base e")
    return text.lower() if len(text) > 1 else text


def _worked(operation: Callable[..., float], *operands: float) -> float:
    """The result, which is infinite or NaN only where an operand is."""
    try:
        result = operation(*operands)
    except ZeroDivisionError:
        raise _UnreadableError("divides by zero") from None
    except OverflowError:
        raise _UnreadableError(_OUTSIDE) from None
    except ValueError:
        raise _UnreadableError("has no real value") from None
    if isinstance(result, complex) or (math.isnan(result) and not any(map(math.isnan, operands))):
        raise _UnreadableError("has no real value")
    if math.isinf(result) and not any(map(math.isinf, operands)):
        raise _UnreadableError(_OUTSIDE)
    return result


def _power(base: float, exponent: float) -> float:
    # math.e ** 2 is one unit in the last place off e²
    return math.exp(exponent) if base == math.e else base**exponent


class _Reading:
    """One pass over the tokens. A sum is made of products, a product of powers, a power of atoms."""

    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text), ("end", "")]
        self.at = 0
        self.exact = True  # no decimal was typed so far
        self.bare = -1  # where a function's argument without parentheses ended: √2·

    def number(self, typed: str) -> Number:
        value = self.sum()
        if self.next() != "end":
            raise _UnreadableError
        return Number(typed, value, None, self.exact)

    def next(self) -> str:
        return self.tokens[self.at][0]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def sum(self) -> float:
        negative = self.next() == "sign" and self.take() == "-"
        value = -self.product() if negative else self.product()
        while self.next() == "sign":
            add_or_subtract = operator.add if self.take() == "+" else operator.sub
            value = _worked(add_or_subtract, value, self.product())
        return value

    def product(self) -> float:
        value, divided = self.power(), False
        while True:
            if self.next() == "times":
                divided = self.take() == "/"
                value = _worked(operator.truediv if divided else operator.mul, value, self.signed_power())
            elif self.next() in ("name", "open"):
                self.refuse_unclear_product(divided)
                value = _worked(operator.mul, value, self.power())
            else:
                return value

    def refuse_unclear_product(self, divided: bool) -> None:
        """1/2√3, √2e and 2\\frac{1}{2} have two readings; 2√3, √2√3 and 2(1+e) have one."""
        following = self.tokens[self.at][1]
        after_bare = self.bare == self.at and following not in ("√", "sqrt")
        if divided or after_bare or following == "\\frac":
            raise _UnreadableError(_AMBIGUOUS)

    def signed_power(self) -> float:
        negative = self.next() == "sign" and self.take() == "-"
        return -self.power() if negative else self.power()

    def power(self) -> float:
        base = self.atom()
        if self.next() == "power":
            self.take()
            return _worked(_power, base, self.signed_power())
        if self.next() == "raised":
            return _worked(_power, base, float(self.take().translate(_SUPERSCRIPT)))
        return base

    def atom(self) -> float:
        kind = self.next()
        if kind == "number":
            return self.literal()
        if kind == "fraction":
            return self.unicode_fraction()
        if kind == "open":
            return self.group()
        if kind == "name":
            return self.named(self.take())
        raise _UnreadableError

    def literal(self) -> float:
        text = self.take()
        value = _float64(text.replace(",", "."))
        if self.next() == "fraction" and text.isdecimal():
            return value + self.unicode_fraction()  # 2½
        self.exact = self.exact and text.isdecimal()
        return value

    def unicode_fraction(self) -> float:
        top, _, bottom = unicodedata.normalize("NFKC", self.take()).partition("⁄")
        return int(top) / int(bottom)

    def group(self) -> float:
        closing = {"(": ")", "{": "}"}[self.take()]
        value = self.sum()
        if self.next() != "close" or self.take() != closing:
            raise _UnreadableError
        return value

    def named(self, name: str) -> float:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name == "\\frac" and self.next() == "open":
            top = self.group()
            return _worked(operator.truediv, top, self.group() if self.next() == "open" else self.atom())
        if name in _FUNCTIONS:
            return _worked(_FUNCTIONS[name], self.argument(name))
        raise _UnreadableError

    def argument(self, name: str) -> float:
        if self.next() == "open":
            return self.group()
        value = self.atom()
        self.bare = self.at
        if _FUNCTIONS[name] is not math.sqrt and self.next() in ("power", "raised"):
            raise _UnreadableError(_AMBIGUOUS)  # ln 2^2; a root gives the same number either way
        return value
