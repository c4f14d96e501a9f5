"""Groups of a stream, their consumers and pending entries, as XINFO and XPENDING report them.

What a page needs at once; from then on the sampler keeps the figures up to date.
"""

from __future__ import annotations

from dataclasses import dataclass

import redis

from rillway.console.data.link import Link, Reply
from rillway.sampler.figures import ConsumerFigures, GroupFigures, age_ms

PAGE_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Pending:
    """`idle_ms` is None, and `consumer` empty, for an entry that was given back."""

    id: str
    consumer: bytes
    idle_ms: int | None
    deliveries: int


def as_dict(reply: Reply) -> dict[str, Reply]:
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)}


async def read_groups(link: Link, db: int, key: bytes) -> list[GroupFigures]:
    """Raises redis.RedisError."""
    infos = [as_dict(one) for one in await link.call(db, "XINFO", "GROUPS", key)]
    requests = [("XPENDING", key, info["name"]) for info in infos]
    *summaries, (seconds, _) = await link.call_all(db, [*requests, ("TIME",)])
    now_ms = int(seconds) * 1000
    return [parse_group(info, reply, now_ms) for info, reply in zip(infos, summaries, strict=True)]


def parse_group(info: dict[str, Reply], summary: Reply, now_ms: int) -> GroupFigures:
    oldest_id = None
    if not isinstance(summary, redis.RedisError) and summary[1] is not None:
        oldest_id = summary[1].decode()
    return GroupFigures(
        name=info["name"],
        lag=info.get("lag"),
        pending=info["pending"],
        entries_read=info.get("entries-read"),
        last_delivered_id=info["last-delivered-id"].decode(),
        oldest_id=oldest_id,
        oldest_ms=age_ms(oldest_id, now_ms),
        consumer_count=info["consumers"],
    )


async def read_consumers(link: Link, db: int, key: bytes, group: bytes) -> list[ConsumerFigures]:
    """Raises redis.RedisError."""
    infos = [as_dict(one) for one in await link.call(db, "XINFO", "CONSUMERS", key, group)]
    return [
        ConsumerFigures(info["name"], info["pending"], info["idle"], inactive_of(info))
        for info in infos
    ]


def inactive_of(info: dict[str, Reply]) -> int | None:
    inactive = info.get("inactive")
    return inactive if inactive is not None and inactive >= 0 else None


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
    """In order of IDs, from just after the ID `after`. Raises redis.RedisError."""
    start = "-" if after is None else f"({after}"
    whose = () if consumer is None else (consumer,)
    lines = await link.call(db, "XPENDING", key, group, start, "+", limit, *whose)
    return [
        Pending(entry_id.decode(), owner, idle_ms if idle_ms >= 0 else None, deliveries)
        for entry_id, owner, idle_ms, deliveries in lines
    ]
