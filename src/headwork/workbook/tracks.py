"""The code track: what is to be written as a function, and the inputs on which it is looked at.

Each track is a folder of `course/code/` with a header (track.md), a stub to begin from, a solution, and a
specification in plain loops. Reading it loads no NumPy, so that the course can be listed at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UnknownNameError
from .headers import Header, read_header

# In the order in which they build on one another.
TRACKS = (
    "softmax",
    "attention",
    "causal",
    "masks",
    "heads",
    "grouped-heads",
    "cache",
    "online-softmax",
    "backward",
)
GIVES = ("weights", "output", "gradients")


@dataclass(frozen=True)
class CodeCase:
    """One input that the function is called with.

    Fields
    id     kebab-case; why: the reason for it, in words
    given  fields of Problem by name, or masked scores, or d_output
    draw   fields that are drawn: name -> shape; seed: of the draw
    """

    id: str
    why: str
    given: Mapping[str, Any]
    draw: Mapping[str, tuple[int, ...]]
    seed: int


@dataclass(frozen=True)
class Beyond:
    """What production would add: looked at and told, never a failure.

    Fields
    case  the input that shows it
    says  what it is and why it matters; good: what is said where the function has it already
    see   where to learn it: a command
    """

    case: CodeCase
    says: str
    good: str
    see: str


@dataclass(frozen=True)
class Track:
    """One function to be written.

    Fields
    id        kebab-case; title: a few words; function: its name in Python
    takes     what it is called with, in order: see `workbook/cases.py`; gives: one of GIVES
    text      Markdown: what is asked
    hints     for numbers that nothing known explains, graded
    cases     the inputs that it has to be right on; beyond: what production would add
    folder    where its files are
    source    where the mathematics comes from
    """

    id: str
    title: str
    function: str
    takes: tuple[str, ...]
    gives: str
    text: str
    hints: tuple[str, ...]
    cases: tuple[CodeCase, ...]
    beyond: tuple[Beyond, ...]
    folder: Path
    source: str

    @property
    def file_name(self) -> str:
        """What the learner's file is called."""
        return f"{self.id.replace('-', '_')}.py"

    @property
    def stub(self) -> str:
        """What the learner begins from."""
        return _text(self.folder / "stub.py")

    @property
    def solution(self) -> str:
        """One way to write it."""
        return _text(self.folder / "solution.py")

    @property
    def spec(self) -> str:
        """What is asked, in plain loops."""
        return _text(self.folder / "spec.py")

    def to_dict(self) -> dict[str, Any]:
        """What a learner may see of it."""
        return {
            "id": self.id,
            "title": self.title,
            "function": self.function,
            "file": self.file_name,
            "cases": [{"id": case.id, "why": case.why} for case in self.cases],
        }


@cache
def tracks() -> tuple[Track, ...]:
    """Every track, in order; read once."""
    folder = Path(__file__).with_name("course") / "code"
    return tuple(read_track(folder / name) for name in TRACKS)


def track_named(name: str) -> Track:
    """The track of that id. Raises UnknownNameError with the nearest one."""
    for track in tracks():
        if track.id == name:
            return track
    near = difflib.get_close_matches(name, TRACKS, n=1)
    hint = f"The nearest is {near[0]}." if near else f"There are {', '.join(TRACKS)}."
    raise UnknownNameError(f"there is no code track {name[:60]!r}. {hint}")


def read_track(folder: Path) -> Track:
    """The track that a folder holds.

    folder  with track.md, stub.py, solution.py and spec.py
    Raises FileError, naming file and key.
    """
    header, text = read_header(f"{folder.name}/track.md", _text(folder / "track.md"))
    return header.whole_table(lambda header: _track(header, text, folder))


def _track(header: Header, text: str, folder: Path) -> Track:
    gives = header.text("gives")
    if gives not in GIVES:
        raise header.error("gives", f"is {gives!r}; it must be one of {', '.join(GIVES)}")
    cases = header.tables("cases", _case)
    return Track(
        id=header.text("id"),
        title=header.text("title"),
        function=header.text("function"),
        takes=header.texts("takes"),
        gives=gives,
        text=text,
        hints=header.texts("hints"),
        cases=cases,
        beyond=header.tables("beyond", _beyond),
        folder=folder,
        source=header.text("source"),
    )


def _case(table: Header) -> CodeCase:
    shapes = table.take("draw", dict, "a table of names and shapes", {})
    return CodeCase(
        id=table.text("id"),
        why=table.text("why"),
        given=table.take("given", dict, "a table of the fields of Problem", {}),
        draw={name: tuple(shape) for name, shape in shapes.items()},
        seed=table.whole("seed", 0, 0),
    )


def _beyond(table: Header) -> Beyond:
    case = _case(table)
    return Beyond(case, table.text("says"), table.text("good"), table.text("see"))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
