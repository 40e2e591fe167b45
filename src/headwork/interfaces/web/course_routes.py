"""The addresses of exercises, and of what a learner does in them.

A form answers with a redirect to the page that it came from, which shows what is kept; asked for a part alone
(our JavaScript does), with that question as it stands now.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)

from ...errors import AnswerError, HeadworkError
from ...workbook.answering import keep_answer
from ...workbook.exercises import Exercise
from ...workbook.hinting import next_hint
from ...workbook.keeping import Kept
from ...workbook.questions import CodeQuestion, ExplainQuestion, Question, StepQuestion
from ...workbook.standing import point_text, standing
from .addresses import at_hand, exercise_named, keep_at_hand, question_named, shared
from .desk import Desk
from .exercise_page import exercise_page
from .explaining import Asked, Explained, explained, judge_once, prepare, prepare_marks
from .forms import answer_in, typed_in
from .question_views import QuestionView, question_view
from .rendering import page, templates

PART = "headwork-part"  # the header with which our JavaScript asks for one question alone
MARKS = "Headwork-Marks"  # bytes of the answer up to where what explains it follows
NOT_FOUND = Explained("What gives these numbers could not be found out. Reload the page to try again.", ())
SEEDS = 10_000
WORDS = ("yes", "partly", "no")
LONGEST = 20_000  # characters of an explanation
Form = dict[str, list[Any]]


async def exercise(request: Request) -> Response:
    """An exercise; under another spelling of its name, where it is."""
    name = request.path_params["name"]
    found = await _exercise(request)
    if found.id != name:
        return RedirectResponse(f"/exercise/{found.id}", 303)
    made = await request.app.state.desk.ask(exercise_page, found)
    for question in reversed([one for one in found.questions if isinstance(one, StepQuestion)]):
        # the first one last, so that it comes first
        request.app.state.desk.ahead(prepare_marks, prepare, found.id, question.id)
    return page(request, "exercise.html", "contents", page=made, warning=made.warning)


async def fresh(request: Request) -> Response:
    """On to numbers of a seed that nobody has chosen."""
    name = request.path_params["name"].partition("@")[0]
    return RedirectResponse(f"/exercise/{name}@{secrets.randbelow(SEEDS)}", 303)


async def answer(request: Request, form: Form) -> Response:
    """An answer is kept and marked."""
    return await _done(request, form, _keep)


async def explanation(request: Request, form: Form) -> Response:
    """An explanation is kept."""
    return await _done(request, form, _explain)


async def draft(request: Request, form: Form) -> Response:
    """An explanation that is not at its end is kept, as far as it is."""
    found = await _exercise(request)
    question = found.questions[question_named(found, request.path_params["question"])]
    await request.app.state.desk.ask(_keep_draft, found, question, _text(form))
    return Response(status_code=204)


async def compared(request: Request, form: Form) -> Response:
    """What the learner says of each point."""
    return await _done(request, form, _compare)


async def hint(request: Request, form: Form) -> Response:
    """The next hint is open."""
    return await _done(request, form, _hint)


async def solution(request: Request, form: Form) -> Response:
    """The worked solution is open."""
    return await _done(request, form, _solution)


async def newest(request: Request) -> Response:
    """A question in code as it stands, where the terminal has kept something since the page was made."""
    found = await _exercise(request)
    at = question_named(found, request.path_params["question"])
    if not isinstance(found.questions[at], CodeQuestion):  # nothing else changes by itself
        return Response(status_code=204)
    acts = await request.app.state.desk.ask(lambda kept: kept.progress.acts(found.id))
    view = question_view(found, at, acts)
    if view.checked is None or view.checked.act == request.query_params.get("act"):
        return Response(status_code=204)
    return _part(request, found, view, standing(found, acts).state == "done")


async def read_block(request: Request, form: Form) -> Response:
    """The entries of a block that was pasted, as text in rows."""
    from ...diagnosis.typed import read_entries

    try:
        entries = await request.app.state.desk.work(read_entries, str((form.get("block") or [""])[0]))
    except AnswerError as error:
        return JSONResponse({"error": str(error)}, 422)
    rows = [[number.text if number else "" for number in row] for row in entries.rows]
    return JSONResponse({"rows": rows})


# --- one act ---------------------------------------------------------------------------------------


async def _exercise(request: Request) -> Exercise:
    """Drawing numbers takes a moment, so it is done where nobody else waits for it."""
    name, desk = request.path_params["name"], request.app.state.desk
    found = at_hand(name)
    if found is not None:
        return found
    if "@" in name:
        found = await desk.work(shared, name) or await desk.beside(exercise_named, name)
    return keep_at_hand(name, found or await desk.work(exercise_named, name))


async def _done(request: Request, form: Form, act: Any) -> Response:
    """Keep something, then show the question as it stands."""
    found = await _exercise(request)
    at = question_named(found, request.path_params["question"])
    is_part = PART in request.headers
    error, made = await request.app.state.desk.ask(_act, found, at, form, act, is_part)
    if is_part:
        view, is_done = made
        return _part(request, found, view, is_done, 422 if error else 200)
    if error:
        return page(request, "exercise.html", "contents", 422, page=made, warning=made.warning)
    return RedirectResponse(f"/exercise/{found.id}#q-{found.questions[at].id}", 303)


def _part(
    request: Request, exercise: Exercise, view: QuestionView, is_done: bool, status: int = 200
) -> Response:
    """One question alone, and whether its exercise is done."""
    token = request.scope["state"]["token"]
    html = templates().get_template("question.html").render(exercise=exercise, q=view, token=token)
    headers = {"Headwork-Done": "1"} if is_done else {}
    if view.awaits is None:
        return HTMLResponse(html, status, headers)
    marks = html.encode()
    parts = _explained(request.app.state.desk, marks, view.awaits)
    return StreamingResponse(parts, status, headers | {MARKS: str(len(marks))}, "text/html; charset=utf-8")


async def _explained(desk: Desk, marks: bytes, asked: Asked) -> AsyncIterator[bytes]:
    """The marks at once, then what explains the answer: nobody waits for the one to see the other."""
    yield marks
    template = templates().get_template("explanation.html")
    try:
        found = await desk.explain(explained, asked)
    except (HeadworkError, TimeoutError):
        yield template.render(explained=NOT_FOUND).encode()
    else:
        yield template.render(explained=found).encode() if found else b""


def _act(kept: Kept, exercise: Exercise, at: int, form: Form, act: Any, is_part: bool) -> tuple[str, Any]:
    """What went wrong, and what there is to show: the question alone, or the page where something did."""
    question, error = exercise.questions[at], ""
    try:
        act(kept, exercise, question, form)
    except AnswerError as unreadable:
        error = str(unreadable)
    typed = typed_in(question, form) if error else None
    if is_part:
        acts = kept.progress.acts(exercise.id)
        is_done = standing(exercise, acts).state == "done"
        return error, (question_view(exercise, at, acts, error, typed, is_part=True), is_done)
    return error, exercise_page(kept, exercise, {question: (error, typed or {})}) if error else None


def _keep(kept: Kept, exercise: Exercise, question: Question, form: Form) -> None:
    if isinstance(question, ExplainQuestion | CodeQuestion):
        raise HTTPException(400)
    keep_answer(kept.progress, exercise, question, answer_in(exercise, question, form), judge_once)


def _text(form: Form) -> str:
    return str((form.get("text") or [""])[0])[:LONGEST].strip().replace("\r\n", "\n")


def _explain(kept: Kept, exercise: Exercise, question: Question, form: Form) -> None:
    _check_explained(question)
    if not _text(form):
        raise AnswerError("Write a sentence or two first; then ours is shown beside it.")
    kept.progress.record(exercise.id, question.id, "explanation", _text(form))


def _keep_draft(kept: Kept, exercise: Exercise, question: Question, text: str) -> None:
    _check_explained(question)
    kept.progress.record(exercise.id, question.id, "draft", text)


def _compare(kept: Kept, exercise: Exercise, question: Question, form: Form) -> None:
    points = _check_explained(question).points
    said = [str((form.get(f"p{at + 1}") or [""])[0]) for at in range(len(points))]
    if not any(word in WORDS for word in said):
        raise AnswerError("Say of each point whether yours has it: yes, partly or no.")
    for at, word in enumerate(said):
        if word in WORDS:
            kept.progress.record(exercise.id, question.id, "compared", point_text(at), word)


def _check_explained(question: Question) -> ExplainQuestion:
    if not isinstance(question, ExplainQuestion):
        raise HTTPException(400)
    return question


def _hint(kept: Kept, exercise: Exercise, question: Question, form: Form) -> None:
    next_hint(kept.progress, exercise, question)


def _solution(kept: Kept, exercise: Exercise, question: Question, form: Form) -> None:
    kept.progress.record(exercise.id, question.id, "solution")
