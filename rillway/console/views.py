"""The content of each page as text: rendered at first, then replaced with each sample.

A view returns `texts` by the names of the page's elements, and `tables` of rows. A row has a stable
`key`, `cells` by column, and optionally `href`, `state` (dead), `spark` (points). The pages' script
only sets these texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from rillway.console import formats
from rillway.console.data.entries import Entry
from rillway.console.data.groups import Pending
from rillway.console.formats import cut, to_path, to_text
from rillway.console.watch import GroupOfStream, Watch
from rillway.plurals import count_of
from rillway.sampler import (
    ClientFigures,
    ConsumerFigures,
    GroupFigures,
    SlowRequest,
    StreamFigures,
)
from rillway.sampler.figures import PolicyValue
from rillway.sampler.waits import entry_wait, waits_text

Row: TypeAlias = dict[str, Any]
Shown: TypeAlias = dict[str, Any]

PAGE_ROWS = 50
SHOWN_CONSUMERS = 100
NAME_BYTES, VALUE_BYTES, ROW_FIELDS = 120, 160, 12
TIME_IDS = range(10**12, 10**14)


class View(Protocol):
    """A view, hashable, so that its viewers share one sample."""

    @property
    def opened(self) -> bytes | None:
        """The stream whose consumers are shown."""

    @property
    def tailed(self) -> bytes | None:
        """The stream whose entries are shown as they arrive."""

    def visible(self, watch: Watch) -> Iterable[bytes]:
        """Streams that are shown."""

    def show(self, watch: Watch) -> Shown: ...


@dataclass(frozen=True)
class BaseView:
    """A page with nothing but the header."""

    opened: bytes | None = None
    tailed: bytes | None = None

    def visible(self, watch: Watch) -> Iterable[bytes]:
        return ()

    def show(self, watch: Watch) -> Shown:
        return {"texts": header(watch), "tables": self.tables(watch)}

    def tables(self, watch: Watch) -> dict[str, list[Row]]:
        return {}


def header(watch: Watch) -> dict[str, str]:
    """Return the header of every page: the server, and the age of its figures."""
    server = watch.sampler.server
    uptime = None if server.uptime_s is None else server.uptime_s * 1000
    blocked = f", {server.blocked_clients} blocked" if server.blocked_clients else ""
    limit = f" of {formats.size(server.max_memory_bytes)}" if server.max_memory_bytes else ""
    state = server.error or ""
    if watch.lost_since is not None:
        since = formats.time_of_day(watch.lost_since)
        state = f"no connection since {since} UTC"
    return {
        "server": f"{server.product} {server.version}".strip(),
        "role": server.role,
        "uptime": formats.duration(uptime),
        "requests": formats.count(server.requests_per_s),
        "memory": formats.size(server.used_memory_bytes) + limit,
        "clients": formats.count(server.clients) + blocked,
        "age": formats.duration(watch.age_ms),
        "state": state,
        "streams": formats.count(watch.sampler.known_streams),
    }


# -- rows ------------------------------------------------------------------------------------------


def stream_path(db: int, name: bytes) -> str:
    return f"/s/{db}/{to_path(name)}"


def group_path(db: int, name: bytes, group: bytes) -> str:
    return f"{stream_path(db, name)}/g/{to_path(group)}"


def short(name: bytes) -> str:
    text = to_text(cut(name, NAME_BYTES))
    return text + "…" if len(name) > NAME_BYTES else text or "(empty)"


def stream_row(watch: Watch, stream: StreamFigures) -> Row:
    worst = max(stream.groups or (), key=lambda one: one.lag or 0, default=None)
    lags = [] if worst is None else lag_trace(watch, stream.name, worst.name)
    return {
        "key": to_path(stream.name),
        "href": stream_path(stream.db, stream.name),
        "state": "dead" if stream.dead_count else "",
        "spark": formats.points(lags),
        "cells": {
            "name": short(stream.name),
            "in": formats.rate(stream.in_per_s, stream.in_is_estimate),
            "out": formats.rate(stream.out_per_s),
            "length": formats.count(stream.length),
            "memory": formats.size(stream.memory_bytes),
            **group_cells(stream.lag, stream.pending, stream.oldest_ms, bool(stream.groups)),
            "groups": formats.UNKNOWN if stream.groups is None else str(len(stream.groups)),
        },
    }


def group_cells(
    lag: int | None, pending: int | None, oldest_ms: int | None, has_groups: bool = True
) -> dict[str, str]:
    unknown = formats.UNKNOWN_LAG if has_groups else formats.UNKNOWN
    return {
        "lag": formats.count(lag, unknown),
        "pending": formats.count(pending),
        "oldest": formats.duration(oldest_ms),
    }


def lag_trace(watch: Watch, stream: bytes, group: bytes) -> list[float | None]:
    return [sample.lag for sample in watch.history.samples((stream, group))]


def group_row(watch: Watch, db: int, stream: bytes, group: GroupFigures) -> Row:
    dead = f", {group.dead_count} dead" if group.dead_count else ""
    return {
        "key": f"{to_path(stream)}/{to_path(group.name)}",
        "href": group_path(db, stream, group.name),
        "state": "dead" if group.dead_count else "",
        "spark": formats.points(lag_trace(watch, stream, group.name)),
        "cells": {
            "name": short(group.name),
            "stream": short(stream),
            **group_cells(group.lag, group.pending, group.oldest_ms),
            "out": formats.rate(group.out_per_s),
            "consumers": f"{group.consumer_count}{dead}",
            "last": group.last_delivered_id,
            "waits": waits_text(group, watch.sampler.time_ms),
        },
    }


def dead_rows(watch: Watch, found: Iterable[GroupOfStream]) -> list[Row]:
    return [
        {
            "key": "/".join(map(to_path, (one.stream.name, one.group.name, consumer.name))),
            "href": group_path(watch.db, one.stream.name, one.group.name),
            "state": "dead",
            "cells": {
                "name": short(consumer.name),
                "group": short(one.group.name),
                "stream": short(one.stream.name),
                "idle": formats.duration(consumer.idle_ms),
                "pending": formats.count(consumer.pending),
            },
        }
        for one in found
        for consumer in one.group.consumers or ()
        if consumer.is_dead
    ]


def consumer_rows(consumers: Iterable[ConsumerFigures]) -> list[Row]:
    """Return consumers with most pending entries, up to SHOWN_CONSUMERS, in order of names."""
    found = sorted(consumers, key=lambda one: (-one.pending, one.idle_ms))[:SHOWN_CONSUMERS]
    return [consumer_row(one) for one in sorted(found, key=lambda one: one.name)]


def consumer_row(consumer: ConsumerFigures) -> Row:
    moved = f"{consumer.moved:+d}" if consumer.moved else ""
    return {
        "key": to_path(consumer.name),
        "state": "dead" if consumer.is_dead else "",
        "pending": consumer.pending,
        "name": short(consumer.name),
        "cells": {
            "name": short(consumer.name),
            "idle": formats.duration(consumer.idle_ms),
            "inactive": formats.duration(consumer.inactive_ms),
            "pending": formats.count(consumer.pending),
            "moved": moved,
            "state": "dead" if consumer.is_dead else "",
        },
    }


def pending_row(
    db: int, key: bytes, entry: Pending, policy: Mapping[str, PolicyValue] | None = None
) -> Row:
    return {
        "key": entry.id,
        "href": f"{stream_path(db, key)}/e/{entry.id}",
        "idle": entry.idle_ms or 0,
        "cells": {
            "id": entry.id,
            "time": id_time(entry.id),
            "consumer": short(entry.consumer) if entry.idle_ms is not None else "(given back)",
            "idle": formats.duration(entry.idle_ms),
            "deliveries": str(entry.deliveries),
            "waits": entry_wait(policy, entry.idle_ms, entry.deliveries),
        },
    }


def id_time(entry_id: str) -> str:
    """Return the time of an ID; a dash for IDs that are no times."""
    ms = int(entry_id.partition("-")[0])
    return formats.clock_time(ms) if ms in TIME_IDS else formats.UNKNOWN


def entry_row(db: int, key: bytes, entry: Entry) -> Row:
    """Return the row of an entry. `fields` are [name, value], cut; `more` counts omitted ones."""
    fields = [[short_value(name), short_value(value)] for name, value in entry.fields[:ROW_FIELDS]]
    more = max(len(entry.fields) - ROW_FIELDS, 0)
    return {
        "key": entry.id,
        "href": f"{stream_path(db, key)}/e/{entry.id}",
        "cells": {"id": entry.id, "time": id_time(entry.id), "more": f"+{more}" if more else ""},
        "fields": fields,
    }


def short_value(value: bytes) -> str:
    text = to_text(cut(value, VALUE_BYTES))
    return f"{text}… ({formats.size(len(value))})" if len(value) > VALUE_BYTES else text


def slow_rows(found: Iterable[SlowRequest]) -> list[Row]:
    return [
        {
            "key": str(one.id),
            "cells": {
                "took": formats.microseconds(one.took_us),
                "time": formats.clock_time(one.time_ms)[:19],
                "request": " ".join(short(word) for word in one.words),
                "client": one.client_name or one.client,
            },
        }
        for one in found
    ]


def client_row(client: ClientFigures) -> Row:
    return {
        "key": str(client.id),
        "state": "",
        "cells": {
            "id": str(client.id),
            "address": client.address,
            "name": short(client.name.encode()) if client.name else "",
            "user": client.user,
            "db": str(client.db),
            "age": formats.duration(client.age_s * 1000),
            "idle": formats.duration(client.idle_s * 1000),
            "command": client.command + (" (blocked)" if "b" in client.flags else ""),
            "memory": formats.size(client.memory_bytes),
        },
    }


# -- views -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Overview(BaseView):
    def show(self, watch: Watch) -> Shown:
        traces = watch.traces
        rates = [rate for rate in traces.added if rate is not None]
        texts = header(watch) | {"added": formats.rate(rates[-1] if rates else None)}
        sparks = {
            "requests": formats.points(list(traces.requests)),
            "memory": formats.points(list(traces.memory)),
            "clients": formats.points(list(traces.clients)),
            "added": formats.points(list(traces.added)),
        }
        return {"texts": texts, "tables": self.tables(watch), "sparks": sparks}

    def tables(self, watch: Watch) -> dict[str, list[Row]]:
        return {
            "worst": [
                group_row(watch, watch.db, one.stream.name, one.group) for one in watch.worst
            ],
            "dead-consumers": dead_rows(watch, watch.dead),
            "slow": slow_rows(watch.sampler.server.slow[:5]),
        }


SORTS = ("name", "in", "out", "length", "memory", "lag", "pending", "oldest")
SORT_FIELDS = {
    "in": "in_per_s",
    "out": "out_per_s",
    "memory": "memory_bytes",
    "oldest": "oldest_ms",
}


@dataclass(frozen=True)
class Streams(BaseView):
    """All streams. `sort`: one of SORTS, with a minus for descending; `match`: part of a name."""

    match: str = ""
    sort: str = "-lag"
    after: str = ""
    limit: int = PAGE_ROWS

    def matching(self, watch: Watch) -> list[StreamFigures]:
        """Return streams that match, in order; those with an unknown figure come last."""
        wanted = self.match.lower().encode()
        found = [one for one in watch.sampler.streams.values() if wanted in one.name.lower()]
        column = self.sort.removeprefix("-")
        found.sort(key=lambda one: one.name)
        if column == "name":
            return found[::-1] if self.sort.startswith("-") else found
        field = SORT_FIELDS.get(column, column)
        known = [one for one in found if getattr(one, field) is not None]
        known.sort(key=lambda one: getattr(one, field), reverse=self.sort.startswith("-"))
        return known + [one for one in found if getattr(one, field) is None]

    def page(self, watch: Watch) -> tuple[list[StreamFigures], str | None, int]:
        """Return the page after the stream `after`, the name to continue after, and the total."""
        found = self.matching(watch)
        names = [to_path(one.name) for one in found] if self.after else []
        start = names.index(self.after) + 1 if self.after in names else 0
        page = found[start : start + self.limit]
        following = to_path(page[-1].name) if start + self.limit < len(found) else None
        return page, following, len(found)

    def visible(self, watch: Watch) -> Iterable[bytes]:
        return [one.name for one in self.page(watch)[0]]

    def show(self, watch: Watch) -> Shown:
        page, following, total = self.page(watch)
        read, known = len(watch.sampler.streams), watch.sampler.known_streams
        progress = "" if read >= known else f"{read:,} of {count_of(known, 'stream')} read so far"
        return {
            "texts": header(watch) | {"total": count_of(total, "stream"), "progress": progress},
            "tables": {"streams": [stream_row(watch, one) for one in page]},
            "next": following,
        }


@dataclass(frozen=True)
class StreamView(BaseView):
    """One stream with its groups; with `tailed`, also new entries as they arrive."""

    name: bytes = b""

    def show(self, watch: Watch) -> Shown:
        stream = watch.stream(self.name)
        texts = header(watch)
        if stream is None:
            return {"texts": texts, "tables": {}}
        return {
            "texts": texts | stream_texts(stream),
            "tables": {
                "groups": [
                    group_row(watch, watch.db, self.name, one) for one in stream.groups or ()
                ]
            },
        }


def stream_texts(stream: StreamFigures) -> dict[str, str]:
    return {
        "length": formats.count(stream.length),
        "stream-memory": formats.size(stream.memory_bytes),
        "in": formats.rate(stream.in_per_s, stream.in_is_estimate),
        "out": formats.rate(stream.out_per_s),
        "first": id_time(stream.first_id) if stream.first_id else formats.UNKNOWN,
        "last": id_time(stream.last_id) if stream.last_id else formats.UNKNOWN,
        "delayed": "" if not stream.scheduled else f"{formats.count(stream.scheduled)} delayed",
        "groups-count": formats.UNKNOWN if stream.groups is None else str(len(stream.groups)),
    }


@dataclass(frozen=True)
class GroupView(BaseView):
    """One group and its consumers, with the newest point of its plot."""

    name: bytes = b""
    group: bytes = b""

    def show(self, watch: Watch) -> Shown:
        group = watch.group(self.name, self.group)
        if group is None:
            return {"texts": header(watch), "tables": {}}
        shown: Shown = {
            "texts": header(watch) | group_texts(group, watch.sampler.time_ms),
            "tables": {},
        }
        if group.consumers is not None:
            shown["tables"]["consumers"] = consumer_rows(group.consumers)
        samples = watch.history.samples((self.name, self.group))
        if samples:
            newest = samples[-1]
            shown["point"] = [newest.time_s, newest.lag, newest.pending, newest.age_s]
        return shown


def group_texts(group: GroupFigures, now_ms: int) -> dict[str, str]:
    return {
        **group_cells(group.lag, group.pending, group.oldest_ms),
        "out": formats.rate(group.out_per_s),
        "consumer-note": (
            f"Of {group.consumer_count:,} consumers the {SHOWN_CONSUMERS} with most pending."
            if group.consumer_count > SHOWN_CONSUMERS
            else ""
        ),
        "last-delivered": group.last_delivered_id,
        "due": formats.count(group.due),
        "delayed": formats.count(group.delayed),
        "dead-letters": formats.count(group.dead_letters),
        "held": "held back" if group.held else "",
        "waits": waits_text(group, now_ms),
    }


@dataclass(frozen=True)
class Slow(BaseView):
    def tables(self, watch: Watch) -> dict[str, list[Row]]:
        server = watch.sampler.server
        latency = [
            {
                "key": command,
                "cells": {
                    "command": command,
                    "calls": formats.count(one.calls),
                    "p50": formats.microseconds(one.p50_us),
                    "p99": formats.microseconds(one.p99_us),
                    "p999": formats.microseconds(one.p999_us),
                    "max": formats.microseconds(one.max_us),
                },
            }
            for command, one in sorted(server.latency.items())
        ]
        hot = [
            {
                "key": to_text(one.name),
                "cells": {
                    "name": short(one.name),
                    "took": formats.microseconds(one.took_us),
                    "net": formats.size(one.net_bytes),
                },
            }
            for one in server.hot_keys
        ]
        return {"slow": slow_rows(server.slow), "latency": latency, "hot": hot}


@dataclass(frozen=True)
class Memory(BaseView):
    """The streams that take most memory."""

    def largest(self, watch: Watch) -> list[StreamFigures]:
        return Streams(sort="-memory").page(watch)[0]

    def visible(self, watch: Watch) -> Iterable[bytes]:
        return [one.name for one in self.largest(watch)]

    def tables(self, watch: Watch) -> dict[str, list[Row]]:
        return {"streams": [stream_row(watch, one) for one in self.largest(watch)]}


@dataclass(frozen=True)
class Clients(BaseView):
    def show(self, watch: Watch) -> Shown:
        server = watch.sampler.server
        shown = super().show(watch)
        shown["texts"]["clients-note"] = (
            "" if server.client_list is not None else "The list is not read above 1,000 clients."
        )
        return shown

    def tables(self, watch: Watch) -> dict[str, list[Row]]:
        return {"clients": [client_row(one) for one in watch.sampler.server.client_list or ()]}


@dataclass(frozen=True)
class Replication(BaseView):
    def show(self, watch: Watch) -> Shown:
        server = watch.sampler.server
        shown = super().show(watch)
        link = {None: formats.UNKNOWN, True: "up", False: "down"}[server.primary_link_up]
        shown["texts"] |= {
            "primary": server.primary or "none: this is a primary",
            "link": link if server.primary else formats.UNKNOWN,
            "aof": server.aof or formats.UNKNOWN,
            "saved": formats.clock_time(server.last_save_ms)[:19],
        }
        return shown

    def tables(self, watch: Watch) -> dict[str, list[Row]]:
        replicas = watch.sampler.server.replicas or ()
        return {
            "replicas": [
                {
                    "key": one.address,
                    "cells": {
                        "address": one.address,
                        "state": one.state,
                        "lag": formats.UNKNOWN if one.lag_s is None else f"{one.lag_s} s",
                    },
                }
                for one in replicas
            ]
        }
