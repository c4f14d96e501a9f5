"""XREAD (Redis 7.4): entries after an ID, of several streams, at once or when they arrive.

A reply is joined from stored bytes; no entry is decoded. A client that finds nothing may wait: `$`
is resolved when the request arrives, `+` each time that it is served.

Readers that tail one stream send the same request: a client whose request equals one that already
waits shares its `Block`, and nothing is parsed twice (`Block.is_common`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import cython

from commands.core.blocking.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import BLOCKING, MOVABLE_KEYS, READONLY, KeySpec, command
from commands.streams.ids import parse_strict
from commands.streams.reading.long_ranges import LongRange, is_long, long_reply
from commands.streams.reading.read_request import (
    ALL,
    ReadRequest,
    key_positions,
    nothing_to_read,
    open_header,
    parse_read_request,
    read_header,
    read_reply,
    stream_header,
)
from commands.streams.reading.reply_caps import caps_of
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, PlainID, make_id
from storage.entries.entry_ids import EntryIDs
from storage.redis_format.listpack_size import plain_integer
from storage.stream import Stream

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.keyspace.database import Database


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
    cache, head = client.instance.read_requests, request.head(request.count - 1)
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
            stream = client.lookup_stream(key)
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
    stream = client.lookup_stream(key)
    if text == b"$":
        return MIN_ID if stream is None else stream.last_id
    if text == b"+":
        return None
    if text == b">":
        raise ReplyError(errors.XREAD_WITH_NEW)
    return parse_strict(text)
