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
from typing import TYPE_CHECKING, cast

import cython

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import BLOCKING, MOVABLE_KEYS, READONLY, KeySpec, command
from commands.streams.ids import parse_strict
from commands.streams.ranges import LongPick, LongRange, entries_from, long_reply
from commands.streams.request_cache import RequestCache
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.replies import NIL_ARRAY
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs, PlainID, make_id
from storage.stream import Stream

if TYPE_CHECKING:
    pass

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


def key_header(key: bytes, resp: int) -> bytes:
    """The header of one stream's part of a reply, before the array of its entries."""
    return (b"$%d\r\n%b\r\n" if resp == 3 else b"*2\r\n$%d\r\n%b\r\n") % (len(key), key)


def open_header(key: bytes, resp: int) -> bytes:
    """The header of a reply for one stream, before the array of its entries."""
    return read_header(1, resp) + key_header(key, resp)


def read_reply(parts: Sequence[bytes | LongRange | LongPick], resp: int) -> bytes | LongReply:
    """The whole reply of the parts of streams: a map in RESP3, an array of pairs in RESP2."""
    pieces = [read_header(len(parts), resp), *parts]
    if not {*map(type, parts)} <= {bytes}:
        return long_reply(pieces)
    return b"".join(cast("list[bytes]", pieces))


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
    nothing = NIL_ARRAY[client.resp]
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
        self._header_bytes = len(key_header(key, resp) + b"*0\r\n")

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


# The ID of the request that is executed.
_PLAIN_ID = PlainID()


@cython.cclass
class KnownRead:
    """A request for one stream without its ID: what requests that are alike share."""

    __slots__ = ("count", "header_2", "header_3", "key", "request", "waits")

    def __init__(self, request: ReadRequest) -> None:
        self.request = request
        self.key = request.keys[0]
        self.waits = request.block_ms is not None
        self.count = request.count
        self.header_2, self.header_3 = [open_header(self.key, resp) for resp in (2, 3)]

    def read(self, client: Client, after: EntryID) -> bytes | LongReply | None:
        """The reply with the entries after an ID; None if there is none. Raises WRONGTYPE."""
        stream: Stream | None = client.lookup_stream(self.key)
        if stream is None or after >= stream.last_id:
            return None
        header: bytes = self.header_3 if client.resp == 3 else self.header_2
        part = entries_from(stream, after + 1, self.count, header)
        return part if part is None or type(part) is bytes else long_reply([part])


# Requests that were parsed, for all servers of the process.
_KNOWN: RequestCache[KnownRead] = RequestCache()


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
    is_quick=True,
)
def xread(client: Client, request: Request) -> bytes | LongReply | Block:
    """Map from key to entries, of the streams that have some; null if none has.

    Source: Redis 8.10.
    """
    # Requests for one stream are cached by all arguments but the ID, which differs each time.
    cache, head = _KNOWN, request.head(request.count - 1)
    known: KnownRead | None = cache.get(head)
    if known is None:
        parsed = parse_read_request(request.words(), client.instance.now_ms, with_group=False)
        if len(parsed.keys) > 1 or parsed.is_capped:
            return _read_several(client, parsed)
        known = KnownRead(parsed)
        if parsed.is_timeless:
            cache.put(head, known)
    return _read_one(client, request, known)


def _read_one(client: Client, request: Request, known: KnownRead) -> bytes | LongReply | Block:
    text = request.word(request.count - 1)
    after = _after(client, known.key, text)
    reply = known.read(client, after)
    if reply is not None:
        return reply
    if not known.waits or client.deny_blocking:
        return NIL_ARRAY[client.resp]
    common = client.instance.feature(BlockedClients).common_block(
        client, known.key, request.words()
    )
    if common is not None:
        return common
    read = StreamRead(known.request, [None if text == b"+" else after], known)
    decision = nothing_to_read(client, known.request, read.serve, on_missing_key=False)
    assert type(decision) is Block
    # `$` and `+` must be resolved again in each request.
    decision.is_common = text != b"$" and text != b"+"
    return decision


def _read_several(client: Client, parsed: ReadRequest) -> bytes | LongReply | Block:
    """The reply to a request for several streams, or with caps."""
    resolved = [
        (_after(client, key, text), text == b"+")
        for key, text in zip(parsed.keys, parsed.ids, strict=True)
    ]
    read = StreamRead(parsed, [None if is_newest else after for after, is_newest in resolved])
    return read.serve(client) or nothing_to_read(client, parsed, read.serve, on_missing_key=False)


def _after(client: Client, key: bytes, text: bytes) -> EntryID:
    """The ID after which to read: for `+` that before the newest entry. Raises ReplyError."""
    # Redis looks at each key twice: for its type and last ID, and to read.
    stream: Stream | None = client.lookup_stream(key)
    plain: PlainID = _PLAIN_ID
    if plain.read(text):
        return make_id(plain.ms, plain.seq)
    if text == b"$":
        return MIN_ID if stream is None else stream.last_id
    if text == b"+":
        return _before_newest(stream)
    if text == b">":
        raise ReplyError(errors.XREAD_WITH_NEW)
    return parse_strict(text)


def _before_newest(stream: Stream | None) -> EntryID:
    return MAX_ID if stream is None or not stream.length else stream.last_live_id - 1


class StreamRead:
    """A request of XREAD whose IDs are resolved."""

    __slots__ = ("_after", "_known", "_request")

    def __init__(
        self, request: ReadRequest, after: list[EntryID | None], known: KnownRead | None = None
    ) -> None:
        """`after`: the ID after which to read, for each key; None for its newest entry only."""
        self._request = request
        self._after = after
        self._known = known  # if it is for one stream

    def serve(self, client: Client) -> bytes | LongReply | None:
        """The reply; None if there is nothing to read. Raises WRONGTYPE."""
        request, known = self._request, self._known
        if known is not None and (after := self._after[0]) is not None:
            return known.read(client, after)
        caps = caps_of(request)
        parts: list[bytes | LongRange] = []
        for key, after in zip(request.keys, self._after, strict=True):
            stream: Stream | None = client.lookup_stream(key)
            if after is None:
                after = _before_newest(stream)
            if stream is None or after >= stream.last_id:
                continue
            caps.start_stream(key, client.resp)
            if not caps.admits():
                break
            part = _part(stream, after + 1, request.count, key_header(key, client.resp), caps)
            if part is not None:
                parts.append(part)
        return read_reply(parts, client.resp) if parts else None


def _part(
    stream: Stream, start: EntryID, count: int, header: bytes, caps: NoCaps
) -> bytes | LongRange | None:
    """One stream's part of a reply, None if it has no entries."""
    if caps is NO_CAPS:
        return entries_from(stream, start, count, header)
    ids = EntryIDs()
    chunks, size_bytes = caps.read(stream, ids, start, count)
    if not ids.count:
        return None
    caps.spend(ids.count, size_bytes)
    return b"".join([header, replies.array_header(ids.count), *chunks])
