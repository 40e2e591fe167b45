"""Right and wrong answers to every question of the course, as the fields of its form."""

import numpy as np

from headwork.interfaces.web.forms import cell_name, size_of
from headwork.mechanism.numerals import number_text
from headwork.workbook.finding import find_exercise
from headwork.workbook.questions import ChoiceQuestion, DesignQuestion, StepQuestion
from headwork.workbook.rows import row_places


def question_of(exercise_id, question_id):
    exercise = find_exercise(exercise_id)
    return exercise, next(each for each in exercise.questions if each.id == question_id)


def right_fields(exercise, question):
    """The form of a right answer. The numbers are the trace's: here it is the page that is tested."""
    if isinstance(question, ChoiceQuestion):
        right = [str(at) for at, option in enumerate(question.options) if option.right]
        return {"option": right or ["0"]}
    if isinstance(question, StepQuestion):
        work = exercise.work
        rows = [
            np.atleast_1d(work[question.step][place])
            for place in row_places(work, question.step, question.rows)
        ]
        return {
            cell_name(i, j): number_text(x, question.digits)
            for i, row in enumerate(rows)
            for j, x in enumerate(row)
        }
    if isinstance(question, DesignQuestion):
        rows = [row.split() for row in question.example.split(";")]
        return {cell_name(i, j): text for i, row in enumerate(rows) for j, text in enumerate(row)}
    return {"answer": question.answer}


def wrong_fields(exercise, question):
    if isinstance(question, ChoiceQuestion):
        return {"option": [str(next(at for at, option in enumerate(question.options) if not option.right))]}
    if isinstance(question, StepQuestion | DesignQuestion):
        rows, columns = size_of(exercise, question)
        return {cell_name(i, j): f"{97.5 + 2 * i + 7 * j}" for i in range(rows) for j in range(columns)}
    return {"answer": "41 × 43" if question.kind == "shape" else "97531.5"}
