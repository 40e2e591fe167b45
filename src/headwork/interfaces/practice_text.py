"""What a session says, on a terminal: 80 columns are enough, bold only helps, --plain reads well aloud."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ..workbook.course import Later
from ..workbook.events import Asked, Card, Event, Explained, Listed, Marked, Opened, Said
from ..workbook.exercises import Exercise
from ..workbook.standing import Standing
from .text import NO_BREAK, bold, kept_together, spelled, width_of_page

WIDEST = 80  # longer lines of prose are harder to read
LIST_WIDTH = 76  # of a row of the list; where there is less room, it is a sentence
STATE_SIGNS = {"done": "✓", "begun": "◐", "not yet": "○"}
LATER = "in code, not yet here"
SAME = "You have given these numbers before. why says what gives them."
SAME_NUMBER = "You have given this number before. hint goes a step further."


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
            case Explained():
                self._explained(event)
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
        from .in_view import in_view  # NumPy, which a list does without

        self.line()
        for line in in_view(asked.exercise, self.width, self.plain):
            self.line(line)
        if asked.exercise.helpers:
            self.prose(f"Given: {asked.exercise.helpers}")
        self.heading(f"Question {asked.at + 1} of {len(asked.exercise.questions)}")
        self.prose(asked.question.prompt)

    def _marked(self, marked: Marked) -> None:
        from ..diagnosis.verdicts import NOT_RIGHT, SHORT
        from .marking_text import LEGEND, SIGNS, render_step

        judged = marked.judged
        if judged.step is None:
            text = spelled(judged.typed or "") if self.plain else f"{SIGNS[judged.verdict]} {judged.typed}"
            says = judged.sentence
            short = judged.verdict == SHORT  # whose sentence begins with the verdict itself
            verdict = says[:1].lower() + says[1:] if short else f"{LEGEND[judged.verdict]}. {says}"
            self.prose(f"{text} {verdict}", "  ")
        else:
            _title, *lines = render_step(marked.exercise.problem, judged.step, self.plain)
            print("\n".join(lines), flush=True)
        if judged.verdict == NOT_RIGHT:
            if marked.again:
                self.prose(SAME if judged.step else SAME_NUMBER, "  ")
            elif judged.explanation and judged.explanation.hint:
                self.prose(judged.explanation.hint, "  ")
            words = "hint, why, show, skip" if judged.step else "hint, show, skip"
            self.prose(f"Try again as often as you like, or: {words}", "  ")

    def _explained(self, explained: Explained) -> None:
        from .explanation_text import explanation_texts

        self.heading("What may be behind it")
        for text in explanation_texts(explained.found):
            self.prose(text, "  ")

    def _listed(self, listed: Listed) -> None:
        for one in listed.sets:
            self.heading(one.title)
            for part in one.parts:
                self.line()
                self.line(part.title)
                for each in one.in_part(part):
                    here = each.id == listed.here
                    row = self._row(each, listed.standings.get(each.id), here)
                    for line in textwrap.wrap(row, self.width, subsequent_indent="    "):
                        self.line(line)

    def _row(self, each: Exercise | Later, stand: Standing | None, here: bool) -> str:
        state = f"  {LATER}" if stand is None else state_words(stand, self.plain)
        if self.plain or self.width < LIST_WIDTH:
            where = ", you are here" if here else ""
            return f"{each.number}, {each.id}, {each.title}: {state.strip()}{where}"
        return f"{'→' if here else ' '}{each.number:>3}  {each.id:<15} {each.title:<28} {state}"


def state_words(stand: Standing, plain: bool) -> str:
    """How far an exercise has come, with a sign that needs no colour."""
    words = {
        "done": "done, with the solution" if stand.solved else "done",
        "begun": f"begun, {len(stand.done)} of {stand.asked} questions",
        "not yet": "not yet",
    }[stand.state]
    return words if plain else f"{STATE_SIGNS[stand.state]} {words}"


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
    text = kept_together(" ".join(block.split()))
    lines = textwrap.wrap(text, width, initial_indent=margin, subsequent_indent=margin)
    return [line.replace(NO_BREAK, " ") for line in lines]
