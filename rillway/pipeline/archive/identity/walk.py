"""The walk: compares all live entries up to the archived end with the rows, by ID and bytes.

It reads entries that are both in memory and archived, which may be many (`--keep`, consumer
groups). So it is done only if the marker proves nothing: after a crash, a failover or a restore.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rillway.pipeline.archive.erasure.journal import erased_on_line
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.identity.epochs import line_of
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.ranges.pages import PageSize
from rillway.pipeline.wire.connection import Connection, ReplyTooLong, ServerError, pack
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, format_id, ms_of, parse_id

# The ID and the hash of an entry.
Identity: TypeAlias = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of comparing live entries with the line of an epoch.

    `agreed`: the last live entry that is archived with the same bytes and precedes the first one
    that the line lacks, if any; `lacking`: the ID of the first one that the line lacks; `absent`:
    the number of rows after `agreed`, up to the end; `has_expired`: True if expiry may explain all
    entries that the line lacks; `passed`: the last erased entry before `lacking` that came back.
    """

    agreed: Anchor | None
    lacking: int | None
    absent: int
    has_expired: bool = False
    passed: int = MIN_ID

    @property
    def branch(self) -> int:
        """The last ID in common. An ID alone, of an erased entry, proves nothing."""
        return MIN_ID if self.agreed is None else max(self.agreed.id, self.passed)


def walk(
    connection: Connection,
    table: ArchiveTable,
    stream: str,
    epoch: int,
    end: int,
    first: int = MIN_ID,
) -> Walk:
    """Compare live entries from `first` to `end` with the line of an epoch. Raises ArchiveError.

    The line may lack expired entries if a later entry is archived: copies of a stream that share an
    entry share all entries before it. Erased entries, and those whose absence is known, count as
    equal, by their IDs.
    """
    expired_ms = _expired_ms(table, stream, epoch)
    erased = erased_on_line(table.store, stream, table.record(stream), epoch)
    is_absent = _is_absent(table, stream, epoch)
    live = live_identities(connection, stream, end, first)
    entry = next(live, None)
    if entry is None:
        return Walk(None, None, absent=0)
    rows = line_identities(table, stream, epoch, entry[0], end)
    row = next(rows, None)
    agreed: Identity | None = None
    lacking: int | None = None
    absent, passed = 0, MIN_ID
    has_expired = True
    while entry is not None:
        while row is not None and row[0] < entry[0]:
            absent += 1
            row = next(rows, None)
        if row == entry:
            agreed, lacking, absent = entry, None, 0
            row = next(rows, None)
        elif (row is None or row[0] != entry[0]) and (entry[0] in erased or is_absent(entry[0])):
            passed = entry[0] if lacking is None else passed
        else:
            lacking = entry[0] if lacking is None else lacking
            is_other = row is not None and row[0] == entry[0]
            if is_other or ms_of(entry[0]) > expired_ms(entry[0]):
                has_expired = False
                break
        entry = next(live, None)
    absent += (row is not None) + sum(1 for _ in rows)
    last = None if agreed is None else Anchor(*agreed)
    return Walk(last, lacking, absent, has_expired and lacking is not None, passed)


def _expired_ms(table: ArchiveTable, stream: str, epoch: int) -> Callable[[int], int]:
    """Return a function of an ID: the ms of the last expired row in that ID's epoch of the line."""
    state = table.state(stream)
    line = [] if state is None else line_of(state.epochs, epoch)
    parts = [(until, table.expired_ms(stream, number)) for number, until in line]
    return lambda entry_id: next((ms for until, ms in parts if entry_id <= until), -1)


def _is_absent(table: ArchiveTable, stream: str, epoch: int) -> Callable[[int], bool]:
    """Return a function of an ID: True if its absence from the line is known."""
    record = table.record(stream)
    if record is None or not record.absent:
        return lambda entry_id: False
    line = line_of(record.state.epochs, epoch)
    parts = [(until, record.spans(number)) for number, until in line]

    def is_absent(entry_id: int) -> bool:
        spans = next((its for until, its in parts if entry_id <= until), [])
        place = bisect_right(spans, (entry_id, MAX_ID)) - 1
        return place >= 0 and entry_id <= spans[place][1]

    return is_absent


def live_identities(
    connection: Connection, stream: str, end: int, first: int = MIN_ID
) -> Iterator[Identity]:
    """Yield the ID and the hash of each entry of a stream from `first` to `end`, in order."""
    size = PageSize()
    node, began = connection.of(stream), time.monotonic()
    after = max(first - 1, MIN_ID)
    while after < end:
        before = node.received_bytes
        bounds = format_id(after + 1), format_id(end)
        node.send(pack("XRANGE", stream, *bounds, "COUNT", size.count))
        asked = size.count
        try:
            page = node.receive(size.max_bytes)
        except ReplyTooLong:
            node.reopen()
            size.shrink()
            continue
        except ServerError as error:
            node = connection.redirected(stream, error, began)
            continue
        began = time.monotonic()
        size.seen(len(page), node.received_bytes - before)
        for entry_id, words in page:
            after = parse_id(entry_id)
            yield after, entry_hash(words)
        if len(page) < asked:
            return


def line_identities(
    table: ArchiveTable, stream: str, epoch: int, first: int = MIN_ID, last: int = MAX_ID
) -> Iterator[Identity]:
    """Yield the ID and the hash of each row in the line of an epoch, in order."""
    for _, batch in table.line_rows(stream, epoch, first, last).batches():
        for entry_id, words in raw_entries(batch):
            yield parse_id(entry_id), entry_hash(words)
