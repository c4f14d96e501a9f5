"""Rebuilds the records of an archive's streams from an older state and the rows.

The rows show the archived end of each epoch. An older state describes the epochs; without one, only
their numbers are known, and each is assumed to follow from the previous one. Rebuilt records have
neither tokens nor anchors, so the archiver compares each stream with the rows before it continues
(identity/walk.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from rillway.pipeline.archive.columns.layouts import LAYOUT, Layout, from_metadata
from rillway.pipeline.archive.erasure.journal import numbers as numbers_of_journals
from rillway.pipeline.archive.erasure.journal import read_journal
from rillway.pipeline.archive.files.extents import KEY_SCHEMA, runs_of
from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import (
    FILE_SCHEMA,
    STREAM,
    ArchivedFile,
    id_at,
)
from rillway.pipeline.archive.files.rows import open_file
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.identity.epochs import Epoch, StreamRecord, StreamState
from rillway.pipeline.archive.identity.state_files import (
    StateUnreadable,
    numbers,
    read_commit,
    read_records,
)
from rillway.pipeline.archive.repair.rows import Run
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.decoder import timestamps
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import MIN_ID, MS, NONE, UNITS

REASON = "known from its rows, after the state was lost"


def unproven(record: StreamRecord) -> StreamRecord:
    """Return a record without proof, so that the archiver compares the stream with the rows."""
    present = replace(record.state.present, token="")
    state = replace(record.state, epochs=(*record.state.epochs[:-1], present), anchors=())
    return replace(record, state=state, end=Position(record.end.id, None))


def rebuilt(table: ArchiveTable) -> tuple[dict[str, StreamRecord], int | None]:
    """Rebuild the records of all streams. Raises ArchiveError, OSError.

    Returns them with the version of the older state that was used, None if there is none.
    """
    older, version = latest_state(table)
    found = runs(table.store, table.files())
    layouts = _layouts(table.store, table.files())
    streams = sorted(found.keys() | older.keys())
    records = {name: _record(older.get(name), found.get(name, {})) for name in streams}
    for name, known in layouts.items():
        # Layouts in footers take precedence: an older state may have others with their numbers.
        records[name] = replace(records[name], layouts={**records[name].layouts, **known})
    for number in numbers_of_journals(table.store):
        for name in records.keys() & read_journal(table.store, number).entries.keys():
            erasures = (*records[name].erasures, number)
            records[name] = replace(records[name], erasures=tuple(dict.fromkeys(erasures)))
    return records, version


def latest_state(table: ArchiveTable) -> tuple[dict[str, StreamRecord], int | None]:
    """Return the latest readable state of a commit of the log, and its version."""
    candidates = []
    for number in numbers(table.store):
        written = read_commit(table.store, number)
        if written and written.table == table.id and written.version <= table.version:
            candidates.append((written.version, number))
    for version, number in sorted(candidates, reverse=True):
        try:
            return read_records(table.store, number), version
        except StateUnreadable:
            continue
    return {}, None


def runs(store: Store, files: Sequence[ArchivedFile]) -> dict[str, dict[int, Run]]:
    """Return the runs of rows by stream and epoch. Raises ArchiveError."""
    found: dict[str, dict[int, Run]] = {}
    for file in files:
        for batch in merged(store, [file], pa.schema([*KEY_SCHEMA, FILE_SCHEMA.field("ts")])):
            for stream, epoch, first, last in runs_of(batch):
                run = found.setdefault(stream, {}).setdefault(epoch, Run())
                run.add(id_at(batch, first), id_at(batch, last))
                run.unit = _unit(batch.slice(last, 1))
    return found


def _unit(row: pa.RecordBatch) -> str:
    """Return the unit by which `ts` of a row follows from its ID."""
    ms, times = row.column("ms"), row.column("ts")
    if times.null_count:
        return NONE
    return next((unit for unit in UNITS if timestamps(ms, unit).equals(times)), MS)


def _layouts(store: Store, files: Sequence[ArchivedFile]) -> dict[str, dict[int, Layout]]:
    """Return the layouts of each stream's rows, from footers. Raises ArchiveError."""
    found: dict[str, dict[int, Layout]] = {}
    for file in files:
        with open_file(store, file) as parquet:
            try:
                known = from_metadata(parquet.metadata.metadata)
            except (ValueError, TypeError):
                known = {}
            if known:
                rows = parquet.read(columns=[STREAM, LAYOUT])
                for row in rows.group_by([STREAM, LAYOUT]).aggregate([]).to_pylist():
                    if row[LAYOUT] in known:
                        found.setdefault(row[STREAM], {})[row[LAYOUT]] = known[row[LAYOUT]]
    return found


def _record(older: StreamRecord | None, found: Mapping[int, Run]) -> StreamRecord:
    epochs = [] if older is None else list(older.state.epochs)
    end = MIN_ID if older is None else older.end.id
    for number in range(len(epochs) + 1, max(found, default=0) + 1):
        run = found.get(number, Run())
        parent, branch = 0, MIN_ID
        if epochs:
            epochs[-1] = replace(epochs[-1], end=_end(found, len(epochs), end))
            parent, branch = len(epochs), min(epochs[-1].end or MIN_ID, max(run.first - 1, MIN_ID))
        epochs.append(Epoch(number, "", parent, branch, REASON))
        end = MIN_ID
    present = _end(found, len(epochs), end)
    state = StreamState(tuple(epochs), (), None if older is None else older.state.source)
    units = [found[number].unit for number in sorted(found)]
    record = StreamRecord(state, Position(present, None), unit=units[-1] if units else None)
    if older is not None:
        record = replace(older, state=state, end=record.end)
    return unproven(record)


def _end(found: Mapping[int, Run], epoch: int, known: int) -> int:
    """Return the end of an epoch, which may be an ID that was deleted before it was archived."""
    return max(known, found.get(epoch, Run()).last)
