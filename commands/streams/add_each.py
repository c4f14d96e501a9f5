"""Pipelines of `XADD key * field value ...` that go to several streams, or have several shapes.

One client sent them together, so they share the clock, the configuration and who is told. What is
left for each is to choose the ID and to append the entry.

Guarantees: the same entries, IDs, replies and propagated requests, in the same order, as from one
`xadd` after the other. Leaves out, for these: streams that are not there yet, options, IDs of the
client's own, errors. The caller has seen that nobody is told of single changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from commands.client import Client
from commands.registry import Argv
from commands.streams.add import may_be_too_large
from protocol import replies
from storage.entry import encode_id
from storage.entry_id import MAX_ID, SEQ_BITS, EntryID
from storage.stream import Stream

XADD = (b"XADD", b"xadd")


def is_plain(argv: Argv) -> bool:
    """Whether a request is of the plain form."""
    words = len(argv)
    return words >= 5 and bool(words & 1) and argv[2] == b"*" and argv[0] in XADD


def add_each(client: Client, requests: Sequence[Argv]) -> bytes | None:
    """The replies to plain requests; None if nothing was done."""
    streams = _find_streams(client, requests)
    if streams is None or may_be_too_large(client):
        return None
    instance = client.instance
    config = instance.config
    max_entries, max_bytes = config.stream_node_max_entries, config.stream_node_max_bytes
    now_id = instance.now_ms << SEQ_BITS
    known: dict[EntryID, bytes] = {}  # IDs that are encoded: other streams get the same
    id_bulks: list[bytes] = []
    for argv in requests:
        stream = streams[argv[1]]
        last_id = stream.last_id
        entry_id = now_id if last_id < now_id else last_id + 1
        id_bulk = known.get(entry_id)
        if id_bulk is None:
            id_bulk = known[entry_id] = encode_id(entry_id)
        stream.append(entry_id, argv[3:], max_entries, max_bytes, id_bulk)
        id_bulks.append(id_bulk)
    for key in streams:
        client.signal_key_as_ready(key)
    client.changed(len(requests))
    if instance.sinks:
        _propagate(client, requests, id_bulks)
    return b"".join(id_bulks)


def _find_streams(client: Client, requests: Sequence[Argv]) -> dict[bytes, Stream] | None:
    """The streams by their keys; None if one is not there, is no stream, or is near its last ID."""
    streams: dict[bytes, Stream] = {}
    last_id = MAX_ID - len(requests)
    expires, now_ms = client.db.expires, client.instance.now_ms
    for key in dict.fromkeys([argv[1] for argv in requests]):
        if key in expires and client.db.is_expired(key, now_ms):
            return None  # its end belongs to the request that comes upon it
        stream = client.lookup_for_write(key)
        if type(stream) is not Stream or stream.last_id >= last_id:
            return None
        streams[key] = stream
    return streams


def _propagate(client: Client, requests: Sequence[Argv], id_bulks: list[bytes]) -> None:
    """Each request, with its ID, is a unit of its own, as it would be alone."""
    parts: list[bytes] = []
    for argv, id_bulk in zip(requests, id_bulks, strict=True):
        head = replies.array_header(len(argv)) + _XADD_BULK + replies.bulk(argv[1])
        parts += (head, id_bulk, *map(replies.bulk, argv[3:]))
    client.instance.emit_encoded(client.db.index, b"".join(parts), len(requests))
    client.note_write()


_XADD_BULK = replies.bulk(b"XADD")
