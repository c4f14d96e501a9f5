"""Long ranges, whose reply is made and sent in pieces (commands/core/long_reply.py).

XRANGE, XREVRANGE, XREAD, XREADGROUP and XINFO STREAM FULL answer from a snapshot of the stream then
(storage/nodes/range_snapshot.py): a million entries take some 80 ms to join, during which the
stream may be written to, trimmed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from commands.core.long_reply import LongReply
from storage.entries.entry_id import EntryID
from storage.nodes.range_snapshot import RangeSnapshot
from storage.stream import Stream

# A range with more nodes than this is long, if more than so many entries are asked for: what is
# below takes less than a millisecond.
MANY_NODES = 64
MANY_ENTRIES = 5000

# How many nodes are joined to a piece, and how many entries of a node that is still open.
NODES_PER_PIECE = 8
ENTRIES_PER_PIECE = 2000


@dataclass(slots=True)
class LongRange:
    """One range within a reply, behind a header that tells its length."""

    snapshot: RangeSnapshot
    header: Callable[[int], bytes]


def is_long(stream: Stream, start: EntryID, end: EntryID, count: int) -> bool:
    """Whether the first `count` entries of a range (negative: all) had better be sent in pieces."""
    if 0 <= count <= MANY_ENTRIES or stream.node_count <= MANY_NODES:
        return False
    return stream.count_nodes(start, end) > MANY_NODES


# Of a long reply: bytes, a range, or pieces as they are made when it is their turn.
Part: TypeAlias = "bytes | LongRange | Iterator[bytes]"


def long_reply(parts: Sequence[Part]) -> LongReply:
    """A reply of parts, of which some are long."""
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
    nodes = 0
    for chunks in snapshot.chunks():
        nodes += 1
        while len(chunks) > ENTRIES_PER_PIECE:
            yield b"".join([*batch, *chunks[:ENTRIES_PER_PIECE]])
            batch.clear()
            chunks = chunks[ENTRIES_PER_PIECE:]
        batch += chunks
        if nodes == NODES_PER_PIECE:
            yield b"".join(batch)
            batch.clear()
            nodes = 0
    yield b"".join(batch)
