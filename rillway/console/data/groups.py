"""Groups of a stream, their consumers and pending entries, as XINFO and XPENDING report them.

They are read when a page is opened; then the sampler keeps them up to date.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rillway.console.data.link import Link, Word
from rillway.pipeline.why.findings import Finding, PendingOne, findings, first_new
from rillway.sampler.figures import ConsumerFigures, GroupFigures, StreamFigures
from rillway.sampler.groups import Interval, consumer_figures, group_figures
from rillway.sampler.replies import as_map, time_us

PAGE_ENTRIES = 100
DEAD_AFTER_MS = 60_000


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending entry. `idle_ms` is None, and `consumer` empty, for one that was given back."""

    id: str
    consumer: bytes
    idle_ms: int | None
    deliveries: int


async def read_groups(
    link: Link, db: int, key: bytes, *, policies: bool = False
) -> list[GroupFigures]:
    """Return the groups of a stream, with their `policies` if wanted. Raises redis.RedisError."""
    infos = [as_map(one) for one in await link.call(db, "XINFO", "GROUPS", key)]
    names = [info[b"name"] for info in infos]
    requests: list[tuple[Word, ...]] = [("XPENDING", key, name) for name in names]
    if policies:
        requests += [("XINFO", "POLICY", key, name) for name in names]
    *replies, time = await link.call_all(db, [*requests, ("TIME",)])
    summaries, settings = replies[: len(names)], replies[len(names) :] or [None] * len(names)
    now = Interval(time_us(time) // 1000, None)
    return [
        group_figures(info, summary, None, policy, None, now, 0)
        for info, summary, policy in zip(infos, summaries, settings, strict=True)
    ]


async def read_findings(
    link: Link, db: int, stream: StreamFigures, group: GroupFigures
) -> list[Finding]:
    """Return what holds a group; `group` has the rates. Raises redis.RedisError."""
    key = stream.name
    consumers = group.consumers
    if consumers is None:
        found = await read_consumers(link, db, key, group.name)
        consumers = tuple(
            replace(one, is_dead=one.pending > 0 and one.idle_ms > DEAD_AFTER_MS) for one in found
        )
    pending = [
        PendingOne(one.id, one.consumer, one.idle_ms or 0, one.deliveries)
        for one in await read_pending(link, db, key, group.name)
    ]
    has_new = group.lag is None and bool(await link.call(db, *first_new(key, group)))
    return findings(stream, replace(group, consumers=consumers), pending, has_new=has_new)


async def read_consumers(link: Link, db: int, key: bytes, group: bytes) -> list[ConsumerFigures]:
    """Return the consumers of a group. Raises redis.RedisError."""
    return list(map(consumer_figures, await link.call(db, "XINFO", "CONSUMERS", key, group)))


async def read_pending(
    link: Link,
    db: int,
    key: bytes,
    group: bytes,
    *,
    after: str | None = None,
    consumer: bytes | None = None,
    limit: int = PAGE_ENTRIES,
) -> list[Pending]:
    """Return entries in order of IDs, after the ID `after`. Raises redis.RedisError."""
    start = "-" if after is None else f"({after}"
    whose = () if consumer is None else (consumer,)
    lines = await link.call(db, "XPENDING", key, group, start, "+", limit, *whose)
    return [
        Pending(entry_id.decode(), owner, idle_ms if idle_ms >= 0 else None, deliveries)
        for entry_id, owner, idle_ms, deliveries in lines
    ]
