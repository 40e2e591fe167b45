"""What a session says, on a terminal: 80 columns are enough, bold only helps, --plain reads well aloud."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from ..diagnosis.verdicts import NOT_RIGHT
from ..mechanism.numerals import number_text, subscript
from ..mechanism.tracing import trace
from ..workbook.course import Later
from ..workbook.events import Asked, Card, Event, Listed, Marked, Opened, Said
from ..workbook.exercises import Exercise, View
from ..workbook.standing import Standing
from .marking_text import LEGEND, SIGNS, render_step
from .text import bold, spelled, width_of_page

WIDEST = 80  # longer lines of prose are harder to read
SYMBOLS = {"query": "Q", "key": "K", "value": "V", "scores": "S", "scaled": "S/√d_k", "output": "z"}
ROW_SYMBOLS = {"query": "q", "key": "k", "value": "v"}  # the other matrices have a row for each query
STATE_SIGNS = {"done": "✓", "begun": "◐", "not yet": "○"}
LATER = "in code, not yet here"


class Page:
    """Where a session is shown.

    Fields
    plain  no bold type, no columns side by side, signs in words: for a screen reader
    """

    def __init__(self, plain: bool) -> None:
        self.plain = plain
        self.width = min(WIDEST, width_of_page())

    def show(self, event: Event) -> None:
        """Print one event."""
        match event:
            case Said():
                self._said(event)
            case Card():
                self._card(event)
            case Opened():
                self._opened(event)
            case Asked():
                self._asked(event)
            case Marked():
                self._marked(event)
            case Listed():
                self._listed(event)

    def line(self, text: str = "") -> None:
        """One line, as it is."""
        print(spelled(text) if self.plain else text, flush=True)

    def heading(self, text: str) -> None:
        """A line above what follows, with room before it."""
        self.line()
        self.line(text if self.plain else bold(text))

    def prose(self, markdown: str, margin: str = "") -> None:
        """Paragraphs, wrapped; blocks that are indented stay as they are."""
        for at, block in enumerate(blocks(markdown)):
            if at:
                self.line()
            for line in wrapped(block, self.width, margin):
                self.line(line)

    # --- events ------------------------------------------------------------------------------------

    def _said(self, said: Said) -> None:
        if said.title:
            self.heading(said.title)
        elif said.what == "place":
            self.line()
        self.prose(said.text, "  " if said.title else "")
        for line in said.lines:
            self.line(f"  {line}")

    def _card(self, card: Card) -> None:
        self.heading(card.of.title)
        self.line()
        self.prose(card.of.opening)
        self.line()
        self.line(f"    {card.of.formula}")
        self.heading("Every symbol, once")
        most = max(len(symbol.sign) for symbol in card.of.symbols)
        for symbol in card.of.symbols:
            sign = f"{symbol.sign}: " if self.plain else f"  {symbol.sign:<{most}}  "
            lines = textwrap.wrap(symbol.says, self.width - len(sign))
            self.line(sign + f"\n{' ' * len(sign)}".join(lines))

    def _opened(self, opened: Opened) -> None:
        if opened.part:
            self.heading(opened.part.title)
            self.line()
            self.prose(opened.part.opening)
        self.heading(f"{opened.exercise.number}. {opened.exercise.title}")
        self.line()
        self.prose(opened.exercise.opening)

    def _asked(self, asked: Asked) -> None:
        self.line()
        for line in self._in_view(asked.exercise):
            self.line(line)
        if asked.exercise.helpers:
            self.line(f"Given: {asked.exercise.helpers}")
        self.heading(f"Question {asked.at + 1} of {len(asked.exercise.questions)}")
        self.prose(asked.question.prompt)

    def _marked(self, marked: Marked) -> None:
        judged = marked.judged
        if judged.step is None:
            text = spelled(judged.typed or "") if self.plain else f"{SIGNS[judged.verdict]} {judged.typed}"
            self.prose(f"{text} {LEGEND[judged.verdict]}. {judged.sentence}", "  ")
        else:
            _title, *lines = render_step(marked.exercise.problem, judged.step, self.plain)
            print("\n".join(lines), flush=True)
        if judged.verdict == NOT_RIGHT:
            words = "hint, why, show, skip" if judged.step else "hint, show, skip"
            self.line(f"  Try again as often as you like, or: {words}")

    def _listed(self, listed: Listed) -> None:
        for one in listed.sets:
            self.heading(one.title)
            for part in one.parts:
                self.line()
                self.line(part.title)
                for each in one.in_part(part):
                    here = each.id == listed.here
                    self.line(self._row(each, listed.standings.get(each.id), here))

    def _row(self, each: Exercise | Later, stand: Standing | None, here: bool) -> str:
        state = f"  {LATER}" if stand is None else state_words(stand, self.plain)
        if self.plain:
            return (
                f"{each.number}, {each.id}, {each.title}: {state.strip()}{', you are here' if here else ''}"
            )
        return f"{'→' if here else ' '}{each.number:>3}  {each.id:<15} {each.title:<28} {state}"

    # --- matrices ----------------------------------------------------------------------------------

    def _in_view(self, exercise: Exercise) -> Iterator[str]:
        work = trace(exercise.problem)
        tables = [
            _table(view, [[number_text(x) for x in row] for row in work[view.field]])
            for view in exercise.views
        ]
        if self.plain:
            yield from (
                f"{title}. " + "; ".join(f"{name}: {' '.join(row)}" for name, row in rows)
                for title, rows in tables
            )
        else:
            yield from side_by_side([list(_laid_out(title, rows)) for title, rows in tables], self.width)


def state_words(stand: Standing, plain: bool) -> str:
    """How far an exercise has come, with a sign that needs no colour."""
    words = {
        "done": "done, with the solution" if stand.solved else "done",
        "begun": f"begun, {len(stand.done)} of {stand.asked} questions",
        "not yet": "not yet",
    }[stand.state]
    return words if plain else f"{STATE_SIGNS[stand.state]} {words}"


Rows = list[tuple[str, list[str]]]


def _table(view: View, entries: Sequence[list[str]]) -> tuple[str, Rows]:
    """The title of a matrix, and its rows with their names."""
    symbol = ROW_SYMBOLS.get(view.field)
    names = [symbol + subscript(row) if symbol else f"query {row + 1}" for row in range(len(entries))]
    wanted = [row - 1 for row in view.rows] or range(len(entries))
    return SYMBOLS.get(view.field, view.field), [(names[row], entries[row]) for row in wanted]


def _laid_out(title: str, rows: Rows) -> Iterator[str]:
    width = max(len(entry) for _, row in rows for entry in row)
    yield title
    for name, row in rows:
        yield f"{name}  " + "  ".join(entry.rjust(width) for entry in row)


def side_by_side(tables: list[list[str]], width: int, gap: int = 5) -> Iterator[str]:
    """Tables next to each other as far as they fit, the others below."""
    row: list[list[str]] = []
    for table in tables:
        if row and _wide([*row, table], gap) > width:
            yield from _joined(row, gap)
            row = []
        row.append(table)
    yield from _joined(row, gap)


def _wide(row: list[list[str]], gap: int) -> int:
    return sum(max(map(len, table)) + gap for table in row) - gap


def _joined(row: list[list[str]], gap: int) -> Iterator[str]:
    widths = [max(map(len, table)) + gap for table in row]
    for parts in zip_longest(*row, fillvalue=""):
        yield "".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()


def blocks(markdown: str) -> Iterator[str]:
    """The blocks of a text that empty lines set apart."""
    block: list[str] = []
    for line in [*markdown.strip("\n").splitlines(), ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []


def wrapped(block: str, width: int, margin: str = "") -> list[str]:
    """The lines of one block; an indented one is a formula and stays as it is."""
    if block.startswith("    "):
        return [margin + line for line in block.splitlines()]
    return textwrap.wrap(" ".join(block.split()), width, initial_indent=margin, subsequent_indent=margin)
