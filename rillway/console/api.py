"""The HTTP API: JSON. Names and values are strings, or {"base64": ...} where they are not UTF-8.

Errors are `{"error": {"code": "NOPERM", "text": "..."}}`; the code is the server's, or one of
LOGIN, TOKEN, ROLE, BAD, GONE, AUDIT, UNREACHABLE.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import redis
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from rillway.command_line.arguments import is_id, moment
from rillway.console import queue_views, views
from rillway.console.console import Console
from rillway.console.data import actions
from rillway.console.data.actions import MAX_IDS, ActionResult, Refused
from rillway.console.data.entries import MAX_PAGE_ENTRIES, PAGE_ENTRIES, Entry, Query, read_page
from rillway.console.data.facts import read_cluster
from rillway.console.data.groups import (
    Pending,
    read_consumers,
    read_findings,
    read_groups,
    read_pending,
)
from rillway.console.data.link import UNREACHABLE, Link, error_code
from rillway.console.formats import SHOWN_BYTES, cut, from_path
from rillway.console.history import SPANS
from rillway.console.login import COOKIE, Session
from rillway.console.security import refusal_of_write
from rillway.console.users import Role
from rillway.console.watch import Watch
from rillway.json_bytes import from_json, to_json
from rillway.pipeline.why.findings import Finding
from rillway.pipeline.wire.ids import format_id, make_id, parse_id
from rillway.queues.finder import Known
from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import ACTIONS, STATES, Action, State
from rillway.queues.queue import Refused as QueueRefused
from rillway.sampler import GroupFigures, StreamFigures

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
    named = request.headers.get(PROXY_HEADER)
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
    """Return the endpoint of a write, which must come from a page; see security.py."""
    action = path.rpartition("/")[2]
    least = least_role(action)

    async def checked(call: Call) -> Any:
        refusal = refusal_of_write(call.request, call.session)
        if refusal is not None:
            raise ApiError(403, "TOKEN", refusal)
        if call.session.role < least:
            raise ApiError(403, "ROLE", f"this is for the role {least.name.lower()}")
        call.body = await read_body(call.request)
        return await audited(call, action, handler)

    return reading(checked)


async def audited(call: Call, action: str, handler: Handler) -> Any:
    """Do a write, and note who did it. Raises ApiError if it cannot be noted."""
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
        audit.write(
            file, user=call.session.user, address=address_of(call.request), action=action,
            db=call.db, keys=keys, outcome=outcome,
        )  # fmt: skip


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


# -- figures ---------------------------------------------------------------------------------------


async def server(call: Call) -> Any:
    watch = await call.watch()
    figures = watch.sampler.server.as_json()
    for name in ("slow", "latency", "client_list", "replicas"):
        figures.pop(name)
    return figures | {"streams": watch.sampler.known_streams, "age_ms": watch.age_ms}


async def slow(call: Call) -> Any:
    watch = await call.watch()
    figures = watch.sampler.server.as_json()
    return {"slow": figures["slow"], "latency": figures["latency"], "age_ms": watch.age_ms}


async def memory(call: Call) -> Any:
    watch = await call.watch()
    figures = watch.sampler.server
    largest = [one.as_json() for one in views.Memory().largest(watch)]
    return {
        "used_memory_bytes": figures.used_memory_bytes,
        "max_memory_bytes": figures.max_memory_bytes,
        "streams": [
            {name: one[name] for name in ("db", "name", "memory_bytes")} for one in largest
        ],
        "age_ms": watch.age_ms,
    }


async def clients(call: Call) -> Any:
    watch = await call.watch()
    figures = watch.sampler.server.as_json()
    return {
        "clients": figures["client_list"],
        "count": figures["clients"],
        "blocked": figures["blocked"],
        "age_ms": watch.age_ms,
    }


async def replication(call: Call) -> Any:
    watch = await call.watch()
    figures = watch.sampler.server.as_json()
    names = ("role", "primary", "primary_link_up", "primary_silent_s", "replicas")
    cluster = await read_cluster(call.link, call.db)
    return {name: figures[name] for name in names} | {"cluster": cluster, "age_ms": watch.age_ms}


async def streams(call: Call) -> Any:
    watch = await call.watch()
    page, following, total = streams_view(call, call.limit()).page(watch)
    return {"items": [one.as_json() for one in page], "next": following, "total": total}


def streams_view(call: Call, limit: int) -> views.Streams:
    sort = call.text("sort", "-lag")
    if sort.removeprefix("-") not in views.SORTS:
        raise ApiError(400, "BAD", f"sort: expected one of {', '.join(views.SORTS)}")
    return views.Streams(match=call.text("match"), sort=sort, after=call.text("after"), limit=limit)


# -- one stream ------------------------------------------------------------------------------------


def entries_query(call: Call) -> Query:
    return Query(
        first=call.bound("from", "-"),
        last=call.bound("to", "+"),
        before=call.id("before"),
        after=call.id("after"),
        find=call.text("find"),
        limit=call.limit(),
    )


async def entries(call: Call) -> Any:
    page = await read_page(call.link, call.db, call.key, entries_query(call))
    return {
        "entries": [entry_json(one) for one in page.entries],
        "next": page.next,
        "scanned": page.scanned,
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "fields": [[to_json(cut(name)), to_json(cut(value))] for name, value in entry.fields],
        "truncated": any(len(word) > SHOWN_BYTES for pair in entry.fields for word in pair),
    }


async def groups(call: Call) -> Any:
    found = await call.groups()
    return {"groups": [one.as_json() for one in found]}


async def group(call: Call) -> Any:
    found = [one for one in await call.groups() if one.name == call.group]
    if not found:
        raise ApiError(404, "NOGROUP", "there is no such group")
    consumers = await read_consumers(call.link, call.db, call.key, call.group)
    return found[0].as_json() | {"consumers": [one.as_json() for one in consumers]}


async def why(call: Call) -> Any:
    return {"findings": [one.as_json() for one in await findings_of(call)]}


async def findings_of(call: Call) -> list[Finding]:
    """Return what holds a group, by its newest figures. Raises ApiError, redis.RedisError."""
    watch = await call.watch()
    known, stream = watch.group(call.key, call.group), watch.stream(call.key)
    if known is None or stream is None:  # no sample has it yet
        found = [one for one in await call.groups() if one.name == call.group]
        if not found:
            raise ApiError(404, "NOGROUP", "there is no such group")
        length = await call.link.call(call.db, "XLEN", call.key)
        known, stream = found[0], StreamFigures(call.db, call.key, 0, length)
    return await read_findings(call.link, call.db, stream, known)


async def pending(call: Call) -> Any:
    consumer = from_path(call.text("consumer")) if call.text("consumer") else None
    limit = call.limit()
    found = await read_pending(
        call.link, call.db, call.key, call.group,
        after=call.id("after"), consumer=consumer, limit=limit,
    )  # fmt: skip
    following = found[-1].id if len(found) == limit else None
    return {"pending": [pending_json(one) for one in found], "next": following}


def pending_json(entry: Pending) -> dict[str, Any]:
    return {
        "id": entry.id,
        "consumer": to_json(entry.consumer),
        "idle_ms": entry.idle_ms,
        "deliveries": entry.deliveries,
    }


async def history(call: Call) -> Any:
    span = call.span()
    watch = await call.watch()
    samples = watch.history.samples((call.key, call.group), span)
    return {
        "t": [one.time_s for one in samples],
        "lag": [one.lag for one in samples],
        "pending": [one.pending for one in samples],
        "age": [one.age_s for one in samples],
    }


# -- writes ----------------------------------------------------------------------------------------


async def add(call: Call) -> Any:
    entry_id = await actions.add(call.link, call.db, call.key, call.fields())
    return {"done": 1, "gone": [], "id": entry_id}


async def acknowledge(call: Call) -> Any:
    return outcome(await actions.acknowledge(call.link, call.db, call.key, call.group, call.ids()))


async def claim(call: Call) -> Any:
    min_idle_ms = call.body.get("min_idle_ms", 0)
    if not isinstance(min_idle_ms, int) or not 0 <= min_idle_ms < 1 << 53:
        raise ApiError(400, "BAD", "min_idle_ms: expected milliseconds")
    consumer = call.name("consumer")
    return outcome(
        await actions.claim(
            call.link, call.db, call.key, call.group, call.ids(), consumer, min_idle_ms
        )
    )


async def dead_letter(call: Call) -> Any:
    to = call.console.settings.dead_letters_of(call.key)
    return outcome(
        await actions.dead_letter(call.link, call.db, call.key, call.group, call.ids(), to)
    )


async def redrive(call: Call) -> Any:
    dead = call.console.settings.dead_letters_of(call.key)
    return outcome(await actions.redrive(call.link, call.db, call.key, dead, call.ids()))


def outcome(found: ActionResult) -> dict[str, Any]:
    return {"done": found.done, "gone": found.gone}


# -- queues ----------------------------------------------------------------------------------------


async def queues(call: Call) -> Any:
    found = await (await call.watch()).queues.ready()
    return {
        "items": [one.as_json() for one in found.finder.queues],
        "complete": found.finder.has_passed,
    }


async def known_queue(call: Call) -> Known:
    """Return the queue that the path names. Raises ApiError."""
    found = await (await call.watch()).queues.ready()
    label = from_path(call.request.path_params["queue"])
    known = found.finder.find(call.request.path_params["framework"], label)
    if known is None:
        raise ApiError(404, "GONE", "there is no such queue")
    return known


def state_of(call: Call) -> State:
    state = call.text("state", "waiting")
    if state not in STATES:
        raise ApiError(400, "BAD", f"state: expected one of {', '.join(STATES)}")
    return state


async def jobs(call: Call) -> Any:
    known = await known_queue(call)
    first, limit = call.number("offset", 0, 10_000_000), call.limit()
    found = await (await call.watch()).queues.jobs(known, state_of(call), first, limit)
    return {
        "jobs": [one.as_json() for one in found],
        "next": first + limit if len(found) == limit else None,
    }


def job_action(action: Action) -> Handler:
    """Return the handler of an action on jobs."""

    async def handler(call: Call) -> Any:
        known = await known_queue(call)
        if action not in BY_NAME[known.queue.framework].actions:
            raise ApiError(409, "ERR", f"jobs of {known.queue.framework} are shown only")
        done = await (await call.watch()).queues.act(known, action, call.job_ids())
        return {"done": done}

    return handler


# -- events ----------------------------------------------------------------------------------------


async def events(call: Call) -> Response:
    """Send the events of a view; `key` and `group` are percent-encoded twice, as in paths."""
    view = view_of(call)
    since = call.request.headers.get("last-event-id") or call.text("since") or None
    if since is not None:
        since = id_or_error(since)
    audience = await call.console.audience(call.session, call.db)
    secret = call.request.cookies.get(COOKIE)

    async def body() -> Any:
        async with audience.viewer(view, since) as viewer:
            async for data in viewer.events(lambda: call.console.is_open(call.session, secret)):
                yield data

    return StreamingResponse(body(), media_type="text/event-stream")


def id_or_error(text: str) -> str:
    try:
        return format_id(parse_id(text))
    except ValueError as error:
        raise ApiError(400, "BAD", str(error)) from None


PLAIN_VIEWS: dict[str, type[views.BaseView]] = {
    "overview": views.Overview,
    "slow": views.Slow,
    "memory": views.Memory,
    "clients": views.Clients,
    "replication": views.Replication,
    "header": views.BaseView,
    "queues": queue_views.Queues,
}


def view_of(call: Call) -> views.View:
    name = call.text("view")
    if name in PLAIN_VIEWS:
        return PLAIN_VIEWS[name]()
    key, group_name = from_path(call.text("key")), from_path(call.text("group"))
    if name == "streams":
        return streams_view(call, views.PAGE_ROWS)
    if name == "stream":
        tailed = key if call.text("tail") else None
        return views.StreamView(opened=key, tailed=tailed, name=key)
    if name == "group":
        return views.GroupView(opened=key, name=key, group=group_name)
    if name == "queue":
        return queue_views.QueueView(framework=call.text("framework"), label=key)
    raise ApiError(400, "BAD", "view: there is no such view")


# -- routes ----------------------------------------------------------------------------------------

STREAM = "/api/s/{db:db}/{key:name}"
GROUP = STREAM + "/g/{group:name}"
QUEUE = "/api/q/{db:db}/{framework}/{queue:name}"
READS: dict[str, Handler] = {
    "/api/server": server,
    "/api/slow": slow,
    "/api/memory": memory,
    "/api/clients": clients,
    "/api/replication": replication,
    "/api/streams": streams,
    STREAM + "/entries": entries,
    STREAM + "/groups": groups,
    GROUP: group,
    GROUP + "/pending": pending,
    GROUP + "/why": why,
    GROUP + "/history": history,
    "/api/queues": queues,
    QUEUE + "/jobs": jobs,
    "/events": events,
}
WRITES: dict[str, Handler] = {
    STREAM + "/entries": add,
    STREAM + "/redrive": redrive,
    GROUP + "/ack": acknowledge,
    GROUP + "/claim": claim,
    GROUP + "/dead-letter": dead_letter,
    **{f"{QUEUE}/{action}": job_action(action) for action in ACTIONS},
}


def routes(is_read_only: bool) -> Iterable[BaseRoute]:
    """Yield the routes; a read-only console has none that write."""
    for path, handler in READS.items():
        yield Route(path, reading(handler), methods=["GET"])
    if not is_read_only:
        for path, handler in WRITES.items():
            yield Route(path, writing(path, handler), methods=["POST"])
