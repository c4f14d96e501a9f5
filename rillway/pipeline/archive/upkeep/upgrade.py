"""Upgrade: an archive of the releases before, which had files for each stream, in two commits.

Layout 1 had the partitions `stream` and `date`, and kept what it knew of a stream as transactions:
`rillway:orders:ms`, `:seq`, `:n`, `:state`, the number of a JSON file of its own, `:expired` and
`:expired:<epoch>`. All rows are written again, sorted; the files of before stay until they are
vacuumed. The ID of the table stays, so markers in streams are found.

Only deltalake itself can change what a table is partitioned by, and what it writes meanwhile is in
no order. So the new files and the new state are written first, with a plan that names both. The
first commit has no rows, other partitions, and the number of the plan as the transaction
`rillway:upgrade`; the second one adds the files. Between the two the table is refused, and an
upgrade goes on with the plan.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from pyarrow.fs import FileSelector, FileType

from rillway.pipeline.archive.files.parquet_files import (
    DATE,
    EPOCH,
    FILE_SCHEMA,
    PARTITIONED_BY,
    SORTED_BY,
    STREAM,
    TABLE_SCHEMA,
    ArchivedFile,
    as_json,
    from_json,
    write_files,
)
from rillway.pipeline.archive.files.periods import DAY
from rillway.pipeline.archive.files.rows import bounded_batches, overlapping
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.identity.epochs import (
    FIRST,
    Epoch,
    StreamRecord,
    StreamState,
    state_from_json,
)
from rillway.pipeline.archive.identity.state_files import FOLDER, write_records
from rillway.pipeline.archive.table import (
    PERIOD_PROPERTY,
    UPGRADE,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
    OldLayout,
    first_line,
    open_delta,
    place_of,
    sync_log,
)
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.client.ids import MAX_SEQ, make_id
from rillway.pipeline.ranges.offsets import Position

BITS = 63
BUFFER_BYTES = 1 << 16
UNKNOWN = -1
MASK_64 = (1 << 64) - 1
STREAM_PREFIX = f"{STREAM}="
READ_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The outcome. `is_new`: the archive was of this release already, and nothing was done."""

    streams: int = 0
    rows: int = 0
    files_before: int = 0
    files_after: int = 0
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class _OldFile:
    """A file of layout 1: rows of one stream and epoch."""

    path: str
    stream: str
    date: date
    rows: int
    epoch: int
    first_ms: int
    last_ms: int


def upgrade(path: str | Path | Store, options: Mapping[str, str] | None = None) -> Upgraded:
    """Raises ArchiveError."""
    store = place_of(path, options)
    delta = open_delta(store)
    try:
        ArchiveTable(store, delta)
        return Upgraded(is_new=True)
    except OldLayout:
        number: int | None = delta.transaction_version(UPGRADE)
    try:
        if number is None:
            number = _replace(store, delta)
        plan = _read_plan(store, number)
        table = ArchiveTable(store, open_delta(store), is_upgrading=True)
        if table.state_number is not None:
            return Upgraded(is_new=True)  # another upgrade was faster, and archivers may be at it
        table.set_layout()
        table.append(plan.state_number, plan.files, {"rillway.operation": "upgrade"})
    except (CommitFailedError, CommitConflict) as error:
        raise ArchiveError(
            f"{store}: others commit to it meanwhile, stop their archivers: {first_line(error)}"
        ) from None
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise ArchiveError(f"{store}: {first_line(error)}") from None
    rows = sum(file.rows for file in plan.files)
    return Upgraded(len(table.records), rows, plan.files_before, len(plan.files))


def _replace(store: Store, delta: DeltaTable) -> int:
    """Write all that is new, and commit that the old files are out; the number of the plan."""
    old = _old_files(delta)
    state_number = write_records(store, _old_records(store, delta, old))
    period = delta.metadata().configuration.get(PERIOD_PROPERTY, DAY)
    new: list[ArchivedFile] = []
    with paused_collector():
        # By the period of then: it may have been another one, and a file is sorted by streams.
        for _, files in groupby(old, key=lambda file: file.date):
            new += write_files(store, _rows(store, list(files)), period)
    if sum(file.rows for file in new) != sum(file.rows for file in old):
        raise ArchiveError(f"{store}: the new files have not as many rows as the old ones")
    number = _write_plan(store, _Plan(state_number, len(old), new))
    reader: Any = pa.RecordBatchReader.from_batches(TABLE_SCHEMA, [])
    write_deltalake(
        delta,
        reader,
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=list(PARTITIONED_BY),
        commit_properties=CommitProperties(
            custom_metadata={"rillway.operation": "upgrade"},
            max_commit_retries=0,
            app_transactions=[Transaction(UPGRADE, number)],
        ),
    )
    sync_log(store, open_delta(store).version())
    return number


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the second commit is to name."""

    state_number: int
    files_before: int
    files: list[ArchivedFile]


def _plan_path(number: int) -> str:
    return f"{FOLDER}/upgrade-{number:016x}.json"


def _write_plan(store: Store, plan: _Plan) -> int:
    number = secrets.randbits(BITS)
    content = {
        "state_number": plan.state_number,
        "files_before": plan.files_before,
        "files": list(map(as_json, plan.files)),
    }
    # deltalake's own streams take no buffers of Arrow, which one without a buffer would hand over.
    with store.filesystem.open_output_stream(_plan_path(number), buffer_size=BUFFER_BYTES) as file:
        file.write(json.dumps(content).encode())
    store.settle(_plan_path(number))
    return number


def _read_plan(store: Store, number: int) -> _Plan:
    with store.filesystem.open_input_stream(_plan_path(number)) as file:
        content = json.loads(file.read())
    files = list(map(from_json, content["files"]))
    return _Plan(content["state_number"], content["files_before"], files)


def _old_files(delta: DeltaTable) -> list[_OldFile]:
    """In the order of the new files."""
    actions = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    files = [
        _OldFile(
            unquote(action["path"]),
            action[f"partition.{STREAM}"],
            action[f"partition.{DATE}"],
            action["num_records"] or 0,
            action.get(f"min.{EPOCH}") or FIRST,
            action.get("min.ms") or 0,
            MASK_64 if action.get("max.ms") is None else action["max.ms"],
        )
        for action in actions
    ]
    return sorted(files, key=lambda f: (f.date, f.stream, f.epoch, f.first_ms, f.last_ms))


def _old_records(
    store: Store, delta: DeltaTable, files: Sequence[_OldFile]
) -> dict[str, StreamRecord]:
    """By stream. Raises ArchiveError."""
    listed = store.filesystem.get_file_info(FileSelector(FOLDER, allow_not_found=True))
    folders = [
        info.base_name.removeprefix(STREAM_PREFIX)
        for info in listed
        if info.type == FileType.Directory and info.base_name.startswith(STREAM_PREFIX)
    ]
    # One whose rows have all expired has a state alone.
    names = {file.stream for file in files} | set(map(unquote, folders))
    found = {name: _old_record(store, delta, name) for name in sorted(names)}
    return {name: record for name, record in found.items() if record is not None}


def _old_record(store: Store, delta: DeltaTable, stream: str) -> StreamRecord | None:
    def number(name: str) -> int | None:
        found: int | None = delta.transaction_version(f"rillway:{stream}:{name}")
        return found

    ms, seq, n = number("ms"), number("seq"), number("n")
    if ms is None or seq is None:
        return None
    end = make_id(ms & MASK_64, seq & MAX_SEQ)
    state = _old_state(store, stream, number("state"))
    expired = {epoch.number: number(f"expired:{epoch.number}") for epoch in state.epochs}
    return StreamRecord(
        state,
        Position(end, None if n is None or n == UNKNOWN else n),
        number("expired"),
        {epoch: ms for epoch, ms in expired.items() if ms is not None},
    )


def _old_state(store: Store, stream: str, number: int | None) -> StreamState:
    """Raises ArchiveError."""
    if number is None:
        return StreamState((Epoch(FIRST, token=""),))
    path = f"{FOLDER}/{STREAM_PREFIX}{quote(stream, safe='')}/state-{number:016x}.json"
    try:
        with store.filesystem.open_input_stream(path) as file:
            content: dict[str, Any] = json.loads(file.read())
        names = "id", "hash", "back"
        anchors = [dict(zip(names, anchor, strict=True)) for anchor in content["anchors"]]
        return state_from_json({**content, "anchors": anchors})
    except (OSError, AttributeError, ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"{store}: {path}, which the log names: {first_line(error)}") from None


def _rows(store: Store, files: Sequence[_OldFile]) -> Iterator[pa.RecordBatch]:
    """All rows, in the order of the new files. Raises OSError, pa.ArrowException."""
    for _, epoch_files in groupby(files, key=lambda file: (file.date, file.stream, file.epoch)):
        for held in overlapping(epoch_files):
            if len(held) == 1:
                yield from _file_rows(store, held[0])
            else:
                # They share a millisecond; or the first releases have archived two streams as one.
                parts = [batch for file in held for batch in _file_rows(store, file)]
                rows = pa.Table.from_batches(parts, FILE_SCHEMA)
                ordered = rows.sort_by([(name, "ascending") for name in SORTED_BY])
                yield from ordered.to_batches(READ_ROWS)


def _file_rows(store: Store, file: _OldFile) -> Iterator[pa.RecordBatch]:
    constants = {STREAM: file.stream, EPOCH: file.epoch}
    with pq.ParquetFile(file.path, filesystem=store.filesystem) as parquet:
        for batch in bounded_batches(parquet, range(parquet.metadata.num_row_groups)):
            columns = []
            for field in FILE_SCHEMA:
                if field.name in constants:
                    value = pa.scalar(constants[field.name], field.type)
                    columns.append(pa.repeat(value, len(batch)))
                else:
                    columns.append(pc.cast(batch.column(field.name), field.type))
            yield pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)
