"""What a session says, on a terminal: 80 columns are enough, bold only helps, --plain reads well aloud."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..workbook.choosing import chosen_options, letter_of
from ..workbook.course import Later
from ..workbook.events import Asked, Card, Coded, Event, Explained, Listed, Marked, Opened, Said
from ..workbook.exercises import Exercise
from ..workbook.questions import ChoiceQuestion
from ..workbook.standing import GUESSED, Standing
from .text import NO_BREAK, bold, kept_together, spelled, width_of_page

if TYPE_CHECKING:  # marking, which a list does without
    from ..workbook.judging import Judged

WIDEST = 80  # longer lines of prose are harder to read
LIST_WIDTH = 79  # of a row of the list; where there is less room, it is a sentence
STATE_SIGNS = {"done": "✓", "begun": "◐", "not yet": "○"}
LATER = "not here yet"
SAME = "You have given these numbers before. why says what gives them."
SAME_ANSWER = "You have given this answer before. hint goes a step further."


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
            case Coded():
                self._coded(event)
            case Explained():
                self._explained(event)
            case Listed():
                self._listed(event)

    def line(self, text: str = "") -> None:
        """One line, as it is."""
        print(spelled(text) if self.plain else text, flush=True)

    def prompt(self, text: str) -> str:
        """What stands before the cursor."""
        return spelled(text) if self.plain else text

    def heading(self, text: str) -> None:
        """A line above what follows, with room before it."""
        self.line()
        for line in textwrap.wrap(text, self.width):
            self.line(line if self.plain else bold(line))

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
            for part in [f"  {line}"] if len(line) < self.width - 1 else wrapped(line, self.width, "  "):
                self.line(part)

    def _card(self, card: Card) -> None:
        self.heading(card.of.title)
        self.line()
        self.prose(card.of.opening)
        self.line()
        self.prose(card.of.formula, "    ")
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
        self.heading(opened.exercise.heading)
        self.line()
        self.prose(opened.exercise.opening)

    def _asked(self, asked: Asked) -> None:
        from .in_view import in_view  # NumPy, which a list does without

        lines = list(in_view(asked.exercise, self.width, self.plain))
        if lines or asked.exercise.helpers:
            self.line()
        for line in lines:
            self.line(line)
        if asked.exercise.helpers:
            self.prose(f"Given: {asked.exercise.helpers}")
        self.heading(f"Question {asked.at + 1} of {len(asked.exercise.questions)}")
        self.prose(asked.question.prompt)
        if isinstance(asked.question, ChoiceQuestion):
            self._options(asked.question)

    def _options(self, question: ChoiceQuestion) -> None:
        """Numbered and lettered: either can be typed."""
        for at, option in enumerate(question.options):
            sign = f"{at + 1} or {letter_of(at)}: " if self.plain else f"  {at + 1} {letter_of(at)})  "
            lines = textwrap.wrap(option.text, self.width - len(sign)) or [""]
            self.line(sign + f"\n{' ' * len(sign)}".join(lines))
        if question.several:
            self.prose("More than one may hold: type all that do, such as 1 3 or a c.")
        elif question.guess:
            self.prose("A guess: nobody marks it.")

    def _marked(self, marked: Marked) -> None:
        from ..diagnosis.verdicts import NOT_RIGHT, SHORT
        from .marking_text import LEGEND, SIGNS, render_step

        judged = marked.judged
        if isinstance(marked.question, ChoiceQuestion):
            self._chosen(marked.question, judged)
        elif judged.step is None:
            text = spelled(judged.typed or "") if self.plain else f"{SIGNS[judged.verdict]} {judged.typed}"
            says = judged.sentence
            short = judged.verdict == SHORT  # whose sentence begins with the verdict itself
            verdict = says[:1].lower() + says[1:] if short else f"{LEGEND[judged.verdict]}. {says}"
            self.prose(f"{text}: {verdict}" if " " in text[2:] else f"{text} {verdict}", "  ")
        else:
            _title, *lines = render_step(marked.exercise.problem, judged.step, self.plain)
            print("\n".join(lines), flush=True)
        if judged.verdict == NOT_RIGHT:
            if marked.again:
                self.prose(SAME if judged.step else SAME_ANSWER, "  ")
            elif judged.explanation and judged.explanation.hint:
                self.prose(judged.explanation.hint, "  ")
            words = "hint, why, show, skip" if judged.step else "hint, show, skip"
            self.prose(f"Try again as often as you like, or: {words}", "  ")

    def _chosen(self, question: ChoiceQuestion, judged: Judged) -> None:
        """What was chosen, and what it tells."""
        from ..diagnosis.verdicts import SHORT
        from .marking_text import LEGEND, SIGNS

        options = chosen_options(question, judged.typed or "")
        letters = " ".join(letter_of(question.options.index(option)) for option in options)
        says = judged.sentence
        if judged.verdict == GUESSED:
            self.prose(f"{letters} is kept. {says}", "  ")
            return
        said = says[:1].lower() + says[1:] if judged.verdict == SHORT else f"{LEGEND[judged.verdict]}. {says}"
        sign = "" if self.plain else f"{SIGNS[judged.verdict]} "
        self.prose(f"{sign}{letters}: {said}", "  ")

    def _coded(self, coded: Coded) -> None:
        from .code_text import code_page

        self.line()
        for line in code_page(coded.check, self.width, plain=self.plain):
            print(line, flush=True)
        self.line()

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
                self.prose(part.title)
                for each in one.in_part(part):
                    here = each.id == listed.here
                    row = self._row(each, listed.standings.get(each.id), here)
                    for line in textwrap.wrap(row, self.width, subsequent_indent="    "):
                        self.line(line)
        if listed.fresh:
            self.heading("With drawn numbers")
        for name, stand in listed.fresh.items():
            self.line(f"{'' if self.plain else '  '}{name}: {state_words(stand, self.plain)}")

    def _row(self, each: Exercise | Later, stand: Standing | None, here: bool) -> str:
        state = f"  {LATER}" if stand is None else state_words(stand, self.plain)
        if self.plain or self.width < LIST_WIDTH:
            where = ", you are here" if here else ""
            number = f"{each.label}, " if each.label else ""
            return f"{number}{each.id}, {each.title}: {state.strip()}{where}"
        return f"{'→' if here else ' '}{each.label:>3}  {each.id:<17} {each.title:<28} {state}"


def state_words(stand: Standing, plain: bool) -> str:
    """How far an exercise has come, with a sign that needs no colour."""
    words = {
        "done": "done, with the solution" if stand.solved else "done",
        "begun": f"begun, {len(stand.done)} of {stand.asked} question{'s' * (stand.asked != 1)}",
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
