"""`headwork watch`: a learner's files of the code track are checked, now and on every save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from ..errors import FileError, OptionError
from ..workbook.code_results import keep_check
from ..workbook.coding import CodeCheck, check_code
from ..workbook.in_code import shown_path
from ..workbook.keeping import open_progress
from ..workbook.progress import Progress
from ..workbook.stubs import FOLDER, code_folder, track_of
from ..workbook.tracks import Track, tracks
from .code_text import code_page
from .imported import with_imports
from .json_text import json_text
from .progress_line import ProgressLine
from .text import width_of_page, wrapped
from .watching import watch_files

NOT_RIGHT = 1  # exit status


def run_watch(place: Path | None, *, once: bool, progress: Path | None, json: bool, plain: bool) -> int:
    """Check the files of a folder, or one file; the exit status. Raises HeadworkError.

    place  a folder or a file; None for headwork-code, or the folder that is open where there is none
    once   check every file once and end; else whenever one is saved, until q
    """
    if json and not once:
        raise OptionError("headwork watch shows one page after the other; --json goes with --once.")
    place = place or _usual()
    files = _files(place)
    with open_progress(progress, create=True) as kept:
        if kept.warning and not json:
            print(wrapped(kept.warning, width_of_page(), "", ""))
        if once:
            return _once(files, kept.progress, json=json, plain=plain)
        watched = _Watched(place, kept.progress, plain)
        return watch_files(watched.files, watched.check, title=watched.title)


def _usual() -> Path:
    folder = code_folder()
    return folder if folder.is_dir() else Path.cwd()


def _files(place: Path) -> tuple[Path, ...]:
    """The learner's files there, the one saved last at the front. Raises FileError where there is none."""
    if place.is_file():
        _track(place)
        return (place,)
    if not place.is_dir():
        raise FileError(f"{place} is not there. {_how_to_begin()}")
    files = [path for path in _possible(place) if path.is_file()]
    if not files:
        names = ", ".join(track.file_name for track in tracks())
        raise FileError(f"{place} has none of the files that are looked for: {names}. {_how_to_begin()}")
    return tuple(sorted(files, key=lambda path: path.stat().st_mtime_ns, reverse=True))


def _possible(folder: Path) -> list[Path]:
    return [folder / track.file_name for track in tracks()]


def _how_to_begin() -> str:
    return f"headwork practice 9 writes the first one, into {FOLDER}."


def _track(path: Path) -> Track:
    track = track_of(path)
    if track is None:
        names = ", ".join(each.function for each in tracks())
        raise FileError(
            f"{path.name} defines none of the functions that the exercises ask for: {names}. "
            f"headwork check {quote(str(path))} checks any attention, whatever it is called."
        )
    return track


def _once(files: Sequence[Path], progress: Progress, *, json: bool, plain: bool) -> int:
    checks = [_checked(path, progress) for path in files]
    if json:
        print(json_text([check.to_dict() for check, _ in checks]))
    else:
        for at, (check, done) in enumerate(checks):
            if at:
                print()
            _print(check, done, plain)
    return 0 if all(check.is_right for check, _ in checks) else NOT_RIGHT


def _checked(path: Path, progress: Progress) -> tuple[CodeCheck, tuple[str, ...]]:
    track = _track(path)
    with ProgressLine(f"{path.name} is running"):
        check = check_code(track, path)
    return check, tuple(exercise.heading for exercise in keep_check(progress, check))


def _print(check: CodeCheck, done: Sequence[str], plain: bool) -> None:
    for line in code_page(check, width_of_page(), plain=plain, done=done):
        print(line)


class _Watched:
    """The files that are watched, and which of them is checked."""

    def __init__(self, place: Path, progress: Progress, plain: bool) -> None:
        self._place, self._progress, self._plain = place, progress, plain
        self._last = _files(place)[0]

    def files(self) -> Iterator[Path]:
        """The learner's files, those that are not there yet too, and what they import from beside them."""
        for path in self._own():
            yield from with_imports(path) if path.is_file() else (path,)

    def _own(self) -> list[Path]:
        return [self._place] if self._place.is_file() else _possible(self._place)

    def check(self, changed: Sequence[Path]) -> int:
        """Check what was saved, and what imports it; where nothing was, the last one again."""
        own = [path for path in self._own() if path.is_file()]
        saved = [path for path in own if set(with_imports(path)) & set(changed)]
        checks = [self._one(path) for path in saved or [self._last]]
        return 0 if all(check.is_right for check in checks) else NOT_RIGHT

    def _one(self, path: Path) -> CodeCheck:
        self._last = path
        check, done = _checked(path, self._progress)
        _print(check, done, self._plain)
        print()
        return check

    def title(self) -> str:
        """What is watched, for the line with the keys."""
        others = [path.name for path in self._own() if path.is_file() and path != self._last]
        more = f"; {', '.join(others)} when saved" if others else ""
        return f"{shown_path(self._last)}{more}"
