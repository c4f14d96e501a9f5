"""Groups of one moment: position, lag and consumers of each.

XINFO STREAM, GROUPS and CONSUMERS of a stream in one go, so the numbers belong together as far as
the server lets them. No Spark here, and no Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rillway.pipeline.client.connection import Connection, Reply, ServerError
from rillway.pipeline.client.facts import NO_SUCH_KEY, as_map
from rillway.pipeline.client.pending import server_time_ms


@dataclass(frozen=True, slots=True)
class ConsumerSample:
    """`inactive_ms`: since it last got something; None if it never did, or before Redis 7.2."""

    name: str
    pending: int
    idle_ms: int
    inactive_ms: int | None


@dataclass(frozen=True, slots=True)
class GroupSample:
    """One group at `time_ms` of the server's clock. `lag` and `entries_read` may be unknown."""

    stream: str
    group: str
    time_ms: int
    lag: int | None
    pending: int
    entries_read: int | None
    last_delivered_id: str
    stream_length: int
    stream_entries_added: int
    stream_last_id: str
    consumers: tuple[ConsumerSample, ...]


def sample_groups(connection: Connection, streams: Iterable[str]) -> list[GroupSample]:
    """All groups of some streams; those of a stream that is missing are none.

    Raises ServerError for a key that holds something else.
    """
    names = list(streams)
    time_ms = server_time_ms(connection)
    requests = [("XINFO", what, name) for name in names for what in ("STREAM", "GROUPS")]
    replies = connection.call_all(requests)
    samples = []
    for name, info, groups in zip(names, replies[::2], replies[1::2], strict=True):
        if isinstance(info, ServerError) or isinstance(groups, ServerError):
            error = info if isinstance(info, ServerError) else groups
            if NO_SUCH_KEY in str(error):
                continue
            raise ServerError(f"{error} ({name})")
        samples += _samples_of(connection, name, time_ms, as_map(info), groups)
    return samples


def _samples_of(
    connection: Connection, stream: str, time_ms: int, info: dict[bytes, Reply], groups: Reply
) -> list[GroupSample]:
    listed = [as_map(group) for group in groups]
    consumers = connection.call_all(
        [("XINFO", "CONSUMERS", stream, group[b"name"]) for group in listed]
    )
    return [
        GroupSample(
            stream=stream,
            group=_text(group[b"name"]),
            time_ms=time_ms,
            lag=group.get(b"lag"),
            pending=group[b"pending"],
            entries_read=group.get(b"entries-read"),
            last_delivered_id=_text(group[b"last-delivered-id"]),
            stream_length=info[b"length"],
            stream_entries_added=info.get(b"entries-added", 0),
            stream_last_id=_text(info[b"last-generated-id"]),
            consumers=tuple(map(_consumer, members)),
        )
        for group, members in zip(listed, consumers, strict=True)
        if not isinstance(members, ServerError)  # destroyed between the requests
    ]


def _consumer(reply: Reply) -> ConsumerSample:
    info = as_map(reply)
    inactive_ms = info.get(b"inactive", -1)
    return ConsumerSample(
        name=_text(info[b"name"]),
        pending=info[b"pending"],
        idle_ms=info[b"idle"],
        inactive_ms=inactive_ms if inactive_ms >= 0 else None,
    )


def _text(name: bytes) -> str:
    return name.decode(errors="backslashreplace")
