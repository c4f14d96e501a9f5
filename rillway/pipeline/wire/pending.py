"""Pending entries: delivered to consumers and not acknowledged, page by page.

XPENDING reports for each entry its consumer, idle time and number of deliveries. Each page begins
after the last one, so a list of any length is read without blocking the server. Entries that are
acknowledged or delivered meanwhile may or may not be returned.

Leaves out the entries' fields. Uses neither Spark nor Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rillway.pipeline.wire.connection import Connection, Reply, ServerError
from rillway.pipeline.wire.facts import group_infos, group_name
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, format_id, parse_id

PAGE_SIZE = 1000
NO_GROUP = "NOGROUP"


@dataclass(frozen=True, slots=True)
class PendingEntry:
    """A line of XPENDING's reply.

    `idle_ms`: the time since its last delivery. It is None, and `consumer` is empty, for an entry
    that was given back (XNACK) and has no consumer.
    """

    id: int
    consumer: bytes
    idle_ms: int | None
    deliveries: int

    @property
    def has_owner(self) -> bool:
        return self.idle_ms is not None


@dataclass(frozen=True, slots=True)
class PendingSlice:
    """The work of one task: the pending entries of a group with IDs from `first` to `last`."""

    stream: str
    group: str
    first: int = MIN_ID
    last: int = MAX_ID


def group_names(connection: Connection, stream: str) -> list[str]:
    """Return the groups of a stream, in the server's order; none if the stream is missing."""
    return [group_name(info) for info in group_infos(connection, stream)]


def plan_pending(
    connection: Connection, stream: str, group: str, *, entries_per_slice: int, minimum: int = 1
) -> list[PendingSlice]:
    """Plan slices of about `entries_per_slice`, for evenly spread IDs; none if nothing is pending.

    `minimum`: the least number of slices, if there are that many IDs. A destroyed group has nothing
    pending.
    """
    try:
        count, first, last, _ = connection.call("XPENDING", stream, group)
    except ServerError as error:
        if error.code == NO_GROUP:
            return []
        raise
    if not count:
        return []
    start, end = parse_id(first), parse_id(last) + 1
    wanted = min(max(-(-count // entries_per_slice), minimum), end - start)
    cuts = [start + (end - start) * number // wanted for number in range(wanted)]
    return [
        PendingSlice(stream, group, cut, following - 1)
        for cut, following in zip(cuts, [*cuts[1:], end], strict=True)
    ]


def read_pending(
    connection: Connection,
    part: PendingSlice,
    *,
    min_idle_ms: int = 0,
    consumer: str | None = None,
    page_size: int = PAGE_SIZE,
) -> Iterator[list[PendingEntry]]:
    """Read the entries in order of their IDs. Raises ServerError if the group does not exist.

    `min_idle_ms`: return only entries that were delivered at least this long ago, or have no owner.
    """
    idle = ("IDLE", min_idle_ms) if min_idle_ms else ()
    whose = (consumer,) if consumer is not None else ()
    start = part.first
    while start <= part.last:
        bounds = format_id(start), format_id(part.last)
        request = ("XPENDING", part.stream, part.group, *idle, *bounds, page_size, *whose)
        page = [parse_pending(line) for line in connection.call(*request)]
        if page:
            yield page
        if len(page) < page_size:
            return
        start = page[-1].id + 1


def parse_pending(line: Reply) -> PendingEntry:
    """Parse one line of the reply to `XPENDING key group start end count`."""
    entry_id, consumer, idle_ms, deliveries = line
    return PendingEntry(parse_id(entry_id), consumer, idle_ms if idle_ms >= 0 else None, deliveries)


def server_time_ms(connection: Connection) -> int:
    """Return the Unix ms of the server's clock, by which the times of its entries are right."""
    seconds, microseconds = connection.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
