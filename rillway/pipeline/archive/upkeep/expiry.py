"""Expiry: removes the rows of old files, of all streams or of some.

Files with only entries before a date are removed from the table; if other streams have rows in
them, these are written to new files. The same commit records up to where each stream has expired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.files.extents import Extent, extents
from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import STREAM, ArchivedFile, write_files
from rillway.pipeline.archive.files.periods import day_ms
from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.archive.limits import VACUUM_AFTER_HOURS
from rillway.pipeline.archive.table import (
    MAX_COMMIT_ATTEMPTS,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
)
from rillway.pipeline.archive.upkeep.compaction import Upkeep, compact_others
from rillway.pipeline.wire.ids import ms_of


def expire(
    table: ArchiveTable,
    streams: Collection[str] | None,
    before: date,
    *,
    vacuum_after_hours: int | None = VACUUM_AFTER_HOURS,
) -> Upkeep:
    """Remove the rows of streams (None: all) in files that are entirely before a date.

    `vacuum_after_hours`: None deletes no files. Raises ArchiveError.
    """
    done = Upkeep()
    for _ in range(MAX_COMMIT_ATTEMPTS):
        try:
            _expire(table, None if streams is None else frozenset(streams), day_ms(before), done)
            break
        except CommitConflict:
            table.refresh()
    else:
        raise ArchiveError(f"{table.store}: gave up, because others kept committing")
    if vacuum_after_hours is not None:
        done.vacuumed = table.vacuum(vacuum_after_hours)
    return done


def _expire(
    table: ArchiveTable, streams: frozenset[str] | None, before_ms: int, done: Upkeep
) -> None:
    """Make one attempt to expire rows. Raises ArchiveError, CommitConflict."""
    if streams is not None:
        # Only files of others may repeat rows, and a new file is an own one.
        compact_others(table)
    gone: dict[tuple[str, int], Extent] = {}
    old: list[ArchivedFile] = []
    kept: list[ArchivedFile] = []
    for file in table.files():
        if not file.is_before(before_ms, table.period):
            continue
        found = extents(table.store, [file])
        expired = {key: one for key, one in found.items() if streams is None or key[0] in streams}
        if not expired:
            continue
        old.append(file)
        for key, extent in expired.items():
            gone[key] = extent.with_others(gone.get(key))
        if len(expired) < len(found):
            assert streams is not None
            left = _without(table, file, streams)
            kept += write_files(
                table.store,
                left,
                table.period,
                schema=table.file_schema,
                layouts=table.layouts,
                undated=file.undated_rows,
            )
    if not old:
        return
    changed = _records(table, gone, before_ms)
    try:
        table.expire(old, kept, table.write_state(changed, None))
    except CommitConflict:
        table.refresh()
        if not table.names_any(kept):
            table.store.remove(*(file.path for file in kept))
        raise
    done.files_before, done.files_after = len(old), len(kept)
    done.rows = sum(extent.rows for extent in gone.values())
    done.bytes_before = sum(file.size_bytes for file in old)
    done.bytes_after = sum(file.size_bytes for file in kept)


def _records(
    table: ArchiveTable, gone: Mapping[tuple[str, int], Extent], before_ms: int
) -> dict[str, StreamRecord]:
    """Return the records of streams whose rows have expired."""
    changed: dict[str, StreamRecord] = {}
    for (stream, epoch), extent in gone.items():
        record = changed.get(stream) or table.record(stream)
        if record is not None:
            last_ms = max(ms_of(extent.last), table.expired_ms(stream, epoch))
            changed[stream] = replace(
                record,
                expired_before_ms=max(before_ms, record.expired_before_ms or 0),
                expired={**record.expired, epoch: last_ms},
                absent=tuple(
                    one for one in record.absent if one.epoch != epoch or ms_of(one.last) > last_ms
                ),
            )
    return changed


def _without(
    table: ArchiveTable, file: ArchivedFile, streams: frozenset[str]
) -> Iterator[pa.RecordBatch]:
    names = pa.array(sorted(streams), pa.string())
    for batch in merged(table.store, [file], table.file_schema):
        part = batch.filter(pc.invert(pc.is_in(batch.column(STREAM), names)))
        if len(part):
            yield part
