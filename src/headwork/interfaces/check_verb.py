"""`headwork check`: what is typed, one check or one for each save, and what is printed and written."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..conformance.limits import Limits
from ..conformance.runner import Runner
from ..conformance.stated import Stated
from ..conformance.targets import Target, read_target
from ..errors import FileError, HeadworkError, OptionError
from ..workbook.transfer import write_whole
from .guard import BAD_INPUT, complain
from .json_text import json_text
from .progress_line import ProgressLine
from .text import width_of_page

if TYPE_CHECKING:
    from ..conformance.report import Check

WRONG = 1  # exit status: wrong, or it could not be run
GB = 2**30
LONGEST = 1_000_000  # seconds, or gigabytes, of a call
BEGINNING = "finding out how it is called"


@dataclass(frozen=True)
class Wishes:
    """What is to come of a check.

    strict           whether matters of robustness fail it
    json plain       how it is printed
    junit reproduce  files to write, "" for none
    """

    strict: bool = False
    json: bool = False
    plain: bool = False
    junit: str = ""
    reproduce: str = ""


def run_check(
    text: str,
    *,
    command: str | None = None,
    setup: str | None = None,
    engine: str | None = None,
    seconds: float | None = None,
    memory: float | None = None,
    watch: bool = False,
    **typed: Any,
) -> int:
    """Check what is named; the exit status. Raises HeadworkError for what cannot be meant.

    text     what to check, see conformance/targets.py; "" where there is a command
    seconds  that a call may take; memory: gigabytes by which it may grow; watch: check again on every save
    typed    the fields of Wishes and of Stated, None or empty where nothing was typed
    """
    given = {name: value for name, value in typed.items() if value}
    wishes = Wishes(**{each.name: given.pop(each.name) for each in fields(Wishes) if each.name in given})
    stated = Stated(**given)
    target = read_target(
        text,
        command=command or "",
        setup=setup or "",
        device=stated.device,
        takes=stated.takes,
        engine=engine or "",
    )
    for file in filter(None, (wishes.junit, wishes.reproduce)):
        _refuse_unwritable(Path(file))
    act = partial(_check, target, limits_of(seconds, memory), stated, wishes)
    if not watch:
        return act()
    if wishes.json:
        raise OptionError("--watch shows one page after the other; leave out --json.")
    return _watch(target, act)


def limits_of(seconds: float | None, memory: float | None) -> Limits:
    """The limits that were typed, or the usual ones; the first call never has less time than the others.

    Raises OptionError for a number that is none, or beyond any machine.
    """
    usual = Limits()
    for option, number in (("--seconds", seconds), ("--memory", memory)):
        if number is not None and not 0 < number <= LONGEST:
            raise OptionError(
                f"{option} is {number:g}; a number above 0, and no more than {LONGEST:,} was expected."
            )
    seconds = seconds or usual.seconds
    most = int(memory * GB) if memory else usual.memory
    return Limits(seconds, max(seconds, usual.first_seconds), max(seconds, usual.load_seconds), most)


def _refuse_unwritable(file: Path) -> None:
    """Say before the check, and not after it, that its file cannot be written. Raises FileError."""
    folder = file.absolute().parent
    why = "it is a folder" if file.is_dir() else ""
    why = why or ("" if folder.is_dir() else f"there is no folder {folder}")
    why = why or (
        "" if os.access(folder, os.W_OK) or os.path.exists(file) else f"{folder} is read-only for you"
    )
    if why:
        raise FileError(f"cannot write {file}: {why}. Name another file.")


def _check(target: Target, limits: Limits, stated: Stated, wishes: Wishes) -> int:
    """One check, printed and written."""
    with Runner(target, limits) as runner:  # its process loads while this one does
        from ..conformance.beforehand import work_ahead
        from ..conformance.checking import check
        from .check_text import check_page

        with ProgressLine(BEGINNING) as progress:
            work_ahead(runner.is_loading)
            found = check(runner, stated, progress=progress)
    written = _reproduced(found, target, wishes.reproduce)
    if wishes.junit:
        from .check_junit import junit_text

        write_whole(Path(wishes.junit), junit_text(found, strict=wishes.strict))
    if wishes.json:
        print(json_text(found))
    else:
        for line in check_page(
            found, width_of_page(), plain=wishes.plain, strict=wishes.strict, file=written
        ):
            print(line)
    if wishes.reproduce and not written:
        said = f"headwork: nothing is wrong that could be reproduced; {wishes.reproduce} was not written."
        print(said, file=sys.stderr if wishes.json else sys.stdout)
    return 0 if found.is_right and (found.is_robust or not wishes.strict) else WRONG


def _reproduced(found: Check, target: Target, file: str) -> str:
    """The file, where the smallest failing input was written to it; "" where there is none."""
    if not file or found.failing is None:
        return ""
    from ..conformance.reproduce import reproduction

    write_whole(Path(file), reproduction(found, target))
    return file


def _watch(target: Target, act: partial[int]) -> int:
    from .imported import files_of
    from .watching import watch_files

    def again(changed: Sequence[Path]) -> int:
        try:
            return act()
        except HeadworkError as error:  # half-typed files are the rule here: the next save mends it
            return complain(str(error), BAD_INPUT)

    return watch_files(lambda: files_of(target), again)
