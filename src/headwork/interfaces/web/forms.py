"""What a form on an exercise page says, as the answer that the workbook marks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...diagnosis.typed import read_number
from ...errors import AnswerError
from ...workbook.answers import Table
from ...workbook.choosing import BETWEEN
from ...workbook.designing import design_rows
from ...workbook.exercises import Exercise
from ...workbook.questions import ChoiceQuestion, DesignQuestion, Question, StepQuestion
from ...workbook.rows import columns_of, row_places, row_title

LONGEST = 200  # characters of one entry
BLANK = "_"
Form = Mapping[str, list[str]]


class CellError(AnswerError):
    """An entry of a grid that cannot be read."""


def cell_name(row: int, column: int) -> str:
    """What the input of a cell is called; both counted from 0.

    row, column  its place
    Raises nothing. Special cases: none.
    """
    return f"c{row}-{column}"


def size_of(exercise: Exercise, question: StepQuestion | DesignQuestion) -> tuple[int, int]:
    """How many rows and columns the grid of a question has.

    exercise, question  which
    Raises FileError. Special cases: none.
    """
    if isinstance(question, DesignQuestion):
        return len(design_rows(question)), question.asks[0].columns
    places = row_places(exercise.work, question.step, question.rows)
    return len(places), columns_of(exercise.work, question.step)


def answer_in(exercise: Exercise, question: Question, form: Form) -> str:
    """The answer that a form gives.

    exercise, question  what was asked; form: the values of each of its fields
    Raises AnswerError: nothing was given, or it cannot be read. Special cases: cells that are left empty are
    blank; a block that was given as text counts before the cells.
    """
    if isinstance(question, ChoiceQuestion):
        return _chosen(question, form)
    if isinstance(question, StepQuestion | DesignQuestion):
        return _grid(exercise, question, form)
    text = _first(form, "answer")
    if not text:
        raise AnswerError("There is no answer yet.")
    return text


def _first(form: Form, name: str) -> str:
    return str((form.get(name) or [""])[0]).strip()


def _chosen(question: ChoiceQuestion, form: Form) -> str:
    given = map(str, form.get("option", ()))
    numbers = {int(text) for text in given if text.isdecimal() and len(text) < 4}
    chosen = [option.text for at, option in enumerate(question.options) if at in numbers]
    if not chosen:
        raise AnswerError("Choose one of the options first.")
    if len(chosen) > 1 and not question.several:
        raise AnswerError("Choose one option only.")
    return BETWEEN.join(chosen)


def _grid(exercise: Exercise, question: StepQuestion | DesignQuestion, form: Form) -> str:
    rows, columns = size_of(exercise, question)
    block = _first(form, "block")
    if block:
        return _whole(block, rows, columns)
    texts = [[_cell(form, row, column) for column in range(columns)] for row in range(rows)]
    if all(text == BLANK for row in texts for text in row):
        raise AnswerError("Every cell is empty. One number is enough to have it checked.")
    for row, names in enumerate(texts):
        for column, text in enumerate(names):
            _check(text, row_name(exercise, question, row), column, columns)
    return "; ".join(" ".join(row) for row in texts)


def _cell(form: Form, row: int, column: int) -> str:
    """The entry without blanks, so that it stays one entry: 1 / 3 is 1/3."""
    return re.sub(r"\s+", "", _first(form, cell_name(row, column))) or BLANK


def _check(text: str, row: str, column: int, columns: int) -> None:
    where = row if columns == 1 else f"{row}, column {column + 1}"
    if len(text) > LONGEST:
        raise CellError(f"In {where}: an entry has at most {LONGEST} characters.")
    if text in (BLANK, "?", "-", "…", "..."):
        return
    try:
        read_number(text)
    except AnswerError as error:
        raise CellError(f"In {where}: {error}") from None


def row_name(exercise: Exercise, question: StepQuestion | DesignQuestion, row: int) -> str:
    """What a row of the grid is called, from 0: "query 2", "head 1, query 2", "k₁".

    exercise, question, row  which
    Raises FileError. Special cases: none.
    """
    if isinstance(question, DesignQuestion):
        return design_rows(question)[row]
    places = row_places(exercise.work, question.step, question.rows)
    return row_title(exercise.work, question.step, places[row])


def _whole(block: str, rows: int, columns: int) -> str:
    table = Table(rows, columns)
    table.add(block)
    if not table.is_complete:
        raise AnswerError(f"I read {len(table.texts)} rows; {rows} are asked for.")
    return table.text


def typed_in(question: Question, form: Form) -> dict[str, str]:
    """What was typed, for a page that shows it again.

    question, form  which
    Raises nothing. Special cases: of a field that is there several times, the first value.
    """
    return {name: values[0] for name, values in form.items() if values and name != "token"}
