"""`headwork new` and `headwork course check`: for those who write exercises."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from ..errors import HeadworkError
from ..mistakes.lookup import mistake_named
from ..workbook.course import course, exercises
from ..workbook.exercises import Exercise, read_exercise
from ..workbook.own import VARIABLE, beside, exercise_files, name_error, own_folder, read_file
from ..workbook.proofreading import Finding, Proof, proofread
from ..workbook.skeleton import FOLDER, write_skeleton
from .json_text import json_text
from .text import NO_BREAK, spelled, width_of_page, wrapped

NOT_RIGHT = 1  # exit status: something is to be mended


def run_new(name: str, *, json: bool, plain: bool) -> int:
    """Write a new exercise to begin from; the exit status. Raises HeadworkError."""
    said = os.environ.get(VARIABLE, "")
    path = write_skeleton(name, Path(os.path.expanduser(said)) if said else Path(FOLDER))
    if json:
        print(json_text({"written": str(path)}))
        return 0
    for line in (
        f"Written: {path}.",
        "Open it, put your words where it says FILL IN, and change the numbers as you like. Then:",
        f"    headwork course check {path.parent}",
        f"    headwork practice {name} --course {path.parent}",
    ):
        print(wrapped(line, width_of_page(), "", ""))
    return 0


def run_course_check(folder: Path | None, *, blind: bool, json: bool, plain: bool) -> int:
    """Look through a folder of exercises, or the course itself; the exit status. Raises HeadworkError.

    folder  None is the one that HEADWORK_COURSE names, or else the course
    blind   whether to list what each exercise's numbers do not show
    """
    with nullcontext() if folder is None else beside(folder):  # what one exercise says of another is found
        return _check(blind, json, plain)


def _check(blind: bool, json: bool, plain: bool) -> int:
    proofs = []
    for proof in _proofs(own_folder()):
        proofs.append(proof)
        if not json:
            for line in _lines(proof, blind):
                text = wrapped(spelled(line) if plain else line, width_of_page(), "", "    ")
                print(text, flush=True)
    ready = sum(not proof.findings for proof in proofs)
    if json:
        print(json_text({"exercises": [proof.to_dict() for proof in proofs], "ready": ready}))
    else:
        print(f"{ready} of {len(proofs)} {'exercise is' if len(proofs) == 1 else 'exercises are'} ready.")
    return 0 if proofs and ready == len(proofs) else NOT_RIGHT


def _proofs(folder: Path | None) -> Iterator[Proof]:
    """One for each exercise; of a folder, one for each file that cannot be read, too."""
    if folder is None:
        yield from map(proofread, exercises())
        return
    made = list[Exercise]()
    for path in exercise_files(folder):
        try:
            made.append(read_exercise(path.name, read_file(path)))
        except HeadworkError as error:
            yield Proof(path.stem, path.name, (Finding("the file", str(error)),))
    try:
        course()  # the set as a whole: ids that are taken, set.md
    except HeadworkError as error:
        is_told = len(made) < len(exercise_files(folder)) or any(map(name_error, made))
        if not is_told:  # with the file that it is about
            yield Proof("set", str(folder), (Finding("the folder", str(error)),))
    yield from map(proofread, made)


def _lines(proof: Proof, blind: bool) -> Iterator[str]:
    sign = "✗" if proof.findings else "✓"
    yield f"{sign} {proof.id}: {_state(proof)}"
    for finding in proof.findings:
        says = finding.says.replace("blind = [", f"blind{NO_BREAK}={NO_BREAK}[")  # or a paste is no TOML
        yield f"  {finding.place}: {says}"
    if blind:
        yield from _blind_lines(proof)


def _state(proof: Proof) -> str:
    if proof.findings:
        count = len(proof.findings)
        return f"{count} {'thing' if count == 1 else 'things'} to mend."
    if not proof.drawn:
        return (
            "ready."
            if not proof.operations
            else "ready. Its numbers cannot be drawn, as it has no separates."
        )
    return "ready. Its numbers can be drawn."


def _blind_lines(proof: Proof) -> Iterator[str]:
    if not proof.operations:
        return
    yield f"  Its steps are about {proof.operations:g} operations."
    yield f"  Its own numbers show every mistake but {len(proof.blind)}."
    yield from (f"    {name}: {mistake_named(name).title}" for name in proof.blind)
    if proof.seen and proof.seen.hidden:
        yield f"  Of its list, one asked step or more stays right with: {', '.join(proof.seen.hidden)}."
    for one, other in proof.seen.together if proof.seen else ():
        yield f"  The same at every step: {one} and {other}."
