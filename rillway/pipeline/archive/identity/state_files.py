"""Files of what the archive knows of its streams, beside the log, that commits name.

A commit names one by the transaction `rillway:state`, 63 random bits; the file is
`_rillway/state-<the bits in hexadecimal>.parquet` and has a row for each stream. It never changes
and is on the disk before the commit. Two archivers write two files, and the log names one.
deltalake's vacuum leaves folders alone that begin with an underscore, so old ones are removed here.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileInfo, FileSelector, FileType

from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.identity.epochs import StreamRecord, from_row, to_row

FOLDER = "_rillway"
PREFIX, SUFFIX = "state-", ".parquet"
BITS = 63
# Readers may have the table open as it was.
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
    ]
)


class StateUnreadable(Exception):
    """A file that the log names is missing or holds something else; the text says which."""


def path_of(number: int) -> str:
    return f"{FOLDER}/{PREFIX}{number:016x}{SUFFIX}"


def write_records(store: Store, records: Mapping[str, StreamRecord]) -> int:
    """The number by which a commit names the file. Raises OSError."""
    number = secrets.randbits(BITS)
    rows = [{"stream": stream, **to_row(records[stream])} for stream in sorted(records)]
    store.make_parent(path_of(number))
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path_of(number), filesystem=store.filesystem)
    store.settle(path_of(number))
    return number


def read_records(store: Store, number: int) -> dict[str, StreamRecord]:
    """By stream. Raises StateUnreadable."""
    path = path_of(number)
    try:
        rows = pq.ParquetFile(path, filesystem=store.filesystem).read().to_pylist()
        return {row["stream"]: from_row(row) for row in rows}
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StateUnreadable(f"{store}: {path}, which the log names: {reason}") from None


def remove_old(store: Store, named: int | None, now: datetime | None = None) -> int:
    """Delete all but the one that the log names, the newest ones and those of the last day."""
    listed = store.filesystem.get_file_info(FileSelector(FOLDER, allow_not_found=True))
    files = [info for info in listed if info.type == FileType.File and _is_state(info)]
    files.sort(key=lambda info: info.mtime_ns or 0, reverse=True)
    before = (now or datetime.now(UTC)) - KEPT_TIME
    kept = None if named is None else path_of(named)
    removed = 0
    for info in files[KEPT_FILES:]:
        is_old = info.mtime is not None and info.mtime < before
        if is_old and (kept is None or not info.path.endswith(kept)):
            store.filesystem.delete_file(info.path)
            removed += 1
    return removed


def _is_state(info: FileInfo) -> bool:
    name: str = info.base_name
    return name.startswith(PREFIX) and name.endswith(SUFFIX)
