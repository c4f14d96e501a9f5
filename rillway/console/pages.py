"""The pages: HTML that is complete without script. A page shows what its view returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlencode

import jinja2
import redis
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from rillway import __version__
from rillway.console import formats, queue_views, views
from rillway.console.access.login import COOKIE, SESSION_SECONDS, Session
from rillway.console.access.security import is_same_origin
from rillway.console.access.users import Role
from rillway.console.api import (
    entries_query,
    findings_of,
    known_queue,
    state_of,
    streams_view,
)
from rillway.console.calls import ApiError, Call, as_api_error, least_role, session_of
from rillway.console.console import Console, Kind
from rillway.console.data.entries import Entry, Query, read_page
from rillway.console.data.facts import read_cluster, read_policy
from rillway.console.data.groups import read_consumers, read_pending
from rillway.console.formats import from_path, to_path, to_text
from rillway.console.history import SPANS
from rillway.dead_letter import CONSUMER, DELIVERIES, ERROR, GROUP, ID, NAMES, STREAM
from rillway.plurals import count_of
from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import STATES
from rillway.sampler.figures import GroupFigures
from rillway.sampler.replies import as_map

Page: TypeAlias = Callable[[Call], Awaitable[Response]]

THEMES = ("auto", "light", "dark")
WITH_USERS = (Kind.ACL, Kind.USERS)
FORM_BYTES = 1 << 16
SHOWN_VALUE_BYTES = 1 << 20
TABS = ("entries", "groups", "dead", "facts")
TABLE_ROWS = 30

environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Render a page; templates get the session, the settings and the theme besides `values`."""
    console: Console = request.app.state.console
    session = session_of(request)
    theme = request.cookies.get("rillway-theme", "auto")
    shared: dict[str, Any] = {
        "version": __version__,
        "session": session,
        "can_log_out": console.kind is not Kind.OPEN and session is not None,
        "can_write": may_write(console, session, Role.OPERATOR),
        "is_read_only": console.settings.is_read_only,
        "theme": theme if theme in THEMES else "auto",
        "path": local_path(here(request)),
        "events": "",
        "api": "",
        "shown": {"texts": {}, "tables": {}},
        "notice": "",
    }
    text = environment.get_template(template).render(shared | values)
    return HTMLResponse(text, status_code=status)


def may_write(console: Console, session: Session | None, role: Role) -> bool:
    is_read_only = console.settings.is_read_only
    return session is not None and not is_read_only and session.role >= role


def error_page(request: Request, error: ApiError) -> Response:
    return render(request, "error.html", error.status, error=error)


def page(handler: Page) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a page, which redirects to the login without a session."""

    async def endpoint(request: Request) -> Response:
        session = session_of(request)
        if session is None:
            return RedirectResponse("/login?" + urlencode({"to": here(request)}), 303)
        try:
            return await handler(Call(request, session))
        except Exception as error:
            return error_page(request, as_api_error(error))

    return endpoint


def here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def events_of(view: str, **parameters: str) -> str:
    """Return the address of a page's events."""
    return "/events?" + urlencode({"view": view, **{k: v for k, v in parameters.items() if v}})


# -- the server ------------------------------------------------------------------------------------


def plain(name: str, view: type[views.BaseView]) -> Page:
    """Return the endpoint of a view of the server, with the template of that name."""

    async def handler(call: Call) -> Response:
        watch = await call.watch()
        shown = view().show(watch)
        return render(
            call.request, f"{name}.html", shown=shown, events=events_of(name, db=str(call.db))
        )

    return handler


@dataclass(frozen=True)
class Sort:
    """The headings of a sortable table: numbers begin with the largest."""

    current: str
    _address: Callable[..., str]
    columns: tuple[str, ...] = views.SORTS

    def state(self, column: str) -> str:
        """The value of aria-sort."""
        if self.current.removeprefix("-") != column:
            return "none"
        return "descending" if self.current.startswith("-") else "ascending"

    def address(self, column: str) -> str:
        first, second = (column, f"-{column}") if column == "name" else (f"-{column}", column)
        return self._address(sort=second if self.current == first else first)


async def streams(call: Call) -> Response:
    watch = await call.watch()
    view = streams_view(call, views.PAGE_ROWS)
    parameters = {"match": view.match, "sort": view.sort, "db": call.text("db")}

    def address(**changed: str) -> str:
        return "/streams?" + urlencode({k: v for k, v in (parameters | changed).items() if v})

    return render(
        call.request,
        "streams.html",
        shown=view.show(watch),
        view=view,
        db=call.db,
        address=address,
        sort=Sort(view.sort, address),
        databases=sorted(watch.sampler.server.databases),
        events=events_of("streams", after=view.after, **(parameters | {"db": str(call.db)})),
    )


async def replication(call: Call) -> Response:
    watch = await call.watch()
    return render(
        call.request,
        "replication.html",
        shown=views.Replication().show(watch),
        events=events_of("replication", db=str(call.db)),
        cluster=await read_cluster(call.link, call.db),
    )


# -- queues ----------------------------------------------------------------------------------------

JOB_BUTTONS = {
    "waiting": (("front", "To the front…"), ("remove", "Remove…")),
    "delayed": (("remove", "Remove…"),),
    "failed": (("retry", "Retry…"), ("remove", "Remove…")),
}


async def queues(call: Call) -> Response:
    watch = await call.watch()
    await watch.queues.ready()
    return render(
        call.request,
        "queues.html",
        shown=queue_views.Queues().show(watch),
        db=call.db,
        events=events_of("queues", db=str(call.db)),
    )


async def queue(call: Call) -> Response:
    known, state = await known_queue(call), state_of(call)
    watch = await call.watch()
    framework, label = known.queue.framework, known.queue.label
    first, limit = call.number("offset", 0, 10_000_000), call.limit()
    jobs = await watch.queues.jobs(known, state, first, limit)
    shown = queue_views.QueueView(framework=framework, label=label).show(watch)
    shown["tables"]["jobs"] = [queue_views.job_row(one) for one in jobs]
    offers = BY_NAME[framework].actions
    actions = [
        one
        for one in JOB_BUTTONS.get(state, ())
        if one[0] in offers and may_write(call.console, call.session, least_role(one[0]))
    ]
    has_more = len(jobs) == limit
    return render(
        call.request,
        "queue.html",
        shown=shown,
        db=call.db,
        name=views.short(label),
        framework=framework,
        base=queue_views.queue_path(call.db, known),
        state=state,
        states=STATES,
        notes=queue_views.unknown_notes(framework),
        actions=actions,
        following="?" + urlencode({"state": state, "offset": first + limit}) if has_more else None,
        api=f"/api/q/{call.db}/{framework}/{to_path(label)}",
        events=events_of("queue", db=str(call.db), framework=framework, key=to_path(label)),
    )


# -- one stream ------------------------------------------------------------------------------------


async def stream(call: Call) -> Response:
    tab = call.text("tab", "entries")
    if tab not in TABS:
        raise ApiError(404, "BAD", "there is no such tab")
    name = to_path(call.key)
    watch = await call.watch()
    info, dead_count = await call.link.call_all(
        call.db,
        [
            ("XINFO", "STREAM", call.key),
            ("XLEN", call.console.settings.dead_letters_of(call.key)),
        ],
    )
    if isinstance(info, redis.RedisError):
        raise info
    facts = as_map(info)
    view = views.StreamView(name=call.key)
    shown = view.show(watch)
    shown["texts"].setdefault("length", formats.count(facts[b"length"]))
    shown["texts"].setdefault("groups-count", str(facts[b"groups"]))
    shown["texts"].setdefault("delayed", "")
    for text in ("stream-memory", "in", "out", "first", "last"):
        shown["texts"].setdefault(text, formats.UNKNOWN)
    values = await TAB_VALUES[tab](call, facts, shown)
    values.setdefault("events", events_of("stream", db=str(call.db), key=name))
    return render(
        call.request,
        "stream.html",
        **{
            "shown": shown,
            "tab": tab,
            "name": views.short(call.key),
            "base": views.stream_path(call.db, call.key),
            "db": call.db,
            "dead_count": dead_count if isinstance(dead_count, int) else 0,
            "api": f"/api/s/{call.db}/{name}",
            **values,
        },
    )


async def entries_tab(call: Call, facts: dict[bytes, Any], shown: views.Shown) -> dict[str, Any]:
    query = entries_query(call)
    found = await read_page(call.link, call.db, call.key, query)
    rows = [views.entry_row(call.db, call.key, entry) for entry in found.entries]
    if query.after is not None:
        rows.reverse()
    shown["tables"] = {"entries": rows}
    is_tail = not any(map(call.text, ("before", "after", "from", "to", "find")))
    name = to_path(call.key)
    since = rows[0]["key"] if rows else facts[b"last-generated-id"].decode()
    tail = {"tail": "1", "since": since} if is_tail else {}
    kept = {part: call.text(part) for part in ("from", "to", "find") if call.text(part)}
    older = None
    if found.next is not None and query.after is None:
        older = "?" + urlencode(kept | {"before": found.next})
    return {
        "events": events_of("stream", db=str(call.db), key=name, **tail),
        "is_tail": is_tail,
        "older": older,
        "scanned": count_of(found.scanned, "entry") if query.find and found.scanned else "",
        "query": {part: call.text(part) for part in ("from", "to", "find")},
    }


async def groups_tab(call: Call, _: dict[bytes, Any], shown: views.Shown) -> dict[str, Any]:
    watch = await call.watch()
    known = watch.stream(call.key)
    groups: Sequence[GroupFigures] = (known and known.groups) or ()
    if not shown["tables"].get("groups"):
        groups = await call.groups()
        shown["tables"]["groups"] = [
            views.group_row(watch, call.db, call.key, group) for group in groups
        ]
    return {"has_policies": any(group.policy for group in groups)}


async def dead_tab(call: Call, _: dict[bytes, Any], shown: views.Shown) -> dict[str, Any]:
    """Show the dead letters of this stream, the newest first."""
    dead = call.console.settings.dead_letters_of(call.key)
    query = Query(before=call.id("before"), limit=call.limit())
    found = await read_page(call.link, call.db, dead, query)
    rows = [
        dead_row(call.db, dead, entry)
        for entry in found.entries
        if dict(entry.fields).get(STREAM) == call.key
    ]
    shown["tables"] = {"dead": rows}
    older = "?" + urlencode({"tab": "dead", "before": found.next}) if found.next else None
    return {"older": older, "dead_name": views.short(dead)}


def dead_row(db: int, dead: bytes, entry: Entry) -> views.Row:
    origin = dict(entry.fields)
    own = Entry(entry.id, [pair for pair in entry.fields if pair[0] not in NAMES])
    row = views.entry_row(db, dead, own)
    row["cells"] |= {
        "group": views.short(origin.get(GROUP, b"")),
        "consumer": views.short(origin.get(CONSUMER, b"")),
        "origin": views.short(origin.get(ID, b"")),
        "deliveries": views.short(origin.get(DELIVERIES, b"")),
        "error": views.short(origin.get(ERROR, b"")),
    }
    return row


async def facts_tab(call: Call, facts: dict[bytes, Any], _: views.Shown) -> dict[str, Any]:
    """Show XINFO STREAM without first and last entry, and the policy."""
    may_have = await call.may_have_policies()
    return {
        "policy": await read_policy(call.link, call.db, call.key) if may_have else {},
        "facts": {
            name.decode(): to_text(value) if isinstance(value, bytes) else str(value)
            for name, value in facts.items()
            if name not in (b"first-entry", b"last-entry")
        },
    }


TAB_VALUES = {
    "entries": entries_tab, "groups": groups_tab, "dead": dead_tab, "facts": facts_tab,
}  # fmt: skip


async def entry(call: Call) -> Response:
    """Show one entry with its values, up to a megabyte of each."""
    entry_id = call.request.path_params["id"]
    found = await call.link.call(call.db, "XRANGE", call.key, entry_id, entry_id)
    if not found:
        raise ApiError(404, "GONE", "There is no such entry (any more).")
    flat = found[0][1]
    fields = [
        (
            to_text(name),
            value[:SHOWN_VALUE_BYTES].decode(errors="backslashreplace"),
            formats.size(len(value)),
            len(value) > SHOWN_VALUE_BYTES,
        )
        for name, value in zip(flat[::2], flat[1::2], strict=True)
    ]
    watch = await call.watch()
    return render(
        call.request,
        "entry.html",
        shown={"texts": views.header(watch), "tables": {}},
        events=events_of("header", db=str(call.db)),
        id=found[0][0].decode(),
        time=views.id_time(found[0][0].decode()),
        fields=fields,
        name=views.short(call.key),
        base=views.stream_path(call.db, call.key),
    )


async def group(call: Call) -> Response:
    watch = await call.watch()
    found = await call.groups()
    chosen = next((one for one in found if one.name == call.group), None)
    if chosen is None:
        raise ApiError(404, "NOGROUP", "There is no such group (any more).")
    consumers = await read_consumers(call.link, call.db, call.key, call.group)
    owner = from_path(call.text("consumer")) if call.text("consumer") else None
    limit = call.limit()
    pending = await read_pending(
        call.link, call.db, call.key, call.group,
        after=call.id("after"), consumer=owner, limit=limit,
    )  # fmt: skip
    shown = views.GroupView(name=call.key, group=call.group).show(watch)
    shown["texts"] |= views.group_texts(chosen, watch.sampler.time_ms) | {
        name: text for name, text in shown["texts"].items() if name == "out"
    }
    shown["tables"].setdefault("consumers", views.consumer_rows(consumers))
    shown["tables"]["pending"] = [
        views.pending_row(call.db, call.key, one, chosen.policy) for one in pending
    ]
    samples = watch.history.samples((call.key, call.group), call.span())
    name, group_name = to_path(call.key), to_path(call.group)
    kept = {"consumer": call.text("consumer")} if owner is not None else {}
    following = "?" + urlencode(kept | {"after": pending[-1].id}) if len(pending) == limit else None
    return render(
        call.request,
        "group.html",
        shown=shown,
        stream=views.short(call.key),
        group=views.short(call.group),
        stream_path=views.stream_path(call.db, call.key),
        base=views.group_path(call.db, call.key, call.group),
        db=call.db,
        api=f"/api/s/{call.db}/{name}/g/{group_name}",
        events=events_of("group", db=str(call.db), key=name, group=group_name),
        spans=tuple(SPANS),
        span=call.span(),
        owner=None if owner is None else views.short(owner),
        samples=[sample_cells(one) for one in samples[-TABLE_ROWS:][::-1]],
        following=following,
        policy=chosen.policy,
        findings=await findings_of(call),
        dead_name=views.short(call.console.settings.dead_letters_of(call.key)),
    )


def sample_cells(sample: Any) -> tuple[str, str, str, str]:
    age_ms = None if sample.age_s is None else sample.age_s * 1000
    return (
        formats.time_of_day(sample.time_s),
        formats.count(sample.lag, formats.UNKNOWN_LAG),
        formats.count(sample.pending),
        formats.duration(age_ms),
    )


# -- plain forms -----------------------------------------------------------------------------------


async def login(request: Request) -> Response:
    console: Console = request.app.state.console
    to = local_path(request.query_params.get("to", "/"))
    if console.kind is Kind.OPEN:
        return RedirectResponse("/", 303)
    return render(request, "login.html", to=to, has_user=console.kind in WITH_USERS, failure="")


async def log_in(request: Request) -> Response:
    """Handle a login by the console's form, at most five failures a minute for each address."""
    console: Console = request.app.state.console
    form = await read_form(request)
    if form is None:
        return error_page(request, ApiError(403, "TOKEN", "The form comes from another page."))
    to, user = local_path(form.get("to", "/")), form.get("user", "")
    address = request.client.host if request.client else ""

    def refusal(status: int, text: str) -> Response:
        has_user = console.kind in WITH_USERS
        return render(request, "login.html", status, to=to, has_user=has_user, failure=text)

    if not console.attempts.begin(address):
        return refusal(429, "Too many failed logins from this address. Try again in a minute.")
    try:
        secret = await console.log_in(user, form.get("password", ""))
    except (redis.RedisError, OSError) as error:
        console.attempts.forgive(address)
        return refusal(502, f"The server does not answer: {error}")
    if secret is None:
        return refusal(403, "User or password are wrong.")
    console.attempts.forgive(address)
    answer = RedirectResponse(to, 303)
    answer.set_cookie(
        COOKIE, secret, max_age=SESSION_SECONDS, httponly=True, samesite="strict",
        secure=console.settings.is_tls,
    )  # fmt: skip
    return answer


async def log_out(request: Request) -> Response:
    if await read_form(request) is None:
        return error_page(request, ApiError(403, "TOKEN", "The form comes from another page."))
    request.app.state.console.sessions.close(request.cookies.get(COOKIE))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


async def set_theme(request: Request) -> Response:
    form = await read_form(request)
    if form is None or form.get("theme") not in THEMES:
        return error_page(request, ApiError(403, "TOKEN", "The form comes from another page."))
    answer = RedirectResponse(local_path(form.get("to", "/")), 303)
    answer.set_cookie(
        "rillway-theme", form["theme"], max_age=365 * 86_400, httponly=True, samesite="strict"
    )
    return answer


async def read_form(request: Request) -> dict[str, str] | None:
    """Return the form's fields; None if it is malformed or from another origin."""
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind != "application/x-www-form-urlencoded" or not is_same_origin(request):
        return None
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > FORM_BYTES:
            return None
    fields = parse_qs(data.decode("ascii", errors="replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


def local_path(text: str) -> str:
    """Return the path if it stays on the console, unlike `//host` and `/\\host`."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_local else "/"


STREAM_PATH = "/s/{db:db}/{key:name}"
PAGES: dict[str, Page] = {
    "/": plain("overview", views.Overview),
    "/streams": streams,
    STREAM_PATH: stream,
    STREAM_PATH + "/e/{id}": entry,
    STREAM_PATH + "/g/{group:name}": group,
    "/queues": queues,
    "/q/{db:db}/{framework}/{queue:name}": queue,
    "/slow": plain("slow", views.Slow),
    "/memory": plain("memory", views.Memory),
    "/clients": plain("clients", views.Clients),
    "/replication": replication,
}


def routes() -> Iterable[BaseRoute]:
    for path, handler in PAGES.items():
        yield Route(path, page(handler), methods=["GET"])
    yield Route("/login", login, methods=["GET"])
    yield Route("/login", log_in, methods=["POST"])
    yield Route("/logout", log_out, methods=["POST"])
    yield Route("/theme", set_theme, methods=["POST"])
