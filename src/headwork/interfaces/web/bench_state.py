"""What the bench works on: numbers and options as its address has them, so that a link restores them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np

from ...errors import HeadworkError, TooLargeError
from ...mechanism.tracing import Trace, trace
from ...problem import Problem
from ..json_text import parse_json, plain_data
from .bench_options import OPTIONS, matrix_in, options_in, options_text, rows_text

MOST_TOKENS, MOST_WIDTH, MOST_TABLES = 16, 32, 8  # what can still be read on a page
MOST_TEXT = 20_000  # characters of all numbers, so that the address stays one that browsers take
MATRICES = {"q": "query", "k": "key", "v": "value"}
# No score is zero everywhere, and the weights are neither even nor one-sided.
START = {
    "q": "1 0 2 -1\n0 2 1 0\n2 -1 0 1\n1 1 0 2",
    "k": "1 1 0 0\n0 1 2 -1\n2 0 1 1\n1 -1 0 1",
    "v": "1 0\n0 1\n1 1\n2 -1",
    "causal": "1",
}


@dataclass(frozen=True)
class State:
    """The fields of the bench as they were typed.

    Fields
    q, k, v  rows of numbers
    options  name and text of each control that says something
    problem  JSON of a problem that has more than these; "" where these say it all
    """

    q: str = ""
    k: str = ""
    v: str = ""
    options: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def option(self, name: str) -> str:
        """The text of a control; "" where it says nothing."""
        return dict(self.options).get(name, "")

    def query(self, **more: str) -> dict[str, str]:
        """What its address says; more: of the same address."""
        matrices = {letter: getattr(self, letter) for letter in MATRICES}
        own = {"problem": self.problem} if self.problem else matrices | dict(self.options)
        return {name: text for name, text in (own | more).items() if text}

    def address(self, page: str = "/bench", **more: str) -> str:
        """Its address on a page."""
        return f"{page}?{urlencode(self.query(**more))}"


def state_in(query: Mapping[str, str]) -> State:
    """The state that an address has, or the one to begin with.

    query  of the address
    Raises TooLargeError. Special cases: none.
    """
    names = (*MATRICES, "problem", *(option.name for option in OPTIONS))
    typed = {name: query[name].replace("\r\n", "\n").strip() for name in names if name in query}
    if sum(map(len, typed.values())) > MOST_TEXT:
        raise TooLargeError(f"the bench reads at most {MOST_TEXT:,} characters of numbers.")
    texts = {name: text for name, text in typed.items() if text}
    if not any(name in texts for name in (*MATRICES, "problem")):
        texts = START | texts
    own = {name: texts.pop(name) for name in (*MATRICES, "problem") if name in texts}
    return State(**own, options=tuple(texts.items()))


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
    fields: dict[str, Any] = {
        name: matrix_in(text, letter.upper())
        for letter, name in MATRICES.items()
        if (text := getattr(state, letter))
    }
    return checked(Problem(**fields, **options_in(dict(state.options))))


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
    state = _simple(record)
    if state is not None:
        return state
    text = json.dumps(plain_data(record), ensure_ascii=False, separators=(",", ":"))
    if len(text) > MOST_TEXT:
        raise TooLargeError(
            "this problem has too many numbers for the bench. headwork show works it in a terminal."
        )
    return State(problem=text)


def _simple(record: Mapping[str, Any]) -> State | None:
    """The state of a problem that has three matrices, and options that the controls can say."""
    matrices = {letter: record[name] for letter, name in MATRICES.items() if name in record}
    if any(array.ndim != 2 for array in matrices.values()):
        return None
    rest = {name: value for name, value in record.items() if name not in MATRICES.values()}
    options = options_text(rest)
    if options is None or not {"q", "k"} <= set(matrices):
        return None
    texts = {letter: rows_text(array) for letter, array in matrices.items()}
    return State(**texts, options=tuple(options.items()))


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
