"""XREAD (Redis 7.4): entries after an ID, of several streams, at once or when they arrive.

    [GROUP group consumer] [COUNT count] [MAXCOUNT entries] [MAXSIZE bytes] [BLOCK ms]
    [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]

XREADGROUP (groups/read_group.py) shares the form of the request and of the reply, which is joined
from stored bytes; no entry is decoded. A request is parsed once: that of a blocked client runs
again each time one of its keys is ready, on the parsed form. There the IDs are still text, because
their meaning depends on the command, and because Redis checks each key before that key's ID. For
XREAD, `$` is resolved when the request arrives, `+` each time that it is served.

Readers that tail one stream send the same request: a client whose request equals one that already
waits shares its `Block`, and nothing is parsed twice (`Block.is_common`).

MAXCOUNT and MAXSIZE (Redis 8.10) cap one reply over all streams of a request, in the order of its
keys. MAXSIZE is soft: an entry is included as long as the bytes before it are below the cap, and
the first entry always is. The bytes counted are those of the reply: the headers of streams and
their entries. Entries beyond a cap are not delivered and do not count as delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import cython

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import BLOCKING, MOVABLE_KEYS, READONLY, KeySpec, command
from commands.streams.ids import parse_strict
from commands.streams.ranges import LongRange, is_long, long_reply
from commands.streams.request_cache import RequestCache
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs, PlainID, make_id
from storage.redis_format.listpack_size import plain_integer
from storage.stream import Stream

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.keyspace.database import Database

ALL = -1  # the count of a read that is not limited

# A timeout up to this one never overflows a deadline.
_ALWAYS_IN_RANGE_MS = 1 << 62


@record
class ReadRequest:
    """A parsed request. `group` and `consumer` are b"" for XREAD, which has no such option."""

    keys: list[bytes]
    ids: list[bytes]  # one for each key, as sent
    count: int  # entries of each stream; ALL
    block_ms: int | None  # None: do not wait, 0: for ever
    group: bytes
    consumer: bytes
    noack: bool
    min_idle_ms: int | None = None  # CLAIM; None: claim nothing
    max_count: int = ALL  # entries of all streams
    max_size: int = ALL  # bytes of the reply

    @property
    def is_capped(self) -> bool:
        """True if MAXCOUNT or MAXSIZE is given."""
        return self.max_count != ALL or self.max_size != ALL

    @property
    def is_timeless(self) -> bool:
        """True if parsing does not depend on the time: only long timeouts can overflow."""
        return self.block_ms is None or self.block_ms <= _ALWAYS_IN_RANGE_MS


def parse_read_request(argv: Argv, now_ms: int, *, with_group: bool) -> ReadRequest:
    """Parse either command. The options come in any order, STREAMS last. Raises ReplyError."""
    count, block_ms, noack = ALL, None, False
    group = consumer = min_idle_ms = None
    caps = {b"MAXCOUNT": ALL, b"MAXSIZE": ALL}
    last = len(argv) - 1
    position = 1
    # A hot path: readers send this many times a second, so there is no cursor object.
    while position <= last:
        option = argv[position].upper()
        if option == b"STREAMS" and position < last:
            break
        if option == b"COUNT" and position < last:
            # Unlike in XRANGE, zero and less mean no limit.
            count = parse_int(argv[position + 1])
            position += 2
        elif option == b"BLOCK" and position < last:
            block_ms = parse_block(argv[position + 1], now_ms)
            position += 2
        elif option == b"GROUP" and position + 1 < last:
            if not with_group:
                raise ReplyError(errors.XREAD_WITH_GROUP)
            group, consumer = argv[position + 1], argv[position + 2]
            position += 3
        elif option == b"NOACK":
            if not with_group:
                raise ReplyError(errors.XREAD_WITH_NOACK)
            noack = True
            position += 1
        elif option == b"CLAIM" and position < last:
            if not with_group:
                raise ReplyError(errors.XREAD_WITH_CLAIM)
            min_idle_ms = _parse_min_idle(argv[position + 1])
            position += 2
        elif option in caps and position < last:
            caps[option] = parse_int(argv[position + 1], errors.not_positive(option).text, 1)
            position += 2
        else:
            raise ReplyError(errors.SYNTAX)
    else:
        raise ReplyError(errors.SYNTAX)  # without STREAMS
    streams, odd = divmod(last - position, 2)
    if odd:
        raise ReplyError(errors.XREADGROUP_UNBALANCED if with_group else errors.XREAD_UNBALANCED)
    if with_group and group is None:
        raise ReplyError(errors.XREADGROUP_WITHOUT_GROUP)
    if ALL < caps[b"MAXCOUNT"] < count:
        raise ReplyError(errors.MAXCOUNT_BELOW_COUNT)
    first_id = position + 1 + streams
    return ReadRequest(
        argv[position + 1 : first_id],
        argv[first_id:],
        count if count > 0 else ALL,
        block_ms,
        group or b"",
        consumer or b"",
        noack,
        min_idle_ms,
        caps[b"MAXCOUNT"],
        caps[b"MAXSIZE"],
    )


def _parse_min_idle(text: bytes) -> int:
    min_idle_ms = parse_int(text, errors.CLAIM_NOT_AN_INTEGER)
    if min_idle_ms < 0:
        raise ReplyError(errors.CLAIM_NEGATIVE)
    return min_idle_ms


def parse_block(text: bytes, now_ms: int) -> int:
    """A timeout in milliseconds. Raises ReplyError."""
    timeout_ms = parse_int(text, errors.TIMEOUT_NOT_AN_INTEGER)
    if timeout_ms < 0:
        raise ReplyError(errors.TIMEOUT_NEGATIVE)
    if timeout_ms > INT64_MAX - now_ms:
        raise ReplyError(errors.TIMEOUT_OUT_OF_RANGE)
    return timeout_ms


# The number of arguments of each option, to find STREAMS after the options.
_OPTION_WORDS = {
    b"BLOCK": 1, b"COUNT": 1, b"GROUP": 2, b"NOACK": 0, b"CLAIM": 1, b"MAXCOUNT": 1, b"MAXSIZE": 1,
}  # fmt: skip


def key_positions(argv: Sequence[bytes]) -> list[int]:
    """The positions of the keys; empty if the request is invalid.

    A key specification cannot express them: it would take a group or a consumer of the name STREAMS
    for the keyword.
    """
    position = 1
    while position < len(argv) and argv[position].upper() != b"STREAMS":
        words = _OPTION_WORDS.get(argv[position].upper())
        if words is None:
            return []
        position += 1 + words
    first = position + 1
    streams, odd = divmod(len(argv) - first, 2)
    return [] if odd or streams < 1 else list(range(first, first + streams))


# -- replies -----------------------------------------------------------------------------------


def stream_header(key: bytes, length: int, resp: int) -> bytes:
    """The encoded header before the `length` entries of one stream."""
    if resp == 3:
        return b"$%d\r\n%b\r\n*%d\r\n" % (len(key), key, length)
    return b"*2\r\n$%d\r\n%b\r\n*%d\r\n" % (len(key), key, length)


def open_header(key: bytes, resp: int) -> bytes:
    """The header of a reply for one stream, up to the number of its entries."""
    return read_header(1, resp) + stream_header(key, 0, resp).removesuffix(b"0\r\n")


def read_reply(streams: int, parts: list[bytes], resp: int) -> bytes:
    """The whole reply: a map in RESP3, an array of pairs in RESP2."""
    return b"".join([read_header(streams, resp), *parts])


def read_header(streams: int, resp: int) -> bytes:
    """The encoded header of a reply with `streams` streams."""
    return b"%%%d\r\n" % streams if resp == 3 else b"*%d\r\n" % streams


def nothing_to_read(
    client: Client,
    request: ReadRequest,
    retry: Callable[[Client], bytes | Block | LongReply | None],
    *,
    on_missing_key: bool,
    wake_ms: int | None = None,
) -> bytes | Block:
    """Wait if the request says so and the client may; otherwise null, as after a timeout."""
    nothing = replies.NIL_ARRAY[client.resp]
    if request.block_ms is None or client.deny_blocking:
        return nothing
    return Block(request.keys, request.block_ms, retry, nothing, on_missing_key, wake_ms)


# -- MAXCOUNT and MAXSIZE ----------------------------------------------------------------------


UNLIMITED = 1 << 62


class NoCaps:
    """No caps: the usual case."""

    __slots__ = ()

    def start_stream(self, key: bytes, resp: int) -> None:
        """Begin another stream; its header counts with its first entry."""

    def admits(self) -> bool:
        """Return True if one more entry may be included."""
        return True

    def spend(self, entries: int, size_bytes: int) -> None:
        """Count `entries` entries of `size_bytes` bytes in all."""

    def read(
        self, stream: Stream, ids: EntryIDs, start: EntryID, wanted: int
    ) -> tuple[list[bytes], int]:
        """The entries of a stream from `start` on that the caps admit: chunks, size in bytes.

        Their IDs are appended to `ids`. `wanted`: the COUNT, or ALL. The size is 0 where there is
        no cap.
        """
        return stream.read_from(ids, start, wanted), 0


class ReplyCaps(NoCaps):
    """The rest of the caps while a reply grows."""

    __slots__ = ("_bytes", "_entries", "_header_bytes", "_is_empty")

    def __init__(self, max_count: int, max_size: int) -> None:
        """Entries and bytes; ALL: no cap."""
        self._entries = UNLIMITED if max_count == ALL else max_count
        self._bytes = UNLIMITED if max_size == ALL else max_size
        self._header_bytes = 0  # of the stream that comes next; counts with its first entry
        self._is_empty = True  # of entries; there may be streams whose history is empty

    def start_stream(self, key: bytes, resp: int) -> None:
        self._header_bytes = len(stream_header(key, 0, resp))

    def admits(self) -> bool:
        return self._entries > 0 and (self._is_empty or self._bytes > self._header_bytes)

    def spend(self, entries: int, size_bytes: int) -> None:
        self._entries -= entries
        self._bytes -= self._header_bytes + size_bytes
        self._header_bytes = 0
        if entries:
            self._is_empty = False

    def read(
        self, stream: Stream, ids: EntryIDs, start: EntryID, wanted: int
    ) -> tuple[list[bytes], int]:
        count = self._entries if wanted == ALL else min(wanted, self._entries)
        left_bytes = max(self._bytes - self._header_bytes, 1 if self._is_empty else 0)
        return stream.read_within(ids, start, count, left_bytes)


NO_CAPS = NoCaps()


def caps_of(request: ReadRequest) -> NoCaps:
    """The caps of one run of a request."""
    if not request.is_capped:
        return NO_CAPS
    return ReplyCaps(request.max_count, request.max_size)


# -- XREAD -------------------------------------------------------------------------------------


# Up to this many entries are answered at once, without a look at how long the range is.
FEW_ENTRIES = 1000

# Of the request that is executed.
_IDS = EntryIDs()
_PLAIN_ID = PlainID()


@cython.cclass
class KnownRead:
    """A request for one stream without its ID: what requests that are alike share."""

    __slots__ = ("count", "header_2", "header_3", "key", "may_be_few", "request", "waits")

    def __init__(self, request: ReadRequest) -> None:
        self.request = request
        self.key = request.keys[0]
        self.waits = request.block_ms is not None
        self.may_be_few = 0 < request.count <= FEW_ENTRIES and not request.is_capped
        self.count = request.count
        self.header_2, self.header_3 = (open_header(self.key, resp) for resp in (2, 3))


# Requests that were parsed, for all servers of the process.
_KNOWN: RequestCache[KnownRead] = RequestCache()


@cython.cfunc
def _read_few(client: Client, request: Request, known: KnownRead) -> bytes | None:
    """The reply with a few entries after a plain ID or a time, or null without BLOCK; else None."""
    instance: Instance = client.instance
    db: Database = client.db
    value = db.values.get(known.key)
    plain: PlainID = _PLAIN_ID
    if type(value) is not Stream or (db.expires and known.key in db.expires):
        return None
    text = request.word(request.count - 1)
    ms: cython.longlong = 0
    if not plain.read(text):
        ms = plain_integer(text, 0, len(text))
        if ms <= 0:
            return None
    stream: Stream = value
    after = make_id(ms, 0) if ms else make_id(plain.ms, plain.seq)
    reply: bytes = replies.NIL_ARRAY[client.resp]
    if after < stream.last_id:
        if not known.may_be_few:
            return None
        ids: EntryIDs = _IDS
        ids.clear()
        chunks = stream.read_from(ids, after + 1, known.count)
        if not ids.count:
            return None
        header = known.header_3 if client.resp == 3 else known.header_2
        reply = b"".join((header, b"%d\r\n" % ids.count, *chunks))
    elif known.waits:
        return None
    instance.stats.keyspace_hits += 2  # to find the stream, and to read
    if not stream.has_changed:  # saves a call
        db.memory.note(stream)  # reading may unpack nodes
    if instance.reads_touch and not client.no_touch:
        if instance.counts_accesses:
            instance.touch(stream)
        else:  # saves a call
            stream.access_ms = instance.now_ms
    return reply


@command(
    "XREAD",
    arity=-4,
    flags=READONLY | BLOCKING | MOVABLE_KEYS,
    keys=(
        KeySpec(
            begin=1,
            keyword=b"STREAMS",
            last=-1,
            limit=2,
            flags=(b"RO", b"ACCESS", b"INCOMPLETE"),
            find=key_positions,
        ),
    ),
)
def xread(client: Client, request: Request) -> bytes | LongReply | Block:
    """Map from key to entries, of the streams that have some; null if none has.

    Source: Redis 8.10.
    """
    # Requests for one stream are cached by all arguments but the ID, which differs each time.
    cache, head = _KNOWN, request.head(request.count - 1)
    known: KnownRead | None = cache.get(head)
    if known is not None:
        reply = _read_few(client, request, known)
        if reply is not None:  # 1.2 us a request instead of 4.3
            request.mark_quick(len(reply))
            return reply
    argv = request.words()
    common = client.instance.feature(BlockedClients).common_block(client, argv[-2], argv)
    if common is not None and not client.deny_blocking:
        return common.retry(client) or common
    if known is None:
        parsed = parse_read_request(argv, client.instance.now_ms, with_group=False)
        if len(parsed.keys) == 1 and parsed.is_timeless:
            cache.put(head, KnownRead(parsed))
    else:
        parsed = known.request
    texts = argv[-len(parsed.keys) :]
    after = [_resolve(client, key, text) for key, text in zip(parsed.keys, texts, strict=True)]
    read = StreamRead(parsed, after)
    return read.serve(client) or _nothing(client, read, texts)


class StreamRead:
    """A request of XREAD whose IDs are resolved."""

    __slots__ = ("_after", "request")

    def __init__(self, request: ReadRequest, after: list[EntryID | None]) -> None:
        """`after`: the ID after which to read, for each key; None for its newest entry only."""
        self.request = request
        self._after = after

    def serve(self, client: Client) -> bytes | LongReply | None:
        """The reply; None if there is nothing to read. Raises WRONGTYPE."""
        request = self.request
        if len(request.keys) == 1 and request.max_count == request.max_size == ALL:
            return self._serve_one(client, request.keys[0], self._after[0])
        caps = caps_of(request) if request.is_capped else None
        parts: list[bytes | LongRange] = []
        streams = 0
        has_long_range = False
        for key, after in zip(request.keys, self._after, strict=True):
            stream: Stream | None = client.lookup_stream(key)
            if stream is None or not stream.length:
                continue
            if after is None:
                start = stream.last_live_id
            elif after < stream.last_id:
                start = after + 1
            else:
                continue
            if caps is None and is_long(stream, start, MAX_ID, request.count):
                has_long_range = True
                streams += 1
                snapshot = stream.snapshot(start, MAX_ID, request.count)
                parts.append(LongRange(snapshot, partial(stream_header, key, resp=client.resp)))
                continue
            if caps is None:
                length, chunks = stream.range(start, MAX_ID, request.count)
            else:
                caps.start_stream(key, client.resp)
                if not caps.admits():
                    break
                ids = EntryIDs()
                chunks, size_bytes = caps.read(stream, ids, start, request.count)
                length = ids.count
                if length:
                    caps.spend(length, size_bytes)
            if length:
                streams += 1
                parts.append(stream_header(key, length, client.resp))
                parts += chunks
        if has_long_range:
            return long_reply([read_header(streams, client.resp), *parts])
        return read_reply(streams, cast("list[bytes]", parts), client.resp) if streams else None

    def _serve_one(
        self, client: Client, key: bytes, after: EntryID | None
    ) -> bytes | LongReply | None:
        """The reply of a request without caps that is for one stream."""
        stream, count, resp = client.lookup_stream(key), self.request.count, client.resp
        if stream is None or not stream.length or (after is not None and after >= stream.last_id):
            return None
        start = stream.last_live_id if after is None else after + 1
        if is_long(stream, start, MAX_ID, count):
            snapshot = stream.snapshot(start, MAX_ID, count)
            entries = LongRange(snapshot, partial(stream_header, key, resp=resp))
            return long_reply([read_header(1, resp), entries])
        length, chunks = stream.range(start, MAX_ID, count)
        return read_reply(1, [stream_header(key, length, resp), *chunks], resp) if length else None


def _nothing(client: Client, read: StreamRead, texts: list[bytes]) -> bytes | Block:
    """Wait if the request says so and the client may; otherwise null, as after a timeout."""
    decision = nothing_to_read(client, read.request, read.serve, on_missing_key=False)
    if type(decision) is Block:
        # `$` and `+` must be resolved again in each request.
        decision.is_common = len(texts) == 1 and texts[0] not in (b"$", b"+")
    return decision


def _resolve(client: Client, key: bytes, text: bytes) -> EntryID | None:
    """The ID after which to read; None for `+`. Raises ReplyError."""
    stream: Stream | None = client.lookup_stream(key)
    if text == b"$":
        return MIN_ID if stream is None else stream.last_id
    if text == b"+":
        return None
    if text == b">":
        raise ReplyError(errors.XREAD_WITH_NEW)
    return parse_strict(text)
