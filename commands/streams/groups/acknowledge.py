"""XACK, XACKDEL and XNACK: a consumer is done with entries, or gives them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import FAST, WRITE, command, one_key
from commands.streams.delete import entries_deleted, pending_by_group
from commands.streams.deletion_options import (
    DELETED,
    NOT_FOUND,
    STILL_REFERENCED,
    parse_deletion,
    result_array,
)
from commands.streams.groups.ack_journal import pending_entries, write_down
from commands.streams.groups.delivery import group_changed, propagate_release, propagate_removals
from commands.streams.ids import ascending, parse_all, without_repeats
from commands.streams.lookup import find_group
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.entries.entry_id import EntryID
from storage.entries.entry_ids import EntryIDs
from storage.groups.group import MAX_DELIVERIES, RELEASED_MS, Group
from storage.groups.pending_block import Row
from storage.groups.references import References
from storage.stream import Stream

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.keyspace.database import Database


# Of the request that is executed.
_IDS = EntryIDs()
_MOST_WORDS: cython.Py_ssize_t = 100


@cython.cfunc
def _acknowledge_plain(client: Client, request: Request) -> bytes | None:
    """`xack` of a few IDs with both numbers, without a journal; None for other cases."""
    instance: Instance = client.instance
    db: Database = client.db
    key = request.word(1)
    value = db.values.get(key)
    if type(value) is not Stream or instance.is_observed or (db.expires and key in db.expires):
        return None
    stream: Stream = value
    group: Group | None = stream.groups.get(request.word(2))
    if group is None or stream.ack_journal is not None or request.count > _MOST_WORDS:
        return None
    ids: EntryIDs = _IDS
    ids.clear()
    index: cython.Py_ssize_t
    for index in range(3, request.count):
        if not ids.add_plain(request.word(index)):
            return None
    instance.stats.keyspace_hits += 1
    if not stream.has_changed:  # saves a call
        db.memory.note(stream)
    if not client.no_touch:
        if instance.counts_accesses:
            instance.touch(stream)
        else:  # saves a call
            stream.access_ms = instance.now_ms
    acknowledged: cython.Py_ssize_t = group.acknowledge_all(ids)
    instance.dirty += acknowledged
    request.mark_quick(0)
    return replies.integer(acknowledged)


@command("XACK", arity=-4, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def xack(client: Client, argv: Request) -> bytes:
    """Integer: the number of entries that were pending.

    Without the key or the group that is 0, whatever the IDs are. Source: Redis 7.4.
    """
    reply = _acknowledge_plain(client, argv)
    if reply is not None:  # XREADGROUP with XACK takes 2.8 us instead of 3.3
        return reply
    key = argv[1]
    stream = client.lookup_stream(key)
    group = None if stream is None else stream.groups.get(argv[2])
    if stream is None or group is None:
        return replies.ZERO
    ids = parse_all(argv[3:])
    journal = stream.ack_journal
    written_down = [] if journal is None else pending_entries(client, group, ids)
    acknowledged = group.acknowledge_all(EntryIDs.of(ids))
    if acknowledged:
        group_changed(client, key, acknowledged)
    if journal is not None:
        write_down(client, argv, group, journal, written_down)
    return replies.integer(acknowledged)


@command("XACKDEL", arity=-6, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE", b"DELETE"))
def xackdel(client: Client, argv: Request) -> bytes:
    """Array of integers, one for each ID: 1 acknowledged and deleted, -1 not pending, 2
    acknowledged but kept because of another group.

    All are -1 without the key or the group. Source: Redis 8.10.
    """
    key = argv[1]
    references, ids = parse_deletion(argv, 3)
    stream = client.lookup_stream_for_write(key)
    group = None if stream is None else stream.groups.get(argv[2])
    if stream is None or group is None:
        return result_array([NOT_FOUND] * len(ids))
    journal = stream.ack_journal
    written_down = [] if journal is None else pending_entries(client, group, ids)
    ordered = ascending(ids)
    pending = group.pending.among(ordered)
    acknowledged = [entry_id for entry_id in ordered if entry_id in pending]
    stream.unpack(acknowledged)
    changes = group.acknowledge_all(EntryIDs.of(acknowledged))
    chosen = acknowledged
    if references is References.ACKED:
        chosen = stream.unreferenced(acknowledged)
    deleted = stream.delete_all(chosen)
    elsewhere = pending_by_group(client, stream, acknowledged, references)
    propagate_removals(client, key, elsewhere | {argv[2]: acknowledged}, deleted)
    if references is References.DELETE:
        changes += stream.drop_references(acknowledged)
    if changes:
        group_changed(client, key, changes)
    entries_deleted(client, key, len(deleted))
    if journal is not None:
        write_down(client, argv, group, journal, written_down)
    return result_array(_results(ids, pending, set(chosen)))


def _results(ids: list[EntryID], acknowledged: set[EntryID], gone: set[EntryID]) -> list[int]:
    """Return the result for each ID. For a repeated ID only the first counts as acknowledged."""
    results: list[int] = []
    for entry_id in ids:
        if entry_id in acknowledged:
            acknowledged.remove(entry_id)
            results.append(DELETED if entry_id in gone else STILL_REFERENCED)
        else:
            results.append(NOT_FOUND)
    return results


# -- XNACK -------------------------------------------------------------------------------------


@record
class Release:
    """The arguments of XNACK after the group."""

    mode: bytes
    ids: list[EntryID]
    retry_count: int | None = None
    force: bool = False

    def count(self, deliveries: int) -> int:
        """The delivery count of an entry that is released, from the one that it had."""
        if self.retry_count is not None:
            return self.retry_count
        if self.mode == b"FATAL":
            return MAX_DELIVERIES
        return deliveries if self.mode == b"FAIL" else max(deliveries - 1, 0)


@command("XNACK", arity=-7, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def xnack(client: Client, argv: Request) -> bytes:
    """Integer: the number of entries that were released. Source: Redis 8.8."""
    key = argv[1]
    stream, group = find_group(client, key, argv[2])
    release = _parse_release(argv)
    released = sum(
        _release(client, key, stream, group, release, ids) for ids in without_repeats(release.ids)
    )
    if released:
        group_changed(client, key, released)
        client.signal_key_as_ready(key)
    return replies.integer(released)


def _release(
    client: Client,
    key: bytes,
    stream: Stream,
    group: Group,
    release: Release,
    ids: list[EntryID],
) -> int:
    """Release different entries; how many were pending, or are by force."""
    rows: list[Row] = []
    counts: list[int] = []
    for entry_id, row in zip(ids, group.pending.rows_of(ids), strict=True):
        if row is None:
            if not release.force or entry_id not in stream:
                continue
            group.add(entry_id, None, RELEASED_MS, 0)
            row = entry_id, None, RELEASED_MS, 0
        rows.append(row)
        counts.append(release.count(row[3]))
    if rows:
        group.release_all(rows, counts)
        if client.instance.propagation.sinks:
            propagate_release(client, key, stream, group, [row[0] for row in rows], counts)
    return len(rows)


def _parse_release(argv: Request) -> Release:
    """Raises ReplyError. The options follow the IDs, in any order."""
    arguments = Arguments(argv, 3)
    mode = arguments.next_keyword()
    if mode not in (b"SILENT", b"FAIL", b"FATAL"):
        raise ReplyError(errors.XNACK_MODE)
    if not arguments.take(b"IDS"):
        raise ReplyError(errors.XNACK_WITHOUT_IDS)
    number = arguments.next_int(errors.XNACK_NUMBER, 1)
    if number > arguments.remaining:
        raise ReplyError(errors.XNACK_NUMBER_MISMATCH)
    texts = [arguments.next() for _ in range(number)]
    release = Release(mode, [])
    while arguments:
        word = arguments.next()
        if word.upper() == b"FORCE":
            release.force = True
        elif word.upper() == b"RETRYCOUNT" and arguments:
            release.retry_count = arguments.next_int(errors.XNACK_RETRYCOUNT, 0)
        else:
            raise errors.unrecognized_xnack_option(word)
    release.ids = parse_all(texts)
    return release
