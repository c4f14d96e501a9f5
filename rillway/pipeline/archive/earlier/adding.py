"""Adds rows of entries that precede the first archived one of a stream, in the same epoch.

The new rows precede all that an archiver compares. So the stream must be archived already,
and the new rows end before its first archived entry. A backup with later entries is refused, unless
the user wants to skip them and the backup has the first archived entry unchanged, which proves that
it has the same history.

All streams are added in one commit. An archiver may run meanwhile: it changes only the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.backfill import RowEncoder
from rillway.pipeline.archive.erasure.journal import erased_on_line
from rillway.pipeline.archive.files.parquet_files import ArchivedFile, file_batch, with_times
from rillway.pipeline.archive.files.periods import Undated
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.limits import CURRENT
from rillway.pipeline.archive.table import (
    ArchiveError,
    ArchiveTable,
)
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.ranges.discovery import find_streams
from rillway.pipeline.ranges.reader import read_batches
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, format_id, parse_id


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a stream's present history in an archive."""

    epoch: int
    first: Anchor


@dataclass(slots=True)
class Added:
    """The outcome for a stream: the number of entries, the first and the last ID.

    `before`: the first ID that was archived before.
    """

    before: int
    rows: int = 0
    first: int = MIN_ID
    last: int = MIN_ID


def add_earlier(
    table: ArchiveTable,
    origin: Origin,
    streams: Sequence[str],
    *,
    skips_archived: bool = False,
    advanced: Callable[[int], None] = lambda rows: None,
) -> dict[str, Added]:
    """Add entries of `origin` that precede the archived ones. Raises ArchiveError.

    `skips_archived`: skip entries from the first archived one on, instead of refusing them.
    """
    beginnings = {stream: beginning_of(table, stream) for stream in sorted(set(streams))}
    for stream, beginning in beginnings.items():
        _check_overlap(origin, stream, beginning.first, skips_archived)
    job = _Job(table, origin, beginnings, advanced)
    job.run()
    return job.added


def beginning_of(table: ArchiveTable, stream: str) -> Beginning:
    """Return the beginning of a stream. Raises ArchiveError if nothing can be added before it."""
    state = table.state(stream)
    for epoch, batch in table.rows(stream, CURRENT).batches():
        (entry_id, words), *_ = raw_entries(batch.slice(0, 1))
        branch = next(one.branch for one in state.epochs if one.number == epoch) if state else 0
        if branch != MIN_ID:
            raise ArchiveError(
                f"{stream}: all rows before epoch {epoch} have expired: nothing can be added"
            )
        return Beginning(epoch, Anchor(parse_id(entry_id), entry_hash(words)))
    raise ArchiveError(f"{stream}: {table.store} has no rows of it: archive it first")


def _check_overlap(origin: Origin, stream: str, first: Anchor, skips_archived: bool) -> None:
    """Raise ArchiveError if the backup has entries from the first archived one on."""
    found = next(origin.batches(stream, first.id, MAX_ID), None)
    if found is None:
        return
    (entry_id, words), *_ = raw_entries(found.slice(0, 1))
    is_same = parse_id(entry_id) == first.id and entry_hash(words) == first.hash
    if is_same and skips_archived:
        return
    text = f"{stream}: the backup has {entry_id.decode()}, and {format_id(first.id)} is archived"
    if is_same:
        raise ArchiveError(f"{text}: --skip-archived adds only earlier entries")
    raise ArchiveError(f"{text}, which the backup does not have: it has another history")


@dataclass(slots=True)
class _Job:
    table: ArchiveTable
    origin: Origin
    beginnings: dict[str, Beginning]
    advanced: Callable[[int], None]
    added: dict[str, Added] = field(default_factory=dict)

    def run(self) -> None:
        """Write the rows and commit them. Raises ArchiveError."""
        table, encoder = self.table, RowEncoder(self.table)
        for stream, beginning in self.beginnings.items():
            self.added[stream] = Added(beginning.first.id)
        files = encoder.write(self._rows(encoder), Undated(otherwise=datetime.now(UTC).date()))
        if sum(file.rows for file in files) != sum(one.rows for one in self.added.values()):
            raise ArchiveError(f"{table.store}: the files lack rows that were read")
        if files:
            self._commit(files, encoder)

    def _rows(self, encoder: RowEncoder) -> Iterator[pa.RecordBatch]:
        for stream, beginning in self.beginnings.items():
            unit = self.table.unit(stream)
            erased = pa.array(map(format_id, self._erased(stream)), pa.string())
            for found in self.origin.batches(stream, MIN_ID, beginning.first.id - 1):
                batch = file_batch(found, beginning.epoch)
                batch = with_times(batch.filter(pc.invert(pc.is_in(batch["id"], erased))), unit)
                if not len(batch):
                    continue
                self._count(self.added[stream], batch)
                yield from encoder.encoded([batch])

    def _erased(self, stream: str) -> frozenset[int]:
        return erased_on_line(self.table.store, stream, self.table.record(stream))

    def _count(self, added: Added, batch: pa.RecordBatch) -> None:
        ids = batch.column("id")
        added.first = added.first or parse_id(ids[0].as_py())
        added.last = parse_id(ids[-1].as_py())
        added.rows += len(batch)
        self.advanced(len(batch))

    def _commit(self, files: Sequence[ArchivedFile], encoder: RowEncoder) -> None:
        """Commit the new files. Raises ArchiveError."""
        table = self.table
        note = {
            "rillway.operation": "backfill",
            "rillway.entries": str(sum(one.rows for one in self.added.values())),
            "rillway.streams": str(len(self.added)),
        }

        def attempt() -> bool:
            if any(beginning_of(table, name) != one for name, one in self.beginnings.items()):
                return False
            table.append(table.write_state(encoder.records(), files), files, note)
            return True

        if not table.commit_files(files, attempt):
            raise ArchiveError(f"{table.store}: others have changed it meanwhile: run this again")


class Origin(Protocol):
    """A source of streams with entries in the order of their IDs."""

    def streams(self) -> list[str]: ...

    def batches(self, stream: str, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Yield the entries with IDs from `first` to `last`, both included, with all fields."""
        ...


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Another archive: the lines of its present epochs."""

    table: ArchiveTable

    def streams(self) -> list[str]:
        return self.table.streams()

    def batches(self, stream: str, first: int, last: int) -> Iterator[pa.RecordBatch]:
        for _, batch in self.table.rows(stream, CURRENT, first, last).batches():
            yield batch


@dataclass(frozen=True, slots=True)
class ServerOrigin:
    """A server: the entries in memory."""

    connection: Connection

    def streams(self) -> list[str]:
        return find_streams(self.connection, (), "*")

    def batches(self, stream: str, first: int, last: int) -> Iterator[pa.RecordBatch]:
        return read_batches(self.connection, stream, first, last)
