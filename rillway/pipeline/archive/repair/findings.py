"""Checks an archive's log, its state, and the size and footer of each file.

No row is read; rows.py does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from rillway.pipeline.archive.columns.statistics import least_text
from rillway.pipeline.archive.erasure.progress import account_paths
from rillway.pipeline.archive.files.log_files import read_log
from rillway.pipeline.archive.files.parquet_files import EPOCH, STREAM, ArchivedFile, statistics
from rillway.pipeline.archive.files.store import (
    ArchiveError,
    Store,
    StoreFailed,
    check_answered,
    reason_of,
)
from rillway.pipeline.archive.identity.state_files import path_of, read_commit
from rillway.pipeline.archive.table import ArchiveTable
from rillway.plurals import count_of

LOG, STATE, FILE, ROWS, ANCHOR, LIVE = "log", "state", "file", "rows", "anchor", "live"
ERASURE = "erasure"
# The table is not damaged, but another program has changed it.
OTHER = "other"
BOUNDS = STREAM, EPOCH, "ms"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with an archive.

    `kind`: one of the above; `subject`: a path or a stream; `text`: the rest of the sentence.
    """

    kind: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


def check_log(store: Store, error: str = "") -> list[Finding]:
    """Check the log. `error`: deltalake's, if it cannot open the table. Raises OSError."""
    log = read_log(store, error)
    return [Finding(LOG, one.path, one.reason) for one in (*log.damaged_checkpoints, *log.damaged)]


def check_state(table: ArchiveTable) -> list[Finding]:
    """Check that the state exists and was written for a commit of this table."""
    number = table.state_number
    if number is None:
        text = "no commit names a state, although there are files"
        return [Finding(STATE, str(table.store), text)] if table.files() else []
    written = read_commit(table.store, number)
    try:
        is_unknown = bool(table.files()) and not table.records
    except StoreFailed:
        raise
    except ArchiveError:
        return [Finding(STATE, path_of(number), state_damage(table.store, number))]
    text = ""
    if written is not None and written.table != table.id:
        text = "was written for another table, but the log names it"
    elif written is not None and written.version > table.version:
        text = f"was written for version {written.version}, but the log ends at {table.version}"
    elif is_unknown:
        text = "lists no stream, although there are files"
    return [Finding(STATE, path_of(number), text)] if text else []


def state_damage(store: Store, number: int) -> str:
    """Return why a state that the log names is unusable."""
    if store.filesystem.get_file_info(path_of(number)).type == FileType.NotFound:
        return "is missing, but the log names it"
    return "cannot be read, but the log names it"


def check_erasures(store: Store) -> list[Finding]:
    """Find erasures that have not ended. Raises OSError."""
    text = "an erasure has not ended: if it is not running, run it again to finish it"
    return [Finding(ERASURE, path, text) for path in account_paths(store)]


def check_files(store: Store, files: Iterable[ArchivedFile]) -> Iterator[tuple[ArchivedFile, str]]:
    """Yield the damaged files, and what is wrong with each."""
    for file in files:
        if reason := file_damage(store, file):
            yield file, reason


def file_damage(store: Store, file: ArchivedFile) -> str:
    """Return what is wrong with a file by its size and footer; empty if nothing is."""
    try:
        info = store.filesystem.get_file_info(file.path)
        if info.type == FileType.NotFound:
            return "is missing"
        if info.size != file.size_bytes:
            return f"has {count_of(info.size, 'byte')}, but the log says {file.size_bytes:,}"
        metadata = pq.read_metadata(file.path, filesystem=store.filesystem)
        if metadata.num_rows != file.rows and (file.is_own or file.rows):
            return f"has {count_of(metadata.num_rows, 'row')}, but the log says {file.rows:,}"
        return _statistics_damage(metadata, file)
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        check_answered(store, file.path, error)
        return f"cannot be used: {reason_of(error)}"


def _statistics_damage(metadata: pq.FileMetaData, file: ArchivedFile) -> str:
    """Check that the footer's bounds are within those of the log."""
    expected: list[tuple[object, object]] = [
        (least_text(file.first_stream), file.last_stream),
        (file.first_epoch, file.last_epoch),
        (file.first_ms, file.last_ms),
    ]
    for group in range(metadata.num_row_groups):
        found = statistics(metadata, group, BOUNDS)
        for name, bounds, (low, high) in zip(BOUNDS, found, expected, strict=True):
            if bounds is None and not file.is_own:
                continue
            if bounds is None:
                return f"has no statistics of {name}"
            if bounds[0] < low or bounds[1] > high:  # type: ignore[operator]
                found_range = f"{name} from {bounds[0]} to {bounds[1]}"
                return f"has {found_range}, but the log says {low} to {high}"
    return ""


def describe(file: ArchivedFile) -> str:
    """Return what a file contains according to the log: its rows, streams and IDs."""
    streams = f"of {file.first_stream}"
    if file.last_stream != file.first_stream:
        streams = f"of streams from {file.first_stream} to {file.last_stream}"
    return f"{count_of(file.rows, 'row')} {streams}, IDs from {file.first_ms}-* to {file.last_ms}-*"


def file_finding(file: ArchivedFile, reason: str) -> Finding:
    return Finding(FILE, file.path, f"{reason}: {describe(file)}")


def check_others(table: ArchiveTable) -> list[Finding]:
    """Find files that another program wrote."""
    number = sum(not file.is_own for file in table.files())
    if not number:
        return []
    text = (
        f"{count_of(number, 'file')} of another program, whose rows are in any order: readers sort "
        f"them, and `rillway archive upkeep --to {table.store}` writes them again"
    )
    return [Finding(OTHER, str(table.store), text)]


def check_table(table: ArchiveTable) -> tuple[list[Finding], list[ArchivedFile]]:
    """Run all checks; also returns the intact files. Raises ArchiveError, OSError."""
    found = [*check_log(table.store), *check_state(table)]
    damaged = dict(check_files(table.store, table.files()))
    found += [file_finding(file, reason) for file, reason in damaged.items()]
    found += check_others(table)
    return found, [file for file in table.files() if file not in damaged]
