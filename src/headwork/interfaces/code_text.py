"""What a check of code says: each case, the first that is not right in numbers, the mistake, the way on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten

import numpy as np

from ..arrays import Array
from ..mechanism.numerals import number_text
from ..mechanism.tracing import trace
from ..workbook.coding import NOT_ASKED, NOT_RIGHT, RIGHT, STOPPED, CodeCheck, Extra, Result, Tried
from ..workbook.naming import Named
from .check_text import Line, rendered
from .grids import Grid
from .input_text import array_text
from .text import NO_BREAK, plain_lines, printable, spelled, table_lines

SIGNS = {RIGHT: "✓", NOT_RIGHT: "✗", STOPPED: "!", NOT_ASKED: "–"}
DIGITS = 4  # decimals of what was expected and what came
ALL_DIGITS = 15  # where those say the same of both
MOST_NUMBERS = 60  # of an argument that is written out
MOST_PRINTED = 12  # lines
HELPFUL = ("scaled", "weights")  # steps that are shown where nothing explains the numbers
STEP_TITLES = {"scaled": "the scaled scores", "weights": "the weights"}
MOST_OTHERS = 3
LONGEST = 200  # characters of a line that was printed
BEYOND = "What production would add; nothing of it fails here"
GRADIENTS = ("query", "key", "value")


def code_page(
    check: CodeCheck, width: int, *, plain: bool = False, done: Sequence[str] = ()
) -> Iterator[str]:
    """Everything that a learner wants to know of one check.

    width  columns to fill; plain: for a screen reader
    done   headings of the exercises that it was kept for, as right for the first time
    """
    parts = [_head(check)]
    if check.failure:
        parts += [_failure(check)]
    elif not check.is_begun:
        parts += [_begin(check)]
    else:
        parts += [_cases(check)]
    yield from _joined(parts, width, plain)
    if check.is_begun and not check.failure and check.first_failing is not None:
        yield from _failing(check, check.first_failing, width, plain)
    yield from _joined([[], *_ends(check, done)], width, plain)


def _joined(parts: Sequence[Sequence[Line]], width: int, plain: bool) -> Iterator[str]:
    for at, part in enumerate(parts):
        lines = list(rendered(part, width, plain))
        yield from ["", *lines] if lines and at else lines


def _head(check: CodeCheck) -> list[Line]:
    return [Line(f"{check.track.title}: {check.track.function} in {check.path.name}", is_heading=True)]


def _failure(check: CodeCheck) -> list[Line]:
    return [Line("It could not be run.", "  "), Line(check.failure, "  "), *_printed(check.printed)]


def _begin(check: CodeCheck) -> list[Line]:
    said = check.tried[0].said.partition(": ")[2] or "replace the line that raises NotImplementedError"
    return [
        Line(f"Nothing is written yet: {said}.", "  "),
        Line(f"The first case will be {check.track.cases[0].why}.", "  "),
    ]


def _cases(check: CodeCheck) -> list[Line]:
    return [Line(_case_text(each), "  ", "  ") for each in check.tried]


def _case_text(tried: Tried) -> str:
    size = max(map(len, SIGNS))
    verdict = f"{tried.verdict:<{size}}".replace(" ", NO_BREAK)
    return f"{SIGNS[tried.verdict]} {verdict}{NO_BREAK * 2}{tried.case.why}"


# --- the first case that is not right -------------------------------------------------------------


def _failing(check: CodeCheck, tried: Tried, width: int, plain: bool) -> Iterator[str]:
    heading = [Line(f"The first case that is not right: {tried.case.why}", is_heading=True)]
    called = f"{check.track.function}({', '.join(check.track.takes)}), with"
    yield from _joined([[], [*heading, Line(called, "  "), *_arguments(tried)]], width, plain)
    if tried.said:
        yield from rendered([Line(tried.said, "  ")], width, plain)
    if (off := tried.first_off) is not None and off.got is not None:
        yield from _tables(off, width, plain)
    yield from _joined([[], [*_explained(check)]], width, plain)
    if not check.named and off is not None and off.got is not None:
        yield from _steps(tried, width, plain)
    if tried.printed:
        yield from _joined([[], _printed(tried.printed)], width, plain)


def _arguments(tried: Tried) -> Iterator[Line]:
    for name, value in tried.numbers.arguments.items():
        if not isinstance(value, np.ndarray):
            yield Line(f"{name} = {value}", "    ", "  ")
        elif value.size <= MOST_NUMBERS:
            yield Line(f"{name} = {array_text(value)}", "    ", "  ")
        else:
            yield Line(f"{name}: {' × '.join(map(str, value.shape))} numbers", "    ", "  ")


def _tables(result: Result, width: int, plain: bool) -> Iterator[str]:
    assert result.got is not None
    assert result.off is not None
    name = (
        f"the gradient of {result.name}" if result.name in ("query", "key", "value") else f"the {result.name}"
    )
    digits = DIGITS if _differs(result, DIGITS) else ALL_DIGITS
    mark = " not right" if plain else " ✗"
    yield ""
    yield from rendered([Line(f"Expected of {name}:", "  ")], width, plain)
    yield from _table_lines(result.expected, digits, None, width, plain)
    yield ""
    yield from rendered([Line(f"Yours{'' if plain else ', ✗ where it is not right'}:", "  ")], width, plain)
    yield from _table_lines(result.got, digits, result.off, width, plain, mark)


def _differs(result: Result, digits: int) -> bool:
    """Whether so many decimals show that something is off."""
    assert result.got is not None
    pairs = zip(result.expected[result.off], result.got[result.off], strict=True)
    return any(number_text(one, digits) != number_text(other, digits) for one, other in pairs)


def _table_lines(
    array: Array, digits: int, off: Array | None, width: int, plain: bool, mark: str = ""
) -> Iterator[str]:
    """Each matrix of an array; entries that are off are marked."""
    matrices = array.reshape(-1, *array.shape[-2:]) if array.ndim > 1 else array.reshape(1, 1, -1)
    marks = np.zeros(matrices.shape, dtype=bool) if off is None else off.reshape(matrices.shape)
    for at, (matrix, wrong) in enumerate(zip(matrices, marks, strict=True)):
        if len(matrices) > 1:
            yield f"  head {at + 1}"
        grid = _grid(matrix, wrong, digits, mark)
        if plain:
            yield from (spelled(line) for line in plain_lines(grid))
        else:
            yield from (line.rstrip() for line in table_lines(grid, width, "  "))


def _grid(matrix: Array, wrong: Array, digits: int, mark: str) -> Grid:
    blank = " " * len(mark) if wrong.any() else ""
    texts = [[number_text(value, digits) for value in row] for row in matrix]
    marked = (
        tuple(text + (mark if is_off else blank) for text, is_off in zip(row, own, strict=True))
        for row, own in zip(texts, wrong, strict=True)
    )
    columns, rows = range(1, matrix.shape[1] + 1), range(1, len(matrix) + 1)
    return Grid("", tuple(map(str, columns)), tuple(f"row {i}" for i in rows), tuple(marked))


def _steps(tried: Tried, width: int, plain: bool) -> Iterator[str]:
    """The right steps of this case, to be held against one's own."""
    work = trace(tried.numbers.problem)
    for step in HELPFUL:
        if step in work and step not in [each.name for each in tried.results]:
            yield ""
            yield from rendered([Line(f"What is right here, for {STEP_TITLES[step]}:", "  ")], width, plain)
            yield from _table_lines(work[step], DIGITS, None, width, plain)


# --- the mistake ----------------------------------------------------------------------------------


def _explained(check: CodeCheck) -> Iterator[Line]:
    results = [result for tried in check.tried for result in tried.results]
    if check.named:
        yield from _named(check, check.named)
    elif any(result.off is not None and result.off.any() for result in results):
        yield Line("Nothing that is known explains these numbers.", is_heading=True)
        yield Line(f"A hint: {check.track.hints[0]}", "  ", "  ")


def _named(check: CodeCheck, named: Sequence[Named]) -> Iterator[Line]:
    first = named[0]
    count = len(first.cases) or sum(each.verdict == NOT_RIGHT for each in check.tried)
    where = "on every case" if count == len(check.tried) else f"on {count} of {len(check.tried)} cases"
    if first.is_sure:
        said = f"It {first.what}: these are exactly the numbers that gives, {where}."
    else:
        said = f"These are also the numbers of a function that {first.what}, {where}. "
        said += "They are too few to be sure."
    yield Line(said, is_heading=True)
    if first.why:
        yield Line(f"Why it is not right: {first.why}", "  ")
    if first.mend:
        yield Line(f"To mend it: {first.mend}", "  ")
    others = [f"{each.what} ({' and '.join(each.ids)})" for each in named[1 : MOST_OTHERS + 1]]
    if others:
        yield Line(f"The same numbers come to a function that {'; or '.join(others)}.", "  ")
    if first.explains:
        commands = " and ".join(f"headwork explain {name}" for name in first.ids)
        yield Line(f"{commands} {'says' if len(first.ids) == 1 else 'say'} more.", "  ")


# --- at the end -----------------------------------------------------------------------------------


def _ends(check: CodeCheck, done: Sequence[str]) -> Iterator[list[Line]]:
    notes = dict.fromkeys(note for tried in check.tried for note in tried.notes)
    yield [Line(f"Note: {note}", "", "  ") for note in notes]
    if check.is_right:
        yield [Line(BEYOND, is_heading=True), *_extras(check.extras)]
        if check.tried[0].printed:
            yield _printed(check.tried[0].printed)
        count = f"All {len(check.tried)} cases are right."
        kept = f" Kept for {', '.join(done)}." if done else ""
        yield [Line(f"{count}{kept}", is_heading=True)]
    elif check.tried and check.is_begun:
        yield [Line(f"{check.passed} of {len(check.tried)} cases are right.", is_heading=True)]


def _extras(extras: Sequence[Extra]) -> Iterator[Line]:
    for extra in extras:
        if extra.is_there:
            yield Line(f"✓ {extra.beyond.good}", "  ", "  ")
        else:
            yield Line(f"– {extra.beyond.says} {extra.beyond.see} goes on from there.", "  ", "  ")


def _printed(text: str) -> list[Line]:
    lines = text.splitlines()
    texts = [shorten(printable(line), LONGEST, placeholder=" …") or " " for line in lines[:MOST_PRINTED]]
    texts += ["… and more"] if len(lines) > MOST_PRINTED else []
    return [Line("It printed:", "  "), *(Line(text, "    ") for text in texts)] if lines else []
