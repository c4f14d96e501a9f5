"""The journal of acknowledgements of a stream. Rillway's own: XCFGSET key ACK-JOURNAL name.

XACK and XACKDEL append an entry to the journal for each entry that was pending, in the same action,
and so does the server for an entry that becomes a dead letter: a reader of the append-only file
gets both or neither. There, the entries of the journal are
requests of their own, with their IDs, after the acknowledgement; so a replay of these requests
(`client.replays`) does not append to the journal by itself.

The journal is a stream like any other: it wakes readers, fails transactions that watch it, is
archived and trimmed. It is created when it is first needed, and kept at its maximal length. An
acknowledgement never fails because of it: if the journal cannot be written, because the key holds
another type or is the stream itself, that is counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.core import notifications
from commands.core.client import Client
from commands.streams.add import (
    append_entry,
    automatic_id,
    created_stream,
)
from commands.streams.trim import Trim, default_limit, serve_waiters_first
from protocol.request import Request
from storage.entries.entry import encode_fields
from storage.entries.entry_id import MAX_ID, EntryID, format_id
from storage.groups.ack_journal import AckJournal, acknowledgement_fields
from storage.groups.group import Group
from storage.groups.pending_block import PendingEntry
from storage.stream import Stream


def pending_entries(client: Client, group: Group, ids: Iterable[EntryID]) -> list[PendingEntry]:
    """Return the pending entries among `ids`, without duplicates, to journal once acknowledged."""
    if client.replays:
        return []
    found = (group.pending.get(entry_id) for entry_id in dict.fromkeys(ids))
    return [entry for entry in found if entry is not None]


def write_down(
    client: Client, argv: Request, group: Group, journal: AckJournal, entries: list[PendingEntry]
) -> None:
    """Append the acknowledgement of `entries`, which `argv` has brought about, to the journal."""
    if entries and not client.propagates:
        client.propagate(*argv)  # XACK as it was sent; XACKDEL has been propagated as others
    record(client, argv[1], group, journal, entries)


def record(
    client: Client,
    stream_key: bytes,
    group: Group,
    journal: AckJournal,
    entries: list[PendingEntry],
) -> None:
    """Append the acknowledgement of `entries`, which has been propagated, to the journal."""
    if not entries:
        return
    key, length = journal.key, len(entries)
    target = client.lookup_for_write(key)
    if key == stream_key or (target is not None and not _can_take(target, length)):
        journal.skipped += length
        return
    assert target is None or isinstance(target, Stream)
    trim = _trim(client, journal)
    if target is not None and _may_trim(target, length, journal):
        serve_waiters_first(client, key)
    now_ms = client.instance.now_ms
    if target is None:
        target = created_stream(client, key)
    for entry in entries:
        entry_id = automatic_id(target.last_id, now_ms)
        fields = acknowledgement_fields(stream_key, group, entry, now_ms)
        append_entry(client, key, target, entry_id, encode_fields(fields), len(fields))
        client.propagate(b"XADD", key, format_id(entry_id), *fields)
    if trim.apply(target, client):
        client.notify(notifications.STREAM, b"xtrim", key)
        request = [b"XTRIM", key, b"MAXLEN", b"~", b"%d" % journal.max_length]
        client.propagate(*trim.exact_form(request, target))


def _can_take(value: object, length: int) -> bool:
    """Return True if `value` is a stream that has IDs left for `length` entries."""
    return isinstance(value, Stream) and value.last_id <= MAX_ID - length


def _trim(client: Client, journal: AckJournal) -> Trim:
    return Trim(
        by_length=True,
        threshold=journal.max_length,
        approximate=True,
        limit=default_limit(client.instance.config),
        threshold_position=4,
        limit_positions=[],
    )


def _may_trim(target: Stream, length: int, journal: AckJournal) -> bool:
    """Return True if appending `length` entries means that the first node must be dropped."""
    head = next(target.iter_nodes(), None)
    return head is not None and target.length + length - head.live >= journal.max_length
