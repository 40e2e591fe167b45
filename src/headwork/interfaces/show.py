"""`headwork show`: a problem worked out in full, step by step; or beside what a mistake makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import OptionError, UnknownNameError
from ..mechanism.tracing import Trace, trace
from ..mistakes.lookup import typical_at
from ..problem import Problem
from .files import read_problem
from .grids import EVERY, Choice
from .json_text import json_text
from .sections import Section, entry_sections, fields_named, made_by, sections_of
from .text import bold, plain_lines, spelled, table_lines, width_of_page, wrapped

WITH_MISTAKE = "--with-mistake ID shows what a mistake makes of these numbers, beside the right ones."
MOST_TYPICAL = 3  # mistakes named at a step
PRECISION = "Worked in full precision and shown {digits}: rounded numbers can give another last digit."


def run_show(
    problem_text: str,
    *,
    steps: Sequence[str] = (),
    entry: tuple[int, ...] | None = None,
    digits: int = 3,
    choice: Choice = EVERY,
    mistake: str | None = None,
    json: bool = False,
    plain: bool = False,
) -> int:
    """Print the problem worked out; the exit status. Raises HeadworkError."""
    work = trace(read_problem(problem_text))
    fields = [field for name in steps for field in fields_named(work, name)]
    if mistake is not None:
        if entry is not None or choice != EVERY:
            raise OptionError("--with-mistake shows whole tables; leave out --entry, --head and --batch.")
        from .mistake_text import show_mistake

        return show_mistake(work, mistake, fields, json, plain)
    if json and choice != EVERY and entry is None:
        raise OptionError(
            "--json has every head and batch element; --head and --batch go with text or --entry."
        )
    if json:
        print(json_text(show_record(work, fields, entry, choice)))
        return 0
    sections = (
        sections_of(work, digits, choice, fields)
        if entry is None
        else entry_sections(work, entry, choice, fields)
    )
    if not sections:
        raise UnknownNameError(
            "no step of this problem has such an entry. Name the step: --step weights --entry 1,3."
        )
    for line in page(work.problem, sections, digits, plain):
        print(line)
    if any(section.mistakes for section in sections):
        print()
        print(wrapped(WITH_MISTAKE, width_of_page(), "", ""))
    return 0


def show_record(
    work: Trace, fields: Sequence[str], entry: tuple[int, ...] | None, choice: Choice
) -> dict[str, Any]:
    """The trace as data, with these fields only and one entry's arithmetic where they are asked for."""
    record = work.to_dict()
    for step in record["steps"]:
        step["typical_mistakes"] = [each.id for each in typical_at(work.problem, step["name"])]
    if fields:
        wanted = {step.name for step, name in made_by(work) if name in fields}
        record["steps"] = [step for step in record["steps"] if step["name"] in wanted]
    if entry is not None:
        sections = entry_sections(work, entry, choice, fields)
        record["worked"] = [one for section in sections for block in section.blocks for one in block.worked]
    return record


def page(problem: Problem, sections: Sequence[Section], digits: int, plain: bool) -> Iterator[str]:
    """The lines of text."""
    width = width_of_page()
    count = f"to {digits} {'decimal' if digits == 1 else 'decimals'}" if digits else "without decimals"
    for text in (size_text(problem), PRECISION.format(digits=count)):
        yield wrapped(spelled(text) if plain else text, width, "", "")
    for section in sections:
        yield ""
        yield from _section_lines(section, digits, width, plain)


def size_text(problem: Problem) -> str:
    """How large the problem is, in one sentence."""
    sizes = [_count(problem.Tq, "query", "queries"), _count(problem.Tk, "key", "keys")]
    sizes += [_count(problem.H, "head", "heads")] if problem.H > 1 else []
    sizes += [_count(problem.Hkv, "key/value head", "key/value heads")] if problem.Hkv != problem.H else []
    sizes += [f"d_k = {problem.D}"] if problem.D else []
    sizes += [f"d_v = {problem.Dv}"] if problem.Dv else []
    sizes += [f"batch {' × '.join(map(str, problem.batch))}"] if problem.batch else []
    return f"{', '.join(sizes)}, {problem.dtype.name}."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _section_lines(section: Section, digits: int, width: int, plain: bool) -> Iterator[str]:
    said = spelled if plain else str
    title = f"{section.title} ({section.field})"
    yield said(title) if plain else bold(title)
    if section.formula:
        yield wrapped(said(section.formula), width)
    for block in section.blocks:
        yield ""
        if block.caption:
            yield f"  {block.caption}:"
        if block.grid and plain:
            yield from (wrapped(said(line), width) for line in plain_lines(block.grid))
        elif block.grid:
            yield from table_lines(block.grid, width)
        if block.grid and block.worked:
            yield ""
        yield from (wrapped(said(one.text(digits)), width) for one in block.worked)
    if section.note:
        yield ""
        yield wrapped(section.note, width, hang="")
    if section.mistakes:
        yield ""
        more = len(section.mistakes) - MOST_TYPICAL
        ids = ", ".join(section.mistakes[:MOST_TYPICAL]) + (f" and {more} more" if more > 0 else "")
        yield wrapped(f"Typical mistakes: {ids}.", width)
