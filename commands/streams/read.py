"""XREAD (reference 1.7): entries behind an ID, of several streams, at once or as they come.

A reply is joined from stored bytes; no entry is looked at. A client that finds nothing may wait:
`$` was resolved when it asked, `+` asks for the newest entry anew each time it is served.
"""

from __future__ import annotations

from commands.blocking import Block
from commands.client import Client
from commands.registry import BLOCKING, MOVABLE_KEYS, READONLY, Argv, KeySpec, command
from commands.streams.ids import parse_strict
from commands.streams.read_request import (
    ReadRequest,
    key_positions,
    nothing_to_read,
    parse_read_request,
    read_reply,
    stream_header,
)
from commands.streams.reply_caps import caps_of
from protocol import errors
from protocol.errors import ReplyError
from storage.entry_id import MAX_ID, MIN_ID, EntryID


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
    group="stream",
    since="5.0.0",
    summary="Returns the entries of streams behind given IDs; waits for them if asked to.",
    syntax=(
        "[COUNT count] [MAXCOUNT max-count] [MAXSIZE max-size] [BLOCK milliseconds]"
        " STREAMS key [key ...] id [id ...]"
    ),
    complexity="O(N) for each stream, with N the number of entries returned.",
    history=(
        ("7.4.0", "Added the ID `+`."),
        ("8.10.0", "Added the `MAXCOUNT` and `MAXSIZE` options."),
    ),
)
def xread(client: Client, argv: Argv) -> bytes | Block:
    """Map from key to entries, of the streams that have some; null if none has.

    Source: Redis 8.10.
    """
    request = parse_read_request(argv, client.instance.now_ms, with_group=False)
    after = [
        _resolve(client, key, text) for key, text in zip(request.keys, request.ids, strict=True)
    ]
    return StreamRead(request, after).serve(client)


def _resolve(client: Client, key: bytes, text: bytes) -> EntryID | None:
    """The ID behind which to read; None for `+`. Raises ReplyError."""
    stream = client.lookup_stream(key)
    if text == b"$":
        return MIN_ID if stream is None else stream.last_id
    if text == b"+":
        return None
    if text == b">":
        raise ReplyError(errors.XREAD_WITH_NEW)
    return parse_strict(text)


class StreamRead:
    """A request of XREAD whose IDs are resolved."""

    __slots__ = ("_after", "_request")

    def __init__(self, request: ReadRequest, after: list[EntryID | None]) -> None:
        """`after`: the ID behind which to read, for each key; None for its newest entry only."""
        self._request = request
        self._after = after

    def serve(self, client: Client) -> bytes | Block:
        """The reply, or the decision to wait for it. Raises WRONGTYPE."""
        request = self._request
        caps = caps_of(request) if request.is_capped else None
        parts: list[bytes] = []
        streams = 0
        for key, after in zip(request.keys, self._after, strict=True):
            stream = client.lookup_stream(key)
            if stream is None or not stream.length or after == MAX_ID:
                continue
            start = stream.last_live_id if after is None else after + 1
            if caps is None:
                length, chunks = stream.range(start, MAX_ID, request.count)
            else:
                caps.start_stream(key, client.resp)
                if not caps.admits():
                    break
                ids, chunks, size_bytes = caps.read(stream, start, request.count)
                length = len(ids)
                if length:
                    caps.spend(length, size_bytes)
            if length:
                streams += 1
                parts.append(stream_header(key, length, client.resp))
                parts += chunks
        if streams:
            return read_reply(streams, parts, client.resp)
        return nothing_to_read(client, request, self.serve, on_missing_key=False)
