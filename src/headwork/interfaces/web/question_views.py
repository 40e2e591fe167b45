"""A question as its page shows it: the form, the marks, what explains them, hints, the solution.

Read from the acts each time, so that reloading, another tab and the terminal all show the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from ...diagnosis.marking import StepMark
from ...diagnosis.verdicts import BLANK, FOLLOWS, NOT_RIGHT, RIGHT, SHORT
from ...errors import AnswerError
from ...mechanism.fields import field_named
from ...workbook.answering import answers_to, earlier_answers
from ...workbook.answers import Table
from ...workbook.choosing import chosen_options
from ...workbook.exercises import Exercise
from ...workbook.judging import Judged
from ...workbook.progress import Act
from ...workbook.questions import (
    ChoiceQuestion,
    CodeQuestion,
    DesignQuestion,
    ExplainQuestion,
    Question,
    StepQuestion,
)
from ...workbook.rows import block_title, columns_of, row_axis, row_places
from ...workbook.solutions import solution
from ...workbook.standing import GUESSED, hints_open, is_done, point_text
from ...workbook.tracks import Track, track_named
from .explaining import Asked, Explained, asked_about, behind, judge_once
from .forms import cell_name, size_of

# verdict -> class, sign, word. The word alone says it, and so does the sign: colour only helps.
MARKS = {
    RIGHT: ("is-right", "✓", "right"),
    FOLLOWS: ("is-follow", "↳", "follows"),
    SHORT: ("is-follow", "…", "right so far"),
    NOT_RIGHT: ("is-wrong", "✗", "not right"),
    BLANK: ("is-blank", "", "blank"),
    GUESSED: ("is-follow", "", "kept"),
}
TALLIES = {RIGHT: "right", FOLLOWS: "follow", SHORT: "right so far", NOT_RIGHT: "not right", BLANK: "blank"}
COUNTED_ONE = {FOLLOWS: "follows"}
NOT_RUN = "the file could not be run, and the terminal says why"
# of results whose columns stand for something; others are called dimension
COLUMNS = {"Tk": "key"}


@dataclass(frozen=True)
class Input:
    """A cell to type in.

    Fields
    name   of the input; label: read aloud; value: as typed
    mark   class, sign and word, None before there is one; note: about this entry
    row    the row of the given matrices that it belongs to, from 0
    """

    name: str
    label: str
    value: str
    mark: tuple[str, str, str] | None
    note: str
    row: int


@dataclass(frozen=True)
class Block:
    """A grid of cells: all of a question, or one head of it.

    Fields
    caption  which head; "" for the only one
    columns  their names; rows: a name and its cells
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Input, ...]], ...]


@dataclass(frozen=True)
class Choosable:
    """An option to choose.

    Fields
    at    its place, from 0; text: what it says; chosen: whether it was
    mark  class, sign and word of a chosen one that has a mark, else None
    """

    at: int
    text: str
    chosen: bool
    mark: tuple[str, str, str] | None


@dataclass(frozen=True)
class Point:
    """A point that an explanation has to make.

    Fields
    name  of its inputs; text: the point; said: yes, partly, no, or "" while it is not compared
    """

    name: str
    text: str
    said: str


@dataclass(frozen=True)
class Checked:
    """What the terminal last found of a learner's code.

    Fields
    act   the id of what was kept; at: the time of this machine; text: what it says
    mark  class, sign and word
    """

    act: str
    at: str
    text: str
    mark: tuple[str, str, str]


@dataclass(frozen=True)
class QuestionView:
    """A question as a page shows it.

    Fields
    question  which; number, of: its place in the exercise
    is_done   whether it is
    blocks, options, value  what is to be filled in, and what was
    mark      of a single answer: class, sign, word
    tally     class, sign, count and words, for each verdict there is
    sentence  about the answer; remarks: how it was read
    explained  what explains the answer, if anything; awaits: what is still to be explained
    hints     that are open; more_hints: whether there is another
    solved    lines of the worked solution, None while it is closed
    error     why an answer could not be read
    points    to be compared, once something is written; ours: shown with them
    track     of code; checked: its newest result, None before there is one
    """

    question: Question
    number: int
    of: int
    is_done: bool
    blocks: tuple[Block, ...] = ()
    options: tuple[Choosable, ...] = ()
    value: str = ""
    mark: tuple[str, str, str] | None = None
    tally: tuple[tuple[str, str, str], ...] = ()
    sentence: str = ""
    remarks: tuple[str, ...] = ()
    explained: Explained | None = None
    awaits: Asked | None = None
    hints: tuple[str, ...] = ()
    more_hints: bool = False
    solved: tuple[str, ...] | None = None
    error: str = ""
    points: tuple[Point, ...] = field(default=())
    ours: str = ""
    track: Track | None = None
    checked: Checked | None = None

    @property
    def id(self) -> str:
        """Of its section on the page."""
        return f"q-{self.question.id}"

    @property
    def kind(self) -> str:
        """Of the question."""
        return self.question.kind


def question_view(
    exercise: Exercise,
    at: int,
    acts: Sequence[Act],
    error: str = "",
    typed: Mapping[str, str] | None = None,
    is_part: bool = False,
) -> QuestionView:
    """A question as its page shows it.

    exercise, at  which, from 0; acts: of the exercise, the oldest first
    error, typed  why the answer that was sent now could not be read, and what it was
    is_part       whether it is shown at once, and what explains the answer follows
    Raises FileError. Special cases: an answer in progress that can no longer be read has no mark.
    """
    question = exercise.questions[at]
    own = [act for act in acts if act.question == question.id]
    opened = hints_open(question, acts)
    common: dict[str, Any] = {
        "question": question,
        "number": at + 1,
        "of": len(exercise.questions),
        "is_done": is_done(question, acts),
        "hints": question.hints[:opened],
        "more_hints": opened < len(question.hints),
        "solved": _solution(exercise, question, own),
        "error": error,
    }
    if isinstance(question, ExplainQuestion):
        return QuestionView(**common, **_explaining(question, own, typed))
    if isinstance(question, CodeQuestion):
        return QuestionView(**common, track=track_named(question.track), checked=newest_check(question, acts))
    answers = answers_to(question, acts)
    answer = answers[-1].text if answers and not error else ""
    judged = _judged(exercise, question, answer, acts) if answer else None
    marked = _marked(judged) if judged else {}
    why = _explanation(exercise, question, answer, acts, judged, is_part) if judged else {}
    return QuestionView(**common, **marked, **why, **_form(exercise, question, answer, judged, typed))


def newest_check(question: CodeQuestion, acts: Sequence[Act]) -> Checked | None:
    """The newest result that `headwork watch`, or a practice, kept.

    question  which; acts: of its exercise, the oldest first
    Raises nothing. Special cases: none.
    """
    answers = answers_to(question, acts)
    if not answers:
        return None
    last = answers[-1]
    cases, *named = last.text.split("; ") if last.verdict == NOT_RIGHT else ("every case is right",)
    found = [NOT_RUN if each == "not run" else f"headwork explain {each}" for each in named]
    at = datetime.fromisoformat(last.at).astimezone().strftime("%H:%M")
    return Checked(last.id, at, "; ".join((cases, *found)), MARKS.get(last.verdict, MARKS[NOT_RIGHT]))


# --- marks -----------------------------------------------------------------------------------------


def _judged(exercise: Exercise, question: Question, answer: str, acts: Sequence[Act]) -> Judged | None:
    try:
        return judge_once(exercise, question, answer, earlier_answers(exercise, question, acts))
    except AnswerError:  # of an exercise that has changed since, or from an imported file
        return None


def _marked(judged: Judged) -> dict[str, Any]:
    """What there is to say about an answer."""
    said: dict[str, Any] = {"sentence": judged.sentence}
    if judged.step is None:
        return {**said, "mark": MARKS[judged.verdict]}
    return {**said, "tally": tuple(_tally(judged)), "remarks": tuple(_remarks(judged))}


def _explanation(
    exercise: Exercise, question: Question, answer: str, acts: Sequence[Act], judged: Judged, is_part: bool
) -> dict[str, Any]:
    """What explains an answer, or what to ask for it: a part is shown before that is found."""
    if not judged.is_explained:
        return {}
    if not is_part:
        return {"explained": behind(judged)}
    earlier = earlier_answers(exercise, question, acts)
    return {"awaits": asked_about(exercise, question, answer, earlier)}


def _remarks(judged: Judged) -> Iterator[str]:
    """How an answer was read, where that could be missed."""
    assert judged.step is not None
    if judged.step.remarks:
        yield f"Read, with {', '.join(judged.step.remarks)}: {'; '.join(judged.step.echo)}"


def _tally(judged: Judged) -> Iterator[tuple[str, str, str]]:
    assert judged.step is not None
    counts = Counter(judged.step.verdicts.ravel().tolist())
    for verdict, word in TALLIES.items():
        if count := counts[verdict]:
            name, sign, _ = MARKS[verdict]
            yield name, sign, f"{count} {COUNTED_ONE.get(verdict, word) if count == 1 else word}"


# --- forms -----------------------------------------------------------------------------------------


def _form(
    exercise: Exercise,
    question: Question,
    answer: str,
    judged: Judged | None,
    typed: Mapping[str, str] | None,
) -> dict[str, Any]:
    """What is to be filled in, with what is there."""
    typed = typed or {}
    if isinstance(question, ChoiceQuestion):
        return {"options": tuple(_options(question, answer, judged))}
    if isinstance(question, StepQuestion):
        return {"blocks": tuple(_step_blocks(exercise, question, answer, judged, typed))}
    if isinstance(question, DesignQuestion):
        return {"blocks": tuple(_design_blocks(exercise, question, answer, judged, typed))}
    return {"value": typed.get("answer", answer)}


def _options(question: ChoiceQuestion, answer: str, judged: Judged | None) -> Iterator[Choosable]:
    chosen = chosen_options(question, answer) if answer else ()
    for at, option in enumerate(question.options):
        is_marked = option in chosen and judged is not None and not question.guess
        mark = MARKS[RIGHT if option.right else NOT_RIGHT] if is_marked else None
        yield Choosable(at, option.text, option in chosen, mark)


def _texts(exercise: Exercise, question: StepQuestion | DesignQuestion, answer: str) -> list[tuple[str, ...]]:
    """The entries of an answer that was kept; none where it no longer fits the question."""
    if not answer:
        return []
    table = Table(*size_of(exercise, question))
    try:
        table.add(answer)
    except AnswerError:
        return []
    return table.texts if table.is_complete else []


def _step_blocks(
    exercise: Exercise,
    question: StepQuestion,
    answer: str,
    judged: Judged | None,
    typed: Mapping[str, str],
) -> Iterator[Block]:
    work, step = exercise.work, question.step
    places = row_places(work, step, question.rows)
    marks = judged.step if judged else None
    texts = [] if marks else _texts(exercise, question, answer)
    columns = columns_of(work, step)
    names = _column_names(exercise, step, columns)
    what, axis = field_named(step).title, row_axis(work, step)
    rows: dict[str, list[tuple[str, tuple[Input, ...]]]] = {}
    for row, place in enumerate(places):
        block, name = block_title(work, step, place), f"{axis} {place[-1] + 1}"
        cells = []
        for column in range(columns):
            label = ", ".join(part for part in (what, block, name, names[column]) if part)
            key = cell_name(row, column)
            text, mark, note = _cell_mark(marks, place, column) if marks else ("", None, "")
            value = typed.get(key, texts[row][column] if texts else text)
            cells.append(Input(key, label, "" if value == "_" else value, mark, note, place[-1]))
        rows.setdefault(block, []).append((name, tuple(cells)))
    for block, lines in rows.items():
        yield Block(block, names, tuple(lines))


def _column_names(exercise: Exercise, step: str, count: int) -> tuple[str, ...]:
    axes = field_named(step).axes
    if axes[-1] == "Tq":
        return ("",)
    word = COLUMNS.get(axes[-1], "dimension")
    return tuple(f"{word} {column + 1}" for column in range(count))


def _cell_mark(
    marks: StepMark, place: tuple[int, ...], column: int
) -> tuple[str, tuple[str, str, str] | None, str]:
    """What was typed in a cell, its mark, and a note about it."""
    index = (*place, column) if marks.verdicts.ndim > len(place) else place
    flat = int(np.ravel_multi_index(index, marks.verdicts.shape))
    return marks.texts.get(flat, ""), MARKS.get(str(marks.verdicts[index])), marks.notes.get(flat, "")


def _design_blocks(
    exercise: Exercise,
    question: DesignQuestion,
    answer: str,
    judged: Judged | None,
    typed: Mapping[str, str],
) -> Iterator[Block]:
    from ...workbook.designing import design_rows

    names, columns = design_rows(question), question.asks[0].columns
    texts = _texts(exercise, question, answer)
    mark = MARKS[judged.verdict] if judged else None
    headings = tuple(f"dimension {column + 1}" for column in range(columns))
    rows = []
    for row, name in enumerate(names):
        cells = []
        for column in range(columns):
            key = cell_name(row, column)
            value = typed.get(key, texts[row][column] if texts else "")
            cells.append(
                Input(key, f"{name}, {headings[column]}", value, (mark[0], "", "") if mark else None, "", -1)
            )
        rows.append((name, tuple(cells)))
    yield Block("", headings, tuple(rows))


# --- explanations and solutions ----------------------------------------------------------------------


def _explaining(
    question: ExplainQuestion, own: Sequence[Act], typed: Mapping[str, str] | None
) -> dict[str, Any]:
    written = [at for at, act in enumerate(own) if act.kind in ("draft", "explanation")]
    if not written:
        return {"value": (typed or {}).get("text", "")}
    last, after = own[written[-1]], own[written[-1] :]
    if last.kind == "draft":
        return {"value": last.text}
    said = {act.text: act.verdict for act in after if act.kind == "compared"}
    points = tuple(
        Point(f"p{at + 1}", text, said.get(point_text(at), "")) for at, text in enumerate(question.points)
    )
    return {"value": last.text, "points": points, "ours": question.ours}


def _solution(exercise: Exercise, question: Question, own: Sequence[Act]) -> tuple[str, ...] | None:
    if not any(act.kind == "solution" for act in own):
        return None
    if isinstance(question, CodeQuestion):
        return (track_named(question.track).solution,)
    return solution(exercise, question)
