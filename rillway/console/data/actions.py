"""The actions of viewers: add, acknowledge, claim, dead-letter, send back.

Each action is given entries, and reports the ones that it had to skip: since they were shown,
another client has acknowledged, deleted or received them. Nothing is done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import redis

from rillway.console.data.link import Link
from rillway.dead_letter import Cause
from rillway.pipeline.dead_letters.mover import MoveFailed, Mover, MoveReport, Rules
from rillway.pipeline.dead_letters.redrive import redrive_entry
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.wire.ids import format_id, parse_id
from rillway.pipeline.wire.pending import PendingEntry

# Entries of one action.
MAX_IDS = 1000


class Refused(Exception):
    """The action cannot be done; the text says why, its first word may be the server's code."""


@dataclass(slots=True)
class ActionResult:
    """The IDs of skipped entries (`gone`), and the number of the others."""

    done: int = 0
    gone: list[str] = field(default_factory=list)


def sorted_out(ids: Sequence[str], done: set[str]) -> ActionResult:
    return ActionResult(len(done), [one for one in ids if one not in done])


async def add(link: Link, db: int, key: bytes, fields: Sequence[tuple[bytes, bytes]]) -> str:
    """Return the ID of the new entry. Raises redis.RedisError."""
    flat = [word for pair in fields for word in pair]
    entry_id: bytes = await link.call(db, "XADD", key, "*", *flat)
    return entry_id.decode()


async def acknowledge(
    link: Link, db: int, key: bytes, group: bytes, ids: Sequence[str]
) -> ActionResult:
    """Acknowledge entries. Raises redis.RedisError."""
    replies = await link.call_all(db, [("XACK", key, group, one) for one in ids])
    for reply in replies:
        if isinstance(reply, redis.RedisError):
            raise reply
    return sorted_out(ids, {one for one, reply in zip(ids, replies, strict=True) if reply})


async def claim(
    link: Link,
    db: int,
    key: bytes,
    group: bytes,
    ids: Sequence[str],
    consumer: bytes,
    min_idle_ms: int = 0,
) -> ActionResult:
    """Claim entries. Those delivered less than `min_idle_ms` ago are skipped.

    The number of deliveries stays, since nothing is delivered yet. Raises redis.RedisError.
    """
    claimed = await link.call(db, "XCLAIM", key, group, consumer, min_idle_ms, *ids, "JUSTID")
    return sorted_out(ids, {one.decode() for one in claimed})


# -- dead letters ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ByHand(Rules):
    """Rules for entries that a person chose, however often they were delivered."""

    more_than: int = 0
    reason: str = "moved by hand, in the console"

    def apply_to(self, entry: PendingEntry) -> bool:
        return True

    def cause(self, entry: PendingEntry) -> Cause:
        return "fatal"

    def error(self, entry: PendingEntry) -> str:
        return self.reason


async def dead_letter(
    link: Link, db: int, key: bytes, group: bytes, ids: Sequence[str], to: bytes
) -> ActionResult:
    """Move entries to the stream of dead letters. Raises Refused."""
    stream, group_name, target = map(utf8, (key, group, to))

    def move() -> ActionResult:
        with pipeline_connection(link.url(db)) as connection:
            report = MoveReport(stream, group_name)
            mover = Mover(connection, stream, target, ByHand())
            mover.move_entries(group_name, [parse_id(one) for one in ids], report)
            return sorted_out(ids, set(map(format_id, report.moved_ids)))

    return await asyncio.to_thread(move)


async def redrive(link: Link, db: int, key: bytes, dead: bytes, ids: Sequence[str]) -> ActionResult:
    """Send dead letters back to the stream that they came from. Raises Refused."""
    stream, source = utf8(key), utf8(dead)

    def send() -> ActionResult:
        with pipeline_connection(link.url(db)) as connection:
            return sorted_out(
                ids, {one for one in ids if redrive_entry(connection, source, stream, one)}
            )

    return await asyncio.to_thread(send)


@contextmanager
def pipeline_connection(url: str) -> Iterator[Connection]:
    try:
        with Connection(url) as connection:
            yield connection
    except (ServerError, MoveFailed, ConnectionLost) as error:
        raise Refused(str(error)) from error


def utf8(name: bytes) -> str:
    """Decode a name. Raises Refused: a dead letter names its stream and group as text."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise Refused("ERR dead letters need names that are UTF-8") from None
