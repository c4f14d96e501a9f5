"""Compaction: merges many small files into few large ones.

Each commit adds a file to a period, and these files overlap in time and in streams. Merged they are
one sorted run, divided into files of a limited size, so that a reader of one stream opens one or
two. A merge is one commit, so readers see all of it or nothing; old files are deleted when no
reader can have their snapshot open any more (`vacuum_after_hours`). An archiver may run at the same
time: the one that commits second reads the table again.

deltalake's own compaction is not used, because it joins files in any order. If it was run, or
another program has written files, a compaction writes these again, in order and each row once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import pyarrow as pa

from rillway.pipeline.archive.columns.decoding import RowDamaged
from rillway.pipeline.archive.columns.entries import by_stream, entries_of, stray
from rillway.pipeline.archive.files.extents import Extent, extents
from rillway.pipeline.archive.files.merge import MAX_FILES, merged
from rillway.pipeline.archive.files.parquet_files import (
    SORTED_BY,
    STREAM,
    ArchivedFile,
    write_files,
)
from rillway.pipeline.archive.files.periods import Undated, first_date
from rillway.pipeline.archive.files.rows import wrong_keys
from rillway.pipeline.archive.files.sorting import Repeats, distinct
from rillway.pipeline.archive.limits import TARGET_BYTES, VACUUM_AFTER_HOURS
from rillway.pipeline.archive.table import (
    ArchiveError,
    ArchiveTable,
)
from rillway.pipeline.arrow.collector import paused_collector

Extents: TypeAlias = Mapping[tuple[str, int], Extent]
# An archiver's round compacts periods with more small files than this, or more bytes in them.
DUE_FILES, DUE_BYTES = 32, 64 << 20


@dataclass(slots=True)
class Upkeep:
    """The outcome of a compaction or of an expiry."""

    files_before: int = 0
    files_after: int = 0
    rows: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    vacuumed: int = 0


def compact(
    table: ArchiveTable,
    *,
    target_bytes: int = TARGET_BYTES,
    vacuum_after_hours: int | None = VACUUM_AFTER_HOURS,
    advanced: Callable[[int], None] = lambda rows: None,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Upkeep:
    """Merge the files of each period that are not one sorted run. Raises ArchiveError.

    `vacuum_after_hours`: None deletes no files.
    """
    done = Upkeep()
    # Repeated because at most MAX_FILES of a period are merged at once.
    while groups := mergeable(table, target_bytes):
        for group in groups:
            if is_interrupted():
                break
            _merge(table, group, target_bytes, done)
            advanced(sum(file.rows for file in group))
        if is_interrupted() or max(map(len, groups)) < MAX_FILES:
            break
    if vacuum_after_hours is not None:
        done.vacuumed = table.vacuum(vacuum_after_hours)
    return done


def compact_others(table: ArchiveTable) -> Upkeep:
    """Write the files of other programs again, each in a commit. Raises ArchiveError."""
    done = Upkeep()
    # Others may commit meanwhile.
    while not all(file.is_own for file in table.files()):
        for group in mergeable(table, TARGET_BYTES):
            if not all(file.is_own for file in group):
                _merge(table, group, TARGET_BYTES, done)
    return done


def compact_due(
    table: ArchiveTable, seconds: float, clock: Callable[[], float] = time.monotonic
) -> Upkeep:
    """Merge periods with many small files, for a limited time. Raises ArchiveError.

    No file is deleted. A merge that has begun is finished.
    """
    done = Upkeep()
    began = clock()
    for group in mergeable(table, TARGET_BYTES):
        is_due = len(group) > DUE_FILES or _size(group) >= DUE_BYTES
        if is_due and clock() - began < seconds:
            _merge(table, group, TARGET_BYTES, done)
    return done


def mergeable(table: ArchiveTable, target_bytes: int) -> list[list[ArchivedFile]]:
    """Return the files of each period that should become one run.

    A file of more than twice the size of all smaller ones together is left alone: it is not
    rewritten for a small addition.
    """
    periods: dict[object, list[ArchivedFile]] = {}
    for file in table.files():
        periods.setdefault(first_date(file.date, table.period), []).append(file)
    found = []
    for files in periods.values():
        small = _without_large(sorted(files, key=lambda file: file.size_bytes), target_bytes)
        others = [file for file in files if not file.is_own]
        if others:
            # With all that may have the same rows.
            merges = [*others, *(file for file in files if file.is_own and _meets(file, others))]
            found.append(merges)
        elif len(small) > 1 and not _is_run(small):
            found.append(small[:MAX_FILES])
    return found


def _meets(file: ArchivedFile, others: Sequence[ArchivedFile]) -> bool:
    """Return True if a file may have rows of the same time as others."""
    return any(
        file.first_ms <= other.last_ms and other.first_ms <= file.last_ms for other in others
    )


def _without_large(files: Sequence[ArchivedFile], target_bytes: int) -> list[ArchivedFile]:
    """Return the files, ordered by size, without those that are left alone."""
    kept = [file for file in files if file.size_bytes < target_bytes]
    while len(kept) > 1 and kept[-1].size_bytes > 2 * _size(kept[:-1]):
        del kept[-1]
    return kept


def _size(files: Sequence[ArchivedFile]) -> int:
    return sum(file.size_bytes for file in files)


def _is_run(files: Sequence[ArchivedFile]) -> bool:
    """Return True if no two files share a stream and the files are large enough."""
    ordered = sorted(files, key=lambda file: file.first_stream)
    is_disjoint = all(one.last_stream < other.first_stream for one, other in pairwise(ordered))
    return is_disjoint and len(files) <= 1 + _size(files) // (TARGET_BYTES // 2)


def _merge(
    table: ArchiveTable, files: Sequence[ArchivedFile], target_bytes: int, done: Upkeep
) -> None:
    repeats = Repeats(SORTED_BY)
    with paused_collector():
        schema = table.file_schema
        rows = merged(table.store, files, schema)
        if not all(file.is_own for file in files):
            rows = distinct(table.store, _checked(table, rows), repeats)
        # The files are of one period: use the earliest of their dates.
        undated = Undated(otherwise=min(file.date for file in files))
        new = write_files(
            table.store, rows, table.period, target_bytes, schema, table.layouts, undated
        )
    if not _has_all(extents(table.store, files), extents(table.store, new), repeats.rows):
        for file in new:
            table.store.remove(file.path)
        raise ArchiveError(f"{files[0].path}: the merged file lacks rows of its sources")
    replace_files(table, files, new)
    done.files_before += len(files)
    done.files_after += len(new)
    done.rows += sum(file.rows for file in files)
    done.bytes_before += _size(files)
    done.bytes_after += _size(new)


def _checked(table: ArchiveTable, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield merged rows. Raises ArchiveError for rows that do not belong to the archive."""
    for batch in rows:
        reason = wrong_keys(batch)
        for part in () if reason else by_stream(batch):
            reason = reason or stray(table, part) or _damage(table, part)
        if reason:
            raise ArchiveError(f"{table.store}: rows of another program: {reason}")
        yield batch


def _damage(table: ArchiveTable, part: pa.RecordBatch) -> str:
    """Return why rows of one stream are no entries; empty if they are."""
    try:
        entries_of(table, part)
    except RowDamaged as error:
        return f"{part.column(STREAM)[0]}: {error}"
    return ""


def _has_all(old: Extents, new: Extents, repeats: int) -> bool:
    """Return True if new files have the rows of the old ones, apart from repeated ones."""
    if not repeats:
        return old == new
    bounds = [{key: (one.first, one.last) for key, one in found.items()} for found in (old, new)]
    rows = [sum(one.rows for one in found.values()) for found in (old, new)]
    return bounds[0] == bounds[1] and rows[0] - repeats == rows[1]


def replace_files(
    table: ArchiveTable, old: Sequence[ArchivedFile], new: Sequence[ArchivedFile]
) -> None:
    """Commit the replacement of files by others with the same rows. Raises ArchiveError.

    Then the new files are deleted, as their rows may have been erased meanwhile.
    """

    def attempt() -> bool:
        if not table.names_all(old):
            return False
        table.replace(old, new)
        return True

    if not table.commit_files(new, attempt):
        raise ArchiveError(f"{table.store}: another process compacts, expires or erases it")
