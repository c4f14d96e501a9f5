"""State files: the archive's records of its streams, in files beside the log.

A commit names its state by the transaction `rillway:state`, 63 random bits; the file is
`_rillway/state-<the bits in hexadecimal>.parquet` and has a row for each stream. It never changes
and is on disk before the commit. Two archivers write two files, of which the log names one. The
metadata of the file describes the commit: the table, the version, and the files that it adds. From
these `rillway archive repair` can rebuild a version of the log.

deltalake's vacuum ignores folders whose names begin with an underscore, so this module removes old
files.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileInfo

from rillway.pipeline.archive.files.parquet_files import ArchivedFile, as_json, from_json
from rillway.pipeline.archive.files.store import Store, check_answered, reason_of
from rillway.pipeline.archive.identity.epochs import StreamRecord, from_row, to_row

FOLDER = "_rillway"
PREFIX, SUFFIX = "state-", ".parquet"
BITS = 63
# Readers may have an older version of the table open.
KEPT_FILES, KEPT_TIME = 20, timedelta(days=1)

EPOCH = [
    ("epoch", pa.int32()),
    ("token", pa.string()),
    ("parent", pa.int32()),
    ("branch", pa.string()),
    ("reason", pa.string()),
    ("began_ms", pa.int64()),
    ("end", pa.string()),
]
ANCHOR = [("id", pa.string()), ("hash", pa.string()), ("back", pa.int64())]
SOURCE = [
    ("database", pa.int32()),
    ("run_id", pa.string()),
    ("replids", pa.list_(pa.string())),
    ("offset", pa.int64()),
]
EXPIRED = [("epoch", pa.int32()), ("ms", pa.int64())]
ABSENCE = [
    ("epoch", pa.int32()),
    ("first", pa.string()),
    ("last", pa.string()),
    ("entries", pa.int64()),
    ("lost", pa.bool_()),
    ("of_file", pa.int64()),
]
LAYOUT = [
    ("number", pa.int32()),
    ("names", pa.list_(pa.binary())),
    ("columns", pa.list_(pa.string())),
]
SCHEMA = pa.schema(
    [
        ("stream", pa.string()),
        ("end", pa.string()),
        ("n", pa.int64()),
        ("epochs", pa.list_(pa.struct(EPOCH))),
        ("anchors", pa.list_(pa.struct(ANCHOR))),
        ("source", pa.struct(SOURCE)),
        ("expired_before_ms", pa.int64()),
        ("expired", pa.list_(pa.struct(EXPIRED))),
        ("layouts", pa.list_(pa.struct(LAYOUT))),
        ("id_unit", pa.string()),
        ("erasures", pa.list_(pa.int64())),
        ("absent", pa.list_(pa.struct(ABSENCE))),
    ]
)


class StateUnreadable(Exception):
    """A state file is missing or damaged; the text says which."""


@dataclass(frozen=True, slots=True)
class StateCommit:
    """The commit that a state was written for.

    `before`: the previous state of the table; `files`: those that the commit adds, None if it also
    removes some.
    """

    table: str
    version: int
    before: int | None = None
    files: tuple[ArchivedFile, ...] | None = ()


def path_of(number: int) -> str:
    return f"{FOLDER}/{PREFIX}{number:016x}{SUFFIX}"


def write_records(store: Store, records: Mapping[str, StreamRecord], written: StateCommit) -> int:
    """Write a state file; return the number by which a commit names it. Raises OSError."""
    number = secrets.randbits(BITS)
    rows = [{"stream": stream, **to_row(records[stream])} for stream in sorted(records)]
    schema = SCHEMA.with_metadata(_as_metadata(written))
    path, table = path_of(number), pa.Table.from_pylist(rows, schema)
    store.make_parent(path)
    try:
        pq.write_table(table, path, filesystem=store.filesystem, write_page_checksum=True)
        store.settle(path)
    except OSError:
        with suppress(OSError):
            store.remove(path)
        raise
    return number


def _as_metadata(written: StateCommit) -> dict[str, str]:
    files = None if written.files is None else list(map(as_json, written.files))
    return {
        "rillway.table": written.table,
        "rillway.version": str(written.version),
        "rillway.before": json.dumps(written.before),
        "rillway.files": json.dumps(files),
    }


def read_records(store: Store, number: int) -> dict[str, StreamRecord]:
    """Return the records of a state by stream. Raises StateUnreadable, StoreFailed."""
    path = path_of(number)
    try:
        with pq.ParquetFile(
            path, filesystem=store.filesystem, page_checksum_verification=True
        ) as parquet:
            rows = parquet.read().to_pylist()
        return {row["stream"]: from_row(row) for row in rows}
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        check_answered(store, path, error)
        raise StateUnreadable(
            f"{store}: {path}, which the log names: {reason_of(error)} (`rillway archive repair "
            f"--to {store}` rebuilds it from the rows)"
        ) from None


def read_commit(store: Store, number: int) -> StateCommit | None:
    """Return the commit that a state was written for; None if the file is unreadable.

    Raises StoreFailed.
    """
    try:
        found = pq.read_schema(path_of(number), filesystem=store.filesystem).metadata or {}
        added = json.loads(found[b"rillway.files"])
        files = None if added is None else tuple(map(from_json, added))
        table, version = found[b"rillway.table"].decode(), int(found[b"rillway.version"])
        return StateCommit(table, version, json.loads(found[b"rillway.before"]), files)
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        check_answered(store, path_of(number), error)
        return None


def numbers(store: Store) -> list[int]:
    """Return the numbers of all state files, the newest first. Raises OSError."""
    names = [info.base_name for info in _listed(store)]
    return [int(name[len(PREFIX) : -len(SUFFIX)], 16) for name in names]


def remove_old(store: Store, named: int | None, now: datetime | None = None) -> int:
    """Delete state files except the named one, the newest ones and those of the last day."""
    before = (now or datetime.now(UTC)) - KEPT_TIME
    kept = None if named is None else path_of(named)
    removed = 0
    for info in _listed(store)[KEPT_FILES:]:
        is_old = info.mtime is not None and info.mtime < before
        if is_old and (kept is None or not info.path.endswith(kept)):
            store.filesystem.delete_file(info.path)
            removed += 1
    return removed


def _listed(store: Store) -> list[FileInfo]:
    files = [info for info in store.listed(FOLDER) if _is_state(info)]
    return sorted(files, key=lambda info: info.mtime_ns or 0, reverse=True)


def _is_state(info: FileInfo) -> bool:
    name: str = info.base_name
    return name.startswith(PREFIX) and name.endswith(SUFFIX)
