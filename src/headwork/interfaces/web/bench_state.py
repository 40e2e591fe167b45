"""What the bench works on: numbers and options as its address has them, so that a link restores them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np

from ...arrays import Array
from ...diagnosis.typed import read_entries, read_number
from ...errors import AnswerError, HeadworkError, OptionError, TooLargeError
from ...mechanism.numerals import number_text
from ...mechanism.tracing import Trace, trace
from ...problem import Problem
from ..json_text import parse_json, plain_data

MOST_TOKENS, MOST_WIDTH, MOST_TABLES = 16, 32, 8  # what can still be read on a page
MOST_ENTRIES = 2_000  # in all arrays of a problem together
MOST_TEXT = 20_000  # characters of all numbers, so that the address stays one that browsers take
MATRICES = ("q", "k", "v")
OPTIONS = ("causal", "window", "mask", "scale", "heads", "kv_heads", "softcap")
# No score is zero everywhere, and the weights are neither even nor one-sided.
START = {
    "q": "1 0 2 -1\n0 2 1 0\n2 -1 0 1\n1 1 0 2",
    "k": "1 1 0 0\n0 1 2 -1\n2 0 1 1\n1 -1 0 1",
    "v": "1 0\n0 1\n1 1\n2 -1",
    "causal": "1",
}
SIMPLE = (
    "query",
    "key",
    "value",
    "causal",
    "window",
    "scale",
    "heads",
    "kv_heads",
    "softcap",
    "mask",
    "dtype",
)


@dataclass(frozen=True)
class State:
    """The fields of the bench as they were typed.

    Fields
    q, k, v   rows of numbers
    causal, window, mask, scale, heads, kv_heads, softcap  options; "" for none
    problem   JSON of a problem that has more than these; "" where these say it all
    """

    q: str = ""
    k: str = ""
    v: str = ""
    causal: str = ""
    window: str = ""
    mask: str = ""
    scale: str = ""
    heads: str = ""
    kv_heads: str = ""
    softcap: str = ""
    problem: str = ""

    def query(self, **more: str) -> dict[str, str]:
        """What its address says; more: of the same address."""
        own = (
            {"problem": self.problem}
            if self.problem
            else {name: getattr(self, name) for name in (*MATRICES, *OPTIONS)}
        )
        return {name: text for name, text in (own | more).items() if text}

    def address(self, page: str = "/bench", **more: str) -> str:
        """Its address on a page."""
        return f"{page}?{urlencode(self.query(**more))}"


def state_in(query: Mapping[str, str]) -> State:
    """The state that an address has, or the one to begin with.

    query  of the address
    Raises TooLargeError. Special cases: none.
    """
    names = (*MATRICES, *OPTIONS, "problem")
    texts = {name: query[name].replace("\r\n", "\n").strip() for name in names if name in query}
    if sum(map(len, texts.values())) > MOST_TEXT:
        raise TooLargeError(f"the bench reads at most {MOST_TEXT:,} characters of numbers.")
    if not any(texts.get(name) for name in (*MATRICES, "problem")):
        texts = START | {name: text for name, text in texts.items() if text}
    return State(**texts)


@lru_cache(maxsize=64)
def worked_state(state: State) -> Trace:
    """The problem of a state, worked out.

    state  of the bench
    Raises HeadworkError: what cannot be read, or is too large to be shown. Special cases: none.
    """
    return trace(problem_of(state))


def problem_of(state: State) -> Problem:
    """The problem that a state says.

    state  of the bench
    Raises HeadworkError. Special cases: none.
    """
    if state.problem:
        return checked(Problem.from_dict(parse_json(state.problem, "the JSON")))
    fields: dict[str, Any] = {}
    for letter, name in zip(MATRICES, ("query", "key", "value"), strict=True):
        text = getattr(state, letter)
        if text:
            fields[name] = _matrix(text, letter.upper())
    return checked(Problem(**fields, **_options(state)))


def _matrix(text: str, name: str) -> Array:
    try:
        entries = read_entries(text)
    except AnswerError as error:
        raise OptionError(f"{name}: {error}") from None
    if not entries.given.all():
        raise OptionError(f"{name} has an entry that is missing. Every entry is needed.")
    return entries.values


def _options(state: State) -> dict[str, Any]:
    """The options that are there, as a problem takes them."""
    made: dict[str, Any] = {"causal": True} if state.causal else {}
    if state.window:
        made["window"] = _window(state.window)
    if state.mask:
        made["mask"] = _mask(state.mask)
    if state.scale:
        made["scale"] = 1.0 if state.scale == "none" else _number(state.scale, "the scale")
    if state.softcap:
        made["softcap"] = _number(state.softcap, "the softcap")
    if state.heads not in ("", "1"):
        made["heads"] = _whole(state.heads, "heads")
        if state.kv_heads:
            made["kv_heads"] = _whole(state.kv_heads, "key/value heads")
    return made


def _window(text: str) -> tuple[int | None, int | None]:
    """How many keys before and after each query may be seen; one number says both."""
    parts = [
        None if part == "none" else _whole(part, "the window") for part in text.replace(",", " ").split()
    ]
    if len(parts) not in (1, 2):
        raise OptionError(
            f"the window: {text[:40]!r} was given; one number, or two such as 2, 0, were expected."
        )
    return parts[0], parts[-1]


def _mask(text: str) -> Array:
    """0 and 1 say which keys may be seen; other numbers are added to the scores."""
    mask = _matrix(text, "the mask")
    return mask.astype(bool) if np.isin(mask, (0, 1)).all() else mask


def _number(text: str, what: str) -> float:
    try:
        return read_number(text).value
    except AnswerError as error:
        raise OptionError(f"{what}: {error}") from None


def _whole(text: str, what: str) -> int:
    if not (text.strip().isascii() and text.strip().isdecimal() and len(text) < 5):
        raise OptionError(f"{what}: {text[:40]!r} is no whole number.")
    return int(text)


def checked(problem: Problem) -> Problem:
    """The problem, where it is small enough to be shown.

    problem  any
    Raises TooLargeError. Special cases: none.
    """
    tables = problem.H * int(np.prod(problem.batch, dtype=int))
    widths = [size for size in (problem.D, problem.Dv) if size]
    if (
        max(problem.Tq, problem.Tk) > MOST_TOKENS
        or max(widths, default=0) > MOST_WIDTH
        or tables > MOST_TABLES
    ):
        raise TooLargeError(
            f"the bench shows up to {MOST_TOKENS} tokens, {MOST_WIDTH} wide, in {MOST_TABLES} heads; this is "
            "larger. headwork show works larger problems in a terminal."
        )
    return problem


# --- from a problem to an address ------------------------------------------------------------------


def state_of(problem: Problem) -> State:
    """The state that shows a problem.

    problem  any that fits the bench
    Raises HeadworkError: it is too large. Special cases: what has no field of its own stands in the JSON.
    """
    record = problem.to_dict()
    state = (
        _simple(record)
        if set(record) <= set(SIMPLE) and record.get("dtype", "float64") == "float64"
        else None
    )
    if state is not None:
        return state
    text = json.dumps(plain_data(record), ensure_ascii=False, separators=(",", ":"))
    if len(text) > MOST_TEXT:
        raise TooLargeError(
            "this problem has too many numbers for the bench. headwork show works it in a terminal."
        )
    return State(problem=text)


def _simple(record: Mapping[str, Any]) -> State | None:
    matrices = {
        letter: record.get(name) for letter, name in zip(MATRICES, ("query", "key", "value"), strict=True)
    }
    if (
        any(array is not None and array.ndim != 2 for array in matrices.values())
        or record.get("mask") is not None
    ):
        return None
    if record.get("causal", False) not in (False, True) or record.get("window") is not None:
        return None
    texts = {letter: rows_text(array) for letter, array in matrices.items() if array is not None}
    options = {
        name: number_text(record[name], 15).replace("−", "-")
        for name in ("scale", "softcap", "heads", "kv_heads")
        if record.get(name) is not None
    }
    return State(**texts, **options, causal="1" if record.get("causal") else "")


def rows_text(matrix: Array) -> str:
    """A matrix as it is typed: a line for each row.

    matrix  (T, D), or any other of two axes
    Raises nothing. Special cases: none.
    """
    return "\n".join(" ".join(number_text(x, 15).replace("−", "-") for x in row) for row in matrix)


def address_of(problem: Problem, **more: str) -> str:
    """The address of the bench with a problem on it; "" where it is too large.

    problem  any; more: of the address
    Raises nothing. Special cases: none.
    """
    try:
        address = state_of(checked(problem)).address(**more)
    except HeadworkError:
        return ""
    return address if len(address) < MOST_TEXT else ""
