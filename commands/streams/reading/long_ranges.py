"""Long ranges of entries, built and sent in pieces (commands/core/long_reply.py).

XRANGE, XREVRANGE, XREAD, XREADGROUP and XINFO STREAM FULL then read from a snapshot of the stream
(storage/nodes/range_snapshot.py): joining a million entries takes some 80 ms, and meanwhile the
stream may be written to, trimmed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from commands.core.long_reply import LongReply
from protocol.records import record
from storage.entries.entry_id import EntryID
from storage.nodes.range_snapshot import RangeSnapshot
from storage.stream import Stream

# A range is long if it spans more nodes and asks for more entries than this: a shorter one takes
# less than a millisecond.
MANY_NODES = 64
MANY_ENTRIES = 5000

# The most nodes in a piece, which have to be unpacked, and the size from which on it is sent.
NODES_PER_PIECE = 8
PIECE_BYTES = 512 * 1024


@record
class LongRange:
    """One range within a reply, after a header with its length."""

    snapshot: RangeSnapshot
    header: Callable[[int], bytes]


def is_long(stream: Stream, start: EntryID, end: EntryID, count: int) -> bool:
    """Return True if the first `count` entries of a range (negative: all) are to go in pieces."""
    if 0 <= count <= MANY_ENTRIES or stream.node_count <= MANY_NODES:
        return False
    return stream.count_nodes(start, end) > MANY_NODES


# A part of a long reply: bytes, a range, or an iterator of pieces.
Part: TypeAlias = "bytes | LongRange | Iterator[bytes]"


def long_reply(parts: Sequence[Part]) -> LongReply:
    """A long reply made of `parts`."""
    ranges = [part for part in parts if isinstance(part, LongRange)]

    def release() -> None:
        for part in ranges:
            part.snapshot.release()

    return LongReply(_pieces(parts, ranges), release)


def _pieces(parts: Sequence[Part], ranges: list[LongRange]) -> Iterator[bytes]:
    for long_range in ranges:
        for _ in long_range.snapshot.count():
            yield b""
    for part in parts:
        if isinstance(part, LongRange):
            yield part.header(part.snapshot.length)
            yield from _entries(part.snapshot)
        elif isinstance(part, bytes):
            yield part
        else:
            yield from part


def _entries(snapshot: RangeSnapshot) -> Iterator[bytes]:
    batch: list[bytes] = []
    size = nodes = 0
    for chunks in snapshot.chunks():
        nodes += 1
        for chunk in chunks:
            batch.append(chunk)
            size += len(chunk)
            if size >= PIECE_BYTES:
                yield b"".join(batch)
                batch.clear()
                size = nodes = 0
        if nodes == NODES_PER_PIECE:
            yield b"".join(batch)
            batch.clear()
            size = nodes = 0
    yield b"".join(batch)
