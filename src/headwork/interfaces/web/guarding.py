"""What every request has to pass before a page is made: its host, its origin, its size, its time.

A page on another site can make a browser send requests here. It cannot send a Host header that is ours, even
where its own name points at this machine (DNS rebinding); nor read our cookie, nor drop the Origin header.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import Collection
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("localhost", "127.0.0.1", "[::1]")
UPLOADS = ("/bench/file",)
MOST_BYTES = 256 * 2**10  # of a form: a 100 × 100 grid, typed
MOST_UPLOAD = 4 * 2**20  # of a file; the bench shows far less than that holds
MOST_URL = 32 * 2**10  # characters of a query, which holds the state of the bench
MOST_SECONDS = 15.0  # until all of a body is here
TOKEN = "headwork"  # the cookie that a form has to repeat
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class BodyError(HTTPException):
    """A body that is larger or slower than any that a page sends."""


class Guard:
    """The application behind checks.

    Fields
    app    what answers when a request has passed
    names  host names that are served; None serves every name, for a server that others may reach
    """

    def __init__(self, app: ASGIApp, names: Collection[str] | None = NAMES) -> None:
        self.app = app
        self.names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        send = _with_headers(scope, headers, send)
        if refused is not None:
            status, said = refused
            await PlainTextResponse(said, status)(scope, receive, send)
            return
        most = MOST_UPLOAD if scope["path"] in UPLOADS else MOST_BYTES
        await self.app(scope, _limited(receive, most), send)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) > 1:
            return 400, "The address of this request can be read in two ways."
        if not self._serves(host):
            return 421, "This address does not belong to Headwork."
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > MOST_URL:
            return 414, "The address is too long."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "Only GET, HEAD and POST are answered."
        if scope["method"] == "POST" and not _is_own(headers, host):
            return 403, "This came from another site. Nothing was done."
        length = headers.get("content-length", "0")
        most = MOST_UPLOAD if scope["path"] in UPLOADS else MOST_BYTES
        if not length.isdecimal() or len(length) > 18 or int(length) > most:
            return 413, _too_large(most)
        return None

    def _serves(self, host: str) -> bool:
        """Whether a Host header is ours: a name of ours, or an address, which no name server can fake."""
        name = _name_of(host)
        if name in NAMES or (self.names and name in self.names):
            return True
        return self.names is None and name != "" and (_is_address(name) or "." not in name)


def _name_of(host: str) -> str:
    """The host without its port, in small letters."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_own(headers: Headers, host: str) -> bool:
    """Whether a form came from a page of ours, as far as the browser says where it came from."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == host.lower()


def _too_large(most: int) -> str:
    return f"That is too large: at most {most // 2**10:,} KiB are read."


def _limited(receive: Receive, most: int) -> Receive:
    """The body as it comes in, up to a size and a time."""
    loop = asyncio.get_running_loop()
    until, size, is_whole = loop.time() + MOST_SECONDS, 0, False

    async def limited() -> Message:
        nonlocal size, is_whole
        if is_whole:  # what comes now is that the browser went away, whenever that is
            return await receive()
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise BodyError(408, "The request did not end in time.") from None
        size += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if size > most:
            raise BodyError(413, _too_large(most))
        return message

    return limited


def _with_headers(scope: Scope, headers: Headers, send: Send) -> Send:
    """Every answer says what a page may do; the first one brings the cookie that forms repeat."""
    token = token_in(headers.get("cookie", ""))
    is_new = token is None
    scope.setdefault("state", {})["token"] = token = token or secrets.token_hex(16)

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                answer[name] = value
            answer.setdefault("Cache-Control", "no-store")
            if is_new:
                answer.append("Set-Cookie", f"{TOKEN}={token}; Path=/; HttpOnly; SameSite=Strict")
        await send(message)

    return sending


def token_in(cookies: str) -> str | None:
    """The token that a Cookie header has; None for none, or for something that we did not make.

    cookies  the header
    Raises nothing. Special cases: none.
    """
    try:
        found = SimpleCookie(cookies).get(TOKEN)
    except Exception:  # CookieError, and whatever else a hostile header brings up
        return None
    value = found.value if found else ""
    return value if len(value) == 32 and value.isascii() and value.isalnum() else None
