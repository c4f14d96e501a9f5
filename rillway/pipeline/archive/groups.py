"""Consumer groups of a stream: the entries that they still need, and groups that hold up a trim.

A group needs every entry that it has not read yet and every entry that is pending for one of its
consumers. One number covers both: the first ID that it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rillway.pipeline.wire.connection import Connection, Reply, ServerError
from rillway.pipeline.wire.facts import all_group_infos, as_map, group_name
from rillway.pipeline.wire.ids import MAX_ID, MS, age_ms, format_id, parse_id
from rillway.sampler.replies import known_lag
from rillway.text import duration

PIPELINE_PREFIXES = ("__archive:", "__pin:", "__spark:")


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group at one moment.

    `lag`: the number of entries that it has not read, None if the server does not know; `idle_ms`:
    how long all its consumers have been inactive, None if it has no consumers.
    """

    name: str
    last_delivered: int
    pending: int
    oldest_pending: int | None
    lag: int | None
    idle_ms: int | None

    @property
    def first_needed(self) -> int:
        unread = min(self.last_delivered + 1, MAX_ID)
        return unread if self.oldest_pending is None else min(unread, self.oldest_pending)

    @property
    def is_of_the_pipeline(self) -> bool:
        """True if it belongs to an archive, a query or a Spark job, which have no consumers."""
        return self.name.startswith(PIPELINE_PREFIXES)


def read_groups(connection: Connection, stream: str) -> list[Group]:
    """Return the groups of a stream; none if it does not exist."""
    return read_all_groups(connection, all_group_infos(connection, [stream]))[stream]


def read_all_groups(
    connection: Connection, infos: Mapping[str, Sequence[dict[bytes, Reply]]]
) -> dict[str, list[Group]]:
    """Return the groups of several streams, using one pipeline. Raises ServerError.

    `infos`: XINFO GROUPS by stream.
    """
    listed = [(stream, info) for stream, them in infos.items() for info in them]
    found: dict[str, list[Group]] = {stream: [] for stream in infos}
    # Most groups have neither: the archive's own, and those that are up to date.
    asked = [(stream, info) for stream, info in listed if info[b"pending"] or info[b"consumers"]]
    words = [(stream, info[b"name"]) for stream, info in asked]
    replies = connection.call_all(
        [
            request
            for stream, name in words
            for request in (("XPENDING", stream, name), ("XINFO", "CONSUMERS", stream, name))
        ]
    )
    answers = dict(zip(words, zip(replies[::2], replies[1::2], strict=True), strict=True))
    for stream, info in listed:
        pending, consumers = answers.get((stream, info[b"name"]), ([0, None], []))
        # An error means that the group was destroyed between the requests.
        if not isinstance(pending, ServerError) and not isinstance(consumers, ServerError):
            found[stream].append(_group(info, pending, consumers))
    return found


def _group(info: dict[bytes, Reply], pending: Reply, consumers: Reply) -> Group:
    idle = [as_map(consumer)[b"idle"] for consumer in consumers]
    return Group(
        name=group_name(info),
        last_delivered=parse_id(info[b"last-delivered-id"]),
        pending=pending[0],
        oldest_pending=parse_id(pending[1]) if pending[1] else None,
        lag=known_lag(info),
        idle_ms=min(idle) if idle else None,
    )


def floor_of(groups: Collection[Group], goal: int, ignored: Collection[str]) -> int:
    """Return the first ID that must stay: `goal`, or an earlier one that a group needs."""
    needed = [group.first_needed for group in groups if group.name not in ignored]
    return min([goal, *needed])


def is_ignored(group: Group, ignored: Collection[str], max_idle_ms: int | None) -> bool:
    """Return True if the user allows a trim to remove entries that the group needs.

    A group without consumers is ignored only by name: it may have just been created.
    """
    if group.name in ignored:
        return True
    return (
        max_idle_ms is not None
        and not group.is_of_the_pipeline
        and group.idle_ms is not None
        and group.idle_ms > max_idle_ms
    )


@dataclass(frozen=True, slots=True)
class Holdup:
    """A group that holds up a trim, and the entries that it needs.

    `first_needed`: the first live one; `pending`: how many are delivered but not acknowledged, in
    the whole stream; `unread`: how many are not delivered, None if the server does not know;
    `since_ms`: how long the first one has been waiting, None if its ID is not a time.
    """

    stream: str
    group: str
    first_needed: int
    is_pending: bool  # the first one; otherwise it is unread
    pending: int
    unread: int | None
    since_ms: int | None

    @property
    def reason(self) -> str:
        """The kind of the first needed entry: `pending` or `unread`."""
        return "pending" if self.is_pending else "unread"

    @property
    def label(self) -> str:
        """The group and the reason for logs, such as `billing:pending`."""
        return f"{self.group}:{self.reason}"

    def sentence(self) -> str:
        """Return a sentence that says what holds up the trim."""
        parts = [f"{self.pending:,} not acknowledged"] if self.pending else []
        if self.unread is None:
            parts.append("an unknown number not read")
        elif self.unread:
            parts.append(f"{self.unread:,} not read")
        since = "" if self.since_ms is None else f", for {duration(self.since_ms)}"
        return (
            f"{self.stream}: the group {self.group} holds up the trim at "
            f"{format_id(self.first_needed)} ({self.label}){since}: " + ", ".join(parts)
        )


def find_holdups(
    connection: Connection,
    stream: str,
    groups: Collection[Group],
    goal: int,
    now_ms: int,
    unit: str = MS,
) -> list[Holdup]:
    """Return the `groups` that need live entries below `goal`, ordered by the first one.

    `unit`: the unit of the IDs.
    """
    found = []
    for group in groups:
        held = _first_held(connection, stream, group, goal)
        if held is None:
            continue
        is_pending = group.first_needed == group.oldest_pending
        since_ms = age_ms(held, unit, now_ms)
        if is_pending:
            since_ms = _idle_ms(connection, stream, group, since_ms)
        found.append(
            Holdup(stream, group.name, held, is_pending, group.pending, group.lag, since_ms)
        )
    return sorted(found, key=lambda holdup: holdup.first_needed)


def _first_held(connection: Connection, stream: str, group: Group, goal: int) -> int | None:
    """Return the first live entry below `goal` that a group needs, if any.

    A group may need IDs of no entry: one created at 0, for example.
    """
    if group.first_needed >= goal:
        return None
    bounds = format_id(group.first_needed), format_id(goal - 1)
    entries = connection.call("XRANGE", stream, *bounds, "COUNT", 1)
    return parse_id(entries[0][0]) if entries else None


def _idle_ms(
    connection: Connection, stream: str, group: Group, otherwise: int | None
) -> int | None:
    """Return how long ago the oldest pending entry was delivered."""
    oldest = format_id(group.first_needed)
    try:
        found = connection.call("XPENDING", stream, group.name, oldest, oldest, 1)
    except ServerError:
        return otherwise
    return int(found[0][2]) if found else otherwise
