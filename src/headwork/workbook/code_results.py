"""What came of a check of code, as progress keeps it: the question of its track becomes done."""

from __future__ import annotations

from collections.abc import Iterator

from .coding import NOT_RIGHT, RIGHT, CodeCheck
from .course import exercises
from .exercises import Exercise
from .progress import Progress
from .questions import CodeQuestion
from .standing import is_done

MOST_KEPT = 50_000  # characters of a solution


def keep_check(progress: Progress, check: CodeCheck) -> tuple[Exercise, ...]:
    """Keep what came of a check under every question of its track; the exercises in which it became right.

    progress  where; check: of one file
    Raises FileError. Special cases: a check that says nothing new is not kept again, nor that of a stub.
    """
    if not check.is_begun:
        return ()
    text, verdict = kept_text(check), RIGHT if check.is_right else NOT_RIGHT
    became = []
    for exercise, question in questions_of(check.track.id):
        own = [act for act in progress.acts(exercise.id) if act.question == question.id]
        answers = [act for act in own if act.kind == "answer"]
        if answers and (answers[-1].text, answers[-1].verdict) == (text, verdict):
            continue
        if check.is_right and not is_done(question, own):
            became.append(exercise)
        progress.record(exercise.id, question.id, "answer", text, verdict)
    return tuple(became)


def kept_text(check: CodeCheck) -> str:
    """What is kept: the code where it is right, else how far it is and the mistake that was named."""
    if check.is_right:
        return check.path.read_text(encoding="utf-8", errors="replace")[:MOST_KEPT]
    name = check.named[0].ids if check.named else (("not run",) if check.failure else ())
    return f"{check.passed} of {len(check.track.cases)} cases right{''.join(f'; {each}' for each in name)}"


def questions_of(track: str) -> Iterator[tuple[Exercise, CodeQuestion]]:
    """Every question of the course that a track answers."""
    for exercise in exercises():
        for question in exercise.questions:
            if isinstance(question, CodeQuestion) and question.track == track:
                yield exercise, question
