"""XRANGE, XREVRANGE and XLEN (Redis 7.4)."""

from __future__ import annotations

from functools import lru_cache

import cython

from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, command, one_key
from commands.streams.ids import parse_range_end, parse_range_start
from commands.streams.reading.long_ranges import LongRange, is_long, long_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.entries.entry_id import EntryID, PlainID, make_id
from storage.entries.entry_ids import EntryIDs
from storage.redis_format.listpack_size import plain_integer
from storage.stream import Stream

ALL = -1  # the count of a range that is not limited

# Up to this many entries are answered at once, without a look at how long the range is.
_FEW_ENTRIES: cython.Py_ssize_t = 1000
_PLUS: cython.int = ord("+")

# Of the request that is executed.
_IDS = EntryIDs()
_PLAIN_ID = PlainID()


@command("XRANGE", arity=-4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def xrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of entries; a null array for a COUNT that is not positive. Source: Redis 7.4."""
    reply: bytes | None
    if argv.count == 6 and argv.is_byte(3, _PLUS):
        reply = _few_to_end(client, argv)
        if reply is not None:  # 1.2 us a request instead of 3.0
            argv.mark_quick(len(reply))
            return reply
    start, end = parse_range_start(argv[2]), parse_range_end(argv[3])
    count = _parse_count(argv)
    stream = client.lookup_stream(argv[1])
    if stream is None or count == 0:
        return _nothing(client, stream)
    if is_long(stream, start, end, count):
        snapshot = stream.snapshot(start, end, count)
        return long_reply([LongRange(snapshot, replies.array_header)])
    length, chunks = stream.range(start, end, count)
    reply = b"*%d\r\n" % length + (chunks[0] if len(chunks) == 1 else b"".join(chunks))
    argv.mark_quick(len(reply))
    return reply


@cython.cfunc
def _few_to_end(client: Client, argv: Request) -> bytes | None:
    """The reply with a few entries up to the end of the stream; None for another COUNT."""
    start = _first_id(argv.word(2))
    count: cython.Py_ssize_t = _count_of(argv.word(4), argv.word(5))
    if count <= 0 or count > _FEW_ENTRIES:
        return None
    stream: Stream | None = client.lookup_stream(argv.word(1))
    if stream is None:
        return replies.EMPTY_ARRAY
    ids: EntryIDs = _IDS
    ids.clear()
    chunks: list[bytes] = stream.read_from(ids, start, count)
    header = replies.array_header(ids.count)
    return header + (chunks[0] if len(chunks) == 1 else b"".join(chunks))


def _first_id(text: bytes) -> EntryID:
    """parse_range_start(); most are an ID in its plain form, or a time alone."""
    plain: PlainID = _PLAIN_ID
    if plain.read(text):
        return make_id(plain.ms, plain.seq)
    ms: cython.longlong = plain_integer(text, 0, len(text))
    return make_id(ms, 0) if ms > 0 else parse_range_start(text)


@command("XREVRANGE", arity=-4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def xrevrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of entries, newest first; null for a COUNT that is not positive. Source: Redis 7.4."""
    start, end = parse_range_start(argv[3]), parse_range_end(argv[2])
    count = _parse_count(argv)
    stream = client.lookup_stream(argv[1])
    if stream is None or count == 0:
        return _nothing(client, stream)
    if is_long(stream, start, end, count):
        snapshot = stream.snapshot(start, end, count, reverse=True)
        return long_reply([LongRange(snapshot, replies.array_header)])
    length, chunks = stream.reverse_range(end, start, count)
    reply = b"".join([replies.array_header(length), *chunks])
    argv.mark_quick(len(reply))
    return reply


@command("XLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def xlen(client: Client, argv: Request) -> bytes:
    """Integer, 0 for a missing key. Source: Redis 7.4."""
    stream = client.lookup_stream(argv.word(1))
    argv.mark_quick(0)
    return replies.ZERO if stream is None else replies.integer(stream.length)


def _parse_count(argv: Request) -> int:
    """COUNT, given once or more: the last one counts, and one below 0 is 0."""
    if len(argv) == 4:
        return ALL
    return _count_of(*argv[4:]) if len(argv) == 6 else _last_count_of(argv[4:])


@lru_cache(maxsize=1024)
def _count_of(option: bytes, text: bytes) -> int:
    """Parse one COUNT; cached, because readers send the same few."""
    return _last_count_of([option, text])


def _last_count_of(words: list[bytes]) -> int:
    count = ALL
    for position in range(0, len(words), 2):
        if words[position].upper() != b"COUNT" or position + 1 == len(words):
            raise ReplyError(errors.SYNTAX)
        number = parse_int(words[position + 1])
        count = number if number > 0 else 0
    return count


def _nothing(client: Client, stream: Stream | None) -> bytes:
    """The reply to COUNT 0: an empty array for a missing key, null for a stream."""
    return replies.EMPTY_ARRAY if stream is None else replies.NIL_ARRAY[client.resp]
