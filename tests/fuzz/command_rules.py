"""What must hold on a server whatever clients send: replies, data, tables, propagation.

Each rule is a function that raises `Broken` with a text that says what is wrong. They look at the
data structures themselves, so that a fault shows in the step that made it and not only when a
reply depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from commands.connection.invalidation_table import TrackingTable
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client, Clients
from commands.core.gates import GATE_MONITOR, GATE_MULTI, GATE_SUBSCRIBED, GATE_TRACKING
from commands.core.instance import Instance
from commands.pubsub.registry import PubSub, Subscriptions, is_subscribed
from commands.transactions.transaction import Transaction
from commands.transactions.watched_keys import WatchedKeys, Watchers
from storage.digest import value_digest
from storage.entries.entry_id import MAX_ID, MIN_ID, format_id
from storage.groups.group import Group
from storage.keyspace.database import Database
from storage.snapshot.stream_encoder import stream_pieces
from storage.snapshot.stream_refusals import refusal
from storage.stream import Stream, lag
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value, as_int64
from tests.support.resp import BrokenReply, Reply, ReplyReader, parse

T = TypeVar("T")
C = TypeVar("C")
Item = TypeVar("Item", covariant=True)

ERROR_LINE = re.compile(rb"-[A-Z][A-Z0-9]* [^\r\n]*\r\n|-[A-Z]+\r\n")
RESP2_KINDS = frozenset((b"+", b"-", b":", b"$", b"*"))
RESP2_NULLS = (b"$-1\r\n", b"*-1\r\n")


class Walked(Protocol[Item]):
    """What knows its length and gives its items in ascending order of their keys."""

    def __len__(self) -> int: ...
    def items(self) -> Iterator[tuple[int, Item]]: ...


# How far the count of a value may be off that shares a buffer with a copy.
_SHARED_BYTES = 512


class Broken(Exception):
    """A rule does not hold."""


def require(condition: object, text: str) -> None:
    if not condition:
        raise Broken(text)


# -- replies -------------------------------------------------------------------------------------


def check_reply(raw: bytes, protocols: set[int]) -> None:
    """One whole reply or push; `protocols` are those that the client spoke in the meantime."""
    try:
        reply = parse(raw)
    except (BrokenReply, ValueError) as problem:
        raise Broken(f"no RESP: {problem}: {raw[:200]!r}") from None
    require(b"internal error" not in raw[:40], f"{raw[:200]!r}")
    for part in _parts(reply):
        if part.kind == b"-":
            require(ERROR_LINE.fullmatch(part.head), f"an odd error: {part.head[:200]!r}")
        if part.kind in b"+:,#(":
            require(b"\n" not in part.head[:-2], f"a line in a line: {part.head[:200]!r}")
        if protocols == {2}:
            require(part.kind in RESP2_KINDS, f"not RESP2: {part.head[:100]!r} in {raw[:200]!r}")
        if protocols == {3}:
            require(part.head not in RESP2_NULLS, f"not RESP3: {part.head!r} in {raw[:200]!r}")


def has_error(raw: bytes) -> bool:
    """Whether a whole reply is an error, or has one in it."""
    return any(part.kind == b"-" for part in _parts(parse(raw)))


def _parts(reply: Reply) -> Iterable[Reply]:
    yield reply
    for item in reply.items:
        yield from _parts(item)


# -- data ----------------------------------------------------------------------------------------


def check_database(db: Database) -> None:
    """Keys, their lifetimes and SCAN's order agree; every stream is whole."""
    miscounted = _miscounted(db)  # first: looking into a stream may change what it keeps ready
    _, scanned = db.scan(0, len(db) + 1)
    require(len(db._order) == len(scanned), "another number of keys in SCAN's order")
    require(sorted(scanned) == sorted(db.values), "SCAN's order and the keys differ")
    times = {
        key: db.expires.at(value.deadline) for key, value in db.values.items() if value.deadline
    }
    require(times == db.deadlines(), "deadlines and times to live differ")
    due = db.due(1 << 62, len(times) + 1)
    require(sorted(due) == sorted(times), "some key is never due")
    require([times[key] for key in due] == sorted(times.values()), "keys are due in another order")
    for key, value in db.values.items():
        require(db._order.get(value.serial) == key, f"{key!r} has another's place")
        if isinstance(value, Stream):
            check_stream(value)
        elif not isinstance(value, StringValue):
            require(value.size > 0, f"{key!r} has nothing in it")
        if isinstance(value, SetValue):
            check_set(value)
        elif isinstance(value, SortedSetValue):
            check_sorted_set(value)
    require(not miscounted, miscounted)


def _miscounted(db: Database) -> str:
    """What is wrong with the memory that is counted: it is that of the keys and values."""
    for value in db.values.values():
        if isinstance(value, Stream) and value.idempotence is not None:
            db.memory.note(value)  # its IDs expire: counted again in turn
    db.memory.settle()
    for key, value in db.values.items():
        if db.values.held(key) is None or not value.counted_bytes:
            continue  # packed, or unpacked by a look-up since
        now, then = value.memory_bytes(), value.counted_bytes
        # A buffer that copies share counts for whichever has not changed it.
        shared = 0 if isinstance(value, StringValue) else _SHARED_BYTES + now // 50
        if abs(now - then) > shared:
            return f"{type(value).__name__} {key!r} counts {then} bytes, not {now}"
    total, counted = db.memory.bytes + db.values.record_bytes, db.values.counted_bytes()
    if total != counted:
        return f"{total} bytes, not {counted}"
    return ""


def check_set(value: SetValue) -> None:
    """The form is one for these members, and every member comes once."""
    members = value.members()
    require(len(members) == len(set(members)) == len(value), "a member twice")
    if value.encoding == b"intset":
        require(None not in map(as_int64, members), "an intset of other things than integers")
        require(members == sorted(members, key=int), "an intset in disorder")


def check_sorted_set(value: SortedSetValue) -> None:
    """The order has what the table has."""
    pairs = value.pairs()
    scores = {member: value.score(member) for _, member in pairs}
    require(len(pairs) == len(scores), f"{len(pairs)} in order, {len(scores)} in the table")
    require(pairs == sorted(pairs), "members in disorder")
    require(len(value._table or pairs) == len(pairs), "others in the table")
    require({member: score for score, member in pairs} == scores, "other scores in order")
    require(all(score == score for score, _ in pairs), "a score that is no number")


def check_stream(stream: Stream) -> None:
    """Length, order and counters are those of the entries; every group is whole; Redis loads it."""
    ids = stream.ids(MIN_ID, MAX_ID)
    require(ids == sorted(set(ids)), "IDs do not ascend")
    require(stream.length == len(ids), f"length {stream.length}, but {len(ids)} IDs")
    require(stream.length == sum(node.live for node in stream.iter_nodes()), "nodes' lengths")
    found, chunks = stream.range(MIN_ID, MAX_ID)
    require(found == len(ids), f"a range of {found} entries, but {len(ids)} IDs")
    entries = _entries(chunks)
    require([entry.items[0].text for entry in entries] == [*map(format_id, ids)], "IDs of entries")
    reverse, parts = stream.reverse_range(MAX_ID, MIN_ID)
    require(reverse == found, f"{found} entries forwards, {reverse} backwards")
    require(_entries(parts)[::-1] == entries, "other entries backwards")
    if ids:
        require(stream.last_id >= ids[-1], "an ID above the last")
        require((stream.first_id, stream.last_live_id) == (ids[0], ids[-1]), "first or last ID")
        middle = len(ids) // 2
        require(stream.get(ids[middle]) == entries[middle].raw(), "another's entry")
    require(stream.entries_added >= stream.length, "fewer added than there are")
    for name, group in stream.groups.items():
        require(group.name == name, "a group under another's name")
        check_group(group)
        left = lag(stream, group)
        require(left is None or left >= 0, f"a lag of {left}")
    reason = refusal(27, b"".join(stream_pieces(stream, 27, compress=False, now_ms=0)))
    require(reason is None, f"Redis 8.10 would not load it: {reason}")


def _entries(chunks: list[bytes]) -> tuple[Reply, ...]:
    """The entries of a range in wire form."""
    body = b"".join(chunks)
    count = 0
    found: list[Reply] = []
    reader = ReplyReader()
    reader.feed(body)
    while (entry := reader.next_reply()) is not None:
        found.append(parse(entry))
        count += len(entry)
    require(count == len(body), "an unfinished entry")
    return tuple(found)


def check_group(group: Group) -> None:
    """The group's pending entries are its consumers' and those without one, each once."""
    pending = _items(group.pending, "a group's PEL")
    owned = [item for item in pending if item[1].consumer is None]
    for name, consumer in group.consumers.items():
        require(consumer.name == name, "a consumer under another's name")
        mine = _items(consumer.pending, "a consumer's PEL")
        require(all(entry.consumer is consumer for _, entry in mine), "another's pending entry")
        owned += mine
    owned.sort(key=lambda item: item[0])
    require(owned == pending, "the group's PEL is not the union of its consumers'")
    for entry_id, entry in pending:
        require(entry.entry_id == entry_id, "a pending entry under another's ID")
        require(entry.delivery_count >= 0, f"delivered {entry.delivery_count} times")
        require(-(2**63) <= entry.delivery_ms < 2**63, f"delivered at {entry.delivery_ms}")
    require(group.entries_read >= -1, f"entries-read {group.entries_read}")


def _items(index: Walked[T], what: str) -> list[tuple[int, T]]:
    items = list(index.items())
    keys = [key for key, _ in items]
    require(keys == sorted(set(keys)), f"{what} does not ascend")
    require(len(index) == len(items), f"{what} counts {len(index)}, but holds {len(items)}")
    return items


# -- tables --------------------------------------------------------------------------------------


def check_tables(instance: Instance) -> None:
    """What the instance knows of its clients is what they know of themselves."""
    clients = list(instance.feature(Clients).by_id.values())
    blocked, ready = instance.feature(BlockedClients), instance.ready_keys.signalled
    require(not ready, f"ready keys are left: {list(ready)}")
    require(set(blocked.clients) == {c for c in clients if c.is_blocked}, "blocked clients")
    queues = {(key, c) for c, waiting in blocked.clients.items() for key in waiting.watched}
    require(queues == _pairs(blocked.waiters), "queues of blocked clients")
    kept = [kept for c in clients if (kept := c.feature_if_used(WatchedKeys)) is not None]
    watched = {(key, keys) for keys in kept for key in keys.expired}
    require(watched == _pairs(instance.feature(Watchers).by_key), "watched keys")
    for kind in (
        instance.feature(PubSub).channels,
        instance.feature(PubSub).patterns,
        instance.feature(PubSub).shard_channels,
    ):
        check_subscriptions(kind, clients)
    require(set(instance.monitors) == {c for c in clients if c.gates & GATE_MONITOR}, "monitors")
    check_tracking(instance, clients)
    for client in clients:
        check_client(client)


def _pairs(table: dict[T, dict[C, None]]) -> set[tuple[T, C]]:
    require(all(table.values()), "an empty row is left in a table")
    return {(key, client) for key, clients in table.items() for client in clients}


def check_subscriptions(kind: Subscriptions, clients: list[Client]) -> None:
    """A client's names and the names' clients agree."""
    wanted = {(name, client) for client in clients for name in kind.names_of(client)}
    require(wanted == _pairs(kind.by_name), "subscriptions")


def check_tracking(instance: Instance, clients: list[Client]) -> None:
    """The table of client-side caching counts right and keeps its limit."""
    tracking, limit = instance.feature(TrackingTable), instance.config.tracking_table_max_keys
    require(set(tracking.clients.values()) == set(tracking.states), "tracking clients")
    require(set(tracking.states) <= set(clients), "a client that tracks has left")
    require(tracking.total_items == sum(map(len, tracking.readers.values())), "tracking items")
    wanted = {(p, c) for c, state in tracking.states.items() for p in state.prefixes}
    require(wanted == _pairs(tracking.listeners), "prefixes of tracking clients")
    require(not tracking.changes, "changes that no tracking client was told of")
    # A lower limit from CONFIG SET counts from the next read on.
    require(not limit or len(tracking.readers) <= max(limit, 1000), "the tracking table's limit")


def check_client(client: Client) -> None:
    """A client's gates are those of its modes."""
    gates = client.gates
    require(
        bool(gates & GATE_MULTI) == (client.feature_if_used(Transaction) is not None),
        "the gate of MULTI",
    )
    tracks = client in client.instance.feature(TrackingTable).states
    require(bool(gates & GATE_TRACKING) == tracks, "the gate of tracking")
    restricted = client.resp == 2 and is_subscribed(client)
    require(bool(gates & GATE_SUBSCRIBED) == restricted, "the gate of subscribers")
    require(not client.output, "output that did not leave")
    require(not client.deny_blocking, "still as inside EXEC")


# -- propagation ---------------------------------------------------------------------------------


def check_copy(original: Instance, copy: Instance, *, history_read: bool) -> None:
    """An instance that ran what another one propagated holds the same data.

    As in Redis, two things are not propagated: a consumer that was never given an entry, and the
    times and counts that change when a consumer reads its history (`history_read`).
    """
    for ours, theirs in zip(original.databases, copy.databases, strict=True):
        _require_equal("keys", sorted(ours.values), sorted(theirs.values))
        _require_equal("times to live", ours.deadlines(), theirs.deadlines())
        for key, value in ours.values.items():
            mine = snapshot(value, not history_read)
            copied = snapshot(theirs.values[key], not history_read)
            for name in mine.keys() | copied.keys():
                _require_equal(f"{key!r} {name}", mine.get(name), copied.get(name))


def _require_equal(what: str, mine: object, copied: object) -> None:
    require(mine == copied, f"propagation: {what}: {mine}, in the copy {copied}")


def snapshot(value: Value, with_deliveries: bool) -> dict[str, object]:
    """What of a value must be the same in a copy, as plain data."""
    if isinstance(value, StringValue):
        return {"text": value.to_bytes()}
    if not isinstance(value, Stream):
        return {"digest": value_digest(value, None, 0)}
    found: dict[str, object] = {
        "ids": [format_id(entry_id) for entry_id in value.ids(MIN_ID, MAX_ID)],
        "entries": b"".join(value.range(MIN_ID, MAX_ID)[1]),
        "last ID": format_id(value.last_id),
        "max deleted ID": format_id(value.max_deleted_id),
        "entries added": value.entries_added,
        "groups": sorted(value.groups),
    }
    for name, group in value.groups.items():
        found[f"group {name!r}"] = format_id(group.last_delivered_id), group.entries_read
        found[f"PEL of {name!r}"] = [
            (format_id(entry_id), entry.consumer.name if entry.consumer else None)
            for entry_id, entry in group.pending.items()
        ]
        if with_deliveries:
            found[f"deliveries of {name!r}"] = [
                (entry.delivery_ms, entry.delivery_count) for entry in group.pending.values()
            ]
    return found
