"""A folder of somebody's own exercises, beside the course: `--course FOLDER`, or HEADWORK_COURSE."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG

from ..errors import FileError
from .asking import KEBAB
from .course import ExerciseSet, Part, read_set
from .exercises import Exercise, read_exercise

VARIABLE = "HEADWORK_COURSE"
SET_FILE = "set.md"
NO_EXERCISES = ("readme.md", SET_FILE)
MOST_BYTES = 1_000_000  # of one file: an exercise has a few thousand
OPENING = "Exercises of a folder of your own."
RECAP = "That was the last exercise of this part."


@contextmanager
def beside(folder: str | Path) -> Iterator[None]:
    """The exercises of a folder beside ours, as long as this lasts.

    Raises FileError for a name that no folder can have. Special cases: none.
    """
    if "\0" in str(folder):
        raise FileError(f"there is no folder {str(folder)[:100]!r}; no name has a zero byte.")
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


def own_folder() -> Path | None:
    """The folder that somebody named, None where nobody did; as an absolute path.

    Raises FileError where it is no folder. Special cases: none.
    """
    said = os.environ.get(VARIABLE, "")
    if not said:
        return None
    folder = Path(os.path.expanduser(said))
    if os.path.isfile(folder):
        raise FileError(
            f"{said[:100]!r} is a file, and --course or {VARIABLE} names the folder that it is in."
        )
    if not os.path.isdir(folder):  # which says so of a name that is too long, too
        raise FileError(
            f"there is no folder {said[:100]!r}, which {VARIABLE} or --course names. Name the one that has "
            "your exercises; headwork new ID begins one."
        )
    return folder.resolve()


def state_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What the files of a folder are at this moment: names, times and sizes. Raises FileError."""
    try:
        stats = [
            (path.name, path.stat()) for path in (*exercise_files(folder), folder / SET_FILE) if path.exists()
        ]
    except OSError as error:
        raise FileError(f"cannot read {folder}: {error.strerror or error}.") from None
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


def exercise_files(folder: Path) -> tuple[Path, ...]:
    """The files of a folder that are exercises, by name: every .md but set.md and README.md.

    folder  where they are
    Raises FileError where it cannot be read. Special cases: a file whose name begins with a dot is none.
    """
    try:
        found = sorted(path for path in folder.glob("*.md") if not path.name.startswith("."))
    except OSError as error:
        raise FileError(f"cannot read {folder}: {error.strerror or error}.") from None
    return tuple(path for path in found if path.name.lower() not in NO_EXERCISES)


def read_file(path: Path) -> str:
    """The text of an exercise.

    Raises FileError: not there, too large, not UTF-8. Special cases: what is no plain file is not opened, as
    a pipe would be waited for without end.
    """
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise FileError(f"{path.name} is no file but something else. Move it out of the folder.")
        if status.st_size > MOST_BYTES:
            raise FileError(
                f"{path.name} has more than {MOST_BYTES:,} bytes; an exercise has a few thousand."
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from None


def own_set(folder: Path, course: Iterable[ExerciseSet]) -> ExerciseSet:
    """The exercises of a folder as a set, in the order of their numbers.

    folder  with one file for each exercise, and set.md where the set has parts and symbols of its own
    course  whose ids are taken, and whose symbols are used where set.md is not there
    Raises FileError: an exercise that cannot be read, two of one id, one whose id is not the name of its
    file, none at all. Special cases: none.
    """
    made = [read_exercise(path.name, read_file(path)) for path in exercise_files(folder)]
    made.sort(key=lambda exercise: (exercise.number, exercise.id))
    if not made:
        raise FileError(f"{folder} has no exercises. headwork new ID --course {folder} writes the first one.")
    sets = tuple(course)
    _check_ids(made, sets)
    described = folder / SET_FILE
    if described.exists():
        return read_set(SET_FILE, read_file(described), tuple(made))
    return ExerciseSet(
        id="own",
        title="Your own exercises",
        letter="",
        formula=sets[0].formula,
        opening=OPENING,
        closing="These were the exercises of your folder.",
        symbols=sets[0].symbols,
        parts=tuple(Part(name, name, OPENING, RECAP) for name in dict.fromkeys(one.part for one in made)),
        exercises=tuple(made),
        later=(),
    )


def _check_ids(made: list[Exercise], sets: tuple[ExerciseSet, ...]) -> None:
    taken = {one.id: "the course" for each in sets for one in each.announced}
    for exercise in made:
        if exercise.id in taken:
            raise FileError(
                f"{exercise.file}: id is {exercise.id!r}, which {taken[exercise.id]} has already. "
                "Progress is kept under it, so give yours another."
            )
        taken[exercise.id] = exercise.file
    for exercise in made:
        said = name_error(exercise)
        if said:
            raise FileError(f"{exercise.file}: {said}")


def name_error(exercise: Exercise) -> str:
    """What is said of an exercise whose file is called otherwise than it; "" where the two agree."""
    file = Path(exercise.file)
    if file.name == f"{exercise.id}.md":
        return ""
    other = f", or give the exercise the id {file.stem!r}" if KEBAB.fullmatch(file.stem) else ""
    return (
        f"id is {exercise.id!r}, and its file is {file.name!r}. A file is named after the id: call it "
        f"{exercise.id}.md{other}."
    )
