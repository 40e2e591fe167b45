"""The addresses of the bench. Everything that it shows stands in its address, so a link restores it."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from ...errors import FileError, HeadworkError, TooLargeError, UnknownNameError
from ..files import problem_in
from .bench_state import State, checked, state_in, state_of, worked_state
from .guarding import MOST_UPLOAD
from .prose import opened, signs
from .rendering import page

ASKED = ("at", "mistake", "answer", "step", "blind")
MOST_UNPACKED = 4 * MOST_UPLOAD  # bytes that an archive may say it holds


async def bench(request: Request) -> Response:
    """The bench with the numbers of the address."""
    from .bench_page import bench_page

    query = request.query_params
    asked = {name: query[name] for name in ASKED if name in query}
    values = await request.app.state.desk.work(bench_page, state_in(query), asked)
    return page(request, "bench.html", "bench", 422 if values["error"] else 200, **values)


async def cell(request: Request) -> Response:
    """How one cell came about, as data for our JavaScript."""
    lines = await request.app.state.desk.work(
        _cell, state_in(request.query_params), dict(request.query_params)
    )
    return JSONResponse({"lines": [(name, signs(text)) for name, text in lines]})


def _cell(state: State, query: dict[str, str]) -> list[tuple[str, str]]:
    from ..grids import EVERY, places_of
    from .bench_page import cell_asked, cell_lines, output_lines

    work = worked_state(state)
    name, _, table = query.get("field", "").rpartition("-")
    if not name or name in ("scores", "scaled", "capped", "biased", "masked", "exponentials", "weights"):
        return list(cell_lines(work, cell_asked(work, query.get("at", ""))))
    numbers = [int(part) - 1 for part in query.get("at", "").split(",") if part.isdecimal() and len(part) < 4]
    if name not in work or not table.isdecimal():
        raise UnknownNameError("there is no such cell.")
    places = list(places_of(work, name, EVERY))
    place = places[min(int(table[:4]), len(places) - 1)]
    depth = work[name].ndim - len(place)
    return list(output_lines(work, name, (*place, *numbers[-2:][:depth])))


async def export(request: Request) -> Response:
    """The problem and its results as a file."""
    from .exports import FORMATS

    state, kind = state_in(request.query_params), request.query_params.get("as", "json")
    if kind not in FORMATS:
        raise UnknownNameError(f"there is no such format. There are {', '.join(FORMATS)}.")
    write, suffix, media, _ = FORMATS[kind]
    written = await request.app.state.desk.work(lambda: write(worked_state(state)))
    headers = {"Content-Disposition": f'attachment; filename="headwork.{suffix}"'}
    return Response(written, media_type=media, headers=headers)


async def upload(request: Request, form: dict[str, list[Any]]) -> Response:
    """A file is read, and its numbers become an address; the file itself is not kept."""
    given = (form.get("file") or [None])[0]
    if not isinstance(given, UploadFile) or not given.size:
        raise FileError("Choose a file first: .json, .npz or .safetensors.")
    raw = await given.read(MOST_UPLOAD + 1)
    try:
        state = await request.app.state.desk.work(_state_of_file, raw, (given.filename or "").lower())
    except HeadworkError as error:
        text = opened(str(error))
        return page(request, "message.html", "bench", 422, title="The file cannot be shown", text=text)
    return RedirectResponse(state.address(), 303)


def _state_of_file(raw: bytes, name: str) -> State:
    """What the file holds; its name says nothing but which of three endings it has."""
    ending = next((each for each in (".npz", ".npy", ".safetensors") if name.endswith(each)), ".json")
    if raw.startswith(b"PK"):
        _check_archive(raw)
    return state_of(checked(problem_in(raw, f"the file{ending}")))


def _check_archive(raw: bytes) -> None:
    """Refuse what says that it unpacks to more than the bench can use; what it says bounds what is read."""
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError):
        raise FileError(
            "the file is no .npz archive that can be read. Write it again, or use JSON."
        ) from None
    if size > MOST_UNPACKED:
        raise TooLargeError("the file unpacks to far more than the bench shows. Take fewer tokens or heads.")
