"""An exercise is opened: its problem is worked out, and what its file asks for is held against it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Array
from ..diagnosis.typed import read_number
from ..errors import FileError, HeadworkError
from ..mechanism.tracing import Trace, trace
from ..problem import ARRAYS, Problem
from .designing import designed
from .exercises import Exercise
from .questions import CodeQuestion, DesignQuestion, NumberQuestion, Question, StepQuestion
from .rows import is_column
from .tracks import track_named


def worked_out(exercise: Exercise) -> Trace | None:
    """The problem of an exercise with every step; None where it has none.

    Raises FileError, naming file and key: numbers that cannot be worked, a result or row that they do not
    have, an answer that is no number, an example of a design that is none. Special cases: none.
    """
    work = _work(exercise)
    for place, name, step, rows in _results(exercise):
        _check_result(exercise, work, f"{place}.{name}", step)
        most = _rows_of(result(exercise, work, step), work, step)
        if any(row > most for row in rows):
            said = f"is {list(rows)}, and there are only {most} rows; they are counted from 1"
            raise _error(exercise, f"{place}.rows", said)
    for place, text in _numbers(exercise):
        try:
            read_number(text)
        except HeadworkError as error:
            raise _error(exercise, place, f"is no number: {error}") from None
    for at, question in enumerate(exercise.questions, 1):
        _check_other(exercise, f"questions[{at}]", question)
    return work


def result(exercise: Exercise, work: Trace | None, name: str) -> Array:
    """A result of the trace, or an array that the problem is made of, such as w_query or mask (its first).

    exercise, work  what worked_out works, and what it gives; name: of a field
    Raises KeyError. Special cases: none.
    """
    if work is None:
        raise KeyError(name)
    if name in ARRAYS and name not in work and getattr(work.problem, name) is not None:
        return np.asarray(getattr(work.problem, name))
    if name == "mask" and work.problem.mask:
        return np.atleast_2d(np.squeeze(work.problem.mask[0]))
    return work[name]


def _rows_of(array: Array, work: Trace | None, name: str) -> int:
    """How many rows a matrix has, or a result with one number for each query."""
    is_single = work is not None and name in work and is_column(work, name)
    return int(array.shape[-1] if is_single or array.ndim == 1 else array.shape[-2])


def _work(exercise: Exercise) -> Trace | None:
    if not exercise.given:
        return None
    try:
        return trace(Problem.from_dict(exercise.given))
    except HeadworkError as error:
        raise _error(exercise, "problem", f"cannot be worked: {error}") from None


def _check_result(exercise: Exercise, work: Trace | None, key: str, name: str) -> None:
    try:
        result(exercise, work, name)
    except KeyError:
        has = f"this problem does not have; it has {', '.join(work)}" if work else "needs a [problem]"
        raise _error(exercise, key, f"is {name!r}, which {has}") from None


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


def _check_other(exercise: Exercise, place: str, question: Question) -> None:
    """That the example of a design is right and its texts can be filled in; that a code track is there."""
    is_right = True
    try:
        if isinstance(question, CodeQuestion):
            track_named(question.track)
        if isinstance(question, DesignQuestion):
            is_right = designed(exercise, question, question.example).is_right
    except (KeyError, HeadworkError) as error:
        raise _error(exercise, place, f"cannot be asked: {error}") from None
    if not is_right:
        raise _error(exercise, f"{place}.example", "does not have the property that is asked for")


def _error(exercise: Exercise, key: str, said: str) -> FileError:
    return FileError(f"{exercise.file}: {key} {said.rstrip('.')}.")
