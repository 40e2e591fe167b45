"""The addresses of exercises, and of what a learner does in them.

A form answers with a redirect to the page that it came from, which shows what is kept; asked for a part alone
(our JavaScript does), with that question as it stands now.
"""

from __future__ import annotations

import secrets
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from ...errors import AnswerError
from ...workbook.answering import keep_answer
from ...workbook.exercises import Exercise
from ...workbook.hinting import next_hint
from ...workbook.keeping import Kept
from ...workbook.questions import CodeQuestion, ExplainQuestion, Question
from ...workbook.standing import point_text, standing
from .exercise_page import exercise_named, exercise_page, question_named
from .forms import answer_in, typed_in
from .question_views import judge_once, question_view
from .rendering import page, templates

PART = "headwork-part"  # the header with which our JavaScript asks for one question alone
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
    """Drawing numbers takes a moment, so it is done where other work is."""
    found: Exercise = await request.app.state.desk.work(exercise_named, request.path_params["name"])
    return found


async def _done(request: Request, form: Form, act: Any) -> Response:
    """Keep something, then show the question as it stands."""
    found = await _exercise(request)
    at = question_named(found, request.path_params["question"])
    is_part = PART in request.headers
    error, made = await request.app.state.desk.ask(_act, found, at, form, act, is_part)
    if is_part:
        token = request.scope["state"]["token"]
        view, is_done = made
        html = templates().get_template("question.html").render(exercise=found, q=view, token=token)
        headers = {"Headwork-Done": "1"} if is_done else {}
        return HTMLResponse(html, 422 if error else 200, headers)
    if error:
        return page(request, "exercise.html", "contents", 422, page=made, warning=made.warning)
    return RedirectResponse(f"/exercise/{found.id}#q-{found.questions[at].id}", 303)


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
        return error, (question_view(exercise, at, acts, error, typed), is_done)
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
