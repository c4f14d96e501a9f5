"""XRANGE, XREVRANGE, XLEN (Redis 7.4) and XSPLIT: ranges of entries.

A long range is built and sent in pieces (commands/core/long_reply.py), that of XREAD, XREADGROUP
and XINFO STREAM FULL, too. They then read from a snapshot of the stream
(storage/nodes/ranges.py): joining a million entries takes some 80 ms, and meanwhile the
stream may be written to, trimmed or deleted.

    XSPLIT key start end EVERY number [COUNT count]

Rillway's own command: partitions a range of IDs for parallel readers. The reply has an array for
each part: the first ID, the last ID and the number of entries, which is `number` for all but the
last part. Reading each part with XRANGE gives every entry once. COUNT limits the total of entries;
one that is not positive returns no parts. A client of Redis that needs the ID of the n-th entry
must read all entries before it. XSPLIT reads no entry, and splits a range of a million within
milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import cython

from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.long_reply import LONG_BYTES, LongReply
from commands.core.registry import FAST, READONLY, command, one_key
from commands.streams.ids import parse_range_end, parse_range_start
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.replies import EMPTY_ARRAY, NIL_ARRAY, ZERO
from protocol.request import Request
from storage.entries.entry_id import MAX_ID, EntryID, EntryIDs, PlainID, format_id, make_id
from storage.nodes.ranges import PickedEntries, RangeSnapshot
from storage.redis_format.listpack_elements import plain_integer
from storage.stream import Stream

ALL = -1  # the count of a range that is not limited

# Up to this many entries are answered at once, without a look at how long the range is; ...
_VERY_FEW_ENTRIES: cython.Py_ssize_t = 10
# ... and up to this many, unless they have many bytes, with a look at nodes only.
_FEW_ENTRIES: cython.Py_ssize_t = 1000
_LONG_BYTES: cython.Py_ssize_t = LONG_BYTES
_PLUS: cython.int = ord("+")

# Of the request that is executed.
_IDS = EntryIDs()
_PLAIN_ID = PlainID()


@command("XRANGE", arity=-4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"), is_quick=True)
def xrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of entries; a null array for a COUNT that is not positive. Source: Redis 7.4."""
    return _range(client, argv)


def _range(client: Client, argv: Request) -> bytes | LongReply:
    start = _first_id(argv.word(2))
    is_to_end: cython.bint = argv.is_byte(3, _PLUS)
    end = MAX_ID if is_to_end else parse_range_end(argv.word(3))
    count: cython.Py_ssize_t = _parse_count(argv)
    stream: Stream | None = client.lookup_stream(argv.word(1))
    if stream is None or count == 0:
        return _nothing(client, stream)
    part: bytes | LongRange | None
    if is_to_end:
        part = entries_from(stream, start, count, b"")
    elif is_long(stream, start, end, count):
        part = LongRange(stream.snapshot(start, end, count))
    else:
        length, chunks = stream.range(start, end, count)
        part = b"".join([replies.array_header(length), *chunks])
    if part is None:
        return EMPTY_ARRAY
    if type(part) is bytes:
        return part
    return long_reply([part])


def entries_from(
    stream: Stream, start: EntryID, count: cython.Py_ssize_t, header: bytes
) -> bytes | LongRange | None:
    """The first `count` entries from an ID on, as an array after a header; None if there is none.

    A long range is sent in pieces.
    """
    if is_long(stream, start, MAX_ID, count):
        return LongRange(stream.snapshot(start, MAX_ID, count), header)
    if 0 < count <= _FEW_ENTRIES:
        ids: EntryIDs = _IDS
        ids.clear()
        chunks: list[bytes] = stream.read_from(ids, start, count)
        length: cython.Py_ssize_t = ids.count
    else:
        length, chunks = stream.range(start, MAX_ID, count)
    if not length:
        return None
    header = header + replies.array_header(length)
    if len(chunks) == 1:
        return header + chunks[0]
    chunks.insert(0, header)
    return b"".join(chunks)


def _first_id(text: bytes) -> EntryID:
    """parse_range_start(); most are an ID in its plain form, or a time alone."""
    plain: PlainID = _PLAIN_ID
    if plain.read(text):
        return make_id(plain.ms, plain.seq)
    ms: cython.long = plain_integer(text, 0, len(text))
    return make_id(ms, 0) if ms > 0 else parse_range_start(text)


@command("XREVRANGE", arity=-4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"), is_quick=True)
def xrevrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of entries, newest first; null for a COUNT that is not positive. Source: Redis 7.4."""
    start, end = parse_range_start(argv[3]), parse_range_end(argv[2])
    count = _parse_count(argv)
    stream: Stream | None = client.lookup_stream(argv[1])
    if stream is None or count == 0:
        return _nothing(client, stream)
    if is_long(stream, start, end, count, reverse=True):
        return long_reply([LongRange(stream.snapshot(start, end, count, reverse=True))])
    length, chunks = stream.reverse_range(end, start, count)
    return b"".join([replies.array_header(length), *chunks])


@command("XLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def xlen(client: Client, argv: Request) -> bytes:
    """Integer, 0 for a missing key. Source: Redis 7.4."""
    stream: Stream | None = client.lookup_stream(argv.word(1))
    return ZERO if stream is None else replies.integer(stream.length)


def _parse_count(argv: Request) -> cython.Py_ssize_t:
    """COUNT, given once or more: the last one counts, and one below 0 is 0."""
    if argv.count == 4:
        return ALL
    return _count_of(argv.word(4), argv.word(5)) if argv.count == 6 else _last_count_of(argv[4:])


@lru_cache(maxsize=1024)
def _count_of(option: bytes, text: bytes) -> int:
    """Parse one COUNT; cached, because readers send the same few."""
    return _last_count_of([option, text])


def _last_count_of(words: list[bytes]) -> int:
    count = ALL
    for position in range(0, len(words), 2):
        if words[position].upper() != b"COUNT" or position + 1 == len(words):
            raise ReplyError(errors.SYNTAX)
        count = max(parse_int(words[position + 1]), 0)
    return count


def _nothing(client: Client, stream: Stream | None) -> bytes:
    """The reply to COUNT 0: an empty array for a missing key, null for a stream."""
    return EMPTY_ARRAY if stream is None else NIL_ARRAY[client.resp]


# -- long ranges -------------------------------------------------------------------------------


# A range is long if it has a megabyte, or spans more nodes and asks for more entries than this: a
# shorter one takes less than a millisecond.
MANY_NODES = 64
MANY_ENTRIES = 5000

# The most nodes in a piece, which have to be unpacked, and the size from which on it is sent.
NODES_PER_PIECE = 8
PIECE_BYTES = 512 * 1024


@record
class LongRange:
    """One range within a reply, as an array after a header."""

    snapshot: RangeSnapshot
    header: bytes = b""


@record
class LongPick:
    """Entries with given IDs within a reply, as an array after a header."""

    snapshot: PickedEntries
    header: bytes = b""
    resp: int = 2  # of the client, for entries that were deleted


def is_long(
    stream: Stream,
    start: EntryID,
    end: EntryID,
    count: cython.Py_ssize_t,
    reverse: cython.bint = False,
) -> bool:
    """Return True if the first `count` entries of a range (negative: all) are to go in pieces."""
    if 0 <= count <= _VERY_FEW_ENTRIES:
        return False
    if stream.exceeds_bytes(start, end, count, _LONG_BYTES, reverse):
        return True
    if 0 <= count <= MANY_ENTRIES or stream.node_count <= MANY_NODES:
        return False
    return stream.count_nodes(start, end) > MANY_NODES


def is_long_pick(stream: Stream, ids: list[EntryID]) -> bool:
    """Return True if entries with these ascending IDs are probably to go in pieces."""
    return bool(ids) and stream.exceeds_bytes(ids[0], ids[-1], len(ids), _LONG_BYTES, False)


# A part of a long reply: bytes, entries, or an iterator of pieces.
Part: TypeAlias = "bytes | LongRange | LongPick | Iterator[bytes]"


def long_reply(parts: Sequence[Part]) -> LongReply:
    """A long reply made of `parts`."""
    ranges = [part for part in parts if isinstance(part, LongRange)]
    snapshots = [part.snapshot for part in parts if isinstance(part, LongRange | LongPick)]

    def release() -> None:
        for snapshot in snapshots:
            snapshot.release()

    return LongReply(_pieces(parts, ranges), release)


def _pieces(parts: Sequence[Part], ranges: list[LongRange]) -> Iterator[bytes]:
    for long_range in ranges:
        for _ in long_range.snapshot.count():
            yield b""
    for part in parts:
        if isinstance(part, LongRange):
            yield part.header + replies.array_header(part.snapshot.length)
            yield from _joined(part.snapshot.chunks())
        elif isinstance(part, LongPick):
            yield part.header + replies.array_header(len(part.snapshot.ids))
            yield from _joined(_picked(part))
        elif isinstance(part, bytes):
            yield part
        else:
            yield from part


def _picked(part: LongPick) -> Iterator[list[bytes]]:
    """The entries, or what is answered instead of one that was deleted."""
    place = 0
    for entries in part.snapshot.chunks():
        ids = part.snapshot.ids[place : place + len(entries)]
        place += len(entries)
        pairs = zip(entries, ids, strict=True)
        yield [entry or deleted_entry(entry_id, part.resp) for entry, entry_id in pairs]


def deleted_entry(entry_id: EntryID, resp: int) -> bytes:
    """A pending entry whose content was deleted, in a consumer's history."""
    return replies.array([replies.bulk(format_id(entry_id)), NIL_ARRAY[resp]])


def _joined(nodes_chunks: Iterator[list[bytes]]) -> Iterator[bytes]:
    """The chunks of nodes, as pieces of a reply."""
    batch: list[bytes] = []
    size = nodes = 0
    for chunks in nodes_chunks:
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


# -- XSPLIT ------------------------------------------------------------------------------------


@command("XSPLIT", arity=-6, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def xsplit(client: Client, argv: Request) -> bytes:
    """Array of [first ID, last ID, number of entries]; empty for a missing key."""
    start, end = parse_range_start(argv[2]), parse_range_end(argv[3])
    every, count = _parse_sizes(argv)
    stream: Stream | None = client.lookup_stream(argv[1])
    if stream is None:
        return EMPTY_ARRAY
    limit = stream.length if count is None else max(count, 0)
    parts = [
        replies.array(
            [
                replies.bulk(format_id(run.first_id)),
                replies.bulk(format_id(run.last_id)),
                replies.integer(run.length),
            ]
        )
        for run in stream.split(start, end, every, limit)
    ]
    return replies.array(parts)


def _parse_sizes(argv: Request) -> tuple[int, int | None]:
    """EVERY and COUNT, in any order; EVERY is required and positive."""
    every: int | None = None
    count: int | None = None
    arguments = Arguments(argv, 4)
    while arguments:
        if arguments.take(b"EVERY"):
            every = arguments.next_int(minimum=1, maximum=INT64_MAX)
        elif arguments.take(b"COUNT"):
            count = arguments.next_int()
        else:
            arguments.finish()
    if every is None:
        raise ReplyError(errors.SYNTAX)
    return every, count
