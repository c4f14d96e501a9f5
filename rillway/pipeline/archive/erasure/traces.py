"""Deletes what older versions of an archive leave: in the log, in states, and as files of rows.

The log has the least and greatest values of the files that it ever named, so after a checkpoint
all earlier versions go. Files that no version names any more (replaced by a compaction, or left by
an archiver that was killed) go if they have an erased row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileInfo

from rillway.pipeline.archive.erasure.targets import Targets
from rillway.pipeline.archive.files.log_files import KEPT_FOLDER, sync_log
from rillway.pipeline.archive.files.parquet_files import DATE
from rillway.pipeline.archive.files.store import Store, check_answered, sync
from rillway.pipeline.archive.identity.state_files import FOLDER, numbers, path_of, read_commit
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.places import LOG_FOLDER

OF_VERSION = re.compile(r"\.?(\d{20})\.")
# Of rows that other programs changed, if a property of the table asks for it.
CHANGE_DATA = "_change_data"
# Of a writer that was killed; it becomes a version when it is whole.
UNFINISHED_COMMIT = "_commit_"
# An archiver of other streams may be writing younger files.
UNFINISHED = timedelta(hours=1)
DAMAGED = f"{FOLDER}/damaged"
ROWS = (f"{DATE}=", f"{CHANGE_DATA}/")


def clean_log(table: ArchiveTable, reached: Callable[[str], None]) -> None:
    """Begin the log with a checkpoint of the present version, and delete what is before it.

    Raises ArchiveError, OSError.
    """
    table.checkpoint()
    reached("checkpointed")
    _remove_versions(table.store, LOG_FOLDER, table.version)
    _remove_versions(table.store, KEPT_FOLDER, table.version)
    sync_log(table.store, table.version)


def _remove_versions(store: Store, folder: str, before: int) -> None:
    """Delete the files of earlier versions: commits, checkpoints, and what other engines add."""
    for info in store.listed(folder):
        found = OF_VERSION.match(info.base_name)
        is_unfinished = info.base_name.startswith(UNFINISHED_COMMIT) and _is_old(info)
        if is_unfinished or (found is not None and int(found[1]) < before):
            store.filesystem.delete_file(info.path)


def clean_states(table: ArchiveTable) -> None:
    """Delete all states before the present one. Raises ArchiveError, OSError.

    They may have hashes of erased entries, and orders of fields that only these had.
    """
    for number in numbers(table.store):
        written = None if number == table.state_number else read_commit(table.store, number)
        # A state of the next version is that of an archiver which is about to commit.
        if written is not None and written.version <= table.version:
            table.store.remove(path_of(number))


def unnamed(
    table: ArchiveTable, targets: Targets, replaced: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the files that no version names and that have erased rows, and the unreadable ones.

    `replaced`: files that have some. Raises ArchiveError, OSError.
    """
    found: list[str] = []
    unreadable: list[str] = []
    for info in unused(table):
        if info.path in replaced:
            found.append(info.path)
            continue
        try:
            with pq.ParquetFile(info.path, filesystem=table.store.filesystem) as parquet:
                found += [info.path] if targets.has_rows(parquet) else []
        except (OSError, pa.ArrowException, KeyError) as error:
            check_answered(table.store, info.path, error)
            (found if _is_old(info) else unreadable).append(info.path)
    return found, unreadable


def unused(table: ArchiveTable) -> list[FileInfo]:
    """Return the files of rows that no version names now. Raises ArchiveError, OSError."""
    named = {file.path for file in table.files()}
    return [
        info
        for info in table.store.listed("", recursive=True)
        if info.path.startswith(ROWS) and info.path.endswith(".parquet") and info.path not in named
    ]


def _is_old(info: FileInfo) -> bool:
    return info.mtime is not None and info.mtime < datetime.now(UTC) - UNFINISHED


def remove_files(store: Store, paths: Collection[str]) -> None:
    """Delete files of rows, and sync their folders. Raises OSError."""
    store.remove(*paths)
    if store.folder is not None:
        for folder in {(store.folder / path).parent for path in paths}:
            sync(folder)


def damaged_files(store: Store) -> int:
    """Return the number of files that a repair has set aside. Raises OSError."""
    return len(store.listed(DAMAGED))
