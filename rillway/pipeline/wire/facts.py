"""Facts that a server reports of a stream, by which positions are planned and checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rillway.pipeline.wire.connection import Connection, Reply, ServerError
from rillway.pipeline.wire.ids import MIN_ID, parse_id

NO_SUCH_KEY = "no such key"


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """The reply to XINFO STREAM. A missing stream has zeros everywhere.

    `first_id`: the ID of the first entry in memory, 0 if there is none. `entries_added` counts all
    entries ever added; for a stream made by Redis 6 it may be less than `length`.
    """

    length: int = 0
    first_id: int = MIN_ID
    last_id: int = MIN_ID
    max_deleted_id: int = MIN_ID
    entries_added: int = 0
    groups: int = 0

    @property
    def trimmed(self) -> int:
        """The number of entries that were added and then removed, by XDEL or by a trim."""
        return max(self.entries_added - self.length, 0)

    @property
    def is_missing(self) -> bool:
        return self.last_id == MIN_ID and not self.length

    @property
    def has_holes(self) -> bool:
        """True if XDEL may have removed entries after the first, so that none can be counted."""
        return self.length > 0 and self.max_deleted_id >= self.first_id


def read_facts(connection: Connection, stream: str) -> StreamFacts:
    """Return the facts of a stream. Raises ServerError for a key of another type."""
    return all_facts(connection, [stream])[stream]


def all_facts(connection: Connection, streams: Iterable[str]) -> dict[str, StreamFacts]:
    """Return the facts of several streams by name, from one pipeline of requests."""
    names = list(streams)
    replies = connection.call_all([("XINFO", "STREAM", name) for name in names])
    return {name: _facts(name, reply) for name, reply in zip(names, replies, strict=True)}


def group_infos(connection: Connection, stream: str) -> list[dict[bytes, Reply]]:
    """Return the replies to XINFO GROUPS, in the server's order; none if the stream is missing."""
    return all_group_infos(connection, [stream])[stream]


def all_group_infos(
    connection: Connection, streams: Iterable[str]
) -> dict[str, list[dict[bytes, Reply]]]:
    """Return the groups of several streams by name, from one pipeline. Raises ServerError."""
    names = list(streams)
    found = {}
    replies = connection.call_all([("XINFO", "GROUPS", name) for name in names])
    for name, reply in zip(names, replies, strict=True):
        if not isinstance(reply, ServerError):
            found[name] = [as_map(group) for group in reply]
        elif NO_SUCH_KEY in str(reply):
            found[name] = []
        else:
            raise ServerError(f"{reply} ({name})")
    return found


def group_name(info: dict[bytes, Reply]) -> str:
    """Return the group's name in one of these replies."""
    return str(info[b"name"].decode(errors="backslashreplace"))


def group_positions(infos: Iterable[dict[bytes, Reply]]) -> dict[str, int]:
    """Return the last delivered ID of each group, by name."""
    return {group_name(info): parse_id(info[b"last-delivered-id"]) for info in infos}


def _facts(stream: str, reply: Reply) -> StreamFacts:
    if isinstance(reply, ServerError):
        if NO_SUCH_KEY in str(reply):
            return StreamFacts()
        raise ServerError(f"{reply} ({stream})")
    info = as_map(reply)
    first = info[b"first-entry"]
    return StreamFacts(
        length=info[b"length"],
        first_id=parse_id(first[0]) if first else MIN_ID,
        last_id=parse_id(info[b"last-generated-id"]),
        max_deleted_id=parse_id(info.get(b"max-deleted-entry-id", b"0-0")),
        entries_added=info.get(b"entries-added", 0),
        groups=info[b"groups"],
    )


def as_map(flat: Reply) -> dict[bytes, Reply]:
    """Return a map, which RESP2 sends as a flat list of names and values."""
    return dict(zip(flat[::2], flat[1::2], strict=True))
