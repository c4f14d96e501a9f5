"""Upkeep of the archive: many small files into few large ones, and old days out.

Both are one commit for each stream and day, so readers see all of it or nothing; a file that is not
named any more is deleted when no reader can still have its snapshot open (`vacuum_after_hours`). An
archiver may run at the same time: the one that commits second looks at the table again.

Files are merged here and not by deltalake's own compaction, which joins files in any order and may
mix their rows: queries and replays read file after file and rely on `ms, seq` within each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

import pyarrow as pa

from rillway.pipeline.archive.limits import TARGET_BYTES, VACUUM_AFTER_HOURS
from rillway.pipeline.archive.parquet_files import (
    ArchivedFile,
    id_at,
    read_file,
    write_files,
)
from rillway.pipeline.archive.periods import MS_PER_DAY, day_ms, period_of
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.client.ids import MAX_ID, MIN_ID, ms_of

MAX_COMMIT_ATTEMPTS = 20


@dataclass(slots=True)
class Upkeep:
    """The outcome of a compaction or of an expiry."""

    files_before: int = 0
    files_after: int = 0
    rows: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    vacuumed: int = 0


# -- compaction -----------------------------------------------------------------------------------


def compact(
    table: ArchiveTable,
    streams: Sequence[str],
    *,
    target_bytes: int = TARGET_BYTES,
    vacuum_after_hours: int = VACUUM_AFTER_HOURS,
    advanced: Callable[[int], None] = lambda rows: None,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Upkeep:
    """Merge files within the table's period, as far as their days are over. Raises ArchiveError."""
    done = Upkeep()
    for group in mergeable(table, streams, target_bytes):
        if is_interrupted():
            break
        merged = _merge(table, group)
        done.files_before += len(group)
        done.files_after += len(merged)
        done.rows += sum(file.rows for file in group)
        done.bytes_before += sum(file.size_bytes for file in group)
        done.bytes_after += sum(file.size_bytes for file in merged)
        advanced(sum(file.rows for file in group))
    done.vacuumed = table.vacuum(vacuum_after_hours)
    return done


def mergeable(
    table: ArchiveTable, streams: Sequence[str], target_bytes: int
) -> list[list[ArchivedFile]]:
    """Neighbours of one stream and period that are to become one file. The last day is not over."""
    found: list[list[ArchivedFile]] = []
    period = table.period
    for stream in streams:
        end = table.end(stream)
        if end is None:
            continue
        today_ms = ms_of(end.id) // MS_PER_DAY * MS_PER_DAY
        over = [file for file in table.files(stream) if ms_of(file.last_id) < today_ms]
        groups = groupby(over, key=lambda f: (f.epoch, period_of(ms_of(f.first_id), period)))
        for (_, first_date), files in groups:
            packs = _packed(list(files), target_bytes)
            if first_date == period_of(today_ms, period):
                packs = [pack for pack in packs if _is_worth_it(pack)]
            found += packs
    return found


def _is_worth_it(pack: Sequence[ArchivedFile]) -> bool:
    """In a period that goes on, so that a large file is not written again for each small one."""
    sizes = [file.size_bytes for file in pack]
    return sum(sizes) >= 1.5 * max(sizes)


def _packed(files: Sequence[ArchivedFile], target_bytes: int) -> list[list[ArchivedFile]]:
    """Neighbours as long as they fit together; those that stay alone are left out."""
    packs: list[list[ArchivedFile]] = []
    size = 0
    for file in files:
        if not packs or size + file.size_bytes > target_bytes:
            packs.append([])
            size = 0
        packs[-1].append(file)
        size += file.size_bytes
    return [pack for pack in packs if len(pack) > 1]


def _merge(table: ArchiveTable, files: Sequence[ArchivedFile]) -> list[ArchivedFile]:
    with paused_collector():
        rows = _in_order(table, files)
        merged = write_files(table.store, files[0].stream, rows, table.period, files[0].epoch)
    if sum(file.rows for file in merged) != sum(file.rows for file in files):
        raise ArchiveError(f"{files[0].path}: the merged file has not as many rows as its sources")
    for _ in range(MAX_COMMIT_ATTEMPTS):
        named = {file.path for file in table.files(files[0].stream)}
        if not named.issuperset(file.path for file in files):
            raise ArchiveError(f"{table.store}: another process compacts or expires it")
        try:
            table.replace(files[0].stream, files, merged)
            return merged
        except CommitConflict:
            table.refresh()
    raise ArchiveError(f"{table.store}: others commit all the time")


def _in_order(table: ArchiveTable, files: Sequence[ArchivedFile]) -> Iterator[pa.RecordBatch]:
    before = MIN_ID - 1
    for file in files:
        for batch in read_file(table.store, file, MIN_ID, MAX_ID):
            if id_at(batch, 0) <= before:
                raise ArchiveError(f"{file.path}: not after the file before it")
            before = id_at(batch, len(batch) - 1)
            yield batch


# -- retention ------------------------------------------------------------------------------------


def expire(
    table: ArchiveTable,
    streams: Sequence[str],
    before: date,
    *,
    vacuum_after_hours: int = VACUUM_AFTER_HOURS,
) -> Upkeep:
    """Remove all files that are wholly before a date. Raises ArchiveError."""
    done = Upkeep()
    for stream in streams:
        files = _expire_stream(table, stream, before)
        done.files_before += len(files)
        done.rows += sum(file.rows for file in files)
        done.bytes_before += sum(file.size_bytes for file in files)
    done.vacuumed = table.vacuum(vacuum_after_hours)
    return done


def _expire_stream(table: ArchiveTable, stream: str, before: date) -> list[ArchivedFile]:
    before_ms = day_ms(before)
    for _ in range(MAX_COMMIT_ATTEMPTS):
        files = [file for file in table.files(stream) if ms_of(file.last_id) < before_ms]
        if not files:
            return []
        expired = max(before_ms, table.expired_before_ms(stream) or 0)
        try:
            table.remove(stream, files, expired)
            return files
        except CommitConflict:
            table.refresh()
    raise ArchiveError(f"{table.store}: others commit all the time")
