"""The check of an archive by its log, its state, and the size and footer of each file.

No row is read: that is what rows.py does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from rillway.pipeline.archive.columns.statistics import least_text
from rillway.pipeline.archive.files.log_files import read_log
from rillway.pipeline.archive.files.parquet_files import EPOCH, STREAM, ArchivedFile, statistics
from rillway.pipeline.archive.files.store import (
    ArchiveError,
    Store,
    StoreFailed,
    check_answered,
    reason_of,
)
from rillway.pipeline.archive.identity.state_files import path_of, read_written
from rillway.pipeline.archive.table import ArchiveTable
from rillway.plurals import count_of

LOG, STATE, FILE, ROWS, ANCHOR, LIVE = "log", "state", "file", "rows", "anchor", "live"
BOUNDS = STREAM, EPOCH, "ms"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be. `kind`: one of the above; `subject`: a path or a
    stream; `text`: the rest of the sentence.
    """

    kind: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


def check_log(store: Store, error: str = "") -> list[Finding]:
    """`error`: why the table does not open, if it does not. Raises OSError."""
    log = read_log(store, error)
    return [Finding(LOG, one.path, one.reason) for one in (*log.damaged_checkpoints, *log.damaged)]


def check_state(table: ArchiveTable) -> list[Finding]:
    """That the state is there, and is one that was written for a commit of this table."""
    number = table.state_number
    if number is None:
        text = "no commit names a state, although there are files"
        return [Finding(STATE, str(table.store), text)] if table.files() else []
    written = read_written(table.store, number)
    try:
        is_unknown = bool(table.files()) and not table.records
    except StoreFailed:
        raise
    except ArchiveError:
        return [Finding(STATE, path_of(number), state_damage(table.store, number))]
    text = ""
    if written is not None and written.table != table.id:
        text = "was written for another table, and the log names it"
    elif written is not None and written.version > table.version:
        text = f"was written for version {written.version}, and the log ends at {table.version}"
    elif is_unknown:
        text = "knows of no stream, although there are files"
    return [Finding(STATE, path_of(number), text)] if text else []


def state_damage(store: Store, number: int) -> str:
    """Why a state that the log names is of no use."""
    if store.filesystem.get_file_info(path_of(number)).type == FileType.NotFound:
        return "is gone, and the log names it"
    return "cannot be read, and the log names it"


def check_files(store: Store, files: Iterable[ArchivedFile]) -> Iterator[tuple[ArchivedFile, str]]:
    """Those with which something is wrong, and what."""
    for file in files:
        if reason := file_damage(store, file):
            yield file, reason


def file_damage(store: Store, file: ArchivedFile) -> str:
    """What is wrong with a file by its size and its footer; empty if nothing is."""
    try:
        info = store.filesystem.get_file_info(file.path)
        if info.type == FileType.NotFound:
            return "is gone"
        if info.size != file.size_bytes:
            return f"has {count_of(info.size, 'byte')}, and the log says {file.size_bytes:,}"
        metadata = pq.read_metadata(file.path, filesystem=store.filesystem)
        if metadata.num_rows != file.rows:
            return f"has {count_of(metadata.num_rows, 'row')}, and the log says {file.rows:,}"
        return _statistics_damage(metadata, file)
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        check_answered(store, file.path, error)
        return f"cannot be used, {reason_of(error)}"


def _statistics_damage(metadata: pq.FileMetaData, file: ArchivedFile) -> str:
    """Whether the footer's bounds are within those of the log."""
    expected: list[tuple[object, object]] = [
        (least_text(file.first_stream), file.last_stream),
        (file.first_epoch, file.last_epoch),
        (file.first_ms, file.last_ms),
    ]
    for group in range(metadata.num_row_groups):
        found = statistics(metadata, group, BOUNDS)
        for name, bounds, (low, high) in zip(BOUNDS, found, expected, strict=True):
            if bounds is None:
                return f"has no statistics of {name}"
            if bounds[0] < low or bounds[1] > high:  # type: ignore[operator]
                return f"has {name} from {bounds[0]} to {bounds[1]}, and the log {low} to {high}"
    return ""


def describe(file: ArchivedFile) -> str:
    """What a file had, by the log: the streams and IDs of a loss."""
    streams = f"of {file.first_stream}"
    if file.last_stream != file.first_stream:
        streams = f"of streams from {file.first_stream} to {file.last_stream}"
    return f"{count_of(file.rows, 'row')} {streams}, IDs from {file.first_ms}-* to {file.last_ms}-*"


def file_finding(file: ArchivedFile, reason: str) -> Finding:
    return Finding(FILE, file.path, f"{reason}: {describe(file)}")


def check_table(table: ArchiveTable) -> tuple[list[Finding], list[ArchivedFile]]:
    """All of the above, and the files with which nothing is wrong. Raises ArchiveError, OSError."""
    found = [*check_log(table.store), *check_state(table)]
    damaged = dict(check_files(table.store, table.files()))
    found += [file_finding(file, reason) for file, reason in damaged.items()]
    return found, [file for file in table.files() if file not in damaged]
