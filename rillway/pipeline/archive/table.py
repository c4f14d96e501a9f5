"""The archive's table and its log: what was archived, up to where, by one atomic commit a round.

A commit names files with rows of many streams and says in the same breath up to where each stream
is archived. The latter is in a file that the commit names by an application transaction of the
Delta protocol, `rillway:state`, a number that every checkpoint, compaction and clean-up of the log
carries along (identity/state_files.py). So the log alone decides, and a copy of the folder is a
copy of the archive.

A commit only succeeds as the very next version after the one that was looked at: the one that comes
second looks again. Where the table may lie: see store.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction
from pyarrow.fs import FileSelector

from rillway.pipeline.archive.columns.layouts import Layout
from rillway.pipeline.archive.columns.schema import NO_COLUMNS, Columns, from_text, to_text
from rillway.pipeline.archive.files.actions import add_action, archived_file, remove_action
from rillway.pipeline.archive.files.parquet_files import (
    DATE,
    PARTITIONED_BY,
    TABLE_SCHEMA,
    ArchivedFile,
    file_schema,
)
from rillway.pipeline.archive.files.rows import Segment, StreamRows
from rillway.pipeline.archive.files.store import ArchiveError as ArchiveError
from rillway.pipeline.archive.files.store import (
    Store,
    StoreFailed,
    UnknownStore,
    failure,
    os_sentence,
    store_of,
    sync,
)
from rillway.pipeline.archive.files.store import first_line as first_line
from rillway.pipeline.archive.identity.epochs import (
    Epoch,
    StreamRecord,
    StreamState,
    line_of,
)
from rillway.pipeline.archive.identity.state_files import (
    StateUnreadable,
    Written,
    read_records,
    remove_old,
    write_records,
)
from rillway.pipeline.archive.limits import ALL, CURRENT, DAY
from rillway.pipeline.archive.repair.log_files import (
    ACTIONS,
    check_readable,
    check_version,
    keep_checkpoint,
    log_damaged,
    no_archive_sentence,
)
from rillway.pipeline.client.id_units import MS
from rillway.pipeline.client.ids import MAX_ID, MIN_ID, ms_of
from rillway.pipeline.client.places import LOG_FOLDER
from rillway.pipeline.ranges.offsets import Position

NAME = "rillway-archive"
DESCRIPTION = "Entries of streams, archived by Rillway"
# Newer ones have deletion vectors or renamed columns: files that are not what they seem.
MAX_READER_VERSION = 1
PERIOD_PROPERTY = "rillway.partitionBy"
EXPIRE_PROPERTY = "rillway.expireAfterSeconds"
COLUMNS_PROPERTY = "rillway.columns"
LAYOUT_PROPERTY, LAYOUT = "rillway.layout", "2"
# A round is a commit, so the log grows fast; a commit reads it from the last checkpoint on.
CHECKPOINT_INTERVAL = 20
PROPERTIES = {
    LAYOUT_PROPERTY: LAYOUT,
    "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
    "delta.logRetentionDuration": "interval 1 days",
}
# The log has statistics of the first 32 columns, unless it is told otherwise.
ALL_STATISTICS = {"delta.dataSkippingNumIndexedCols": "-1"}
ORPHAN_HOURS = 24
MAX_COMMIT_ATTEMPTS = 20
STATE = "rillway:state"
ARCHIVE_GROUP_PREFIX = "__archive:"


class NoArchive(ArchiveError):
    """There is no table at all."""


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
        """Raises ArchiveError."""
        self.store = store
        self._delta = delta
        self._records: dict[int, dict[str, StreamRecord]] = {}
        # By the version of which they are.
        self._files: tuple[int, list[ArchivedFile]] | None = None
        self._state: tuple[int, int | None] | None = None
        self._columns: tuple[int, Columns] | None = None
        if delta.protocol().min_reader_version > MAX_READER_VERSION:
            raise ArchiveError(f"{store}: the table uses features of Delta that are not known here")
        names = {field.name for field in delta.schema().fields}
        if not names.issuperset(TABLE_SCHEMA.names):
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
        return cls(store, open_delta(store))

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
                    configuration=PROPERTIES,
                    storage_options=store.delta_options,
                    raise_if_key_not_exists=False,
                )
                sync_log(store, version=0)
            except (DeltaError, OSError) as error:
                raise failure(store, error) from None
        return cls.open(store)

    def refresh(self) -> None:
        """Take the latest snapshot of the table. Raises ArchiveError."""
        try:
            self._delta.update_incremental()
        except (DeltaError, OSError) as error:
            raise log_damaged(self.store, error) from None

    # -- what it says -----------------------------------------------------------------------------

    @cached_property
    def id(self) -> str:
        """The permanent ID of the table; copies of the table keep it."""
        return str(self._delta.metadata().id)

    @property
    def schema(self) -> pa.Schema:
        """Its columns, with the one by which it is partitioned."""
        return pa.schema(self._delta.schema().to_arrow())

    @property
    def group(self) -> str:
        """The prefix of its markers' names.

        It has part of the table's ID: two archives of one stream must not share it.
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
        if period != self.period:
            self._set_properties({PERIOD_PROPERTY: period})

    @property
    def expire_after(self) -> float | None:
        """For how many seconds rows are kept; None: for ever."""
        found: str = self._delta.metadata().configuration.get(EXPIRE_PROPERTY, "")
        return float(found) if found else None

    def set_expire_after(self, seconds: float | None) -> None:
        """For the regular upkeep from now on. Raises ArchiveError."""
        if seconds != self.expire_after:
            self._set_properties({EXPIRE_PROPERTY: "" if seconds is None else f"{seconds:g}"})

    @property
    def columns(self) -> Columns:
        """The typed columns; none at first. Raises ArchiveError."""
        if self._columns is None or self._columns[0] != self.version:
            text = self._delta.metadata().configuration.get(COLUMNS_PROPERTY)
            try:
                self._columns = self.version, NO_COLUMNS if text is None else from_text(text)
            except (ValueError, KeyError, TypeError) as error:
                raise ArchiveError(f"{self.store}: {COLUMNS_PROPERTY}: {error}") from None
        return self._columns[1]

    @property
    def file_schema(self) -> pa.Schema:
        """The columns of new files."""
        return file_schema(self.columns)

    @property
    def layouts(self) -> dict[int, Layout]:
        """Of all streams, for the footers of files. Raises ArchiveError."""
        return {
            number: layout
            for record in self.records.values()
            for number, layout in record.layouts.items()
        }

    def set_columns(self, columns: Columns) -> None:
        """For rows that are written from now on; older ones have null in new columns.

        A crash may leave columns without rows, which the next attempt finds. Raises ArchiveError.
        """
        names = set(self.schema.names)
        new = [field for field in columns.fields if field.name not in names]
        try:
            if new:
                self._delta.alter.add_columns(Schema.from_arrow(pa.schema(new)).fields)
        except (DeltaError, OSError) as error:
            raise failure(self.store, error) from None
        self.refresh()
        self._set_properties({COLUMNS_PROPERTY: to_text(columns), **ALL_STATISTICS})

    def _set_properties(self, properties: dict[str, str]) -> None:
        try:
            self._delta.alter.set_table_properties(properties, raise_if_not_exists=False)
        except (DeltaError, OSError) as error:
            raise failure(self.store, error) from None
        self.refresh()
        sync_log(self.store, self.version)

    @property
    def version(self) -> int:
        return int(self._delta.version())

    @property
    def state_number(self) -> int | None:
        """Of the state that the last commit with one names; None before the first.

        Raises LogDamaged.
        """
        # To look a transaction up takes a millisecond, and this is asked for each stream.
        if self._state is None or self._state[0] != self.version:
            try:
                self._state = self.version, self._delta.transaction_version(STATE)
            except (DeltaError, OSError) as error:
                raise log_damaged(self.store, error) from None
        return self._state[1]

    @property
    def records(self) -> Mapping[str, StreamRecord]:
        """What is known of each stream that was ever archived. Raises ArchiveError."""
        number = self.state_number
        if number is None:
            return {}
        if number not in self._records:
            try:
                self._records = {number: read_records(self.store, number)}
            except StateUnreadable as error:
                raise ArchiveError(str(error)) from None
        return self._records[number]

    def record(self, stream: str) -> StreamRecord | None:
        """None if it was never archived. Raises ArchiveError, as the methods below do."""
        return self.records.get(stream)

    def end(self, stream: str) -> Position | None:
        """Up to where a stream was archived; None if it never was."""
        record = self.record(stream)
        return None if record is None else record.end

    def state(self, stream: str) -> StreamState | None:
        record = self.record(stream)
        return None if record is None else record.state

    def unit(self, stream: str) -> str:
        """Of the IDs of a stream; milliseconds as long as it is not known."""
        record = self.record(stream)
        return MS if record is None or record.unit is None else record.unit

    def expired_before_ms(self, stream: str) -> int | None:
        """Entries older than that were removed when they expired; None if none were."""
        record = self.record(stream)
        return None if record is None else record.expired_before_ms

    def expired_ms(self, stream: str, epoch: int) -> int:
        """Return the ms of the last entry of an epoch that has expired, or -1 if none has."""
        record = self.record(stream)
        return -1 if record is None else record.expired.get(epoch, -1)

    def files(
        self, stream: str | None = None, first_ms: int = 0, last_ms: int = ms_of(MAX_ID)
    ) -> list[ArchivedFile]:
        """The files that may hold entries of a time, the earliest first."""
        if self._files is None or self._files[0] != self.version:
            try:
                actions = pa.table(self._delta.get_add_actions(flatten=True)).to_pylist()
            except (DeltaError, OSError) as error:
                raise log_damaged(self.store, error) from None
            files = sorted(
                map(archived_file, actions), key=lambda file: (file.first_ms, file.last_ms)
            )
            self._files = self.version, files
        return [file for file in self._files[1] if file.may_hold(stream, first_ms, last_ms)]

    def names_any(self, files: Sequence[ArchivedFile]) -> bool:
        """Return True if one of some files is in the table. Raises ArchiveError."""
        return not {file.path for file in files}.isdisjoint(file.path for file in self.files())

    def rows(
        self,
        stream: str,
        epochs: str = ALL,
        first: int = MIN_ID,
        last: int = MAX_ID,
        state: StreamState | None = None,
    ) -> StreamRows:
        """The rows of a stream from `first` to `last`, both included.

        `epochs`: `all`, each after the other, or `current`, the line of the present one. `state`:
        another one than the table's, with an epoch that is not committed yet.
        """
        state = state or self.state(stream)
        segments: list[Segment] = []
        if state is not None and epochs == CURRENT:
            segments = _line(state, state.present.number, first, last)
        elif state is not None:
            segments = [Segment(epoch.number, first, last) for epoch in state.epochs]
        return self._rows(stream, segments)

    def line_rows(
        self, stream: str, epoch: int, first: int = MIN_ID, last: int = MAX_ID
    ) -> StreamRows:
        """The rows that lead to an epoch, and its own, in the order of their IDs."""
        state = self.state(stream)
        segments = [] if state is None else _line(state, epoch, first, last)
        return self._rows(stream, segments)

    def _rows(self, stream: str, segments: Sequence[Segment]) -> StreamRows:
        record = self.record(stream)
        layouts = {} if record is None else record.layouts
        return StreamRows(self.store, stream, self.files(), segments, self.columns, layouts)

    def streams(self) -> list[str]:
        """Those that were ever archived."""
        return sorted(self.records)

    # -- commits ----------------------------------------------------------------------------------

    def write_state(
        self, changed: Mapping[str, StreamRecord], files: Sequence[ArchivedFile] | None = ()
    ) -> int:
        """Have a state with some records in place of those of before on the disk.

        Returns the number by which `append` names it, with the same files, or `expire`: None then.
        Raises ArchiveError.
        """
        return self.write_whole_state({**self.records, **changed}, files)

    def write_whole_state(
        self, records: Mapping[str, StreamRecord], files: Sequence[ArchivedFile] | None = ()
    ) -> int:
        """The same with all records. Raises ArchiveError; no commit can name the files then, and
        they are removed."""
        added = None if files is None else tuple(files)
        written = Written(self.id, self.version + 1, self.state_number, added)
        try:
            number = write_records(self.store, records, written)
        except OSError as error:
            with suppress(OSError):
                self.store.remove(*(file.path for file in added or ()))
            raise StoreFailed(f"{self.store}: {os_sentence(error)}") from None
        self._records[number] = dict(records)
        return number

    def append(
        self, state_number: int, files: Sequence[ArchivedFile], note: Mapping[str, str]
    ) -> None:
        """Commit files and what is known of the streams from then on.

        Raises CommitConflict, ArchiveError. When it returns, the commit is on the disk.
        """
        self._commit([add_action(file) for file in files], state_number, note)

    def replace(
        self,
        old: Iterable[ArchivedFile],
        new: Iterable[ArchivedFile],
        state_number: int | None = None,
    ) -> None:
        """Commit that `new` holds what `old` held. Raises CommitConflict, ArchiveError."""
        now_ms = int(time.time() * 1000)
        removed = [remove_action(file, now_ms, data_change=False) for file in old]
        added = [add_action(file, data_change=False) for file in new]
        what = "compact" if state_number is None else "backfill"
        self._commit([*added, *removed], state_number, {"rillway.operation": what})

    def expire(
        self,
        old: Iterable[ArchivedFile],
        kept: Iterable[ArchivedFile],
        state_number: int | None,
        operation: str = "expire",
    ) -> None:
        """Commit that of the rows of `old` only those in `kept` are left.

        Raises CommitConflict, ArchiveError.
        """
        now_ms = int(time.time() * 1000)
        removed = [remove_action(file, now_ms, data_change=True) for file in old]
        added = [add_action(file) for file in kept]
        self._commit([*added, *removed], state_number, {"rillway.operation": operation})

    def _commit(
        self,
        actions: list[AddAction | RemoveAction],
        state_number: int | None,
        note: Mapping[str, str],
    ) -> None:
        named = [] if state_number is None else [Transaction(STATE, state_number)]
        try:
            self._delta.create_write_transaction(
                actions,
                "append",
                self._delta.schema(),
                list(PARTITIONED_BY),
                commit_properties=CommitProperties(
                    custom_metadata={**note, ACTIONS: str(len(actions) + len(named))},
                    # A commit that comes second is not tried again on top of another: whether it
                    # still makes sense is for the caller to find out.
                    max_commit_retries=0,
                    app_transactions=named,
                ),
            )
        except CommitFailedError as error:
            raise CommitConflict(first_line(error)) from None
        except (DeltaError, OSError) as error:
            raise failure(self.store, error) from None
        self.refresh()
        sync_log(self.store, self.version)

    # -- upkeep -----------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Have a checkpoint of this version, and on the disk. Raises ArchiveError."""
        try:
            self._delta.create_checkpoint()
            sync_log(self.store, self.version)
            keep_checkpoint(self.store)
        except (DeltaError, OSError) as error:
            raise failure(self.store, error) from None

    def tidy(self) -> None:
        """Have a second copy of the last checkpoint, and delete states that nothing names any more,
        each time that the log has a checkpoint. Raises ArchiveError.
        """
        try:
            keep_checkpoint(self.store)
            if self.version % CHECKPOINT_INTERVAL == 0:
                remove_old(self.store, self.state_number)
        except OSError as error:
            raise failure(self.store, error) from None

    def vacuum(self, older_than_hours: int) -> int:
        """Delete files that no snapshot of the last hours names; how many there were.

        Those that were never named may be an archiver's that is about to commit them: they stay for
        a day at least.
        The log is tidied up as well: a checkpoint, and nothing before the last ones.
        """
        try:
            deleted = self._delta.vacuum(
                older_than_hours,
                dry_run=False,
                enforce_retention_duration=False,
                full=older_than_hours >= ORPHAN_HOURS,
            )
            self.refresh()
            self._delta.create_checkpoint()
            keep_checkpoint(self.store)
            self._delta.cleanup_metadata()
            return len(deleted) + remove_old(self.store, self.state_number)
        except (DeltaError, OSError) as error:
            raise failure(self.store, error) from None


def open_delta(store: Store) -> DeltaTable:
    """Raises NoArchive, or LogDamaged if the table cannot be read."""
    if not is_table(store):
        raise NoArchive(no_archive_sentence(store))
    try:
        with _quiet():
            delta = DeltaTable(store.uri, storage_options=store.delta_options)
        check_version(store, delta.version())
        return delta
    except (DeltaError, OSError) as error:
        raise log_damaged(store, error) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what Rust itself prints where a damaged checkpoint makes it panic."""
    with open(os.devnull, "wb") as nothing:
        before = os.dup(2)
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)


def is_table(store: Store) -> bool:
    """Raises ArchiveError where an object store cannot be asked, or a folder cannot be read."""
    if store.folder is not None and (reason := check_readable(store.folder)):
        raise ArchiveError(f"{store}: {reason}")
    try:
        return bool(DeltaTable.is_deltatable(store.uri, store.delta_options))
    except (DeltaError, OSError, ValueError) as error:
        if store.folder is None:
            raise failure(store, error) from None
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
    if any(name.startswith(f"{DATE}=") for name in names):
        raise NoArchive(no_archive_sentence(store))
    if any(name != LOG_FOLDER for name in names):
        raise ArchiveError(f"{store}: not empty, and no archive")


def _line(state: StreamState, epoch: int, first: int, last: int) -> list[Segment]:
    parts = [
        Segment(number, first, min(last, until)) for number, until in line_of(state.epochs, epoch)
    ]
    return [part for part in parts if not part.is_empty]


def sync_log(store: Store, version: int) -> None:
    """Have a version of the log on the disk: nothing is trimmed on the word of a cache.

    With it the checkpoint that may have been made of it, and what points to that.
    """
    root = store.folder
    if root is None:
        return
    log = root / LOG_FOLDER
    names = f"{version:020d}.json", f"{version:020d}.checkpoint.parquet", "_last_checkpoint"
    for name in names:
        if (log / name).is_file():
            sync(log / name)
    sync(log)
    sync(root)
