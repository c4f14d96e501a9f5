"""The difference between a mirror and the archive: files to add and files to remove.

Usually the log has it, in the versions after the mirror's. But the log may have been cleaned up,
the mirror may be new, or another program may have written to it: then all files are compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote

from rillway.pipeline.archive.columns.statistics import UNIX_EPOCH
from rillway.pipeline.archive.files.log_files import read_version, version_damage, version_path
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.periods import LAST_DAY, MS_PER_DAY
from rillway.pipeline.archive.table import ArchiveTable


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of the archive.

    `path`: relative to the archive; `first_ms`, `last_ms`: bounds of `ts`, None if they are unknown
    or rows have none.
    """

    path: str
    first_ms: int | None
    last_ms: int | None

    @property
    def is_of_one_day(self) -> bool:
        """True if all entries are of one day, unless that is too late for a date."""
        if self.first_ms is None or self.last_ms is None:
            return False
        first, last = self.first_ms // MS_PER_DAY, self.last_ms // MS_PER_DAY
        return first == last < LAST_DAY


@dataclass(frozen=True, slots=True)
class Change:
    """The change that makes a mirror equal to the archive. `removed`: paths."""

    added: list[NamedFile]
    removed: set[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def logged_change(table: ArchiveTable, since: int) -> Change | None:
    """Return the change since a version, from the log; None if a version is missing or damaged."""
    added: dict[str, NamedFile] = {}
    removed: set[str] = set()
    for version in range(since + 1, table.version + 1):
        if version_damage(table.store, version):
            return None
        for action in read_version(table.store, version):
            if "add" in action:
                file = _named(action["add"])
                # Delta's RESTORE adds a removed file again.
                if file.path in removed:
                    removed.remove(file.path)
                else:
                    added[file.path] = file
            elif "remove" in action:
                path = unquote(action["remove"]["path"])
                if added.pop(path, None) is None:
                    removed.add(path)
    return Change(list(added.values()), removed)


def compared_change(table: ArchiveTable, mirrored: Collection[str]) -> Change:
    """Return the change by comparing all files. `mirrored`: the paths that the mirror names."""
    files = {file.path: file for file in table.files()}
    added = [named_file(file) for path, file in files.items() if path not in mirrored]
    return Change(added, set(mirrored) - files.keys())


def commit_hash(table: ArchiveTable, version: int) -> str | None:
    """Return a hash of a version in the log, None if that is missing: a version's number alone does
    not identify it.
    """
    try:
        with table.store.filesystem.open_input_file(version_path(version)) as file:
            return hashlib.sha1(file.read(), usedforsecurity=False).hexdigest()
    except FileNotFoundError:
        return None


def named_file(file: ArchivedFile) -> NamedFile:
    """Return a file of the table."""
    if file.undated:
        return NamedFile(file.path, None, None)
    return NamedFile(file.path, file.first_time_ms, file.last_time_ms)


def _named(added: Mapping[str, Any]) -> NamedFile:
    stats = json.loads(added.get("stats") or "{}")
    path = unquote(added["path"])
    first, last = stats.get("minValues", {}).get("ts"), stats.get("maxValues", {}).get("ts")
    if first is None or last is None or stats.get("nullCount", {}).get("ts"):
        return NamedFile(path, None, None)
    times = map(datetime.fromisoformat, (first, last))
    return NamedFile(path, *((one - UNIX_EPOCH) // timedelta(milliseconds=1) for one in times))
