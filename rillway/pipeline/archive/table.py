"""The archive's table and its log: what was archived, up to where, by one atomic commit each time.

A commit names the files of a range and says in the same breath that the stream is archived up to
the range's end. The end is kept as application transactions of the Delta protocol, numbers by name
that every checkpoint, compaction and clean-up of the log carries along: `rillway:orders:ms`,
`:seq` and `:n`. What does not fit into numbers, the epochs of the stream and the hashes of its
anchors, is in a file that the same commit names by another one, `:state` (identity/state_files.py).
So the log alone decides, and a copy of the folder is a copy of the archive.

A commit only succeeds as the very next version after the one that was looked at: the one that comes
second looks again. Where the table may lie: see store.py.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import PrimitiveType
from deltalake.transaction import AddAction, RemoveAction
from pyarrow.fs import FileSelector

from rillway.pipeline.archive.identity.epochs import (
    CURRENT,
    FIRST,
    Epoch,
    StreamState,
    line_of,
)
from rillway.pipeline.archive.identity.state_files import (
    StateUnreadable,
    read_state,
    remove_old,
    write_state,
)
from rillway.pipeline.archive.parquet_files import (
    EPOCH,
    PARTITIONED_BY,
    TABLE_SCHEMA,
    ArchivedFile,
)
from rillway.pipeline.archive.periods import DAY
from rillway.pipeline.archive.store import Store, UnknownStore, store_of, sync
from rillway.pipeline.client.ids import MAX_SEQ, make_id, ms_of
from rillway.pipeline.ranges.offsets import Position

# deltalake draws it in red.
CAUSE_MARK = "\x1b[31m↳\x1b[0m"
NAME = "rillway-archive"
DESCRIPTION = "Entries of streams, archived by Rillway"
LOG_FOLDER = "_delta_log"
# Newer ones have deletion vectors or renamed columns: files that are not what they seem.
MAX_READER_VERSION = 1
PERIOD_PROPERTY = "rillway.partitionBy"
UNKNOWN = -1
INT64_RANGE = 1 << 64
ARCHIVE_GROUP_PREFIX = "__archive:"


class ArchiveError(Exception):
    """The archive is missing, is none, or cannot be used; the text says which and why."""


class CommitConflict(Exception):
    """Somebody else has committed since the table was looked at: look again."""


def place_of(path: str | Path | Store, options: Mapping[str, str] | None = None) -> Store:
    """Raises ArchiveError for a URI that is not understood."""
    try:
        return store_of(path, options)
    except UnknownStore as error:
        raise ArchiveError(str(error)) from None


class ArchiveTable:
    """One snapshot of the table; `refresh` takes the next one."""

    def __init__(self, store: Store, delta: DeltaTable) -> None:
        self.store = store
        self._delta = delta
        if delta.protocol().min_reader_version > MAX_READER_VERSION:
            raise ArchiveError(f"{store}: the table uses features of Delta that are not known here")
        self._states: dict[int, StreamState] = {}
        if not self._columns.issuperset(set(TABLE_SCHEMA.names) - {EPOCH}):
            raise ArchiveError(f"{store}: a Delta table, but no archive of streams")

    @property
    def root(self) -> Path:
        """The folder of an archive that has one."""
        folder = self.store.folder
        assert folder is not None, "an object store has no folder"
        return folder

    @classmethod
    def open(
        cls, path: str | Path | Store, options: Mapping[str, str] | None = None
    ) -> ArchiveTable:
        """Raises ArchiveError if there is none. `options`: of an object store."""
        store = place_of(path, options)
        if not is_table(store):
            raise ArchiveError(f"{path}: there is no archive")
        try:
            return cls(store, _delta_table(store))
        except (DeltaError, OSError) as error:
            raise ArchiveError(f"{path}: {first_line(error)}") from None

    @classmethod
    def open_or_create(
        cls, path: str | Path | Store, options: Mapping[str, str] | None = None
    ) -> ArchiveTable:
        """Raises ArchiveError for a path that holds something else, or cannot be written to."""
        store = place_of(path, options)
        if not is_table(store):
            try:
                _check_empty(store)
                DeltaTable.create(
                    store.uri,
                    Schema.from_arrow(TABLE_SCHEMA),
                    mode="ignore",
                    partition_by=list(PARTITIONED_BY),
                    name=NAME,
                    description=DESCRIPTION,
                    storage_options=store.delta_options,
                )
                sync_log(store, version=0)
            except (DeltaError, OSError) as error:
                raise ArchiveError(f"{path}: {first_line(error)}") from None
        return cls.open(store)

    @property
    def _columns(self) -> set[str]:
        return {field.name for field in self._delta.schema().fields}

    def refresh(self) -> None:
        """Take the latest snapshot of the table. Raises ArchiveError."""
        try:
            self._delta = _delta_table(self.store)
        except (DeltaError, OSError) as error:
            raise ArchiveError(f"{self.store}: {first_line(error)}") from None

    # -- what it says -----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The permanent ID of the table; copies of the table keep it."""
        return str(self._delta.metadata().id)

    @property
    def group(self) -> str:
        """The prefix of its markers' names; earlier releases had a group of this name.

        Named after the table: two archives of one stream must not share it.
        """
        return ARCHIVE_GROUP_PREFIX + self.id[:8]

    def marker(self, epoch: Epoch) -> str:
        """The consumer group that shows in a stream up to where it is archived."""
        return f"{self.group}:{epoch.token}"

    @property
    def period(self) -> str:
        """By what files are cut; see periods.py."""
        found: str = self._delta.metadata().configuration.get(PERIOD_PROPERTY, DAY)
        return found

    def set_period(self, period: str) -> None:
        """For files that are written from now on. Raises ArchiveError."""
        if period == self.period:
            return
        try:
            self._delta.alter.set_table_properties(
                {PERIOD_PROPERTY: period}, raise_if_not_exists=False
            )
        except (DeltaError, OSError) as error:
            raise ArchiveError(f"{self.store}: {first_line(error)}") from None
        self.refresh()
        sync_log(self.store, self.version)

    @property
    def version(self) -> int:
        return int(self._delta.version())

    def end(self, stream: str) -> Position | None:
        """Up to where a stream was archived; None if it never was."""
        ms, seq, n = (self._number(stream, name) for name in ("ms", "seq", "n"))
        if ms is None or seq is None:
            return None
        entry_id = make_id(ms % INT64_RANGE, seq % INT64_RANGE)
        return Position(entry_id, None if n is None or n == UNKNOWN else n)

    def state_number(self, stream: str) -> int | None:
        """Changes with each commit of the stream; None before the first with a state."""
        return self._number(stream, "state")

    def state(self, stream: str) -> StreamState | None:
        """Return the record of a stream besides its end, or None if it was never archived.

        Raises ArchiveError.
        """
        number = self.state_number(stream)
        if number is None:
            return None if self.end(stream) is None else StreamState((Epoch(FIRST, token=""),))
        if number not in self._states:
            try:
                self._states = {number: read_state(self.store, stream, number)}
            except StateUnreadable as error:
                raise ArchiveError(str(error)) from None
        return self._states[number]

    def expired_before_ms(self, stream: str) -> int | None:
        """Entries older than that were removed when they expired; None if none were."""
        return self._number(stream, "expired")

    def expired_ms(self, stream: str, epoch: int) -> int:
        """Return the ms of the last entry of an epoch that has expired, or -1 if none has.

        Earlier releases only recorded up to where files were removed, for what is now epoch FIRST.
        """
        found = self._number(stream, f"expired:{epoch}")
        if found is None:
            return (self.expired_before_ms(stream) or 0) - 1 if epoch == FIRST else -1
        return found

    def _number(self, stream: str, name: str) -> int | None:
        version: int | None = self._delta.transaction_version(transaction_name(stream, name))
        return version

    def files(
        self, stream: str | None = None, first: int = 0, last: int = (1 << 128) - 1
    ) -> list[ArchivedFile]:
        """The files that may hold entries from `first` to `last`, by epoch and in ID order."""
        actions = pa.table(self._delta.get_add_actions(flatten=True)).to_pylist()
        files = [self._file(action) for action in actions]
        chosen = [
            file
            for file in files
            if (stream is None or file.stream == stream)
            and file.first_id <= last
            and file.last_id >= first
        ]
        return sorted(chosen, key=_order)

    def line_files(
        self,
        stream: str,
        state: StreamState,
        epoch: int,
        first: int = 0,
        last: int = (1 << 128) - 1,
    ) -> list[tuple[ArchivedFile, int]]:
        """The files of the line of an epoch, in order, each with the last ID that counts in it."""
        files = self.files(stream, first, last)
        return [
            (file, min(last, until))
            for number, until in line_of(state.epochs, epoch)
            for file in files
            if file.epoch == number and file.first_id <= until
        ]

    def chosen_files(
        self,
        stream: str,
        state: StreamState | None,
        epochs: str,
        first: int = 0,
        last: int = (1 << 128) - 1,
    ) -> list[tuple[ArchivedFile, int]]:
        """Those that may hold entries of a range, each with the last ID that counts in it.

        `epochs`: `all`, each after the other, or `current`, the line of the last one of `state`.
        """
        if state is None:
            return []
        if epochs == CURRENT:
            return self.line_files(stream, state, state.present.number, first, last)
        return [(file, last) for file in self.files(stream, first, last)]

    def _file(self, action: Mapping[str, Any]) -> ArchivedFile:
        low: int = action.get("min.ms") or 0
        high: int | None = action.get("max.ms")
        least, most = 0, MAX_SEQ
        if low == high and action.get("min.seq") is not None:
            least, most = int(action["min.seq"]), int(action["max.seq"])
        return ArchivedFile(
            unquote(action["path"]),  # the log encodes once more what is the file's name
            action["partition.stream"],
            action["partition.date"],
            action["size_bytes"],
            action["num_records"] or 0,
            first_id=make_id(low, least),
            last_id=make_id(INT64_RANGE - 1 if high is None else high, most),
            epoch=int(action.get(f"min.{EPOCH}") or FIRST),
        )

    def streams(self) -> list[str]:
        """Those of which it holds entries."""
        return sorted({partition["stream"] for partition in self._delta.partitions()})

    # -- commits ----------------------------------------------------------------------------------

    def append(
        self,
        stream: str,
        end: Position,
        files: Sequence[ArchivedFile],
        state: StreamState,
        note: Mapping[str, str],
    ) -> None:
        """Commit the entries of a stream up to `end`. Raises CommitConflict, ArchiveError.

        When it returns, the commit is on the disk.
        """
        self._add_epoch_column()
        try:
            number = write_state(self.store, stream, state)
        except OSError as error:
            raise ArchiveError(f"{self.store}: {first_line(error)}") from None
        numbers = {
            "state": number,
            "ms": _int64(ms_of(end.id)),
            "seq": _int64(end.id & MAX_SEQ),
            "n": UNKNOWN if end.n is None else end.n,
        }
        self._commit([_added(file) for file in files], stream, numbers, note)

    def _add_epoch_column(self) -> None:
        """An archive of an earlier release has none; there all rows are of the first epoch."""
        if EPOCH in self._columns:
            return
        try:
            self._delta.alter.add_columns([Field(EPOCH, PrimitiveType("integer"))])
        except (DeltaError, OSError) as error:
            # Raised, too, if another archiver has added it meanwhile.
            self.refresh()
            if EPOCH not in self._columns:
                raise ArchiveError(f"{self.store}: {first_line(error)}") from None
        self.refresh()
        sync_log(self.store, self.version)

    def replace(
        self, stream: str, old: Iterable[ArchivedFile], new: Iterable[ArchivedFile]
    ) -> None:
        """Commit that `new` holds what `old` held. Raises CommitConflict, ArchiveError."""
        self._add_epoch_column()
        now_ms = int(time.time() * 1000)
        removed = [_removed(file, now_ms, data_change=False) for file in old]
        added = [_added(file, data_change=False) for file in new]
        self._commit([*added, *removed], stream, {}, {"rillway.operation": "compact"})

    def remove(self, stream: str, files: Iterable[ArchivedFile], before_ms: int) -> None:
        """Commit that what is older has expired. Raises CommitConflict, ArchiveError."""
        files = list(files)
        last_ms = {FIRST: self.expired_ms(stream, FIRST)}
        for file in files:
            before = last_ms.get(file.epoch, self.expired_ms(stream, file.epoch))
            last_ms[file.epoch] = max(before, ms_of(file.last_id))
        now_ms = int(time.time() * 1000)
        removed: list[AddAction | RemoveAction] = [
            _removed(file, now_ms, data_change=True) for file in files
        ]
        note = {"rillway.operation": "expire"}
        numbers = {f"expired:{epoch}": ms for epoch, ms in last_ms.items()}
        self._commit(removed, stream, {"expired": before_ms, **numbers}, note)

    def _commit(
        self,
        actions: list[AddAction | RemoveAction],
        stream: str,
        numbers: Mapping[str, int],
        note: Mapping[str, str],
    ) -> None:
        transactions = [
            Transaction(transaction_name(stream, name), number) for name, number in numbers.items()
        ]
        try:
            self._delta.create_write_transaction(
                actions,
                "append",
                self._delta.schema(),
                list(PARTITIONED_BY),
                commit_properties=CommitProperties(
                    custom_metadata=dict(note),
                    # A commit that comes second is not tried again on top of another: whether it
                    # still makes sense is for the caller to find out.
                    max_commit_retries=0,
                    app_transactions=transactions,
                ),
            )
        except CommitFailedError as error:
            raise CommitConflict(first_line(error)) from None
        except (DeltaError, OSError) as error:
            raise ArchiveError(f"{self.store}: {first_line(error)}") from None
        self.refresh()
        sync_log(self.store, self.version)

    # -- upkeep -----------------------------------------------------------------------------------

    def vacuum(self, older_than_hours: int) -> int:
        """Delete files that no snapshot of the last hours names; how many there were."""
        deleted = self._delta.vacuum(
            older_than_hours, dry_run=False, enforce_retention_duration=False, full=True
        )
        self.refresh()
        return len(deleted) + remove_old(self.store, self.state_number, older_than_hours)


def _order(file: ArchivedFile) -> tuple[str, int, int, int, int]:
    """By stream and epoch, then in the order of IDs.

    The log has milliseconds: of two files that share one, the first one ends with it, and `seq` is
    only known of those that begin and end with it.
    """
    return file.stream, file.epoch, ms_of(file.first_id), ms_of(file.last_id), file.first_id


def _delta_table(store: Store) -> DeltaTable:
    return DeltaTable(store.uri, storage_options=store.delta_options)


def is_table(store: Store) -> bool:
    """Raises ArchiveError where an object store cannot be asked."""
    try:
        return bool(DeltaTable.is_deltatable(store.uri, store.delta_options))
    except (DeltaError, OSError, ValueError) as error:
        if store.folder is None:
            raise ArchiveError(f"{store}: {first_line(error)}") from None
        return False


def _check_empty(store: Store) -> None:
    """Raises ArchiveError, OSError."""
    if store.folder is not None:
        if store.folder.is_file():
            raise ArchiveError(f"{store}: a file, and an archive is a folder")
        store.folder.mkdir(parents=True, exist_ok=True)
        names = [entry.name for entry in store.folder.iterdir()]
    else:
        listed = store.filesystem.get_file_info(FileSelector("", allow_not_found=True))
        names = [entry.base_name for entry in listed]
    if any(name != LOG_FOLDER for name in names):
        raise ArchiveError(f"{store}: not empty, and no archive")


def transaction_name(stream: str, name: str) -> str:
    return f"rillway:{stream}:{name}"


def _int64(value: int) -> int:
    """64 bits as a number with a sign, as the log keeps it."""
    return value - INT64_RANGE if value >= INT64_RANGE // 2 else value


def _added(file: ArchivedFile, *, data_change: bool = True) -> AddAction:
    low, high = ms_of(file.first_id), ms_of(file.last_id)
    minimum, maximum = {"ms": low, EPOCH: file.epoch}, {"ms": high, EPOCH: file.epoch}
    if low == high:  # else the least `seq` is not that of the first entry
        minimum["seq"], maximum["seq"] = file.first_id & MAX_SEQ, file.last_id & MAX_SEQ
    stats = {"numRecords": file.rows, "minValues": minimum, "maxValues": maximum}
    return AddAction(
        path=file.path,
        size=file.size_bytes,
        partition_values=_partition(file.stream, file.date),
        modification_time=int(time.time() * 1000),
        data_change=data_change,
        stats=json.dumps(stats),
    )


def _removed(file: ArchivedFile, now_ms: int, *, data_change: bool) -> RemoveAction:
    return RemoveAction(
        path=file.path,
        data_change=data_change,
        deletion_timestamp=now_ms,
        size=file.size_bytes,
        partition_values=_partition(file.stream, file.date),
    )


def _partition(stream: str, day: date) -> dict[str, str | None]:
    return {"stream": stream, "date": day.isoformat()}


def sync_log(store: Store, version: int) -> None:
    """Have a version of the log on the disk: nothing is trimmed on the word of a cache.

    With it the checkpoint that may have been made of it, and what points to that.
    """
    root = store.folder
    if root is None:
        return
    log = root / LOG_FOLDER
    for path in log.iterdir():
        if path.is_file() and path.name.startswith((f"{version:020d}.", "_last")):
            sync(path)
    sync(log)
    sync(root)


def first_line(error: BaseException) -> str:
    """Return what failed in one line and, if deltalake draws a tree of causes, the last of them.

    If that is the XML reply of an object store, its code and message are returned instead of it.
    """
    told, *causes = str(error).split(CAUSE_MARK)
    first = (told.strip() or type(error).__name__).splitlines()[0]
    if not causes:
        return first
    said = re.search(r"<Code>(.*?)</Code>\s*<Message>([^\n<]*)", causes[-1])
    cause = f"{said[1]}: {said[2]}" if said else " ".join(causes[-1].split())
    return f"{first}: {cause}" if cause else first
