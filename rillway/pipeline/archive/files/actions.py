"""Files as actions in the log of a Delta table, with the statistics that let readers skip files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import quote, unquote

from deltalake.transaction import AddAction, RemoveAction

from rillway.pipeline.archive.columns.statistics import (
    LAST_CHARACTER,
    UNIX_EPOCH,
    ColumnBounds,
    greatest_text,
    least_text,
    time_bounds,
)
from rillway.pipeline.archive.files.parquet_files import DATE, EPOCH, STREAM, ArchivedFile
from rillway.pipeline.archive.identity.epochs import FIRST
from rillway.pipeline.arrow.json_columns import to_json
from rillway.pipeline.wire.ids import MAX_ID, ms_of


def archived_file(action: Mapping[str, Any]) -> ArchivedFile:
    """Return the file of a row in deltalake's table of flattened actions."""
    last_ms, last_stream = action.get("max.ms"), action.get(f"max.{STREAM}")
    return ArchivedFile(
        unquote(action["path"]),  # the log encodes the name once more
        action[f"partition.{DATE}"],
        action["size_bytes"],
        action.get("num_records") or 0,
        action.get(f"min.{STREAM}") or "",
        LAST_CHARACTER if last_stream is None else last_stream,
        action.get("min.ms") or 0,
        ms_of(MAX_ID) if last_ms is None else last_ms,
        action.get(f"min.{EPOCH}") or FIRST,
        action.get(f"max.{EPOCH}") or (1 << 31) - 1,
        first_time_ms=_as_ms(action.get("min.ts")),
        last_time_ms=_as_ms(action.get("max.ts")),
        undated=action.get("null_count.ts") or 0,
        known=action,
    )


def _as_ms(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - UNIX_EPOCH) // timedelta(milliseconds=1)


def add_action(file: ArchivedFile, *, data_change: bool = True) -> AddAction:
    """Return the action that adds a file. `data_change`: False in a compaction."""
    return AddAction(
        path=file.path,
        size=file.size_bytes,
        partition_values=_partition(file.date),
        modification_time=int(time.time() * 1000),
        data_change=data_change,
        stats=_statistics(file),
    )


def add_content(file: ArchivedFile) -> dict[str, Any]:
    """Return the action that adds a file as in the log, with the path URL-encoded."""
    return {
        "path": quote(file.path, safe="/="),
        "partitionValues": _partition(file.date),
        "size": file.size_bytes,
        "modificationTime": int(time.time() * 1000),
        "dataChange": True,
        "stats": _statistics(file),
    }


def _statistics(file: ArchivedFile) -> str:
    columns = [*_bounds(file), *file.columns]
    bounded = [one for one in columns if one.least is not None]
    stats = {
        "numRecords": file.rows,
        "minValues": {one.name: one.least for one in bounded},
        "maxValues": {one.name: one.greatest for one in bounded},
        "nullCount": {one.name: one.nulls for one in columns},
    }
    # deltalake 1.6 reads the escape of U+20000 as U+10000.
    return to_json(stats)


def _bounds(file: ArchivedFile) -> Iterator[ColumnBounds]:
    """Yield the bounds of the columns that all files have."""
    streams = least_text(file.first_stream), greatest_text(file.last_stream)
    yield ColumnBounds(STREAM, 0, *streams)
    yield ColumnBounds(EPOCH, 0, file.first_epoch, file.last_epoch)
    yield ColumnBounds("ms", 0, file.first_ms, file.last_ms)
    yield time_bounds("ts", file.undated, file.first_time_ms, file.last_time_ms)


def remove_action(file: ArchivedFile, now_ms: int, *, data_change: bool) -> RemoveAction:
    """Return the action that removes a file. `data_change`: False in a compaction."""
    return RemoveAction(
        path=file.path,
        data_change=data_change,
        deletion_timestamp=now_ms,
        size=file.size_bytes,
        partition_values=_partition(file.date),
    )


def _partition(day: date) -> dict[str, str | None]:
    return {DATE: day.isoformat()}
