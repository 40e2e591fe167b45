"""`headwork show --with-mistake`: the right numbers beside those that a mistake gives, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import OptionError
from ..mechanism.arithmetic import source_of
from ..mechanism.tracing import Trace
from ..mistakes.example import Example, example_of
from ..mistakes.lookup import Entry, entry_named
from ..mistakes.wrong_run import can_be_made
from .catalogue_text import compared, labels_of
from .json_text import json_text
from .latex_text import plain_formula
from .sections import made_by
from .show import size_text
from .text import bold, spelled, width_of_page, wrapped


def show_mistake(work: Trace, name: str, fields: Sequence[str], json: bool, plain: bool) -> int:
    """Print what a mistake makes of a problem that is worked out; the exit status.

    name    the mistake's id, or the beginning of one; fields: only these results, none for all that differ
    Raises UnknownNameError; OptionError where the problem has no place for it.
    """
    entry = entry_named(name)
    if not can_be_made(work.problem, entry.mistake):
        raise OptionError(
            f"this problem has no place for {entry.id}: what it is about (a mask, heads, positions …) is not "
            f"there. headwork explain {entry.id} shows it on numbers that have one."
        )
    example = example_of(entry.mistake, work.problem)
    shown = [field for field in _worth_showing(work, example) if not fields or field in fields]
    if json:
        print(json_text({"mistake": entry, **example.to_dict(shown)}))
        return 0
    for line in _page(work, entry, example, shown, plain):
        print(line)
    return 0


def _worth_showing(work: Trace, example: Example) -> list[str]:
    """The results that differ: the first, and those that the problem asks for; not the same one twice."""
    asked = [name for _, name in made_by(work)]
    named = [name for name in example.fields if name in asked or name == example.fields[0]]
    last = source_of(work, "output") if "output" in work else ""
    return [name for name in named if name != last or name == "output"]


def _page(work: Trace, entry: Entry, example: Example, fields: Sequence[str], plain: bool) -> Iterator[str]:
    width = width_of_page()

    def said(text: str, margin: str = "", hang: str = "") -> str:
        return wrapped(spelled(text) if plain else text, width, margin, hang)

    yield said(size_text(work.problem))
    heading = said(f"{entry.id}: {entry.title}")
    yield heading if plain else bold(heading)
    yield said(plain_formula(entry.mistake.formula), "    ")
    if not fields:
        yield ""
        hides = entry.mistake.hides_when
        when = hides if hides.startswith(("never", "always")) else f"when {hides}"
        yield said(f"These numbers do not show it there: every entry is the right one. It hides {when}.")
    for name in fields:
        yield ""
        yield from compared(example, name, labels_of(entry.mistake), width, plain)
    yield ""
    yield said(f"headwork explain {entry.id} says why, and how to mend it.")
