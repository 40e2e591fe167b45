"""An exercise is opened: its problem is worked out, and what its file asks for is held against it."""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnosis.typed import read_number
from ..errors import FileError, HeadworkError
from ..mechanism.tracing import Trace, trace
from ..problem import Problem
from .exercises import Exercise
from .questions import NumberQuestion, StepQuestion


def worked_out(exercise: Exercise) -> Trace:
    """The problem of an exercise with every step.

    Raises FileError, naming file and key: numbers that cannot be worked, a result or row that they do not
    have, an answer that is no number. Special cases: none.
    """
    try:
        work = trace(Problem.from_dict(exercise.given))
    except HeadworkError as error:
        raise _error(exercise, "problem", f"cannot be worked: {error}") from None
    for place, name, step, rows in _results(exercise):
        if step not in work:
            said = f"is {step!r}, which this problem does not have; it has {', '.join(work)}"
            raise _error(exercise, f"{place}.{name}", said)
        most = len(work[step])
        if any(row > most for row in rows):
            said = f"is {list(rows)}, and there are only {most} rows; they are counted from 1"
            raise _error(exercise, f"{place}.rows", said)
    for place, text in _numbers(exercise):
        try:
            read_number(text)
        except HeadworkError as error:
            raise _error(exercise, place, f"is no number: {error}") from None
    return work


def _results(exercise: Exercise) -> Iterator[tuple[str, str, str, tuple[int, ...]]]:
    """What is shown and asked: where in the file, the key, the result, and which of its rows."""
    for at, view in enumerate(exercise.views, 1):
        yield f"shows[{at}]", "field", view.field, view.rows
    for at, question in enumerate(exercise.questions, 1):
        if isinstance(question, StepQuestion):
            yield f"questions[{at}]", "step", question.step, question.rows


def _numbers(exercise: Exercise) -> Iterator[tuple[str, str]]:
    """The numbers that are written as a learner would type them, so that e^2 can be said: key and text."""
    for at, question in enumerate(exercise.questions, 1):
        if isinstance(question, NumberQuestion):
            yield f"questions[{at}].answer", question.answer
            if question.within:
                yield f"questions[{at}].within", question.within
            for which, wrong in enumerate(question.wrong, 1):
                yield f"questions[{at}].wrong[{which}].value", wrong.value


def _error(exercise: Exercise, key: str, said: str) -> FileError:
    return FileError(f"{exercise.file}: {key} {said.rstrip('.')}.")
