"""The controls of the bench: what each is called and does, how its text is read, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import DTYPES, Array
from ...diagnosis.typed import Entries, read_entries, read_number
from ...errors import AnswerError, OptionError
from ...problem import PAIRINGS, ROPE_BASE


@dataclass(frozen=True)
class Option:
    """One control.

    Fields
    name     in an address, and of the field of a problem where that is one
    label    beside it; says: what it does, in a sentence
    read     its text as a problem takes it; write: the other way, None where the text cannot say it
    empty    what is shown while nothing is typed
    choices  value and word of each, where one is chosen; of a single one, whether it is
    is_rows  whether it is typed in rows
    """

    name: str
    label: str
    says: str
    read: Callable[[str], Any]
    write: Callable[[Any], str | None]
    empty: str = "none"
    choices: tuple[tuple[str, str], ...] = ()
    is_rows: bool = False


# --- reading ---------------------------------------------------------------------------------------


def matrix_in(text: str, name: str) -> Array:
    """The matrix that a text says.

    text  rows of numbers; name: of the matrix, for errors
    Raises OptionError: it cannot be read, or an entry is missing. Special cases: none.
    """
    entries = _entries(text, name)
    if not entries.given.all():
        raise OptionError(f"{name} has an entry that is missing. Every entry is needed.")
    return entries.values


def _entries(text: str, name: str) -> Entries:
    try:
        return read_entries(text)
    except AnswerError as error:
        raise OptionError(f"{name}: {error}") from None


def _number(name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            return read_number(text).value
        except AnswerError as error:
            raise OptionError(f"{name}: {error}") from None

    return read


def _whole(name: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        digits = text.strip().replace("−", "-").removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 5):
            raise OptionError(f"{name}: {text[:40]!r} is no whole number.")
        return int(text.strip().replace("−", "-"))

    return read


def _numbers(name: str) -> Callable[[str], Array]:
    """One number, or one for each head."""
    return lambda text: matrix_in(text, name).ravel()


def _scale(text: str) -> float:
    return 1.0 if text == "none" else _number("the scale")(text)


def _alibi(text: str) -> Array | bool:
    return True if text == "published" else _numbers("the slopes")(text)


def _window(text: str) -> tuple[int | None, int | None]:
    """How many keys before and after each query may be seen; one number says both."""
    whole = _whole("the window")
    parts = [None if part == "none" else whole(part) for part in text.replace(",", " ").split()]
    if len(parts) not in (1, 2):
        raise OptionError(
            f"the window: {text[:40]!r} was given; one number, or two such as 2, 0, were expected."
        )
    return parts[0], parts[-1]


def _chunks(text: str) -> list[int]:
    return [_whole("the parts")(part) for part in text.replace(",", " ").split()]


def _mask(text: str) -> Array:
    """0 and 1 say which keys may be seen; other numbers are added to the scores."""
    mask = matrix_in(text, "the mask")
    return mask.astype(bool) if np.isin(mask, (0, 1)).all() else mask


def _chosen(name: str, among: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in among:
            raise OptionError(f"{name}: {text[:40]!r} was given; one of {', '.join(among)} was expected.")
        return text

    return read


# --- writing ---------------------------------------------------------------------------------------


def rows_text(matrix: Array) -> str:
    """A matrix as it is typed: a line for each row, each number with all of its digits.

    matrix  (T, D), or any other of two axes
    Raises nothing. Special cases: none.
    """
    return "\n".join(" ".join(map(_digits, row)) for row in matrix)


def _digits(value: Any) -> str:
    return str(value).removesuffix(".0")


def _row(values: Array) -> str:
    return " ".join(map(_digits, values))


def _window_text(window: tuple[int | None, int | None]) -> str:
    return ", ".join("none" if side is None else str(side) for side in window)


def _mask_text(masks: tuple[dict[str, Array], ...]) -> str | None:
    mask = masks[0]["mask"]
    if len(masks) > 1 or mask.ndim != 2:
        return None
    if mask.dtype == bool:
        return rows_text(mask.astype(int))
    return None if np.isin(mask, (0, 1)).all() else rows_text(mask)  # it would be read as yes and no


# --- the controls ----------------------------------------------------------------------------------

PAIRED = (("", "none"), *((name, name) for name in PAIRINGS))
FIRST = (
    Option(
        "causal",
        "Causal",
        "A query sees no key that comes later.",
        lambda _: True,
        lambda _: "1",
        choices=(("1", ""),),
    ),
    Option(
        "window",
        "Window",
        "How many keys before and after its own a query sees: 2, 0 is two and none.",
        _window,
        _window_text,
    ),
    Option(
        "scale", "Scale", "Multiplies the scores: a number such as 1/4, or none.", _scale, _digits, "1/√d_k"
    ),
    Option(
        "heads",
        "Heads",
        "Q, K and V are cut into so many parts, side by side; each is worked alone.",
        _whole("heads"),
        _digits,
        "1",
    ),
)
MORE = (
    (
        "Which keys a query sees",
        (
            Option(
                "mask",
                "Mask",
                "A row for each query: 1 where it may see a key, else 0. Other numbers are added to scores.",
                _mask,
                _mask_text,
                "",
                is_rows=True,
            ),
            Option(
                "offset",
                "First query at",
                "Where the first query stands; else the last query stands at the last key.",
                _whole("the position"),
                _digits,
                "the end",
            ),
            Option(
                "lengths",
                "Keys that count",
                "The keys after so many are padding, which no query sees.",
                _whole("the keys that count"),
                _digits,
                "all",
            ),
        ),
    ),
    (
        "What becomes of a score",
        (
            Option(
                "softcap",
                "Softcap c",
                "Keeps scores between −c and c: c·tanh(score / c).",
                _number("the softcap"),
                _digits,
            ),
            Option(
                "alibi",
                "ALiBi slopes",
                "Takes slope times distance from each score: published, or one for each head.",
                _alibi,
                _row,
            ),
            Option(
                "rope",
                "RoPE",
                "Turns pairs of features by position: half are i and i + d/2, interleaved are neighbours.",
                _chosen("RoPE", PAIRINGS),
                str,
                choices=PAIRED,
            ),
            Option(
                "rope_base",
                "RoPE base",
                "The larger it is, the more slowly the later pairs turn.",
                _number("the base of RoPE"),
                _digits,
                "10000",
            ),
            Option(
                "rope_dim",
                "RoPE features",
                "How many of the first features turn.",
                _whole("the features of RoPE"),
                _digits,
                "all",
            ),
        ),
    ),
    (
        "Heads, softmax and numbers",
        (
            Option(
                "kv_heads",
                "Heads of keys",
                "Fewer heads of keys and values than of queries: several share one.",
                _whole("heads of keys"),
                _digits,
                "same",
            ),
            Option(
                "sink",
                "Sink",
                "A score without a value: it takes weight and gives nothing. One, or one for each head.",
                _numbers("the sink"),
                _row,
            ),
            Option(
                "chunks",
                "Parts",
                "Works the keys in parts of these lengths and merges them, as fast kernels do.",
                _chunks,
                lambda lengths: ", ".join(map(str, lengths)),
            ),
            Option(
                "dtype",
                "Arithmetic",
                "With fewer bits, more is rounded.",
                _chosen("the arithmetic", tuple(DTYPES)),
                str,
                choices=(("", "float64"), *((name, name) for name in DTYPES if name != "float64")),
            ),
        ),
    ),
)
OPTIONS = (*FIRST, *(option for _, group in MORE for option in group))
PARTS_OF_ROPE = {"rope": "pairing", "rope_base": "base", "rope_dim": "dim"}


def options_in(texts: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a problem that the texts of the controls say.

    texts  by the name of the control; empty ones count for nothing
    Raises OptionError: one cannot be read. Special cases: what belongs to RoPE or to heads is left aside
    while there is none.
    """
    read = {option.name: option.read(text) for option in OPTIONS if (text := texts.get(option.name, ""))}
    rope = {part: read.pop(name) for name, part in PARTS_OF_ROPE.items() if name in read}
    if "pairing" in rope:
        read["rope"] = rope
    if read.get("heads", 1) == 1:
        read = {name: value for name, value in read.items() if name not in ("heads", "kv_heads")}
    return read


def options_text(record: Mapping[str, Any]) -> dict[str, str] | None:
    """The texts of the controls that say the options of a problem.

    record  the fields of a problem, as `Problem.to_dict` gives them
    Raises nothing. Special cases: None where an option is none that the controls can say.
    """
    values = dict(record)
    rope = values.pop("rope", None)
    if rope:
        values |= {name: rope[part] for name, part in PARTS_OF_ROPE.items()}
        values = {name: value for name, value in values.items() if (name, value) != ("rope_base", ROPE_BASE)}
    if values.get("dtype") == "float64":
        del values["dtype"]
    named = {option.name: option for option in OPTIONS}
    texts = {name: named[name].write(value) if name in named else None for name, value in values.items()}
    said = {name: text for name, text in texts.items() if text is not None}
    return said if len(said) == len(texts) else None
