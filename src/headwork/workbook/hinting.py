"""Hints: graded, and opened one at a time."""

from __future__ import annotations

from .events import Said
from .exercises import Exercise
from .progress import Progress
from .questions import Question
from .standing import hints_open


def next_hint(progress: Progress, exercise: Exercise, question: Question) -> Said:
    """The next hint of a question; it counts as opened.

    progress  where that is kept; exercise, question: which
    Raises FileError. Special cases: the last hint again when all are open.
    """
    hints = question.hints
    if not hints:
        return Said("note", "This question has no hints. show has the worked solution.")
    opened = hints_open(question, progress.acts(exercise.id))
    at = min(opened, len(hints) - 1)
    if opened < len(hints):
        progress.record(exercise.id, question.id, "hint", str(at + 1))
    again = ": all of them are open; show has the worked solution" if opened == len(hints) else ""
    return Said("hint", hints[at], f"Hint {at + 1} of {len(hints)}{again}")
