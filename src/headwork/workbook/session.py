"""A session of practice: lines of the learner go in, events come out. It reads no keyboard and draws nothing.

Everything that the learner does is kept before the event that answers it is handed out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..diagnosis.verdicts import NOT_RIGHT
from ..errors import AnswerError
from .answering import answers_to, earlier_answers, keep_answer
from .answers import Table
from .choosing import read_choice
from .contents import listed
from .course import exercises, place_of, set_of
from .designing import design_rows, without_names
from .endings import course_ended, exercise_closed, fresh_offer
from .events import Asked, Card, Event, Explained, Opened, Said
from .exercises import Exercise
from .hinting import next_hint
from .in_code import code_checked, code_solution, code_told
from .judging import judge
from .progress import Act, Progress
from .questions import (
    ChoiceQuestion,
    CodeQuestion,
    DesignQuestion,
    ExplainQuestion,
    Question,
    StepQuestion,
)
from .rows import columns_of, row_places, row_title
from .solutions import UNROUNDED, solution
from .standing import first_open, is_done, point_text, resume
from .words import ALSO, HOW, OR_A_WORD, WORDS, expected, help_lines

COMPARED = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "p": "partly", "partly": "partly"}
UNKNOWN = "Nothing is known about this number. hint goes a step further, and show has the worked solution."


class Session:
    """One learner at work.

    Fields
    progress  where the acts are kept
    finished  whether there is nothing more to say
    """

    def __init__(self, progress: Progress, folder: Path | None = None) -> None:
        self.progress = progress
        self._folder = folder  # of the learner's code; None where no files are written
        self.finished = False
        self._exercise: Exercise = exercises()[0]
        self._at = 0
        self._again = False  # working through an exercise that is done already: every question in turn
        self._table: Table | None = None  # an answer of several numbers, as far as it is typed
        self._written: list[str] = []  # the explanation, as far as it is typed
        self._point: int | None = None  # the point of ours that is being compared

    # --- what the learner sees ---------------------------------------------------------------------

    @property
    def question(self) -> Question:
        """The question that is being asked."""
        return self._exercise.questions[self._at]

    @property
    def prompt(self) -> str:
        """What stands before the cursor."""
        if self._point is not None:
            return "y, n or partly: "
        if self._table and (self._table.texts or self._table.names):
            return f"{self._table.next_name}: "
        return "> "

    def begin(self, exercise: Exercise | None) -> Iterator[Event]:
        """The first events: `exercise` from its first open question on, or where the learner left off.

        Raises FileError. Special cases: when everything is done there is nothing to begin, and it says so.
        """
        acts = self.progress.acts()
        if exercise is None:
            found = resume(exercises(), acts)
            if found is None:
                yield from self._end(acts)
                return
            self._exercise, self._at = found
        else:
            place = first_open(exercise, acts)
            self._exercise, self._at, self._again = exercise, place or 0, place is None
        yield from self._open()

    def receive(self, text: str) -> Iterator[Event]:
        """What comes of what the learner typed; several lines at once are taken one after another.

        Raises FileError.
        """
        for line in text.split("\n"):
            if not self.finished:
                yield from self._line(line.strip())

    def end_of_input(self) -> Iterator[Event]:
        """What comes of an input that ends: what was written of an explanation is kept, and that is all.

        Raises FileError.
        """
        yield from self._quit()

    def keep_draft(self) -> None:
        """Keep what is written of an explanation that has not come to its end. Raises FileError."""
        if self._written:
            self._keep("draft", "\n".join(self._written))

    # --- one line ----------------------------------------------------------------------------------

    def _line(self, line: str) -> Iterator[Event]:
        word = ALSO.get(line.lower(), line.lower())
        if word in WORDS:
            yield from self._word(word)
        elif self._point is not None:
            yield from self._compare(line)
        elif isinstance(self.question, ExplainQuestion):
            yield from self._write(line)
        elif isinstance(self.question, CodeQuestion):
            yield from self._look_at_code(self.question)
        elif not line:
            yield Said("note", f"{self._expected} {OR_A_WORD}")
        else:
            yield from self._answer(line)

    def _answer(self, line: str) -> Iterator[Event]:
        try:
            answer = self._read(line)
            if answer is None:
                return
            marked = keep_answer(self.progress, self._exercise, self.question, answer)
        except AnswerError as error:
            yield Said("unreadable", f"{error} Nothing was marked.")
            return
        yield marked
        if marked.judged.is_done:
            yield from self._next()

    def _read(self, line: str) -> str | None:
        """The whole answer; None while rows of it are missing. Raises AnswerError."""
        question = self.question
        if isinstance(question, ChoiceQuestion):
            return read_choice(question, line)
        if not isinstance(question, StepQuestion | DesignQuestion):
            return line
        if self._table is None:
            self._table = self._empty_table(question)
        self._table.add(without_names(line) if isinstance(question, DesignQuestion) else line)
        if not self._table.is_complete:
            return None
        answer = self._table.text
        self._table = self._empty_table(question)
        return answer

    def _empty_table(self, question: StepQuestion | DesignQuestion) -> Table:
        if isinstance(question, DesignQuestion):
            names = design_rows(question)
            return Table(len(names), question.asks[0].columns, names)
        work = self._exercise.work
        places = row_places(work, question.step, question.rows)
        blocks = len(places[0]) > 1  # one matrix needs no more than the number of its row
        names = tuple(row_title(work, question.step, place) for place in places) if blocks else ()
        return Table(len(places), columns_of(work, question.step), names)

    @property
    def _expected(self) -> str:
        if self._point is not None:
            return "Expected here: y, n or partly. Does yours say it?"
        return expected(self.question, self._table)

    # --- code --------------------------------------------------------------------------------------

    def _look_at_code(self, question: CodeQuestion) -> Iterator[Event]:
        """Check the learner's file; on to the next question once it was right."""
        if self._folder is not None:
            yield code_checked(self.progress, self._exercise, question, self._folder)
        if is_done(question, self.progress.acts(self._exercise.id)):
            yield Said("note", "The checker has kept that your function is right.")
            yield from self._next()
        elif self._folder is None:
            yield code_told(question, None)

    # --- explanations ------------------------------------------------------------------------------

    def _write(self, line: str) -> Iterator[Event]:
        if line:
            self._written.append(line)
        elif not self._written:
            yield Said("note", f"{self._expected} {OR_A_WORD}")
        else:
            self._keep("explanation", "\n".join(self._written))
            self._written, self._point = [], 0
            yield from self._compare_with_ours()

    def _compare_with_ours(self) -> Iterator[Event]:
        assert isinstance(self.question, ExplainQuestion)
        yield Said("ours", self.question.ours, "Ours")
        yield Said("note", "Nobody but you marks this one. Hold yours against ours, point by point.")
        yield self._asked_point()

    def _asked_point(self) -> Said:
        assert isinstance(self.question, ExplainQuestion)
        assert self._point is not None
        points = self.question.points
        title = f"Point {self._point + 1} of {len(points)}. Did yours say this?"
        return Said("point", points[self._point], title)

    def _compare(self, line: str) -> Iterator[Event]:
        assert isinstance(self.question, ExplainQuestion)
        assert self._point is not None
        said = COMPARED.get(line.lower().rstrip("."))
        if said is None:
            read = f"I read {line[:60]!r}. " if line else ""
            yield Said("note", f"{read}Type y, n or partly: does yours say it?")
            return
        self._keep("compared", point_text(self._point), said)
        if self._point + 1 < len(self.question.points):
            self._point += 1
            yield self._asked_point()
        else:
            yield from self._next()

    # --- words -------------------------------------------------------------------------------------

    def _word(self, word: str) -> Iterator[Event]:
        match word:
            case "hint":
                yield from self._hint()
            case "why":
                yield from self._why()
            case "show":
                yield from self._show()
            case "skip":
                self._keep("skip")
                yield from self._next()
            case "back":
                yield from self._back()
            case "list":
                yield listed(self.progress.acts(), self._exercise.id)
            case "card":
                yield Card(set_of(self._exercise))
            case "quit":
                yield from self._quit()
            case "?":
                yield Said("note", self._expected)
                yield Said("note", title="Words that you can type at any time", lines=help_lines())

    def _hint(self) -> Iterator[Event]:
        yield next_hint(self.progress, self._exercise, self.question)

    def _show(self) -> Iterator[Event]:
        question = self.question
        if self._point is not None:
            yield Said("note", "Ours is above. Type y, n or partly, or skip.")
            return
        if isinstance(question, ChoiceQuestion) and question.guess:
            yield Said("note", "A guess has no solution: choose what you expect. What follows shows it.")
            return
        self._keep("solution")
        if isinstance(question, CodeQuestion):
            yield from code_solution(question)
            return
        lines = solution(self._exercise, question)
        if isinstance(question, ExplainQuestion):
            yield Said("ours", question.ours, "Ours")
            yield Said("note", "You can still write your own and compare, or skip.")
            return
        yield Said("solution", title="Worked solution", lines=lines)
        rounded = isinstance(question, StepQuestion) and question.step in ("row_sum", "output")
        way = "Choose it" if isinstance(question, ChoiceQuestion) else "Work it once yourself and type it"
        yield Said("note", (f"{UNROUNDED} " if rounded else "") + f"{way}, or skip.")
        yield from fresh_offer(self._exercise)

    def _why(self) -> Iterator[Event]:
        if isinstance(self.question, CodeQuestion):
            yield from self._look_at_code(self.question)
            return
        acts = self.progress.acts(self._exercise.id)
        answers = answers_to(self.question, acts)
        if not answers:
            yield Said("note", "why says what may be behind an answer that is not right; there is none here.")
            return
        earlier = earlier_answers(self._exercise, self.question, acts)
        judged = judge(self._exercise, self.question, answers[-1].text, earlier)
        if judged.verdict != NOT_RIGHT:
            yield Said("note", "Your last answer has nothing in it that is not right.")
        elif judged.explanation is not None:
            yield Explained(self._exercise, self.question, judged.explanation)
        else:
            yield Said("why", judged.sentence or UNKNOWN, "What may be behind it")

    def _back(self) -> Iterator[Event]:
        known = exercises()
        place = place_of(self._exercise)
        if self._table and self._table.texts:
            self._table.texts.pop()
            yield Said("note", f"Row {len(self._table.texts) + 1} is taken back.")
        elif self._at > 0:
            yield from self._ask(self._at - 1)
        elif place > 0:
            self._exercise = known[place - 1]
            yield Said("place", f"Back to {self._exercise.heading}.")
            yield from self._ask(len(self._exercise.questions) - 1)
        else:
            yield Said("note", "This is the first question of all.")

    def _quit(self) -> Iterator[Event]:
        self.keep_draft()
        self.finished = True
        if self.progress.path is None:
            yield Said("note", "Stopped. Nothing was kept.")
        else:
            name = f" {self._exercise.id}" if self._exercise.drawn_from else ""
            yield Said(
                "note", f"Stopped. Your answers are kept, and headwork practice{name} goes on from here."
            )

    # --- from question to question -----------------------------------------------------------------

    def _open(self) -> Iterator[Event]:
        one = set_of(self._exercise)
        acts = self.progress.acts()
        if not {act.exercise.partition("@")[0] for act in acts} & {each.id for each in one.exercises}:
            yield Card(one)
        if not acts:
            yield Said("note", HOW, "How to answer")
        part = one.part(self._exercise.part)
        first = one.in_part(part)[0] is self._exercise
        yield Opened(self._exercise, part if first else None)
        if self._again:
            yield Said("place", "You have done this one. Working it again costs nothing.")
        elif self._at > 0:
            place = f"question {self._at + 1} of {len(self._exercise.questions)}"
            yield Said("place", f"You stopped here, at {place}. ? says what you can type.")
        yield from self._ask(self._at)

    def _ask(self, at: int) -> Iterator[Event]:
        self._at, self._table, self._written, self._point = at, None, [], None
        question = self.question
        if isinstance(question, StepQuestion | DesignQuestion):
            self._table = self._empty_table(question)
        self._keep("opened")
        yield Asked(self._exercise, at)
        if isinstance(question, ExplainQuestion):
            yield from self._take_up(question)
            if self._point is None:
                yield Said("note", self._expected)
        elif isinstance(question, CodeQuestion):
            yield code_told(question, self._folder)

    def _take_up(self, question: ExplainQuestion) -> Iterator[Event]:
        """Go on where an explanation was left: while it was written, or while it was compared."""
        own = [act for act in self.progress.acts(self._exercise.id) if act.question == question.id]
        written = [at for at, act in enumerate(own) if act.kind in ("draft", "explanation")]
        if not written:
            return
        last, after = own[written[-1]], own[written[-1] :]
        if last.kind == "draft":
            self._written = last.text.split("\n")
            yield Said("yours", last.text, "You wrote, so far")
            return
        done = {act.text for act in after if act.kind == "compared"}
        left = [at for at in range(len(question.points)) if point_text(at) not in done]
        if left:
            self._point = left[0]
            yield Said("yours", last.text, "You wrote")
            yield from self._compare_with_ours()

    def _next(self) -> Iterator[Event]:
        last = self._at + 1 == len(self._exercise.questions)
        place = None if last else self._at + 1
        if not self._again and not last:
            place = first_open(self._exercise, self.progress.acts(), self._at + 1)
        if place is not None:
            yield from self._ask(place)
        else:
            yield from self._close_exercise()

    def _close_exercise(self) -> Iterator[Event]:
        acts = self.progress.acts()
        yield from exercise_closed(self._exercise, acts)
        self._again = False
        known = exercises()
        for exercise in known[place_of(self._exercise) + 1 :]:
            place = first_open(exercise, acts)
            if place is not None:
                self._exercise, self._at = exercise, place
                yield from self._open()
                return
        yield from self._end(acts)

    def _end(self, acts: tuple[Act, ...]) -> Iterator[Event]:
        self.finished = True
        yield from course_ended(acts)

    def _keep(self, kind: str, text: str = "", verdict: str = "") -> None:
        self.progress.record(self._exercise.id, self.question.id, kind, text, verdict)
