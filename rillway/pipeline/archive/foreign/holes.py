"""Fills lost spans of an archive with the entries of memory, of a replica or of a copy.

What a file had is filled in the epoch that lost it, and only as a whole: the number of entries, of
all streams together, and the first and last millisecond must be those that the log had of the file.
Of each stream the source must agree with the archive about an entry beside the span, or about an
anchor within it. Copies of a stream that share an entry share all entries before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from rillway.pipeline.archive.columns.backfill import RowEncoder
from rillway.pipeline.archive.earlier.adding import Origin, ServerOrigin
from rillway.pipeline.archive.erasure.journal import erased
from rillway.pipeline.archive.files.parquet_files import file_batch, with_times
from rillway.pipeline.archive.files.periods import Undated
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.foreign.absences import keys
from rillway.pipeline.archive.foreign.commits import OPERATION
from rillway.pipeline.archive.identity.epochs import Absence, StreamRecord
from rillway.pipeline.archive.identity.walk import Identity, line_identities
from rillway.pipeline.archive.table import (
    ArchiveError,
    ArchiveTable,
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

    Yields for each lost file whether it was filled, and a sentence.
    """
    there = set(origin.streams())
    files: dict[tuple[object, ...], list[_Hole]] = {}
    for stream, record in sorted(table.records.items()):
        for one in record.absent:
            if one.is_lost:
                is_shared = one.of_file is not None
                of_file = None if is_shared else (stream, one.epoch)
                key = one.first, one.last, one.of_file, of_file
                hole = _Hole(table, origin, stream, one, stream in there)
                files.setdefault(key, []).append(hole)
    for holes in files.values():
        span = holes[0].absence
        names = ", ".join(dict.fromkeys(hole.stream for hole in holes))
        text = f"{names}: {format_id(span.first)} to {format_id(span.last)}"
        try:
            reason = _mismatch(holes) or _write(table, holes)
        except DataLost as error:
            reason = str(error)
        if reason:
            number = span.of_file if span.entries is None else span.entries
            yield False, f"{text}, {count_of(number or 0, 'entry')}, is missing: {reason}"
        else:
            yield True, f"{text}: {count_of(sum(h.rows for h in holes), 'entry')} filled in"


def _mismatch(holes: Sequence[_Hole]) -> str:
    """Compare the source with what is known of a lost file; empty if it fits."""
    for hole in holes:
        hole.look()
    found = [hole for hole in holes if hole.rows]
    if not found:
        has_none = not any(hole.is_there for hole in holes)
        return "the source does not have the stream" if has_none else "the source has none of it"
    span = holes[0].absence
    rows, expected = sum(hole.rows for hole in found), span.entries
    if expected is None:
        expected = span.of_file
    if rows != expected:
        return f"the source has {count_of(rows, 'entry')} of it"
    first, last = min(hole.first for hole in found), max(hole.last for hole in found)
    if (ms_of(first), ms_of(last)) != (ms_of(span.first), ms_of(span.last)):
        return f"the source has it from {format_id(first)} to {format_id(last)}"
    for hole in found:
        witnesses = [is_same for is_same in hole.witnesses() if is_same is not None]
        if not all(witnesses):
            return f"the source has another history of {hole.stream}: an archived entry differs"
        if not witnesses:
            return f"no entry beside it shows that the source has this history of {hole.stream}"
    return ""


def _write(table: ArchiveTable, holes: Sequence[_Hole]) -> str:
    """Write and commit what was lost with a file. Raises ArchiveError."""
    encoder = RowEncoder(table)
    rows = (part for hole in holes for part in hole.encoded(encoder))
    files = encoder.write(rows, Undated(otherwise=datetime.now(UTC).date()))
    if sum(file.rows for file in files) != sum(hole.rows for hole in holes):
        table.store.remove(*(file.path for file in files))
        return "the source has changed meanwhile: run this again"

    def attempt() -> bool:
        records = {**table.records, **encoder.records()}
        changed: dict[str, StreamRecord] = {}
        for hole in holes:
            record = changed.get(hole.stream, records[hole.stream])
            left = tuple(one for one in record.absent if one != hole.absence)
            changed[hole.stream] = replace(record, absent=left)
        if any(hole.absence not in records[hole.stream].absent for hole in holes):
            return False
        table.append(table.write_state(changed, files), files, {OPERATION: "fill"})
        return True

    if not table.commit_files(files, attempt):
        raise ArchiveError(f"{table.store}: others have changed it meanwhile: run this again")
    return ""


@dataclass(slots=True)
class _Hole:
    """A lost span of a stream. `is_there`: True if the source has the stream.

    `rows`, `first`, `last`: the entries that the source has, and the archive lacks.
    """

    table: ArchiveTable
    origin: Origin
    stream: str
    absence: Absence
    is_there: bool
    rows: int = 0
    first: int = MIN_ID
    last: int = MIN_ID

    def look(self) -> None:
        """Find out what the source has. Raises DataLost."""
        self.rows = 0
        for batch in self._batches():
            ids = batch.column("id")
            if not self.rows:
                self.first = parse_id(ids[0].as_py())
            self.last = parse_id(ids[-1].as_py())
            self.rows += len(batch)

    def encoded(self, encoder: RowEncoder) -> Iterator[pa.RecordBatch]:
        """Yield the entries as rows."""
        unit = self.table.unit(self.stream)
        for found in self._batches() if self.rows else ():
            yield from encoder.encoded([with_times(file_batch(found, self.absence.epoch), unit)])

    def witnesses(self) -> Iterator[bool | None]:
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
        if not self.is_there:
            return
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
