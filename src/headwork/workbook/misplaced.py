"""A key that stands in the wrong table: what is below a line in brackets belongs to that table, says TOML.

Such a key is otherwise told as something else: a title below [problem] is a title that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import FileError

PROBLEM = "problem"
# The keys of each table: "" is the header itself, "questions.wrong" a table in a table.
Keys = Mapping[str, tuple[str, ...]]
EXERCISE_KEYS: Keys = {
    "": (
        "id", "number", "label", "title", "about", "part", "problem", "shows", "helpers", "questions",
        "recap", "source", "separates", "variant", "blind", "draws", "stays", "computed",
    ),
    "questions": (
        "id", "prompt", "hints", "kind", "step", "rows", "digits", "answer", "source", "within", "wrong",
        "ours", "points", "several", "guess", "options", "asks", "wanted", "values", "example", "property",
        "otherwise", "track",
    ),
    "shows": ("field", "rows"),
    "questions.wrong": ("value", "says"),
    "questions.options": ("text", "says", "right"),
    "questions.asks": ("name", "shape"),
}  # fmt: skip
SET_KEYS: Keys = {
    "": ("id", "title", "letter", "formula", "closing", "symbols", "parts", "later"),
    "symbols": ("sign", "says"),
    "parts": ("id", "title", "opening", "recap"),
    "later": ("id", "number", "title", "part"),
}
FREE = (PROBLEM, "draws", "computed")  # tables whose keys are names: of fields, of arrays, of questions
BRACKETS = re.compile(r"\s*\[{1,2}\s*([A-Za-z][\w.-]*)\s*\]{1,2}\s*(?:#.*)?$")
TEXTS = ('"""', "'''")  # over several lines


def check_places(file: str, lines: tuple[str, ...], table: Mapping[str, Any], keys: Keys) -> None:
    """Whether every key stands in a table that has it.

    file   its name, for errors; lines: its first ones, up to the end of the header
    table  what the TOML of them says; keys: of each table
    Raises FileError: which key it is, where it stands, in which line, and where it belongs. Special cases: a
    key that no table has is left to whoever reads the table.
    """
    for place, name, inner in _tables(table):
        if name not in keys and name not in FREE:
            continue  # a table that nobody reads, which is told as that
        own = keys.get(name, _ids(table))
        for key in inner:
            home = None if key in own else _home(key, name, keys, table)
            if home is not None:
                raise FileError(_misplaced(file, lines, place, key, home))


def line_of(lines: tuple[str, ...], place: str, key: str) -> int | None:
    """The line of a key, counted from 1; None where it is not to be seen.

    place  of its table: "" the header itself, else such as "questions[2]." or "problem."
    Raises nothing. Special cases: of a table in one line, the line of that.
    """
    outer = place.rstrip(".")
    while True:
        for at, where, line in _placed(lines):
            if where == outer and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
                return at
        if not outer:
            return None
        outer, _, key = outer.rpartition(".")
        key = key.partition("[")[0]


# --- which table it is -----------------------------------------------------------------------------


def _tables(table: Mapping[str, Any], place: str = "", name: str = "") -> Iterator[tuple[str, str, Any]]:
    """Each table: where it is, such as "questions[2].", what it is called, such as "questions", and it."""
    yield place, name, table
    if name in FREE:
        return
    for key, value in table.items():
        inner = f"{name}.{key}".strip(".")
        if isinstance(value, dict):
            yield from _tables(value, f"{place}{key}.", inner)
        elif isinstance(value, list):
            for at, each in enumerate(value, 1):
                if isinstance(each, dict):
                    yield from _tables(each, f"{place}{key}[{at}].", inner)


def _ids(table: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of the questions, which `computed` has for keys."""
    asked = table.get("questions")
    questions = asked if isinstance(asked, list) else []
    return tuple(str(each.get("id")) for each in questions if isinstance(each, dict))


def _home(key: str, name: str, keys: Keys, table: Mapping[str, Any]) -> str | None:
    """The outer table that a key belongs to, one that has none yet; None where no table has it."""
    outer = ("", "questions") if name in FREE else [each for each in keys if "." not in each]
    homes = [each for each in outer if key in keys.get(each, ()) and each != name]
    if homes or name in FREE or PROBLEM not in keys[""]:
        return max(homes, key=lambda each: bool(each) or key not in table, default=None)
    from ..problem import field_names  # NumPy, which a list does without

    return PROBLEM if key in field_names() else None


# --- what is said ----------------------------------------------------------------------------------


def _misplaced(file: str, lines: tuple[str, ...], place: str, key: str, home: str) -> str:
    line = line_of(lines, place, key)
    where = f"{place}{key}{f' (line {line})' if line else ''}"
    table = place.rstrip(".")
    stands = f"stands in {table}" if table else "stands above the first line in brackets"
    if home:
        brackets = f"[{home}]" if home == PROBLEM else f"[[{home}]]"
        return f"{file}: {where} {stands} and belongs to {brackets}. Move it below a line {brackets}."
    first = next((at for at, _, text in _placed(lines) if BRACKETS.match(text)), None)
    above = f" (line {first})" if first else ""
    return (
        f"{file}: {where} {stands} and belongs to the header itself: what is below a line in brackets is "
        f"part of that table. Move it above the first line in brackets{above}."
    )


def _placed(lines: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    """Each line that is not inside a text: its number, the table that it stands in, and it."""
    place, counts, closing = "", dict[str, int](), ""
    for at, line in enumerate(lines, 1):
        if closing:
            closing = "" if closing in line else closing
            continue
        found = BRACKETS.match(line)
        if found:
            place = _entered(found[1], "[[" in line, counts)
        yield at, place, line
        closing = next((mark for mark in TEXTS if line.count(mark) == 1), "")


def _entered(name: str, is_list: bool, counts: dict[str, int]) -> str:
    """The place of the table that a line in brackets begins; `counts` of those before it."""
    outer, _, own = name.rpartition(".")
    before = f"{outer}[{counts[outer]}]." if outer in counts else f"{outer}." if outer else ""
    if not is_list:
        return f"{before}{own}"
    counts[name] = counts.get(name, 0) + 1
    for inner in [each for each in counts if each.startswith(f"{name}.")]:
        del counts[inner]
    return f"{before}{own}[{counts[name]}]"
