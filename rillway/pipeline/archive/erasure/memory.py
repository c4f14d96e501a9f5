"""Deletes entries from streams in memory: selected ones, and erased ones that came back.

A stream that was restored from an older copy has erased entries again, and so has a replica that
took over without the deletion. So each round of the archiver deletes the erased IDs that a stream
may have, before it reads anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice

from rillway.pipeline.archive.erasure.journal import on_line, read_journal
from rillway.pipeline.archive.groups import Group, read_groups
from rillway.pipeline.archive.identity.epochs import StreamState
from rillway.pipeline.archive.table import ARCHIVE_GROUP_PREFIX, ArchiveTable
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import format_id, parse_id

AT_ONCE = 1000
ACKED = "acked"
# What a command does with references of consumer groups to a deleted entry, as XDELEX says it.
REFS = ("keepref", "delref", ACKED)
DELETED, REFERENCED = 1, 2


def delete(connection: Connection, stream: str, ids: Iterable[int], refs: str = "") -> int:
    """Delete entries; return the number of those that were there. Raises ServerError.

    `refs`: one of REFS, for XDELEX; empty for XDEL.
    """
    removed = 0
    ordered = iter(sorted(ids))
    while part := [format_id(entry_id) for entry_id in islice(ordered, AT_ONCE)]:
        if not refs:
            removed += connection.call("XDEL", stream, *part)
            continue
        codes = connection.call("XDELEX", stream, refs.upper(), "IDS", len(part), *part)
        removed += codes.count(DELETED)
        # Of an entry that is not archived yet, the archive's own group is one that has not read it.
        held = {parse_id(one) for one, code in zip(part, codes, strict=True) if code == REFERENCED}
        if held:
            removed += delete(connection, stream, held - needed(connection, stream, held))
    return removed


def delete_returned(
    connection: Connection,
    table: ArchiveTable,
    streams: Mapping[str, tuple[StreamState, StreamFacts]],
) -> list[str]:
    """Delete erased entries that are in memory again; return the streams that had some.

    Raises ArchiveError, ServerError.
    """
    returned = []
    for stream, (state, facts) in streams.items():
        record = table.record(stream)
        if record is None or not record.erasures or not facts.length:
            continue
        present = state.present.number
        removed = 0
        for number in record.erasures:
            journal = read_journal(table.store, number)
            erased = on_line(journal.entries.get(stream, {}), state.epochs, present)
            there = [one for one in erased if facts.first_id <= one <= facts.last_id]
            # Whatever a group of an older copy still needs: the entries are erased.
            refs = "" if journal.refs == ACKED else journal.refs
            removed += delete(connection, stream, there, refs)
        returned += [stream] if removed else []
    return returned


# -- references -----------------------------------------------------------------------------------


def needed(connection: Connection, stream: str, ids: Collection[int]) -> set[int]:
    """Return the entries that a consumer group has not read or not acknowledged.

    Archives have groups, too, but what is erased is not archived. Raises ServerError.
    """
    found: set[int] = set()
    for group in read_groups(connection, stream):
        if group.name.startswith(ARCHIVE_GROUP_PREFIX):
            continue
        found.update(entry_id for entry_id in ids if entry_id > group.last_delivered)
        found.update(_pending(connection, stream, group, ids))
    return found


def _pending(
    connection: Connection, stream: str, group: Group, ids: Collection[int]
) -> Iterator[int]:
    """Yield the entries that are pending in a group."""
    oldest = group.oldest_pending
    if oldest is None:
        return
    asked = [one for one in sorted(ids) if oldest <= one <= group.last_delivered]
    requests = [
        ("XPENDING", stream, group.name, format_id(one), format_id(one), 1) for one in asked
    ]
    parts = (requests[n : n + AT_ONCE] for n in range(0, len(requests), AT_ONCE))
    replies = chain.from_iterable(map(connection.call_all, parts))
    for entry_id, reply in zip(asked, replies, strict=True):
        if isinstance(reply, ServerError):
            raise reply
        if reply:
            yield entry_id
