"""Templates: found in the package, escaped always, with what each page needs of the request."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ... import __version__
from .prose import line, mathml, opened, prose, signs

THEMES = ("light", "dark")


@cache
def templates() -> Environment:
    """Every template, read once."""
    made = Environment(
        loader=PackageLoader("headwork.interfaces.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"prose": prose, "line": line, "signs": signs, "mathml": mathml, "opened": opened}
    return made


def page(request: Request, template: str, here: str = "", status: int = 200, **values: Any) -> HTMLResponse:
    """A page.

    request   what is answered; template: its file; here: the place in the masthead; status: of HTTP
    values    that the template names
    Raises nothing. Special cases: the theme comes from a cookie, and without one from the system.
    """
    theme = request.cookies.get("theme", "")
    common = {
        "here": here,
        "theme": theme if theme in THEMES else "",
        "token": request.scope["state"]["token"],
        "version": __version__,
        "warning": "",
    }
    return HTMLResponse(templates().get_template(template).render(common | values), status)
