"""Rows that the table has lost, as known absences in the records of streams.

Another program may have deleted rows, or a file is lost. The first is meant, so its entries count
as archived. The second is damage: such entries stay in memory if they are still there, until
`rillway archive repair --url` has filled them in again (holes.py).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow.parquet as pq

from rillway.pipeline.archive.columns.statistics import LAST_CHARACTER
from rillway.pipeline.archive.files.extents import KEY_SCHEMA
from rillway.pipeline.archive.files.log_files import read_version
from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import EPOCH, STREAM, ArchivedFile, statistics
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.foreign.commits import RESTORE, Commit
from rillway.pipeline.archive.identity.epochs import Absence, StreamRecord
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.ids import MAX_ID, MAX_SEQ, make_id, ms_of

Key: TypeAlias = tuple[str, int, int]
# Of a stream: each commit writes them.
MAX_SPANS = 1000
Records: TypeAlias = dict[str, StreamRecord]


def removed_by(table: ArchiveTable, commits: Sequence[Commit]) -> tuple[Records, int]:
    """Return the records of streams whose rows other programs have removed.

    Of files that were deleted by now, the log may have the bounds. Also returns the number of those
    of which nothing is known. Raises ArchiveError.
    """
    named = {file.path for file in table.files()}
    found: Records = {}
    unknown = 0
    for is_lost in (False, True):
        paths = {
            path
            for commit in commits
            if (commit.operation == RESTORE) == is_lost
            for path in commit.removed
            if path not in named
        }
        there = [path for path in sorted(paths) if table.store.has(path)]
        logged = _logged(table, paths.difference(there))
        unknown += len(paths) - len(there) - len(logged)
        for stream, absence in _absent(table, [_file(table.store, p) for p in there], is_lost):
            record = found.get(stream) or table.record(stream)
            if record is not None:
                found[stream] = _with(record, absence)
        found = lost_with(table, logged, found, is_lost=is_lost)
    return found, unknown


def _logged(table: ArchiveTable, paths: Collection[str]) -> list[ArchivedFile]:
    """Return deleted files by what the log has of them, as far as it goes back."""
    found: dict[str, ArchivedFile] = {}
    for version in range(table.version, -1, -1):
        if len(found) == len(paths):
            break
        try:
            actions = read_version(table.store, version)
        except FileNotFoundError:
            break
        except (OSError, ValueError):
            continue
        for added in (action["add"] for action in actions if "add" in action):
            path = unquote(added["path"])
            if path in paths and path not in found and (file := _of_action(path, added)):
                found[path] = file
    return list(found.values())


def _of_action(path: str, added: Mapping[str, Any]) -> ArchivedFile | None:
    """Return a file of an add action, None without statistics."""
    try:
        stats = json.loads(added["stats"])
        pairs = [(stats["minValues"][n], stats["maxValues"][n]) for n in (STREAM, "ms", EPOCH)]
    except (ValueError, KeyError, TypeError):
        return None
    bounds = (each for pair in pairs for each in pair)
    return ArchivedFile(path, date.min, 0, stats["numRecords"], *bounds)


def lost_with(
    table: ArchiveTable,
    files: Iterable[ArchivedFile],
    before: Records | None = None,
    *,
    is_lost: bool = True,
) -> Records:
    """Return the records of streams that lose rows with files. Raises ArchiveError.

    `before`: records that have changed already.
    """
    found = dict(before or {})
    for file in files:
        names = [n for n in table.records if file.first_stream <= n <= file.last_stream]
        is_exact = file.first_stream == file.last_stream and file.first_epoch == file.last_epoch
        for name in names:
            record = found.get(name) or table.records[name]
            for epoch in record.state.epochs:
                if file.first_epoch <= epoch.number <= file.last_epoch:
                    first, last = make_id(file.first_ms), make_id(file.last_ms, MAX_SEQ)
                    number = _lacking(table, file) if is_exact else None
                    if number == 0:
                        continue
                    of_file = file.rows if number is None else None
                    absence = Absence(epoch.number, first, last, number, is_lost, of_file)
                    record = _with(record, absence)
            found[name] = record
    return found


def _lacking(table: ArchiveTable, file: ArchivedFile) -> int:
    """Return how many rows of a lost file of one stream no other file has."""
    named = table.files(file.first_stream, file.first_ms, file.last_ms)
    if any(one.path == file.path for one in named):
        return file.rows  # it was not replaced
    present = sum(
        file.first_ms <= ms_of(entry_id) <= file.last_ms
        for stream, epoch, entry_id in keys(table, named)
        if (stream, epoch) == (file.first_stream, file.first_epoch)
    )
    return max(file.rows - present, 0)


def _with(record: StreamRecord, absence: Absence) -> StreamRecord:
    if any(_covers(one, absence) for one in record.absent):
        return record
    every = sorted([*record.absent, absence], key=lambda one: (one.epoch, one.first))
    return replace(record, absent=tuple(_fewer(every) if len(every) > MAX_SPANS else every))


def _covers(one: Absence, other: Absence) -> bool:
    is_alike = (one.epoch, one.is_lost) == (other.epoch, other.is_lost)
    return one == other or (
        is_alike and not one.is_lost and one.first <= other.first and other.last <= one.last
    )


def _fewer(spans: Sequence[Absence]) -> Iterator[Absence]:
    """Yield spans of which each second one of deleted rows is joined with the one before.

    A span may have rows: only entries without a row count as absent.
    """
    held: Absence | None = None
    for one in spans:
        if held is None or held.is_lost or one.is_lost or held.epoch != one.epoch:
            if held is not None:
                yield held
            held = one
            continue
        numbers = held.entries, one.entries
        entries = None if None in numbers else sum(number or 0 for number in numbers)
        yield replace(held, last=max(held.last, one.last), entries=entries)
        held = None
    if held is not None:
        yield held


def _file(store: Store, path: str) -> ArchivedFile:
    """Return a file that the table no longer names, with bounds from its footer."""
    metadata = pq.read_metadata(path, filesystem=store.filesystem)
    groups = range(metadata.num_row_groups)
    bounds: list[Any] = [statistics(metadata, group, ["ms"])[0] for group in groups]
    first, last = 0, ms_of(MAX_ID)
    if bounds and None not in bounds:
        first, last = min(low for low, _ in bounds), max(high for _, high in bounds)
    rows = metadata.num_rows
    return ArchivedFile(path, date.min, 0, rows, "", LAST_CHARACTER, first, last, 0, 1 << 31)


def _absent(
    table: ArchiveTable, removed: Sequence[ArchivedFile], is_lost: bool
) -> Iterator[tuple[str, Absence]]:
    """Yield the spans of rows of removed files that no file has."""
    if not removed:
        return
    first, last = min(one.first_ms for one in removed), max(one.last_ms for one in removed)
    present = keys(table, [f for f in table.files() if f.may_hold(None, first, last)])
    here = next(present, None)
    span: list[Key] = []
    before: Key | None = None
    for key in keys(table, removed):
        if key == before:
            continue
        before = key
        while here is not None and here < key:
            if span and here > span[-1]:
                yield _span(span, is_lost)
                span = []
            here = next(present, None)
        if key == here:
            continue
        if span and span[-1][:2] != key[:2]:
            yield _span(span, is_lost)
            span = []
        span.append(key)
    if span:
        yield _span(span, is_lost)


def _span(keys: Sequence[Key], is_lost: bool) -> tuple[str, Absence]:
    stream, epoch, first = keys[0]
    return stream, Absence(epoch, first, keys[-1][2], len(keys), is_lost)


def keys(table: ArchiveTable, files: Sequence[ArchivedFile]) -> Iterator[Key]:
    """Yield the stream, epoch and ID of each row, in order."""
    for batch in merged(table.store, files, KEY_SCHEMA):
        columns = [column.to_pylist() for column in batch.columns]
        for stream, epoch, ms, seq in zip(*columns, strict=True):
            yield stream, epoch, make_id(ms, int(seq))
