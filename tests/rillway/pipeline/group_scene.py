"""Streams with groups for tests of what looks at groups."""

from __future__ import annotations

from collections.abc import Iterable

from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import add_many


def pending_stream(
    link: Connection, stream: str = "s", count: int = 10, group: str = "g", consumer: str = "c"
) -> None:
    """Entries `1-0` and so on, all of them pending with one consumer, delivered once."""
    add_many(link, stream, count)
    link.call("XGROUP", "CREATE", stream, group, "0")
    link.call("XREADGROUP", "GROUP", group, consumer, "COUNT", count, "STREAMS", stream, ">")


def deliver_again(
    link: Connection, ids: Iterable[str], times: int, *, consumer: str = "c", idle_ms: int = 0
) -> None:
    """Make entries of s/g look as if they were delivered `times` times."""
    link.call(
        "XCLAIM", "s", "g", consumer, 0, *ids, "IDLE", idle_ms, "RETRYCOUNT", times, "JUSTID"
    )  # fmt: skip


def pending_ids(link: Connection, stream: str = "s", group: str = "g") -> list[str]:
    return [line[0].decode() for line in link.call("XPENDING", stream, group, "-", "+", 1000)]
