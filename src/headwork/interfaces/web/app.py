"""The application: every address and what answers it, in one table."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import FileError, HeadworkError, UnknownNameError
from . import contents_page
from .desk import Desk
from .guarding import NAMES, Guard
from .prose import opened
from .rendering import page

STATIC = Path(__file__).with_name("static")
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FILES = ("headwork.css", "headwork.js", "bench.js", "icon.svg")
URL_ENCODED = "application/x-www-form-urlencoded"
MOST_FIELDS = 12_000  # the bench takes matrices of up to 100 × 100
LONGEST = 64 * 2**10  # of one field: what is read of it is worked with
STATED = {
    400: ("This could not be read", "The form that was sent is not one of ours."),
    403: (
        "This form has expired",
        "Go back, reload the page, and send it again. What you typed is still there.",
    ),
    404: ("There is no such page", "The contents have everything that there is."),
    405: ("This address takes something else", "The contents have everything that there is."),
    408: ("That took too long", "The form did not arrive in time. Send it again."),
    413: ("That is too large", "The bench shows small numbers; files of up to 4 MiB are read."),
}


def make_app(
    progress: Path | None = None,
    names: Collection[str] | None = NAMES,
    beside: Executor | None = None,
) -> Guard:
    """The application, behind its guard.

    progress  the file that progress is kept in, None for the user's own
    names     the host names that it answers to; None for every one that no name server can fake
    beside    a process that draws fresh numbers and explains; None does it here
    Raises nothing: the file is opened with the first request. Special cases: none.
    """
    desk = Desk(progress, beside)

    @asynccontextmanager
    async def running(app: Starlette) -> Any:
        yield
        desk.close()

    app = Starlette(routes=_routes(), exception_handlers=_handlers(), lifespan=running)
    app.state.desk = desk
    return Guard(app, names)


def _routes() -> list[Route]:
    get, post = ["GET"], ["POST"]
    exercise = "/exercise/{name}"
    question = exercise + "/{question}"
    return [
        Route("/", contents_page.contents, methods=get),
        Route("/keys", contents_page.keys, methods=get),
        Route("/read", _own(_later("course_routes", "read_block")), methods=post),
        Route(exercise, _later("course_routes", "exercise"), methods=get),
        Route(exercise + "/fresh", _later("course_routes", "fresh"), methods=get),
        Route(question + "/newest", _later("course_routes", "newest"), methods=get),
        Route(question + "/answer", _own(_later("course_routes", "answer")), methods=post),
        Route(question + "/explanation", _own(_later("course_routes", "explanation")), methods=post),
        Route(question + "/draft", _own(_later("course_routes", "draft")), methods=post),
        Route(question + "/compared", _own(_later("course_routes", "compared")), methods=post),
        Route(question + "/hint", _own(_later("course_routes", "hint")), methods=post),
        Route(question + "/solution", _own(_later("course_routes", "solution")), methods=post),
        Route("/mistakes", _later("catalogue_pages", "catalogue"), methods=get),
        Route("/mistakes/{name}", _later("catalogue_pages", "mistake"), methods=get),
        Route("/bench", _later("bench_routes", "bench"), methods=get),
        Route("/bench/cell", _later("bench_routes", "cell"), methods=get),
        Route("/bench/export", _later("bench_routes", "export"), methods=get),
        Route("/bench/file", _own(_later("bench_routes", "upload")), methods=post),
        Route("/static/{name}", static, methods=get),
    ]


def _later(module: str, name: str) -> Callable[..., Awaitable[Response]]:
    """What answers an address, loaded with its first request: the contents do without all of mathematics."""
    loaded: ModuleType | None = None

    async def handler(request: Request, *form: dict[str, list[Any]]) -> Response:
        nonlocal loaded
        if loaded is None:
            loaded = await request.app.state.desk.work(import_module, f"{__package__}.{module}")
        answered: Response = await getattr(loaded, name)(request, *form)
        return answered

    return handler


async def static(request: Request) -> Response:
    """A file of the package, by its name in a list.

    request  whose address has the name
    Raises HTTPException: no such file. Special cases: none.
    """
    name = request.path_params["name"]
    if name not in FILES:
        raise HTTPException(404)
    raw = (STATIC / FILES[FILES.index(name)]).read_bytes()
    caching = "max-age=31536000, immutable" if request.url.query else "max-age=300"
    return Response(raw, media_type=TYPES[name.rpartition(".")[2]], headers={"Cache-Control": caching})


# --- forms -----------------------------------------------------------------------------------------


def _own(answer: Callable[..., Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A handler of a form that has to repeat our cookie: another site cannot read it."""

    async def handler(request: Request) -> Response:
        async with _form(request) as form:
            token = request.scope["state"]["token"]
            given = str((form.get("token") or [""])[0])
            if not hmac.compare_digest(given.encode(), token.encode()):
                raise HTTPException(403)
            return await answer(request, form)

    return handler


@asynccontextmanager
async def _form(request: Request) -> AsyncIterator[dict[str, list[Any]]]:
    """What a form has under each name; its files are open until it ends."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == URL_ENCODED:  # nearly all of them, in a fraction of the time
        body = await request.body()
        try:
            form = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:  # too many fields, or no text
            raise HTTPException(400) from None
        if any(len(value) > LONGEST for values in form.values() for value in values):
            raise HTTPException(400)
        yield form
        return
    async with request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=LONGEST) as data:
        parts: dict[str, list[Any]] = {}
        for name, value in data.multi_items():
            parts.setdefault(name, []).append(value)
        yield parts


# --- what goes wrong ---------------------------------------------------------------------------------


def _handlers() -> dict[Any, Any]:
    return {
        ClientDisconnect: _gone,
        HTTPException: _stated,
        HeadworkError: _told,
        TimeoutError: _late,
        Exception: _fault,
    }


async def _gone(request: Request, error: Exception) -> Response:
    """Whoever asked went away half-way: nobody reads this, and nothing was done."""
    return Response(status_code=400)


async def _stated(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 400)
    title, text = STATED.get(status, ("That did not work", "The contents have everything that there is."))
    return page(request, "message.html", status=status, title=title, text=text)


async def _told(request: Request, error: Exception) -> Response:
    """What Headwork can say itself: an unknown name, numbers that cannot be worked, a full disk."""
    status = 404 if isinstance(error, UnknownNameError) else 503 if isinstance(error, FileError) else 422
    text = str(error)
    title = "There is no such page" if status == 404 else "That did not work"
    return page(request, "message.html", status=status, title=title, text=opened(text))


async def _late(request: Request, error: Exception) -> Response:
    text = "This took too long and was given up. Take fewer numbers, or try again in a moment."
    return page(request, "message.html", status=503, title="That took too long", text=text)


async def _fault(request: Request, error: Exception) -> Response:
    text = f"This is a fault in Headwork itself, not in what you typed ({type(error).__name__})."
    return page(request, "message.html", status=500, title="A fault in Headwork", text=text)
