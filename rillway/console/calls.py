"""A request of a viewer: who sent it, its parameters, what it may do, the form of errors.

Errors are `{"error": {"code": "NOPERM", "text": "..."}}`; the code is the server's, or one of
LOGIN, TOKEN, ROLE, BAD, GONE, AUDIT, UNREACHABLE.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import redis
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rillway.command_line.arguments import is_id, moment
from rillway.console.access.login import COOKIE, Session
from rillway.console.access.security import refusal_of_write
from rillway.console.access.users import Role
from rillway.console.console import Console
from rillway.console.data.actions import MAX_IDS, Refused
from rillway.console.data.entries import MAX_PAGE_ENTRIES, PAGE_ENTRIES
from rillway.console.data.groups import (
    read_groups,
)
from rillway.console.data.link import UNREACHABLE, Link, error_code
from rillway.console.formats import from_path
from rillway.console.history import SPANS
from rillway.console.watch import Watch
from rillway.json_bytes import from_json
from rillway.pipeline.wire.ids import format_id, make_id, parse_id
from rillway.queues.queue import Refused as QueueRefused
from rillway.sampler import GroupFigures

Handler: TypeAlias = Callable[["Call"], Awaitable[Any]]

BODY_BYTES = 16 << 20
MAX_FIELDS = 1000
# How a proxy that signs people in names them: see --trusted-proxy.
PROXY_HEADER = "X-Forwarded-User"
# What takes something away for good.
ADMIN_ACTIONS = {"remove"}
STATUSES = {
    "NOPERM": 403, "NOAUTH": 401, "WRONGPASS": 401, "NOGROUP": 404, "WRONGTYPE": 409, "OOM": 409,
    "READONLY": 409, "MISCONF": 409, "BUSYGROUP": 409, "LOADING": 502, "MASTERDOWN": 502,
}  # fmt: skip


class ApiError(Exception):
    """A response other than 200."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status, self.code = status, code


class Call:
    """An authorised request of a viewer, and its parameters. Raises ApiError for wrong ones."""

    def __init__(self, request: Request, session: Session) -> None:
        self.request, self.session = request, session
        self.console: Console = request.app.state.console
        self.body: dict[str, Any] = {}

    @property
    def link(self) -> Link:
        return self.session.link

    @property
    def db(self) -> int:
        number = self.request.path_params.get("db")
        if number is None:
            number = self.number("db", self.link.default_db, 1 << 16)
        return int(number)

    @property
    def key(self) -> bytes:
        return from_path(self.request.path_params["key"])

    @property
    def group(self) -> bytes:
        return from_path(self.request.path_params["group"])

    async def watch(self) -> Watch:
        """Return the watch of the database, with its figures. Raises redis.RedisError."""
        return (await self.console.audience(self.session, self.db)).watch

    async def groups(self) -> list[GroupFigures]:
        """Return the groups of the stream, with their policies unless the server has none."""
        policies = await self.may_have_policies()
        return await read_groups(self.link, self.db, self.key, policies=policies)

    async def may_have_policies(self) -> bool:
        """Return False if the server is known to have no policies."""
        return (await self.watch()).sampler.has_policies is not False

    def text(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    def number(self, name: str, default: int, most: int) -> int:
        text = self.text(name)
        if not text:
            return default
        if not text.isdecimal() or len(text) > len(str(most)) or int(text) > most:
            raise ApiError(400, "BAD", f"{name}: expected a number up to {most}")
        return int(text)

    def limit(self) -> int:
        return max(self.number("limit", PAGE_ENTRIES, MAX_PAGE_ENTRIES), 1)

    def span(self) -> str:
        """Return the span of a history."""
        span = self.text("span", "5m")
        if span not in SPANS:
            raise ApiError(400, "BAD", f"span: expected one of {', '.join(SPANS)}")
        return span

    def id(self, name: str) -> str | None:
        """Return the ID of an entry."""
        text = self.text(name)
        try:
            return format_id(parse_id(text)) if text else None
        except ValueError as error:
            raise ApiError(400, "BAD", f"{name}: {error}") from None

    def bound(self, name: str, default: str) -> str:
        """Return `from` or `to`: an ID, or a time such as -1h, exclusive at the end."""
        text = self.text(name).strip()
        if not text:
            return default
        try:
            if is_id(text) or text.isdecimal():
                return format_id(parse_id(text))
            bound = make_id(moment(text))
            return format_id(bound if name == "from" else max(bound - 1, 0))
        except ValueError as error:
            raise ApiError(400, "BAD", f"{name}: {error}") from None

    # -- parameters of a write ---------------------------------------------------------------------

    def ids(self) -> list[str]:
        ids = self.body.get("ids")
        if not isinstance(ids, list) or not 1 <= len(ids) <= MAX_IDS:
            raise ApiError(400, "BAD", f"ids: expected a list of 1 to {MAX_IDS} IDs")
        try:
            return list(dict.fromkeys(format_id(parse_id(str(one))) for one in ids))
        except ValueError as error:
            raise ApiError(400, "BAD", f"ids: {error}") from None

    def job_ids(self) -> list[str]:
        ids = self.body.get("ids")
        is_list = isinstance(ids, list) and all(isinstance(one, str) for one in ids)
        if not is_list or not ids or len(ids) > MAX_IDS:
            raise ApiError(400, "BAD", f"ids: expected a list of 1 to {MAX_IDS} texts")
        return list(dict.fromkeys(ids))

    def name(self, name: str) -> bytes:
        """Return a name that is not empty."""
        try:
            value = from_json(self.body.get(name))
        except ValueError as error:
            raise ApiError(400, "BAD", f"{name}: {error}") from None
        if not value:
            raise ApiError(400, "BAD", f"{name}: it is empty")
        return value

    def fields(self) -> list[tuple[bytes, bytes]]:
        pairs = self.body.get("fields")
        if not isinstance(pairs, list) or not 1 <= len(pairs) <= MAX_FIELDS:
            raise ApiError(400, "BAD", f"fields: expected a list of 1 to {MAX_FIELDS} pairs")
        try:
            return [(from_json(name), from_json(value)) for name, value in pairs]
        except (TypeError, ValueError) as error:
            raise ApiError(400, "BAD", f"fields: {error}") from None


# -- from request to answer ------------------------------------------------------------------------


def session_of(request: Request) -> Session | None:
    console: Console = request.app.state.console
    # More than one: a proxy has added its own to the viewer's.
    names = request.headers.getlist(PROXY_HEADER)
    named = names[0] if len(names) == 1 else "" if names else None
    return console.session(request.cookies.get(COOKIE), address_of(request), named)


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def reading(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a handler that returns JSON or a Response."""

    async def endpoint(request: Request) -> Response:
        try:
            session = session_of(request)
            if session is None:
                raise ApiError(401, "LOGIN", "log in first")
            answer = await handler(Call(request, session))
        except Exception as error:
            return error_answer(as_api_error(error))
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    return endpoint


def least_role(action: str) -> Role:
    return Role.ADMIN if action in ADMIN_ACTIONS else Role.OPERATOR


def writing(path: str, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a write, which must come from a page; see access/security.py."""
    action = path.rpartition("/")[2]
    least = least_role(action)

    async def checked(call: Call) -> Any:
        refusal = refusal_of_write(call.request, call.session)
        if refusal is not None:
            raise ApiError(403, "TOKEN", refusal)
        return await audited(call, action, allowed)

    async def allowed(call: Call) -> Any:
        if call.session.role < least:
            raise ApiError(403, "ROLE", f"this is for the role {least.name.lower()}")
        call.body = await read_body(call.request)
        return await handler(call)

    return reading(checked)


async def audited(call: Call, action: str, handler: Handler) -> Any:
    """Do a write, and note who did it, or wanted to. Raises ApiError if it cannot be noted."""
    audit = call.console.settings.audit
    if audit is None:
        return await handler(call)
    try:
        file = audit.open()
    except OSError as error:
        raise ApiError(409, "AUDIT", f"nothing was done: the audit file: {error}") from None
    outcome = "ok"
    try:
        return await handler(call)
    except Exception as error:
        outcome = "DEFECT"
        outcome = as_api_error(error).code
        raise
    finally:
        parts = call.request.path_params
        keys = [from_path(parts[name]) for name in ("key", "queue", "group") if name in parts]
        try:
            audit.write(
                file, user=call.session.user, address=address_of(call.request), action=action,
                db=call.db, keys=keys, outcome=outcome,
            )  # fmt: skip
        except OSError as error:
            raise ApiError(
                409, "AUDIT", f"{outcome}, but not noted: the audit file: {error}"
            ) from None


async def read_body(request: Request) -> dict[str, Any]:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > BODY_BYTES:
            raise ApiError(400, "BAD", f"more than {BODY_BYTES:,} bytes")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise ApiError(400, "BAD", "no JSON") from None
    if not isinstance(body, dict):
        raise ApiError(400, "BAD", "expected an object")
    return body


def as_api_error(error: Exception) -> ApiError:
    """Convert an error. Raises `error` itself if it is a defect of the console."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, redis.RedisError | Refused | QueueRefused):
        code, text = error_code(error), str(error)
        if isinstance(error, UNREACHABLE) and code not in STATUSES:
            return ApiError(502, "UNREACHABLE", text)
        status = 404 if "no such key" in text.lower() else STATUSES.get(code, 400)
        return ApiError(status, code, text.removeprefix(f"{code} "))
    if isinstance(error, OSError):
        return ApiError(502, "UNREACHABLE", str(error))
    raise error


def error_answer(error: ApiError) -> Response:
    text = str(error).encode(errors="backslashreplace").decode()  # half a surrogate pair of JSON
    return JSONResponse({"error": {"code": error.code, "text": text}}, status_code=error.status)
