"""Requirements on each request, and headers of each response.

- The Host header must be a name of the console itself: a foreign name that resolves to this
  machine (DNS rebinding) gets nothing.
- A write must come from a page of the console: JSON, its own Origin, the session's token. A form
  or a script of another origin can send none of them.
- The content security policy lets a page load nothing but the console's own files, and turns
  `innerHTML = ...` into an error.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rillway.console.access.login import Session, is_same

POLICY = "; ".join((
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
))  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}
TOKEN_HEADER = "X-Rillway-Token"


def is_loopback(address: str) -> bool:
    return address in LOOPBACK_NAMES or address.startswith("127.")


class Guard:
    """ASGI middleware: refuses foreign Host headers, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts} | LOOPBACK_NAMES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # The path as sent: `/` in a key is %2F, and UTF-8 is not assumed.
        scope["path"] = scope["raw_path"].decode("ascii")

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if host_name(Headers(scope=scope).get("host", "")) in self._hosts:
            await self._app(scope, receive, send_guarded)
        else:
            refusal = PlainTextResponse("unknown Host: see --allow-host\n", status_code=403)
            await refusal(scope, receive, send_guarded)


def host_name(host: str) -> str:
    """Return the name in a Host header, in lower case; empty if it is malformed."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_same_origin(request: Request) -> bool:
    """Return True if a page of the console sent the request, according to the browser.

    Browsers send Sec-Fetch-Site over https and to loopback only. With it the scheme need not match:
    behind a proxy that terminates TLS, the page's scheme is not the console's.
    """
    origin, site = request.headers.get("origin", ""), request.headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    scheme, _, place = origin.partition("://")
    is_scheme = scheme == request.url.scheme or site is not None
    return is_scheme and place != "" and place == request.headers.get("host")


def refusal_of_write(request: Request, session: Session) -> str | None:
    """Return why the request may not write; None if it may."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return "a write is application/json"
    if not is_same_origin(request):
        return "a write comes from a page of the console"
    if not is_same(request.headers.get(TOKEN_HEADER, ""), session.token):
        return f"a write has the session's token in {TOKEN_HEADER}"
    return None
