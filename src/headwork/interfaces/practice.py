"""headwork practice, list, hint and progress: the workbook in a terminal or at the end of a pipe."""

from __future__ import annotations

import io
import json as json_module
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import FileError, HeadworkError
from ..workbook.contents import listed
from ..workbook.course import exercises
from ..workbook.events import Event, Said
from ..workbook.finding import find_exercise
from ..workbook.hinting import next_hint
from ..workbook.keeping import Kept, open_progress
from ..workbook.standing import first_open, resume, standing
from ..workbook.stubs import code_folder
from ..workbook.transfer import from_json, to_json, write_whole
from .guard import INTERRUPTED
from .json_text import json_text, plain_data
from .practice_text import Page
from .text import width_of_page, wrapped

STREAM = "-"


def run_practice(exercise: str | None, *, progress: Path | None, plain: bool, json: bool) -> int:
    """Practise: from an exercise on, or from where the learner left off; the exit status.

    exercise  an id, a unique beginning of one, or a number; None goes on
    progress  the file that it is kept in; None is the user's own
    plain     for a screen reader: no colour, no columns side by side
    json      one event a line
    """
    from ..workbook.session import Session  # marking and all of mathematics, which a list does without

    _forgive_bytes()
    chosen = None if exercise is None else find_exercise(exercise)
    with open_progress(progress, create=True) as kept:
        session = Session(kept.progress, code_folder())
        page = _Lines() if json else Page(plain)
        try:
            _show(page, _warned(kept, session.begin(chosen)))
            while not session.finished:
                line = _read(session.prompt, page)
                _show(page, session.end_of_input() if line is None else session.receive(line))
        except KeyboardInterrupt:
            session.keep_draft()
            print()
            return INTERRUPTED
    return 0


def run_list(*, progress: Path | None, plain: bool, json: bool) -> int:
    """The course and the learner's progress; the exit status.

    progress, plain, json  as in `run_practice`; a progress file that is not there is not made
    """
    with open_progress(progress, create=False) as kept:
        acts = kept.progress.acts()
        place = resume(exercises(), acts)
        event = listed(acts, place[0].id if acts and place else "")
        if json:
            print(json_text({**event.to_dict(), "warning": kept.warning or None}))
        else:
            _show(Page(plain), _warned(kept, [event]))
    return 0


def run_hint(exercise: str, *, progress: Path | None, plain: bool, json: bool) -> int:
    """The next hint of the question that the learner is at in an exercise; the exit status.

    exercise, progress, plain, json  as in `run_practice`
    """
    chosen = find_exercise(exercise)
    with open_progress(progress, create=True) as kept:
        at = first_open(chosen, kept.progress.acts()) or 0
        question = chosen.questions[at]
        hint = next_hint(kept.progress, chosen, question)
        if json:
            print(json_text({"exercise": chosen.id, "question": question.id, **hint.to_dict()}))
        else:
            title = f"{chosen.heading}, question {at + 1} of {len(chosen.questions)}"
            where = Said("place", question.prompt, title)
            _show(Page(plain), _warned(kept, [where, hint]))
    return 0


def run_progress(
    *,
    progress: Path | None,
    export: str | None,
    import_: str | None,
    reset: bool,
    yes: bool,
    plain: bool,
    json: bool,
) -> int:
    """What is kept, or write it out, read it in, forget it; the exit status.

    progress  the file; None is the user's own
    export    a file to write, - for standard output; import_: a file to read, - for standard input
    reset     forget everything, after asking; yes: without asking
    plain     changes nothing: there is nothing here but lines; json: the answer as JSON
    """
    _forgive_bytes()
    if sum((export is not None, import_ is not None, reset)) > 1:
        raise HeadworkError("--export, --import and --reset each do one thing; give one of them at a time.")
    with open_progress(progress, create=import_ is not None) as kept:
        if kept.warning and (reset or import_ is not None):
            raise FileError(kept.warning)
        if export is not None:
            return _export(kept, export, json)
        if import_ is not None:
            return _import(kept, import_, json)
        return _reset(kept, yes, json) if reset else _summary(kept, json)


# --- practice ---------------------------------------------------------------------------------------


class _Lines:
    """Events as JSON, one a line."""

    def show(self, event: Event) -> None:
        print(json_module.dumps(plain_data(event), ensure_ascii=False), flush=True)


def _show(page: Page | _Lines, events: Iterable[Event]) -> None:
    for event in events:
        page.show(event)


def _warned(kept: Kept, events: Iterable[Event]) -> Iterator[Event]:
    if kept.warning:
        yield Said("warning", kept.warning)
    yield from events


def _read(prompt: str, page: Page | _Lines) -> str | None:
    """What the learner typed; None where the input ends."""
    typed_here = sys.stdin.isatty()
    if typed_here:
        _edit_lines()
    try:
        line = input(page.prompt(prompt) if isinstance(page, Page) else "")
    except EOFError:
        if isinstance(page, Page):
            page.line()
        return None
    if not typed_here and isinstance(page, Page):
        page.line(line)  # nobody saw it typed: without it, the page would not say what the marks are about
    return line


def _edit_lines() -> None:
    """Arrow keys and the lines typed before, where the system has them."""
    with suppress(ImportError):
        import readline  # noqa: F401, importing it is what changes input()


def _forgive_bytes() -> None:
    """Bytes that are no text, in or out, become a mark that says so instead of ending the session."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


# --- progress ---------------------------------------------------------------------------------------


def _summary(kept: Kept, json: bool) -> int:
    acts = kept.progress.acts()
    stands = [standing(exercise, acts) for exercise in exercises()]
    done = sum(stand.state == "done" for stand in stands)
    place = resume(exercises(), acts)
    if json:
        here = {"exercise": place[0].id, "question": place[0].questions[place[1]].id} if place else None
        counts = {"acts": len(acts), "done": done, "exercises": len(stands)}
        print(json_text({"file": str(kept.path), **counts, "next": here, "warning": kept.warning or None}))
        return 0
    if kept.warning:
        print(wrapped(kept.warning, width_of_page(), "", ""))
    print(f"File: {kept.path}{'' if kept.path.exists() else ' (not there yet)'}")
    print(f"Exercises done: {done} of {len(stands)}. Acts kept: {len(acts)}.")
    if place:
        exercise, at = place
        print(f"Next: {exercise.heading}, question {at + 1} of {len(exercise.questions)}.")
    return 0


def _export(kept: Kept, target: str, json: bool) -> int:
    acts = kept.progress.acts()
    text = to_json(acts)
    if target == STREAM:
        sys.stdout.write(text)
        return 0
    write_whole(Path(target), text)
    print(
        json_text({"written": target, "acts": len(acts)})
        if json
        else f"Written: {target}, {_acts(len(acts))}."
    )
    return 0


def _import(kept: Kept, source: str, json: bool) -> int:
    from .files import shown  # NumPy, which a list does without

    name = shown(source)
    try:
        raw = sys.stdin.buffer.read() if source == STREAM else Path(source).read_bytes()
        acts = from_json(raw.decode("utf-8-sig"), name)
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise FileError(
            f"{name} is not UTF-8 text. Give a file that headwork progress --export wrote."
        ) from None
    new = kept.progress.add(acts)
    here = len(acts) - new
    print(
        json_text({"added": new, "here_already": here})
        if json
        else f"Added: {_acts(new)}. Here already: {here}."
    )
    return 0


def _reset(kept: Kept, yes: bool, json: bool) -> int:
    count = len(kept.progress.acts())
    forgotten = kept.progress.forget() if count and (yes or _agreed(count, kept.path, json)) else 0
    print(json_text({"forgotten": forgotten}) if json else f"Forgotten: {forgotten} of {_acts(count)}.")
    return 0


def _acts(count: int) -> str:
    return "1 act" if count == 1 else f"{count} acts"


def _agreed(count: int, path: Path, json: bool) -> bool:
    what = "the only act" if count == 1 else f"all {_acts(count)}"
    question = f"Forget {what} in {path}? Only an export brings that back. Type yes: "
    try:
        print(question, end="", flush=True, file=sys.stderr if json else sys.stdout)  # data stays data
        answer = input()
    except EOFError:
        print(file=sys.stderr if json else sys.stdout)
        raise HeadworkError(
            "nobody answered, and nothing was forgotten. headwork progress --reset --yes does not ask."
        ) from None
    return answer.strip().lower() == "yes"
