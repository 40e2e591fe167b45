"""An exercise is looked through for its author: whatever a learner would stumble over is a finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnosis.verdicts import NOT_RIGHT
from ..errors import HeadworkError, OptionError, UnknownNameError
from ..mistakes.lookup import mistake_named
from ..mistakes.mistake import Mistake
from .choosing import BETWEEN
from .coding import check_code
from .effort import effort
from .exercises import Exercise
from .finding import find_exercise
from .gate import Seen, blind_spots, seen, step_questions
from .judging import judge, judge_number, judge_shape
from .numbers import drawing
from .own import name_error
from .quantities import quantity
from .questions import (
    ChoiceQuestion,
    CodeQuestion,
    DesignQuestion,
    NumberQuestion,
    Question,
    ShapeQuestion,
    StepQuestion,
)
from .rows import row_places
from .solutions import solution
from .tracks import track_named

TO_FILL_IN = "FILL IN"  # what a new exercise has where its author's words belong
FEWEST, MOST = 10, 25  # mistakes that drawn numbers have to show
SEEDS = range(3)
CLOSE = 1e-9
WIDEST = 76  # of an indented line, which is not wrapped
ROW = re.compile(r"\[[−-]?\d[^\]\n]*[ ,][^\]\n]*\]")  # of numbers: [2 0 4]
MARKUP = (
    (
        re.compile(r"\]\(|<[a-z/]"),
        "a link or a tag, and a terminal shows it as it is; name the address in words",
    ),
    (
        re.compile(r"\$|`|\*\*|\\[a-zA-Z]"),
        "mark-up, and a terminal shows it as it is; write formulas in plain characters",
    ),
    (re.compile(r"[\x00-\x08\x0b-\x1f\x7f]"), "a character that cannot be shown"),
)
SMALL_WORDS = re.compile(r"\b(just|simply|obviously|trivial|trivially)\b", re.IGNORECASE)
COMMAND = re.compile(r"headwork (practice|show|hint|fresh) ([a-z0-9][a-z0-9.@-]*[a-z0-9])")
EXPLAIN = re.compile(r"headwork explain ([a-z0-9][a-z0-9-]*[a-z0-9])")


@dataclass(frozen=True)
class Finding:
    """Something that is to be mended.

    Fields
    place  where in the file: a key, or a question and what of it; says: what is the matter, and what to do
    """

    place: str
    says: str

    def to_dict(self) -> dict[str, str]:
        """As plain data."""
        return {"place": self.place, "says": self.says}


@dataclass(frozen=True)
class Proof:
    """What came of looking through one exercise.

    Fields
    id, file   of the exercise
    findings   in the order of the file; none: it is ready
    drawn      whether its numbers can be drawn
    operations how much work its steps are
    blind      ids of the mistakes that its own numbers do not show
    seen       what its own numbers show of the mistakes in its list; None where it has none
    """

    id: str
    file: str
    findings: tuple[Finding, ...]
    drawn: bool = False
    operations: float = 0.0
    blind: tuple[str, ...] = ()
    seen: Seen | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "id": self.id,
            "file": self.file,
            "findings": [finding.to_dict() for finding in self.findings],
            "drawn": self.drawn,
            "effort": self.operations,
            "blind": list(self.blind),
            "seen": self.seen and self.seen.to_dict(),
        }


Check = Callable[[Exercise], Iterator[Finding]]


def proofread(exercise: Exercise) -> Proof:
    """What a learner would stumble over in an exercise.

    exercise  of the course, or somebody's own
    Raises nothing. Special cases: where its problem cannot be worked, nothing else is looked at.
    """
    try:
        _ = exercise.opened
    except HeadworkError as error:
        return Proof(exercise.id, exercise.file, (Finding("problem", _without_file(exercise, error)),))
    findings = tuple(finding for check in CHECKS for finding in check(exercise))
    asks = bool(step_questions(exercise))
    return Proof(
        id=exercise.id,
        file=exercise.file,
        findings=findings,
        drawn=bool(exercise.separates),
        operations=effort(exercise).total if asks else 0.0,
        blind=blind_spots(exercise) if asks else (),
        seen=seen(exercise, _known(exercise)) if exercise.separates else None,
    )


def right_answer(exercise: Exercise, question: Question) -> str | None:
    """An answer that deserves full marks; None for what nobody but the learner marks, and for code.

    exercise, question  which
    Raises FileError. Special cases: none.
    """
    match question:
        case StepQuestion():
            result = exercise.work[question.step]
            rows = (
                np.atleast_1d(result[place])
                for place in row_places(exercise.work, question.step, question.rows)
            )
            return "; ".join(" ".join(f"{entry:.{question.digits}f}" for entry in row) for row in rows)
        case NumberQuestion() | ShapeQuestion():
            return question.answer
        case ChoiceQuestion() if not question.guess:
            return BETWEEN.join(option.text for option in question.options if option.right)
        case DesignQuestion():
            return question.example
    return None


# --- what is looked at -----------------------------------------------------------------------------


def _name(exercise: Exercise) -> Iterator[Finding]:
    said = name_error(exercise)
    if said:
        yield Finding("id", said.removeprefix("id "))


def _hints(exercise: Exercise) -> Iterator[Finding]:
    for question in exercise.questions:
        is_guess = isinstance(question, ChoiceQuestion) and question.guess
        if not question.hints and not is_guess:
            yield Finding(f"question {question.id}", "has no hints; one at least, each a step further.")


def _answers(exercise: Exercise) -> Iterator[Finding]:
    for question in exercise.questions:
        place = f"question {question.id}"
        answer = right_answer(exercise, question)
        try:
            if answer is not None and not judge(exercise, question, answer, {}).is_done:
                yield Finding(place, f"its own answer, {answer[:60]}, is not marked right.")
            if (
                not isinstance(question, CodeQuestion)
                and answer is not None
                and not all(solution(exercise, question))
            ):
                yield Finding(place, "has a worked solution with an empty line.")
        except HeadworkError as error:
            yield Finding(place, f"its own answer cannot be marked: {error}")


def _wrong_answers(exercise: Exercise) -> Iterator[Finding]:
    for question in exercise.questions:
        if not isinstance(question, NumberQuestion | ShapeQuestion):
            continue
        for wrong in question.wrong:
            judged = (
                judge_number(question, wrong.value)
                if isinstance(question, NumberQuestion)
                else judge_shape(question, wrong.value)
            )
            place = f"question {question.id}, wrong {wrong.value}"
            if judged.verdict != NOT_RIGHT:
                yield Finding(place, "is listed as not right, and it is right.")
            elif judged.sentence != wrong.says:
                yield Finding(place, "never gets its sentence: another one, before it, is the same number.")


def _computed(exercise: Exercise) -> Iterator[Finding]:
    names = {question.id: question for question in exercise.questions}
    for name in (*exercise.stays, *exercise.computed):
        if name not in names:
            yield Finding("stays, computed", f"names {name!r}, and the questions are {', '.join(names)}.")
    for name, formula in exercise.computed.items():
        question = names.get(name)
        if not isinstance(question, NumberQuestion):
            yield Finding("computed", f"{name} is no number question.")
            continue
        try:
            value = quantity(exercise, formula).value
            if judge_number(question, f"{value:.{question.digits}f}").verdict == NOT_RIGHT:
                yield Finding(
                    "computed", f"{formula} is {value:.6g}, and the answer of {name} is {question.answer}."
                )
        except HeadworkError as error:
            yield Finding("computed", _without_file(exercise, error))


def _texts(exercise: Exercise) -> Iterator[Finding]:
    for place, text in texts(exercise):
        if TO_FILL_IN in text:
            yield Finding(place, f"is still to be written: {text.strip()[:50]!r}.")
        for pattern, what in MARKUP:
            found = pattern.search(text)
            if found:
                yield Finding(place, f"has {found[0]!r}: {what}.")
        small = SMALL_WORDS.search(text)
        if small:
            yield Finding(place, f"says {small[0]!r}, which makes whoever is stuck feel small.")
        for line in text.splitlines():
            if line.startswith("    ") and len(line) > WIDEST:
                yield Finding(
                    place, f"has an indented line of {len(line)} characters; at most {WIDEST} stay whole."
                )


def _links(exercise: Exercise) -> Iterator[Finding]:
    """Commands that are named have to work."""
    for place, text in texts(exercise):
        for verb, name in COMMAND.findall(text):
            if name != exercise.id and not _is_exercise(name):
                yield Finding(place, f"names headwork {verb} {name}, and there is no such exercise.")
        for name in EXPLAIN.findall(text):
            if not _is_mistake(name):
                yield Finding(place, f"names headwork explain {name}, and there is no such mistake.")


def _separates(exercise: Exercise) -> Iterator[Finding]:
    asks = bool(step_questions(exercise))
    records = dict[Mistake, str]()
    for name in exercise.separates:
        if not _is_mistake(name):
            yield Finding("separates", f"{name!r} is in no catalogue; headwork mistakes lists them.")
            continue
        record = mistake_named(name)
        if record.parameter is not None:
            yield Finding(
                "separates", f"{name} has a number of its own, so there is no one result to look for."
            )
        if record in records:
            yield Finding("separates", f"{name} gives the same numbers as {records[record]} on every input.")
        records[record] = name
    if exercise.separates and not asks:
        yield Finding("separates", "is there, and no step is asked that could show a mistake. Leave it out.")
    if asks and exercise.separates and not FEWEST <= len(exercise.separates) <= MOST:
        yield Finding("separates", f"has {len(exercise.separates)}; from {FEWEST} to {MOST} were expected.")
    if asks and exercise.separates:
        absent = seen(exercise, _known(exercise)).absent
        if absent:
            yield Finding("separates", f"{', '.join(absent)} cannot be made at any step that is asked here.")


def _draws(exercise: Exercise) -> Iterator[Finding]:
    for name, shape in exercise.draws.items():
        if name not in exercise.given or len(shape) != np.ndim(exercise.given[name]):
            yield Finding(
                "draws", f"has {name} = {list(shape)}; a shape for an array of the problem was expected."
            )


def _fresh(exercise: Exercise) -> Iterator[Finding]:
    """Drawn numbers pass the gate, and what is asked of them can be answered."""
    if not exercise.separates or any(True for _ in _separates(exercise)):
        return
    checks, found = (_hints, _answers), dict[str, dict[int, str]]()  # what is said at a place, by seed
    told = [finding for check in checks for finding in check(exercise)]
    for seed in SEEDS:
        try:
            fresh = drawing(exercise, seed).exercise
            for finding in (each for check in checks for each in check(fresh)):
                if finding not in told:
                    found.setdefault(finding.place, {})[seed] = finding.says
        except HeadworkError as error:
            yield Finding("separates", str(error))
            return
    for place, said in found.items():
        yield Finding(f"{_seeds(said)}, {place}", next(iter(said.values())))


def _seeds(seeds: Iterable[int]) -> str:
    """Which drawn numbers a finding is about, and how many were looked at."""
    names = [str(seed) for seed in seeds]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"seed{'s' if len(names) > 1 else ''} {listed} of the {len(SEEDS)} that were drawn"


def _first_numbers(exercise: Exercise) -> Iterator[Finding]:
    """What is told with drawn numbers, too, must not speak of the first ones."""
    if not exercise.separates:
        return
    for question in exercise.questions:
        stays = question.id in exercise.stays
        told = question_texts(question) if stays else [("prompt", question.prompt)]
        if not (stays or isinstance(question, StepQuestion) or question.id in exercise.computed):
            continue
        for what, text in told:
            found = ROW.search(text)
            if found:
                yield Finding(
                    f"question {question.id}, {what}",
                    f"names {found[0]}, and it is asked of drawn numbers, too. Say it without numbers"
                    + (", or take it out of stays." if stays else "."),
                )


def _blind(exercise: Exercise) -> Iterator[Finding]:
    if not step_questions(exercise):
        return
    found, listed = blind_spots(exercise), exercise.blind
    if set(found) != set(listed):
        line = "blind = [" + ", ".join(f'"{name}"' for name in found) + "]"
        yield Finding("blind", f"is not what these numbers cannot show. Put this line there: {line}")


def _code(exercise: Exercise) -> Iterator[Finding]:
    """The stub of a track fails and its solution passes."""
    for question in exercise.questions:
        if not isinstance(question, CodeQuestion):
            continue
        place = f"question {question.id}"
        try:
            track = track_named(question.track)
        except UnknownNameError as error:
            yield Finding(place, str(error))
            continue
        if check_code(track, track.folder / "stub.py").is_right:
            yield Finding(place, f"the stub of {track.id} passes as it is, so there is nothing to write.")
        solved = check_code(track, track.folder / "solution.py")
        if not solved.is_right:
            yield Finding(place, f"the solution of {track.id} does not pass. {solved.failure}".strip())


CHECKS: tuple[Check, ...] = (
    _name,
    _hints,
    _answers,
    _wrong_answers,
    _texts,
    _links,
    _computed,
    _separates,
    _draws,
    _blind,
    _first_numbers,
    _fresh,
    _code,
)


# --- texts -----------------------------------------------------------------------------------------


def texts(exercise: Exercise) -> Iterator[tuple[str, str]]:
    """Every text that a learner reads, with where it stands. Raises nothing. Special cases: none."""
    yield from (("title", exercise.title), ("about", exercise.about), ("opening", exercise.opening))
    yield from (("helpers", exercise.helpers), ("recap", exercise.recap))
    for question in exercise.questions:
        yield from ((f"question {question.id}, {what}", text) for what, text in question_texts(question))


def question_texts(question: Question) -> Iterator[tuple[str, str]]:
    """The texts of one question: every field that is one. Raises nothing. Special cases: none."""
    for name, value in vars(question).items():
        if name in ("id", "answer", "within", "step", "track", "values", "example", "wanted"):
            continue
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                yield name, text
            elif hasattr(text, "says"):
                yield name, f"{getattr(text, 'text', '')} {text.says}".strip()


def _known(exercise: Exercise) -> tuple[str, ...]:
    """Those of its list that can be looked for."""
    names = (name for name in exercise.separates if _is_mistake(name))
    return tuple(name for name in names if mistake_named(name).parameter is None)


def _is_exercise(name: str) -> bool:
    try:
        find_exercise(name)
    except (UnknownNameError, OptionError):
        return False
    except HeadworkError:  # a file beside it that cannot be read: that is told on its own
        return True
    return True


def _is_mistake(name: str) -> bool:
    try:
        mistake_named(name)
    except UnknownNameError:
        return False
    return True


def _without_file(exercise: Exercise, error: HeadworkError) -> str:
    return str(error).removeprefix(f"{exercise.file}: ")
