"""XREADGROUP (reference 1.8): entries for one consumer of a group, new ones or its own history.

`>` takes entries that no consumer of the group was given yet and makes them pending, unless NOACK
is given. Any other ID asks for the consumer's own pending entries behind it: that never waits, and
each answer counts as one more delivery.
"""

from __future__ import annotations

from itertools import islice

from commands.blocking import Block
from commands.client import Client
from commands.registry import BLOCKING, MOVABLE_KEYS, WRITE, Argv, KeySpec, command
from commands.streams.delivery import (
    deleted_entry,
    group_changed,
    propagate_claim,
    propagate_consumer,
    propagate_position,
    seen_consumer,
)
from commands.streams.ids import parse_strict
from commands.streams.read_request import (
    ReadRequest,
    nothing_to_read,
    parse_read_request,
    read_reply,
    stream_header,
)
from protocol import errors
from storage.entry_id import MAX_ID, EntryID
from storage.group import Group
from storage.stream import Stream

# `>`. Nothing lies behind the last possible ID, and Redis, too, takes that ID for `>`.
NEW = MAX_ID


@command(
    "XREADGROUP",
    arity=-7,
    flags=WRITE | BLOCKING | MOVABLE_KEYS,
    keys=(KeySpec(begin=4, keyword=b"STREAMS", last=-1, limit=2, flags=(b"RO", b"ACCESS")),),
    group="stream",
    since="5.0.0",
    summary="Returns new or pending entries for a consumer of a group; waits if asked to.",
    syntax=(
        "GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK]"
        " STREAMS key [key ...] id [id ...]"
    ),
    complexity="O(N) for each stream, with N the number of entries returned.",
)
def xreadgroup(client: Client, argv: Argv) -> bytes | Block:
    """Map from key to entries, of the streams that have some; null if none has.

    A key with an ID other than `>` is always there, with an empty array if nothing is pending.
    Source: Redis 7.4.
    """
    request = parse_read_request(argv, client.instance.now_ms, with_group=True)
    after = [
        _resolve(client, request.group, key, text)
        for key, text in zip(request.keys, request.ids, strict=True)
    ]
    return GroupRead(request, after).serve(client)


def _resolve(client: Client, group: bytes, key: bytes, text: bytes) -> EntryID:
    """The ID behind which to read, NEW for `>`. Raises ReplyError."""
    _find(client, key, group)
    if text == b">":
        return NEW
    if text == b"$" or text == b"+":
        raise errors.xreadgroup_special_id(text)
    return parse_strict(text)


def _find(client: Client, key: bytes, name: bytes) -> tuple[Stream, Group]:
    stream = client.lookup_stream(key)  # a read, as far as hits and misses are concerned
    group = None if stream is None else stream.groups.get(name)
    if stream is None or group is None:
        raise errors.no_group_for_read(key, name)
    return stream, group


class GroupRead:
    """A request of XREADGROUP whose IDs are resolved."""

    __slots__ = ("_after", "_request")

    def __init__(self, request: ReadRequest, after: list[EntryID]) -> None:
        """`after`: the ID behind which to read, for each key, or NEW."""
        self._request = request
        self._after = after

    def serve(self, client: Client) -> bytes | Block:
        """The reply, or the decision to wait for it. Raises WRONGTYPE and NOGROUP."""
        request = self._request
        # All of them are looked up before one is served: a delivery must not end in an error.
        found = [_find(client, key, request.group) for key in request.keys]
        client.propagate_nothing()  # never the request itself, but what it comes to
        parts: list[bytes] = []
        streams = 0
        for key, after, (stream, group) in zip(request.keys, self._after, found, strict=True):
            if after == NEW:
                part = self._new_entries(client, key, stream, group)
            else:
                part = self._history(client, key, stream, group, after)
            if part:
                streams += 1
                parts += part
        if streams:
            return read_reply(streams, parts, client.resp)
        return nothing_to_read(client, request, self.serve, on_missing_key=True)

    def _new_entries(self, client: Client, key: bytes, stream: Stream, group: Group) -> list[bytes]:
        """Deliver what no consumer of the group was given yet; its part of the reply, if any."""
        request = self._request
        is_created = request.consumer not in group.consumers
        consumer = seen_consumer(client, key, group, request.consumer)
        start = group.last_delivered_id + 1
        ids, chunks = stream.range_with_ids(start, MAX_ID, request.count)
        if is_created and (request.noack or not ids):
            propagate_consumer(client, key, group, consumer)
        if not ids:
            return []
        stream.advance_group(group, ids)
        group_changed(client, key)
        if not request.noack:
            now_ms = client.instance.now_ms
            group.deliver(consumer, ids, now_ms)
            consumer.active_ms = now_ms
        if client.instance.sinks:
            _propagate_delivery(client, key, group, [] if request.noack else ids)
        return [stream_header(key, len(ids), client.resp), *chunks]

    def _history(
        self, client: Client, key: bytes, stream: Stream, group: Group, after: EntryID
    ) -> list[bytes]:
        """The consumer's pending entries behind an ID: the part of the reply, never empty.

        The new times and counts are not propagated, as in Redis. An entry whose content is gone
        keeps its own.
        """
        request = self._request
        is_created = request.consumer not in group.consumers
        consumer = seen_consumer(client, key, group, request.consumer)
        if is_created:
            propagate_consumer(client, key, group, consumer)
        entries: list[bytes] = []
        pending_entries = consumer.pending.items_from(after + 1)
        limit = request.count if request.count > 0 else None
        for entry_id, pending in islice(pending_entries, limit):
            entry = stream.get(entry_id)
            if entry is None:
                entries.append(deleted_entry(entry_id, client.resp))
                continue
            entries.append(entry)
            pending.delivery_ms = client.instance.now_ms
            pending.delivery_count += 1
        return [stream_header(key, len(entries), client.resp), *entries]


def _propagate_delivery(client: Client, key: bytes, group: Group, ids: list[EntryID]) -> None:
    for entry_id in ids:
        pending = group.pending[entry_id]
        propagate_claim(client, key, group, pending, entry_id)
    propagate_position(client, key, group)
