"""A question that is answered by a function in a file: what a session says about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import FileError
from .events import Coded, Said
from .exercises import Exercise
from .progress import Progress
from .questions import CodeQuestion
from .stubs import write_stub
from .tracks import Track, track_named

NOT_MADE = "Your file could not be made: "


def code_told(question: CodeQuestion, folder: Path | None) -> Said:
    """Where the learner's file is, written now if there is none, and how it is checked.

    question  that is asked; folder: where files may be written, None for nowhere
    Raises UnknownNameError where there is no such track. Special cases: a folder that cannot be written is
    told, and no error.
    """
    track = track_named(question.track)
    try:
        return Said("note", _where(track, folder))
    except FileError as error:
        return Said("note", f"{NOT_MADE}{error}")


def _where(track: Track, folder: Path | None) -> str:
    if folder is None:
        return (
            f"This one is written in code: the function {track.function} in a file {track.file_name}. "
            "headwork watch checks the file whenever you save it. Type check here once it says that all is "
            "right."
        )
    stub = write_stub(track, folder)
    made = "written now" if stub.is_new else "there already, and as you left it"
    path = shown_path(stub.path)
    return (
        f"This one is written in code. Your file is {made}:\n\n    {path}\n\n"
        f"Open it in an editor and fill in {track.function}. Press Enter here to have it checked. In another "
        f"terminal, headwork watch checks it whenever you save it."
    )


def shown_path(path: Path) -> Path:
    """The path from where the learner is, where it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def code_checked(
    progress: Progress, exercise: Exercise, question: CodeQuestion, folder: Path
) -> Coded | Said:
    """The learner's file, checked now; what came of it is kept.

    progress  where; exercise, question: that is asked; folder: of the file
    Raises FileError where it cannot be kept. Special cases: a file that is not there is made of its stub, and
    where that cannot be, it is said.
    """
    from .code_results import keep_check
    from .coding import check_code  # all of the checker, which other questions do without

    try:
        stub = write_stub(track_named(question.track), folder)
    except FileError as error:
        return Said("note", f"{NOT_MADE}{error}")
    check = check_code(stub.track, stub.path)
    keep_check(progress, check)
    return Coded(exercise, question, check)


def code_solution(question: CodeQuestion) -> Iterator[Said]:
    """One way to write the function, and what it means in plain loops.

    question  that is asked
    Raises UnknownNameError where there is no such track. Special cases: none.
    """
    track = track_named(question.track)
    yield Said("solution", title="What it means, in plain loops", lines=_code_lines(track.spec))
    yield Said("solution", title="One way to write it", lines=_code_lines(track.solution))
    yield Said("note", "Write yours in your own file and have it checked, or skip.")


def _code_lines(text: str) -> tuple[str, ...]:
    return tuple(text.rstrip().splitlines())
