"""Deliveries of entries to consumers: the common part of XREADGROUP, XCLAIM and their relatives.

A change of a group is no change of the stream's entries: as in Redis, a transaction that watches
the key does not fail. Caches of the key are invalidated nevertheless, because clients cache what
XPENDING answered; Redis lets them go stale.

Deliveries are propagated by their result (Redis 7.4): XCLAIMs, and the position of the group.
Redis writes an XCLAIM for each entry; here one XCLAIM names all consecutive entries with the same
result. It is built only if there is a sink, and as the bytes that all sinks share.

A file of busy groups has one such request for each XREADGROUP, which a replay repeats
(`deliver_again`):

    XCLAIM key group consumer 0 id [id ...] TIME ms RETRYCOUNT 1 FORCE JUSTID LASTID id

Redis writes the same, with one ID (7.0.15, by experiment).
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import cython

from commands.connection.invalidation_table import TrackingTable
from commands.core import notifications
from commands.core.client import Client
from commands.core.registry import propagate_carried
from protocol.request import Request
from storage.append_only.request_writer import RequestWriter
from storage.entries.entry_id import EntryID, EntryIDs, format_id, parse_plain_id
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Owner
from storage.stream import Stream

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.keyspace.database import Database


def group_changed(client: Client, key: bytes, changes: cython.long = 1) -> None:
    """Count changes of a group of the stream at `key`; see the module for what that means."""
    client.changed(changes)
    if client.instance.is_observed:
        client.instance.feature(TrackingTable).invalidate(key, client)


def new_consumer(client: Client, key: bytes, group: Group, name: bytes) -> Consumer:
    """Create a consumer that is not there, with its event."""
    consumer = group.create_consumer(name, client.instance.now_ms)
    group_changed(client, key)
    client.notify(notifications.STREAM, b"xgroup-createconsumer", key)
    return consumer


def seen_consumer(client: Client, key: bytes, group: Group, name: bytes) -> Consumer:
    """The consumer that acts now, created at its first attempt; its idle time starts again."""
    consumer = group.consumers.get(name)
    if consumer is None:
        return new_consumer(client, key, group, name)
    consumer.seen_ms = client.instance.now_ms
    return consumer


# -- propagation -------------------------------------------------------------------------------

# The maximum of entries in one XCLAIM: requests of reasonable size, whatever COUNT was.
_IDS_PER_REQUEST = 1000

# The words of an XCLAIM besides the IDs: five before them and eight after them.
_CLAIM_WORDS = 13


def propagate_delivery(
    client: Client,
    key: bytes,
    group: Group,
    consumer: Owner,
    ids: EntryIDs,
    delivery_ms: cython.ulonglong,
    delivery_count: cython.ulonglong = 1,
) -> None:
    """Entries that a consumer was given at one time, as XCLAIMs that do the same.

    All of them have the same count now; pending before or not, they are its own. Callers ask
    whether there is a sink.
    """
    writer: RequestWriter
    done: cython.Py_ssize_t = 0
    while done < ids.count:
        start: cython.Py_ssize_t = done
        done = min(start + _IDS_PER_REQUEST, ids.count)
        writer = client.begin_propagated()
        writer.begin(_CLAIM_WORDS + done - start)
        writer.word(b"XCLAIM")
        writer.word(key)
        writer.word(group.name)
        writer.word(consumer.name)
        writer.number(0)
        for place in range(start, done):
            writer.entry_id(ids.at(place))
        writer.word(b"TIME")
        writer.number(delivery_ms)
        writer.word(b"RETRYCOUNT")
        writer.number(delivery_count)
        writer.encoded(b"$5\r\nFORCE\r\n$6\r\nJUSTID\r\n$6\r\nLASTID\r\n")
        writer.entry_id(group.last_delivered_id)


def propagate_claims(
    client: Client,
    key: bytes,
    group: Group,
    consumer: Consumer,
    ids: list[EntryID],
    delivery_ms: int,
    delivery_counts: list[int],
) -> None:
    """`propagate_delivery` for each run of entries with the same delivery count."""
    start = 0
    for delivery_count, alike in groupby(delivery_counts):
        end = start + len(list(alike))
        run = EntryIDs.of(ids[start:end]), delivery_ms, delivery_count
        propagate_delivery(client, key, group, consumer, *run)
        start = end


def propagate_removals(
    client: Client, key: bytes, acknowledged: dict[bytes, list[EntryID]], deleted: list[EntryID]
) -> None:
    """Acknowledgements by group, and deletions, as XACK and XDEL: every Redis knows those."""
    requests = [([b"XACK", key, name], ids) for name, ids in acknowledged.items()]
    for head, ids in [*requests, ([b"XDEL", key], deleted)]:
        for start in range(0, len(ids), _IDS_PER_REQUEST):
            client.propagate(*head, *map(format_id, ids[start : start + _IDS_PER_REQUEST]))


def propagate_release(
    client: Client,
    key: bytes,
    stream: Stream,
    group: Group,
    ids: list[EntryID],
    counts: list[int],
    dues_ms: list[int] | None = None,
    reason: bytes | None = None,
) -> None:
    """Entries that were released (XNACK), and fall due at these times (Unix ms; 0: at once).

    A Redis before 8.8 has no entries without an owner: it gets them as it does in snapshots, owned
    by a consumer with the empty name and never delivered. A Rillway releases them. An entry whose
    content was deleted stays its consumer's on a Redis: XCLAIM would acknowledge it.
    """
    texts = list(map(format_id, ids))
    start = 0
    own = () if reason is None else (b"REASON", reason)
    for (count, due_ms), alike in groupby(zip(counts, dues_ms or [0] * len(ids), strict=True)):
        end = start + len(list(alike))
        number = b"%d" % count
        when = (b"DUE", b"%d" % due_ms) if due_ms else ()
        for first in range(start, end, _IDS_PER_REQUEST):
            part = texts[first : min(end, first + _IDS_PER_REQUEST)]
            there = [text for one, text in zip(ids[first:end], part, strict=False) if one in stream]
            if there:
                client.propagate(
                    b"XCLAIM", key, group.name, b"", b"0", *there,
                    b"TIME", b"0", b"RETRYCOUNT", number, b"FORCE", b"JUSTID",
                )  # fmt: skip
            words = (b"IDS", b"%d" % len(part), *part, b"RETRYCOUNT", number, b"FORCE", *when, *own)
            propagate_carried(client, b"XNACK", key, group.name, b"FAIL", *words)
        start = end
    if b"" not in group.consumers:
        propagate_carried(client, b"XGROUP", b"DELCONSUMER", key, group.name, b"")


def propagate_acknowledgement(client: Client, key: bytes, group: Group, entry_id: EntryID) -> None:
    """An entry without owner is pending no more."""
    client.propagate(b"XACK", key, group.name, format_id(entry_id))


def propagate_position(client: Client, key: bytes, group: Group) -> None:
    """Propagate the group's last delivered ID and its number of entries read."""
    if client.instance.propagation.sinks:
        writer: RequestWriter = client.begin_propagated()
        writer.begin(7)
        writer.encoded(b"$6\r\nXGROUP\r\n$5\r\nSETID\r\n")
        writer.word(key)
        writer.word(group.name)
        writer.entry_id(group.last_delivered_id)
        writer.word(b"ENTRIESREAD")
        writer.word(b"%d" % group.entries_read)  # -1 if it is not known


def propagate_consumer(client: Client, key: bytes, group: Group, consumer: Consumer) -> None:
    """A consumer that no XCLAIM creates on the other side."""
    client.propagate(b"XGROUP", b"CREATECONSUMER", key, group.name, consumer.name)


# -- replay ------------------------------------------------------------------------------------


# A time with more digits may not fit into 64 bits.
_MAX_TIME_DIGITS = 18


def deliver_again(client: Client, request: Request) -> bytes | None:
    """Repeat a delivery for a client that replays it; None if the request has another form.

    No client waits for the reply of a replayed request: it is empty.
    """
    instance: Instance = client.instance
    if instance.propagation.sinks or instance.is_observed or not _has_form(request):
        return None
    db: Database = client.db
    key = request.word(1)
    value = db.values.get(key)
    if type(value) is not Stream:
        return None
    stream: Stream = value
    db.memory.note(stream)
    group: Group | None = stream.groups.get(request.word(2))
    if group is None:
        return None
    ids = _new_ids(request, stream, group)
    time = request.word(request.count - 7)
    last_id = parse_plain_id(request.word(request.count - 1))
    if ids is None or last_id is None or not time.isdigit() or len(time) > _MAX_TIME_DIGITS:
        return None
    consumer: Consumer = seen_consumer(client, key, group, request.word(3))
    consumer.active_ms = instance.now_ms
    instance.dirty += len(ids)
    if last_id > group.last_delivered_id:
        group.last_delivered_id = last_id
        instance.dirty += 1
    group.deliver(consumer, ids, int(time))
    if group.policy is not None and group.policy.keys is not None:
        group.policy.keys.shut()
    return b""


def _has_form(request: Request) -> bool:
    """Return True if the words other than names, IDs and the time are those of a delivery."""
    count: cython.Py_ssize_t = request.count
    return (
        count >= 14
        and request.is_byte(4, 48)  # 0
        and request.is_word(count - 8, b"TIME")
        and request.is_word(count - 6, b"RETRYCOUNT")
        and request.is_byte(count - 5, 49)  # 1
        and request.is_word(count - 4, b"FORCE")
        and request.is_word(count - 3, b"JUSTID")
        and request.is_word(count - 2, b"LASTID")
    )


def _new_ids(request: Request, stream: Stream, group: Group) -> EntryIDs | None:
    """The IDs, if they are consecutive entries of the stream after all that are pending."""
    ids = EntryIDs()
    index: cython.Py_ssize_t
    for index in range(5, request.count - 8):
        if not ids.add_plain(request.word(index)):
            return None
    if group.pending.reaches(ids.at(0)):
        return None
    there = stream.ids(ids.at(0), ids.at(ids.count - 1), ids.count + 1)
    return ids if ids == there else None
