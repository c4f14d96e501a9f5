"""The lists of XINFO STREAM FULL: entries, and the pending entries of groups and consumers.

A long list (COUNT 0 asks for all) is built and sent in pieces (commands/core/long_reply.py). All
pieces show the same moment: entries come from a snapshot of the stream, pending ones from blocks
that are copied before they change (copy on write).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from commands.core.long_reply import LongReply
from commands.streams.reading.long_ranges import LongRange, Part, is_long, long_reply
from protocol import replies
from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, SEQ_BITS
from storage.groups.consumer import Consumer
from storage.groups.group import Group
from storage.groups.pending_block import LentBlock, Owner, Row
from storage.stream import Stream

# Listing this many pending entries takes some milliseconds; a longer reply is sent in pieces.
MANY_PENDING = 4000

# What an entry begins with, by the length of its ID, which is two numbers of up to 20 digits.
_OF_GROUP = [b"*4\r\n$%d\r\n" % length for length in range(42)]
_OF_CONSUMER = [b"*3\r\n$%d\r\n" % length for length in range(42)]


def is_long_info(stream: Stream, count: int) -> bool:
    """Return True if a reply with `count` (0: all) entries of the stream and each PEL is long."""
    if is_long(stream, MIN_ID, MAX_ID, count or -1):
        return True
    listed = sum(limited(len(group.pending), count) for group in stream.groups.values())
    return listed > MANY_PENDING


def limited(length: int, count: int) -> int:
    """The number of items of a list of `length` that are shown; `count` 0: all."""
    return min(length, count) if count else length


def entries_part(stream: Stream, count: int) -> Part:
    """The first `count` entries of the stream (0: all), as an array."""
    if is_long(stream, MIN_ID, MAX_ID, count or -1):
        return LongRange(stream.snapshot(MIN_ID, MAX_ID, count or -1), replies.array_header)
    length, chunks = stream.range(MIN_ID, MAX_ID, count or -1)
    return b"".join([replies.array_header(length), *chunks])


class Listing:
    """The first `count` pending entries (0: all) of a group and of its consumers, encoded."""

    def __init__(self, group: Group, count: int) -> None:
        self._group = group
        self._limit = count or None

    def of_group(self) -> Part:
        """The group's pending entries."""
        return _of_group(islice(self._group.pending.rows_from(MIN_ID), self._limit))

    def of_consumer(self, consumer: Consumer) -> Part:
        """One consumer's pending entries."""
        return _of_consumer(islice(consumer.pending.rows_from(MIN_ID), self._limit))


class ListingInPieces(Listing):
    """`Listing` a block at a time. The list of the group must be made before those of consumers."""

    def __init__(self, group: Group, count: int) -> None:
        super().__init__(group, count)
        self._blocks = group.pending.lend_blocks(MIN_ID, MAX_ID)
        self._by_owner: dict[Owner | None, list[LentBlock]] = {}

    def of_group(self) -> Part:
        """The group's pending entries; also notes which consumers have entries in which blocks."""
        return self._group_pieces()

    def _group_pieces(self) -> Iterator[bytes]:
        left = self._limit
        for block in self._blocks:
            columns = block.columns()
            for owner in set(columns[1]):
                self._by_owner.setdefault(owner, []).append(block)
            rows = list(islice(zip(*columns, strict=True), left))
            if left is not None:
                left -= len(rows)
            yield _of_group(rows)
        self._blocks = []

    def of_consumer(self, consumer: Consumer) -> Part:
        """One consumer's pending entries."""
        return self._consumer_pieces(consumer)

    def _consumer_pieces(self, consumer: Consumer) -> Iterator[bytes]:
        left = self._limit
        for block in self._by_owner.pop(consumer, ()):
            owned = (row for row in zip(*block.columns(), strict=True) if row[1] is consumer)
            rows = list(islice(owned, left))
            if left is not None:
                left -= len(rows)
            yield _of_consumer(rows)


def _of_group(rows: Iterable[Row]) -> bytes:
    """ID, owner (empty if there is none), delivery time and count of each entry."""
    pieces: list[bytes] = []
    last: tuple[Owner | None, int, int] | None = None
    rest = b""
    for entry_id, owner, time_ms, deliveries in rows:
        if last != (owner, time_ms, deliveries):
            last = owner, time_ms, deliveries
            name = b"" if owner is None else owner.name
            rest = b"\r\n%b:%d\r\n:%d\r\n" % (replies.bulk(name), time_ms, deliveries)
        text = b"%d-%d" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)
        pieces += (_OF_GROUP[len(text)], text, rest)
    return b"".join(pieces)


def _of_consumer(rows: Iterable[Row]) -> bytes:
    """ID, delivery time and count of each."""
    pieces: list[bytes] = []
    last_ms, last_count, rest = -1, -1, b""
    for entry_id, _, time_ms, deliveries in rows:
        if time_ms != last_ms or deliveries != last_count:
            last_ms, last_count = time_ms, deliveries
            rest = b"\r\n:%d\r\n:%d\r\n" % (time_ms, deliveries)
        text = b"%d-%d" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)
        pieces += (_OF_CONSUMER[len(text)], text, rest)
    return b"".join(pieces)


def map_parts(resp: int, values: dict[str, Part | list[Part]]) -> list[Part]:
    """A map from field names, with - for _, to values in parts."""
    parts: list[Part] = [replies.map_header(len(values), resp)]
    for name, value in values.items():
        parts.append(replies.bulk(name.replace("_", "-").encode()))
        parts += value if isinstance(value, list) else [value]
    return parts


def reply_of(parts: list[Part], *, in_pieces: bool) -> bytes | LongReply:
    """The whole reply, at once or in pieces."""
    reply = long_reply(parts)
    return reply if in_pieces else reply.join()
