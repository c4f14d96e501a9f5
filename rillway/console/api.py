"""The HTTP API: JSON. Names and values are strings, or {"base64": ...} where they are not UTF-8."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from rillway.console import queue_views, views
from rillway.console.access.login import COOKIE
from rillway.console.calls import ApiError, Call, Handler, reading, writing
from rillway.console.data import actions
from rillway.console.data.actions import ActionResult
from rillway.console.data.entries import Entry, Query, read_page
from rillway.console.data.facts import read_cluster
from rillway.console.data.groups import (
    Pending,
    read_consumers,
    read_findings,
    read_pending,
)
from rillway.console.formats import SHOWN_BYTES, cut, from_path
from rillway.json_bytes import to_json
from rillway.pipeline.why.findings import Finding
from rillway.pipeline.wire.ids import format_id, parse_id
from rillway.queues.finder import Known
from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import ACTIONS, STATES, Action, State
from rillway.sampler import StreamFigures

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
