"""Digests of values and of the whole data set (DEBUG DIGEST): 20 bytes, equal for equal content.

A digest does not depend on the order of creation, on the distribution of a stream's entries over
nodes, or on the encoding of a string. The digest of a data set is the exclusive or of those of its
keys, so that the order of the keys does not matter; that of an empty one is all zero.

The digest of a stream covers its entries, last and greatest deleted ID and number of entries ever
added; its groups with their positions, the names of their consumers, the pending entries with
owner, delivery time and count, and the order of the released ones; the remembered IDs of producers,
and their settings; its journal of acknowledgements. The deadline of a key counts, too.

Leaves out what is lost when the append-only file is rewritten as plain commands, so
that the digest is the same before and after: the times at which consumers were seen and active,
pending entries whose entry is deleted, producers' IDs that have expired or whose entry is deleted,
and their counters. Access times do not count either.

`redis_digest` is that of DEBUG DIGEST-VALUE, as Redis computes it, equal on any server.
redis-cli compares these when a key is on two nodes of a cluster, which a cut move of a slot leaves.
That of a stream covers its entries alone. Source: Redis 7.0.15 and 8.2. The two differ in the
digits of some scores; these are of 7.0.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from protocol.replies import format_double
from storage.entries.entry import decode_fields
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, id_ms, id_seq
from storage.groups.group import Group
from storage.idempotence import DEFAULT_DURATION_S, DEFAULT_MAXSIZE, Idempotence
from storage.keyspace.database import Database
from storage.nodes.frozen_node import Node
from storage.nodes.listpack_node import ListpackNode
from storage.nodes.node_list import AnyNode
from storage.policies.rows import STATISTICS, rows_of
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value

DIGEST_BYTES = 20
EMPTY = bytes(DIGEST_BYTES)


def dataset_digest(databases: Iterable[Database], now_ms: int) -> bytes:
    """The digest of all keys of all databases that have not expired."""
    from hashlib import sha1  # it loads OpenSSL: not at the start

    total = 0
    for database in databases:
        for key, value in database.items():
            if database.is_expired(key, now_ms):
                continue
            digest = value_digest(value, database.deadline(key), now_ms)
            place = sha1(_joined(b"%d" % database.index, key, digest), usedforsecurity=False)
            total ^= int.from_bytes(place.digest(), "big")
    return total.to_bytes(DIGEST_BYTES, "big")


def value_digest(value: Value, expires_ms: int | None, now_ms: int) -> bytes:
    """The digest of a value and its deadline; neither its key nor its database matters."""
    from hashlib import sha1

    state = sha1(usedforsecurity=False)
    for part in PARTS[type(value)](value, now_ms):
        state.update(part)
    if expires_ms is not None:
        state.update(_joined(b"expires", b"%d" % expires_ms))
    return state.digest()


def _joined(*parts: bytes) -> bytes:
    """The parts, each after its length, so that the result is unambiguous."""
    return b"".join([b"%d:%b" % (len(part), part) for part in parts])


def _numbers(*numbers: int) -> bytes:
    return b",".join([b"%d" % number for number in numbers]) + b";"


def _string_parts(string: StringValue, now_ms: int) -> Iterator[bytes]:
    yield _joined(b"string", string.to_bytes())


def _list_parts(value: ListValue, now_ms: int) -> Iterator[bytes]:
    yield _joined(b"list")
    for items in value.slices(0, len(value)):
        yield _joined(*items)


def _set_parts(value: SetValue, now_ms: int) -> Iterator[bytes]:
    yield _joined(b"set")
    yield from map(_joined, sorted(value.members()))


def _sorted_set_parts(value: SortedSetValue, now_ms: int) -> Iterator[bytes]:
    yield _joined(b"zset")
    for score, member in value.pairs():
        yield _joined(member, format_double(score + 0.0))  # -0 is 0


def _hash_parts(value: HashValue, now_ms: int) -> Iterator[bytes]:
    """Fields that have expired count until they are removed, as keys of a file do."""
    yield _joined(b"hash") + _numbers(len(value))
    for name, text in sorted(value.pairs()):
        yield _joined(name, text)
    for name, when_ms in sorted((value.expires or {}).items()):
        yield _joined(b"expires", name) + _numbers(when_ms)


def _stream_parts(stream: Stream, now_ms: int) -> Iterator[bytes]:
    """The parts of a stream's digest, in an order that depends on its content alone."""
    yield _joined(b"stream")
    yield _numbers(stream.length, stream.last_id, stream.max_deleted_id, stream.entries_added)
    for node in stream.iter_nodes():
        if node.live:
            # The encoded form of an entry has its length, so that a concatenation is unambiguous.
            yield _opened(node).payload()
    for name in sorted(stream.groups):
        yield from _group_parts(stream, stream.groups[name])
    if stream.idempotence is not None:
        yield from _idempotence_parts(stream, stream.idempotence, now_ms)
    if (journal := stream.ack_journal) is not None:
        yield _joined(b"ack-journal", journal.key) + _numbers(journal.max_length)
    for row in rows_of(stream):
        if row[0] not in STATISTICS:
            yield _joined(b"policy", *row)


def _group_parts(stream: Stream, group: Group) -> Iterator[bytes]:
    yield _joined(b"group", group.name)
    yield _numbers(group.last_delivered_id, group.entries_read)
    for name in sorted(group.consumers):
        yield _joined(b"consumer", name)
    alive = _existing(stream, set(group.pending))
    for entry in group.pending.values():
        if entry.entry_id in alive:
            owner = b"" if entry.consumer is None else _joined(entry.consumer.name)
            yield _numbers(entry.entry_id, entry.delivery_ms, entry.delivery_count) + owner
    released = [entry.entry_id for entry in group.nacked() if entry.entry_id in alive]
    yield _joined(b"released") + _numbers(*released)


def _existing(stream: Stream, wanted: set[EntryID]) -> set[EntryID]:
    """The IDs of existing entries among `wanted`."""
    found: set[EntryID] = set()
    if not wanted:
        return found
    first, last = min(wanted), max(wanted)
    nodes = list(stream.iter_nodes())
    ends = [*(node.key for node in nodes[1:]), MAX_ID + 1]
    for node, end in zip(nodes, ends, strict=False):
        if node.live and node.key <= last and end > first:
            found |= wanted.intersection(_opened(node).select_ids(first, last, node.live))
    return found


def _opened(node: AnyNode) -> Node:
    """An unpacked form of a node; a packed node stays packed in its stream."""
    return node.unpack() if isinstance(node, ListpackNode) else node


def _idempotence_parts(stream: Stream, idempotence: Idempotence, now_ms: int) -> Iterator[bytes]:
    oldest_ms = now_ms - idempotence.duration_s * 1000
    limits = (idempotence.duration_s, idempotence.maxsize)
    if limits != (DEFAULT_DURATION_S, DEFAULT_MAXSIZE):
        yield _joined(b"limits") + _numbers(*limits)
    producers = idempotence.producers
    ids = {entry_id for messages in producers.values() for entry_id in messages.values()}
    alive = _existing(stream, {entry_id for entry_id in ids if id_ms(entry_id) >= oldest_ms})
    for pid in sorted(producers):
        messages = [
            _joined(iid) + _numbers(entry_id)
            for iid, entry_id in producers[pid].items()
            if entry_id in alive
        ]
        if messages:
            yield _joined(b"producer", pid)
            yield from messages


# By class: the parts of a value's digest, in an order that depends on its content alone.
PARTS: dict[type[Value], Callable[[Any, int], Iterator[bytes]]] = {
    StringValue: _string_parts,
    ListValue: _list_parts,
    SetValue: _set_parts,
    SortedSetValue: _sorted_set_parts,
    Stream: _stream_parts,
    HashValue: _hash_parts,
}


BATCH = 1_000


def redis_digest(value: Value, expires_ms: int | None) -> bytes:
    """The digest of a value; of its deadline only that there is one."""
    number, add = _KINDS[type(value)]
    digest = _Digest()
    digest.mix(number.to_bytes(4, "big"))
    add(digest, value)
    if expires_ms is not None:
        digest.add(b"!!expire!!")
    return digest.to_bytes()


class _Digest:
    """A digest under way, as a number."""

    def __init__(self, *parts: bytes) -> None:
        self.number = 0
        for part in parts:
            self.mix(part)

    def add(self, part: bytes) -> None:
        """The order does not matter."""
        self.number ^= int.from_bytes(_sha1(part), "big")

    def mix(self, part: bytes) -> None:
        """The order matters."""
        self.add(part)
        self.number = int.from_bytes(_sha1(self.to_bytes()), "big")

    def to_bytes(self) -> bytes:
        return self.number.to_bytes(DIGEST_BYTES, "big")


def _sha1(data: bytes) -> bytes:
    from hashlib import sha1  # it loads OpenSSL: not at the start

    return sha1(data, usedforsecurity=False).digest()


def _add_string(digest: _Digest, value: StringValue) -> None:
    digest.mix(value.to_bytes())


def _add_list(digest: _Digest, value: ListValue) -> None:
    for items in value.slices(0, len(value)):
        for item in items:
            digest.mix(item)


def _add_set(digest: _Digest, value: SetValue) -> None:
    for member in value.members():
        digest.add(member)


def _add_sorted_set(digest: _Digest, value: SortedSetValue) -> None:
    for score, member in value.pairs():
        digest.add(_Digest(member, b"%.17g" % score).to_bytes())


def _add_hash(digest: _Digest, value: HashValue) -> None:
    expires = value.expires or {}
    for name, text in value.pairs():
        field = _Digest(name, text)
        if name in expires:
            field.add(b"!!hexpire!!")
        digest.add(field.to_bytes())


def _add_stream(digest: _Digest, value: Stream) -> None:
    ids = list(value.ids(MIN_ID, MAX_ID))
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        for entry_id, entry in zip(batch, value.entries_of(batch), strict=True):
            digest.mix(b"%d.%d" % (id_ms(entry_id), id_seq(entry_id)))
            for part in decode_fields(entry or b""):
                digest.mix(part)


# The number of each type in Redis.
_KINDS: dict[type[Value], tuple[int, Callable[[_Digest, Any], None]]] = {
    StringValue: (0, _add_string),
    ListValue: (1, _add_list),
    SetValue: (2, _add_set),
    SortedSetValue: (3, _add_sorted_set),
    HashValue: (4, _add_hash),
    Stream: (6, _add_stream),
}
