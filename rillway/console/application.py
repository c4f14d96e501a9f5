"""The console as an ASGI application: routes, templates, common headers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.convertors import Convertor, IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from rillway.console import api, pages
from rillway.console.access.security import HEADERS, Guard
from rillway.console.calls import ApiError, error_answer
from rillway.console.console import Console

STATIC = Path(__file__).parent / "static"


class NameConvertor(Convertor[str]):
    """A segment of a path, still percent-encoded; a key may be empty."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class DatabaseConvertor(IntegerConvertor):
    """A number small enough for Python and for servers."""

    regex = "[0-9]{1,9}"


register_url_convertor("name", NameConvertor())
register_url_convertor("db", DatabaseConvertor())


def create(console: Console) -> Starlette:
    """Create the application, which opens and closes `console`."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await console.open()
        try:
            yield
        finally:
            await console.close()

    application = Starlette(
        routes=[
            *api.routes(console.settings.is_read_only),
            *pages.routes(),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=console.settings.hosts)],
        exception_handlers={
            HTTPException: http_error,
            ClientDisconnect: disconnected,
            Exception: defect,
        },
        lifespan=lifespan,
    )
    application.state.console = console
    return application


async def http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return failure(
        request, error.status_code, re.sub(r"[^A-Z]", "", error.detail.upper()), error.detail
    )


async def disconnected(_: Request, __: Exception) -> Response:
    """Answer a client that left before the end of the body."""
    return Response(status_code=400)


async def defect(request: Request, _: Exception) -> Response:
    """Answer after a defect, whose traceback is logged. This response passes no middleware."""
    answer = failure(request, 500, "DEFECT", "The console failed; its log says where.")
    answer.headers.update(HEADERS)
    return answer


def failure(request: Request, status: int, code: str, text: str) -> Response:
    error = ApiError(status, code, text)
    if request.url.path.startswith("/api/"):
        return error_answer(error)
    return pages.error_page(request, error)
