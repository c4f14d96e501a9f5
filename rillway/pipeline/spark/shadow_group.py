"""A consumer group that shows the progress of a query: XINFO GROUPS reports its lag.

No client reads through the group, so it never has pending entries. It also keeps the position where
a query began at "latest", which Spark asks for twice, and a trim that respects groups stops at it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import StreamFacts, group_infos
from rillway.pipeline.wire.ids import format_id, parse_id
from rillway.sampler.replies import known_lag

PREFIX = "__spark:"


def shadow_group(name: str) -> str:
    """Return the name of the group for the option groupName."""
    return PREFIX + name


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group in XINFO GROUPS. `lag` and `position.n` are None if the server does not know them."""

    name: str
    position: Position
    consumers: int
    pending: int
    lag: int | None


def read_groups(connection: Connection, stream: str) -> list[GroupFacts]:
    """Return the groups of a stream; none if the stream is missing."""
    return [_group(info) for info in group_infos(connection, stream)]


def _group(info: dict[bytes, object]) -> GroupFacts:
    last_id, n = info[b"last-delivered-id"], info.get(b"entries-read")
    assert isinstance(last_id, bytes)
    name, consumers, pending = info[b"name"], info[b"consumers"], info[b"pending"]
    assert isinstance(name, bytes) and isinstance(consumers, int) and isinstance(pending, int)
    return GroupFacts(
        name=name.decode(errors="backslashreplace"),
        position=Position(parse_id(last_id), n if isinstance(n, int) else None),
        consumers=consumers,
        pending=pending,
        lag=known_lag(info),
    )


def group_position(connection: Connection, stream: str, group: str) -> Position | None:
    """Return the position of a group; None if there is no such group or stream."""
    found = [one for one in read_groups(connection, stream) if one.name == group]
    return found[0].position if found else None


def pin(connection: Connection, stream: str, group: str, facts: StreamFacts) -> Position:
    """Return the group's position; a missing group is created at the end of the stream."""
    known = group_position(connection, stream, group)
    if known is not None:
        return known
    end = Position(facts.last_id, facts.entries_added)
    try:
        connection.call("XGROUP", "CREATE", stream, group, *_words(end))
    except ServerError as error:
        if error.code != "BUSYGROUP":
            raise
    # Another client created it meanwhile and set its position.
    return group_position(connection, stream, group) or end


def publish(connection: Connection, stream: str, group: str, position: Position) -> None:
    """Move the group, or create it if it is missing. A deleted stream gets none."""
    for verb in ("SETID", "CREATE"):
        try:
            connection.call("XGROUP", verb, stream, group, *_words(position))
            return
        except ServerError as error:
            if error.code != "NOGROUP":
                return  # the key was deleted or is no longer a stream: the reader will report it


def _words(position: Position) -> list[str | int]:
    known: list[str | int] = [] if position.n is None else ["ENTRIESREAD", position.n]
    return [format_id(position.id), *known]
