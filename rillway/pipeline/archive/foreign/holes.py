"""Fills lost spans of an archive with the entries of memory, of a replica or of a copy.

A span is filled in the epoch that lost it, and only as a whole: the number of entries and the first
and last millisecond must be those that the log had of the lost file, and the source must agree with
the archive about an entry beside the span, or about an anchor within it. Copies of a stream that
share an entry share all entries before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from rillway.pipeline.archive.columns.backfill import RowEncoder
from rillway.pipeline.archive.earlier.adding import Origin, ServerOrigin
from rillway.pipeline.archive.erasure.journal import erased
from rillway.pipeline.archive.files.parquet_files import ArchivedFile, file_batch, with_times
from rillway.pipeline.archive.files.periods import Undated
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.foreign.absences import keys
from rillway.pipeline.archive.foreign.commits import OPERATION
from rillway.pipeline.archive.identity.epochs import Absence, StreamRecord
from rillway.pipeline.archive.identity.walk import Identity, line_identities
from rillway.pipeline.archive.table import (
    MAX_COMMIT_ATTEMPTS,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
)
from rillway.pipeline.ranges.anchors import entry_hash
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, format_id, ms_of, parse_id
from rillway.plurals import count_of


def lost_in_memory(connection: Connection, records: Mapping[str, StreamRecord]) -> dict[str, int]:
    """Return the first entry of each stream that is in memory, and that the archive has lost."""
    spans = [
        (name, one) for name, record in records.items() for one in record.absent if one.is_lost
    ]
    bounds = [(name, format_id(one.first), format_id(one.last)) for name, one in spans]
    replies = connection.call_all([("XRANGE", *each, "COUNT", "1") for each in bounds])
    found: dict[str, int] = {}
    for (name, _), reply in zip(spans, replies, strict=True):
        if isinstance(reply, list) and reply:
            entry_id = parse_id(reply[0][0])
            found[name] = min(found.get(name, entry_id), entry_id)
    return found


def fill(table: ArchiveTable, origin: Origin) -> Iterator[tuple[bool, str]]:
    """Fill all lost spans that `origin` has. Raises ArchiveError.

    Yields for each span whether it was filled, and a sentence.
    """
    there = set(origin.streams())
    for stream, record in sorted(table.records.items()):
        for absence in record.absent:
            if not absence.is_lost:
                continue
            hole = _Hole(table, origin, stream, absence)
            reason = hole.fill() if stream in there else "the source does not have the stream"
            span = f"{stream}: {format_id(absence.first)} to {format_id(absence.last)}"
            if reason:
                yield False, f"{span}, {_number(absence)}, is missing: {reason}"
            else:
                yield True, f"{span}: {count_of(hole.rows, 'entry')} filled in"


def _number(absence: Absence) -> str:
    number = absence.entries
    return "an unknown number of entries" if number is None else count_of(number, "entry")


@dataclass(slots=True)
class _Hole:
    """A lost span. `rows`: the number of entries that the source has of it."""

    table: ArchiveTable
    origin: Origin
    stream: str
    absence: Absence
    rows: int = 0

    def fill(self) -> str:
        """Fill it, or return why that is not possible. Raises ArchiveError."""
        try:
            return self._mismatch() or self._write()
        except DataLost as error:
            return str(error)

    def _mismatch(self) -> str:
        """Compare the source with what is known of the span; empty if it fits."""
        first = last = MIN_ID
        self.rows = 0
        for batch in self._batches():
            ids = batch.column("id")
            first = first or parse_id(ids[0].as_py())
            last = parse_id(ids[-1].as_py())
            self.rows += len(batch)
        if not self.rows:
            return "the source has no entry of it"
        absence = self.absence
        if absence.entries is not None and self.rows != absence.entries:
            return f"the source has {count_of(self.rows, 'entry')} of it"
        # Of one file with several streams only the bounds of all are known.
        is_within = ms_of(first) == ms_of(absence.first) and ms_of(last) == ms_of(absence.last)
        if absence.entries is not None and not is_within:
            return f"the source has it from {format_id(first)} to {format_id(last)}"
        witnesses = [is_same for is_same in self._witnesses() if is_same is not None]
        if not all(witnesses):
            return "the source has another history: an entry beside it, or an anchor, differs"
        return "" if witnesses else "no entry beside it shows that the source has this history"

    def _witnesses(self) -> Iterator[bool | None]:
        """Yield whether source and archive agree on an entry; None for one that either lacks."""
        table, stream, absence = self.table, self.stream, self.absence
        record = table.records[stream]
        if absence.epoch == record.state.present.number:
            for anchor in record.state.anchors:
                if absence.first <= anchor.id <= absence.last:
                    found = self._source_identity(anchor.id, anchor.id)
                    yield None if found is None else found == (anchor.id, anchor.hash)
        yield self._agrees(self._source_identity(absence.last + 1, MAX_ID))
        yield self._agrees(self._previous())

    def _agrees(self, found: Identity | None) -> bool | None:
        record = self.table.records[self.stream]
        if found is None or found[0] > record.end.id or record.lacks(self.absence.epoch, found[0]):
            return None
        rows = line_identities(self.table, self.stream, self.absence.epoch, found[0], found[0])
        return next(rows, None) == found

    def _source_identity(self, first: int, last: int) -> Identity | None:
        batch = next(iter(self.origin.batches(self.stream, first, last)), None)
        if batch is None or not len(batch):
            return None
        (entry_id, words), *_ = raw_entries(batch.slice(0, 1))
        return parse_id(entry_id), entry_hash(words)

    def _previous(self) -> Identity | None:
        if not isinstance(self.origin, ServerOrigin) or self.absence.first == MIN_ID:
            return None
        until = format_id(self.absence.first - 1)
        found = self.origin.connection.call("XREVRANGE", self.stream, until, "-", "COUNT", 1)
        return (parse_id(found[0][0]), entry_hash(found[0][1])) if found else None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the entries of the source that the archive lacks."""
        absence = self.absence
        bounds = ms_of(absence.first), ms_of(absence.last)
        files = self.table.files(self.stream, *bounds)
        present = {
            entry_id
            for stream, epoch, entry_id in keys(self.table, files)
            if stream == self.stream and epoch == absence.epoch
        }
        record = self.table.record(self.stream)
        present |= erased(self.table.store, self.stream, record).get(absence.epoch, frozenset())
        for batch in self.origin.batches(self.stream, absence.first, absence.last):
            ids = map(parse_id, batch.column("id").to_pylist())
            part = batch.filter(pa.array([entry_id not in present for entry_id in ids]))
            if len(part):
                yield part

    def _write(self) -> str:
        encoder = RowEncoder(self.table)
        today = Undated(otherwise=datetime.now(UTC).date())
        files = encoder.write(self._rows(encoder), today)
        if sum(file.rows for file in files) != self.rows:
            self.table.store.remove(*(file.path for file in files))
            return "the source has changed meanwhile: run this again"
        return self._commit(encoder, files)

    def _rows(self, encoder: RowEncoder) -> Iterator[pa.RecordBatch]:
        unit = self.table.unit(self.stream)
        for found in self._batches():
            yield from encoder.encoded([with_times(file_batch(found, self.absence.epoch), unit)])

    def _commit(self, encoder: RowEncoder, files: list[ArchivedFile]) -> str:
        table = self.table
        for _ in range(MAX_COMMIT_ATTEMPTS):
            record = encoder.records().get(self.stream) or table.record(self.stream)
            if record is None or self.absence not in record.absent:
                break
            left = tuple(one for one in record.absent if one != self.absence)
            changed = {self.stream: replace(record, absent=left)}
            try:
                table.append(table.write_state(changed, files), files, {OPERATION: "fill"})
                return ""
            except CommitConflict:
                table.refresh()
                if table.names_any(files):  # the reply to a put was lost
                    return ""
        table.store.remove(*(file.path for file in files))
        raise ArchiveError(f"{table.store}: others have changed it meanwhile: run this again")
