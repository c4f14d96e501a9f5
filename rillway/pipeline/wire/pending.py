"""Pending entries: delivered to consumers and not acknowledged, page by page.

XPENDING reports for each entry its consumer, idle time and number of deliveries. A page begins
after the last one, so a list of any length is read without holding the server up; what is
acknowledged or delivered meanwhile is or is not among what is read.

Leaves out: what the entries hold. No Spark here, and no Arrow.
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
    """One of XPENDING's lines.

    `idle_ms`: since its last delivery. It is None, and `consumer` empty, for an entry that was
    given back (XNACK): no consumer has it.
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
    """The groups of a stream, in the server's order; none if the stream is missing."""
    return [group_name(info) for info in group_infos(connection, stream)]


def plan_pending(
    connection: Connection, stream: str, group: str, *, entries_per_slice: int, minimum: int = 1
) -> list[PendingSlice]:
    """Slices of about `entries_per_slice`, if the IDs lie evenly; none if nothing is pending.

    `minimum`: how many there are to be at least, as far as there are IDs. A destroyed group
    has nothing pending.
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
    """The entries in order of their IDs. Raises ServerError if there is no such group (any more).

    `min_idle_ms`: only those that were delivered at least this long ago, or have no owner.
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
    """The server's clock, Unix ms: by ours, its times would be wrong where the two differ."""
    seconds, microseconds = connection.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
