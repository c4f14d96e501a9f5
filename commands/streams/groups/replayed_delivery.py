"""XCLAIM in the form that deliveries are propagated in, as a replay repeats it.

A file of busy groups has one such request for each XREADGROUP (`propagate_delivery`):

    XCLAIM key group consumer 0 id [id ...] TIME ms RETRYCOUNT 1 FORCE JUSTID LASTID id

Redis writes the same, with one ID (7.0.15, by experiment).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from commands.core.client import Client
from commands.streams.groups.delivery import seen_consumer
from protocol.request import Request
from storage.entries.entry_id import parse_plain_id
from storage.entries.entry_ids import EntryIDs
from storage.groups.consumer import Consumer
from storage.groups.group import Group
from storage.stream import Stream

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.keyspace.database import Database

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
