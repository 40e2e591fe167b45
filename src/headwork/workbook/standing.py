"""Where the learner stands: what is done, what comes next. Read from the acts, never stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .exercises import Exercise
from .progress import Act
from .questions import ExplainQuestion, Question

# The verdicts with which a question is done, as progress keeps them: a result that follows from the learner's
# own step before has earned its mark. The words are those of diagnosis/verdicts.py, which loads NumPy.
COUNTS = ("right", "follows")
GUESSED = "guess"  # kept and not marked
DONE = (*COUNTS, GUESSED)


@dataclass(frozen=True)
class Standing:
    """One exercise, as far as it has come.

    Fields
    done      ids of the questions that are done
    asked     how many there are
    begun     whether anything has been tried
    solved    whether one of them was done after its worked solution had been opened
    """

    done: tuple[str, ...]
    asked: int
    begun: bool
    solved: bool

    @property
    def state(self) -> str:
        """done, begun or not yet."""
        if len(self.done) == self.asked:
            return "done"
        return "begun" if self.begun else "not yet"


def standing(exercise: Exercise, acts: Iterable[Act]) -> Standing:
    """How far an exercise has come.

    exercise  which
    acts      of any exercise
    Raises nothing. Special cases: acts of questions that the exercise no longer has do not count.
    """
    own = [act for act in acts if act.exercise == exercise.id]
    done = tuple(question.id for question in exercise.questions if is_done(question, own))
    tried = any(act.kind not in ("opened", "skip") for act in own)
    return Standing(done, len(exercise.questions), tried, any(_was_shown(name, own) for name in done))


def _was_shown(question: str, acts: Iterable[Act]) -> bool:
    """Whether the worked solution came before the first right answer."""
    telling = (
        act
        for act in acts
        if act.question == question and (act.kind in ("solution", "compared") or act.verdict in DONE)
    )
    return next(telling).kind == "solution"


def is_done(question: Question, acts: Iterable[Act]) -> bool:
    """Whether a question is done: right once, or every point compared. The acts are of its exercise."""
    own = [act for act in acts if act.question == question.id]
    if isinstance(question, ExplainQuestion):
        return {point_text(at) for at in range(len(question.points))} <= {
            a.text for a in own if a.kind == "compared"
        }
    return any(act.kind == "answer" and act.verdict in DONE for act in own)


def point_text(at: int) -> str:
    """How a compared point is named in an act: counted from 1."""
    return str(at + 1)


def hints_open(question: Question, acts: Iterable[Act]) -> int:
    """How many hints of a question have been opened."""
    opened = sum(act.kind == "hint" and act.question == question.id for act in acts)
    return min(opened, len(question.hints))


def first_open(exercise: Exercise, acts: Iterable[Act], after: int = 0) -> int | None:
    """The first question from `after` on that is not done; None when all are."""
    own = [act for act in acts if act.exercise == exercise.id]
    open_ones = (
        at for at, question in enumerate(exercise.questions) if at >= after and not is_done(question, own)
    )
    return next(open_ones, None)


def resume(exercises: Sequence[Exercise], acts: Sequence[Act]) -> tuple[Exercise, int] | None:
    """Where the learner left off: an exercise and the place of a question.

    exercises  in the order of the course
    acts       the oldest first
    Special cases: the beginning when there is nothing yet; None when everything is done.
    Raises nothing.
    """
    names = [exercise.id for exercise in exercises]
    last = next((act for act in reversed(acts) if act.exercise in names), None)
    start = names.index(last.exercise) if last else 0
    ids = [question.id for question in exercises[start].questions]
    after = ids.index(last.question) + (last.kind == "skip") if last and last.question in ids else 0
    for exercise, place in (
        (exercises[start], after),
        *((one, 0) for one in (*exercises[start + 1 :], *exercises)),
    ):
        found = first_open(exercise, acts, place)
        if found is not None:
            return exercise, found
    return None
