"""The archive's table and its log: files of rows and the archived end of each stream.

A commit atomically names files with rows of many streams and a state file with the archived end of
each stream (identity/state_files.py). It names the state by an application transaction of the Delta
protocol, `rillway:state`, a number that checkpoints, compactions and clean-ups of the log preserve.
So the log alone is authoritative, and a copy of the folder is a copy of the archive.

A commit succeeds only as the version after the one that was read: a writer that comes second has to
read the table again. files/store.py says where a table may be stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from rillway.pipeline.archive.columns.layouts import Layout
from rillway.pipeline.archive.columns.schema import NO_COLUMNS, Columns, from_text, to_text
from rillway.pipeline.archive.files.actions import add_action, archived_file, remove_action
from rillway.pipeline.archive.files.log_files import (
    ACTIONS,
    keep_checkpoint,
    log_damaged,
    sync_log,
    version_path,
)
from rillway.pipeline.archive.files.opening import check_empty, is_table, open_delta, place_of
from rillway.pipeline.archive.files.parquet_files import (
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
    failure,
    os_sentence,
)
from rillway.pipeline.archive.files.store import first_line as first_line
from rillway.pipeline.archive.identity.epochs import (
    Epoch,
    StreamRecord,
    StreamState,
    line_of,
)
from rillway.pipeline.archive.identity.state_files import (
    StateCommit,
    StateUnreadable,
    read_records,
    remove_old,
    write_records,
)
from rillway.pipeline.archive.limits import ALL, CURRENT, DAY
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, MS, ms_of

NAME = "rillway-archive"
DESCRIPTION = "Entries of streams, archived by Rillway"
# Newer versions have deletion vectors or renamed columns, which change the meaning of files.
MAX_READER_VERSION = 1
# They concern columns of other programs, or other programs' vacuum.
HARMLESS = {"timestampNtz", "vacuumProtocolCheck"}
PERIOD_PROPERTY = "rillway.partitionBy"
EXPIRE_PROPERTY = "rillway.expireAfterSeconds"
COLUMNS_PROPERTY = "rillway.columns"
LAYOUT_PROPERTY, LAYOUT = "rillway.layout", "2"
# Each round commits, so the log grows fast; a commit reads it from the last checkpoint on.
CHECKPOINT_INTERVAL = 20
PROPERTIES = {
    LAYOUT_PROPERTY: LAYOUT,
    "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
    "delta.logRetentionDuration": "interval 1 days",
}
# By default the log has statistics of the first 32 columns only.
ALL_STATISTICS = {"delta.dataSkippingNumIndexedCols": "-1"}
ORPHAN_HOURS = 24
MAX_COMMIT_ATTEMPTS = 20
STATE = "rillway:state"
# In `commitInfo` of commits before which those of other programs were checked.
CHECKED = "rillway.checked"
ARCHIVE_GROUP_PREFIX = "__archive:"


class CommitConflict(Exception):
    """Another writer has committed since the table was read: refresh and retry."""


class ArchiveTable:
    """One snapshot of the table; `refresh` takes the next one."""

    def __init__(self, store: Store, delta: DeltaTable) -> None:
        """Raises ArchiveError."""
        self.store = store
        self._delta = delta
        self._records: dict[int, dict[str, StreamRecord]] = {}
        # Caches, with the version that they belong to.
        self._files: tuple[int, list[ArchivedFile]] | None = None
        self._state: tuple[int, int | None] | None = None
        self._columns: tuple[int, Columns] | None = None
        # The version that this object committed last, if any.
        self.own_versions: frozenset[int] = frozenset()
        self._check_protocol()
        names = {field.name for field in delta.schema().fields}
        if not names.issuperset(TABLE_SCHEMA.names):
            raise ArchiveError(f"{store}: a Delta table, but no archive of streams")
        self.check_types()

    @property
    def root(self) -> Path:
        """The folder of an archive that is not in an object store."""
        folder = self.store.folder
        assert folder is not None, "an object store has no folder"
        return folder

    @classmethod
    def open(
        cls, path: str | Path | Store, options: Mapping[str, str] | None = None
    ) -> ArchiveTable:
        """Open an archive. Raises ArchiveError if there is none. `options`: of an object store."""
        store = place_of(path, options)
        return cls(store, open_delta(store))

    @classmethod
    def open_or_create(
        cls, path: str | Path | Store, options: Mapping[str, str] | None = None
    ) -> ArchiveTable:
        """Open an archive, or create it.

        Raises ArchiveError for a path that holds something else or is not writable.
        """
        store = place_of(path, options)
        if not is_table(store):
            try:
                check_empty(store)
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
        self._check_protocol()

    def _check_protocol(self) -> None:
        """Refuse features that change the meaning of files. Raises ArchiveError."""
        protocol = self._delta.protocol()
        if protocol.min_reader_version <= MAX_READER_VERSION:
            return
        features = sorted({*(protocol.reader_features or ["columnMapping"])} - HARMLESS)
        if not features:
            return
        raise ArchiveError(
            f"{self.store}: another program has given the table features of Delta that an archive "
            f"does not have: {', '.join(features)}. Drop them there (in Spark: ALTER TABLE "
            "delta.`...` DROP FEATURE ...)"
        )

    def check_types(self) -> None:
        """Refuse other types of the columns that all archives have. Raises ArchiveError."""
        schema = self.schema
        for field in TABLE_SCHEMA:
            if schema.field(field.name).type != field.type:
                raise ArchiveError(
                    f"{self.store}: another program has made the column {field.name} "
                    f"{schema.field(field.name).type}, not {field.type}: RESTORE the version before"
                )

    # -- content ----------------------------------------------------------------------------------

    @cached_property
    def id(self) -> str:
        """The permanent ID of the table; copies of the table keep it."""
        return str(self._delta.metadata().id)

    @property
    def schema(self) -> pa.Schema:
        """The table's columns, including the partition column."""
        return pa.schema(self._delta.schema().to_arrow())

    @property
    def group(self) -> str:
        """The prefix of the names of its markers.

        It contains part of the table's ID, as two archives of one stream must not share it.
        """
        return ARCHIVE_GROUP_PREFIX + self.id[:8]

    def marker(self, epoch: Epoch) -> str:
        """The consumer group whose position in a stream is the archived end."""
        return f"{self.group}:{epoch.token}"

    @property
    def period(self) -> str:
        """The period that a file covers; see files/periods.py."""
        found: str = self._delta.metadata().configuration.get(PERIOD_PROPERTY, DAY)
        return found

    def set_period(self, period: str) -> None:
        """Set the period of new files. Raises ArchiveError."""
        if period != self.period:
            self._set_properties({PERIOD_PROPERTY: period})

    @property
    def expire_after(self) -> float | None:
        """The number of seconds for which rows are kept; None: for ever."""
        found: str = self._delta.metadata().configuration.get(EXPIRE_PROPERTY, "")
        try:
            return float(found) if found else None
        except ValueError:
            raise ArchiveError(
                f"{self.store}: another program has set {EXPIRE_PROPERTY} to {found!r}: "
                "`rillway archive upkeep --expire-after` sets it again"
            ) from None

    def set_expire_after(self, seconds: float | None) -> None:
        """Set how long the regular upkeep keeps rows. Raises ArchiveError."""
        if seconds != self.expire_after:
            self._set_properties({EXPIRE_PROPERTY: "" if seconds is None else f"{seconds:g}"})

    @property
    def columns(self) -> Columns:
        """The typed columns; a new table has none. Raises ArchiveError."""
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
        """The layouts of all streams, for the footers of files. Raises ArchiveError."""
        return {
            number: layout
            for record in self.records.values()
            for number, layout in record.layouts.items()
        }

    def set_columns(self, columns: Columns) -> None:
        """Set the typed columns of new rows; older rows have null in new columns.

        After a crash the table may have columns without rows; the next attempt reuses them. Raises
        ArchiveError.
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
        """The number of the present state; None before the first commit with one.

        Raises LogDamaged.
        """
        # Looking up a transaction takes a millisecond, and this is called for each stream.
        if self._state is None or self._state[0] != self.version:
            try:
                self._state = self.version, self._delta.transaction_version(STATE)
            except (DeltaError, OSError) as error:
                raise log_damaged(self.store, error) from None
        return self._state[1]

    @property
    def records(self) -> Mapping[str, StreamRecord]:
        """The records of all streams that were ever archived. Raises ArchiveError."""
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
        """The record of a stream, None if it was never archived.

        Raises ArchiveError, as the methods below do.
        """
        return self.records.get(stream)

    def end(self, stream: str) -> Position | None:
        """The archived end of a stream; None if it was never archived."""
        record = self.record(stream)
        return None if record is None else record.end

    def state(self, stream: str) -> StreamState | None:
        record = self.record(stream)
        return None if record is None else record.state

    def unit(self, stream: str) -> str:
        """The unit of a stream's IDs; milliseconds while it is not known."""
        record = self.record(stream)
        return MS if record is None or record.unit is None else record.unit

    def expired_before_ms(self, stream: str) -> int | None:
        """The time before which entries have expired; None if none have."""
        record = self.record(stream)
        return None if record is None else record.expired_before_ms

    def expired_ms(self, stream: str, epoch: int) -> int:
        """Return the ms of the last entry of an epoch that has expired, or -1 if none has."""
        record = self.record(stream)
        return -1 if record is None else record.expired.get(epoch, -1)

    def files(
        self, stream: str | None = None, first_ms: int = 0, last_ms: int = ms_of(MAX_ID)
    ) -> list[ArchivedFile]:
        """The files that may hold entries of a stream and time range, the earliest first."""
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

    def commit_files(self, files: Sequence[ArchivedFile], attempt: Callable[[], bool]) -> bool:
        """Commit new files by `attempt`, again after each commit of others. Raises ArchiveError.

        False if it returns False, as the files do not fit the table any more, or if others kept
        committing: then the files are deleted.
        """
        for _ in range(MAX_COMMIT_ATTEMPTS):
            try:
                if not attempt():
                    break
                return True
            except CommitConflict:
                self.refresh()
                if self.names_any(files):
                    return True  # the reply to a put was lost, and its retry conflicted with itself
        self.store.remove(*(file.path for file in files))
        return False

    def is_outdated(self) -> bool:
        """Return True if there is a later version. Raises OSError."""
        return self.store.has(version_path(self.version + 1))

    def names_any(self, files: Sequence[ArchivedFile]) -> bool:
        """Return True if the table has one of the files. Raises ArchiveError."""
        return not {file.path for file in files}.isdisjoint(file.path for file in self.files())

    def names_all(self, files: Sequence[ArchivedFile]) -> bool:
        """Return True if the table has all of the files. Raises ArchiveError."""
        return {file.path for file in self.files()}.issuperset(file.path for file in files)

    def rows(
        self,
        stream: str,
        epochs: str = ALL,
        first: int = MIN_ID,
        last: int = MAX_ID,
        state: StreamState | None = None,
    ) -> StreamRows:
        """The rows of a stream from `first` to `last`, both included.

        `epochs`: `all` epochs in order, or the line of the `current` one. `state`: overrides the
        table's; it may have an epoch that is not committed yet.
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
        """The rows of an epoch's line, in the order of their IDs."""
        state = self.state(stream)
        segments = [] if state is None else _line(state, epoch, first, last)
        return self._rows(stream, segments)

    def _rows(self, stream: str, segments: Sequence[Segment]) -> StreamRows:
        record = self.record(stream)
        layouts, ends = ({}, {}) if record is None else (record.layouts, record.ends)
        return StreamRows(
            self.store, stream, self.files(), segments, self.columns, layouts, ends=ends
        )

    def streams(self) -> list[str]:
        """The streams that were ever archived."""
        return sorted(self.records)

    # -- commits ----------------------------------------------------------------------------------

    def write_state(
        self, changed: Mapping[str, StreamRecord], files: Sequence[ArchivedFile] | None = ()
    ) -> int:
        """Write a state file in which these records replace the old ones.

        Returns the number by which a commit names it. `files`: those that the commit will add, None
        if it also removes some. Raises ArchiveError.
        """
        return self.write_whole_state({**self.records, **changed}, files)

    def write_whole_state(
        self, records: Mapping[str, StreamRecord], files: Sequence[ArchivedFile] | None = ()
    ) -> int:
        """Write a state file of these records only; see write_state.

        Raises ArchiveError, after removing the files: no commit can name them then.
        """
        added = None if files is None else tuple(files)
        written = StateCommit(self.id, self.version + 1, self.state_number, added)
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
        """Commit files and a state. When this returns, the commit is on disk.

        Raises CommitConflict, ArchiveError.
        """
        self._commit([add_action(file) for file in files], state_number, note)

    def replace(
        self,
        old: Iterable[ArchivedFile],
        new: Iterable[ArchivedFile],
        state_number: int | None = None,
    ) -> None:
        """Replace files by others with the same rows. Raises CommitConflict, ArchiveError."""
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
        """Replace files by others that have only the rows to keep.

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
        before = self.version
        try:
            self._delta.create_write_transaction(
                actions,
                "append",
                self._delta.schema(),
                list(PARTITIONED_BY),
                commit_properties=CommitProperties(
                    custom_metadata={**note, ACTIONS: str(len(actions) + len(named))},
                    # After a conflict only the caller knows whether the commit still makes sense.
                    max_commit_retries=0,
                    app_transactions=named,
                ),
            )
        except CommitFailedError as error:
            raise CommitConflict(first_line(error)) from None
        except (DeltaError, OSError) as error:
            raise failure(self.store, error) from None
        self.own_versions = frozenset([before + 1])
        self.refresh()
        sync_log(self.store, self.version)

    # -- upkeep -----------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Write a checkpoint of this version and sync it. Raises ArchiveError."""
        try:
            self._delta.create_checkpoint()
            sync_log(self.store, self.version)
            keep_checkpoint(self.store)
        except (DeltaError, OSError) as error:
            raise failure(self.store, error) from None

    def tidy(self) -> None:
        """Copy the last checkpoint, and delete obsolete states when the log has a new checkpoint.

        Raises ArchiveError.
        """
        try:
            keep_checkpoint(self.store)
            if self.version % CHECKPOINT_INTERVAL == 0:
                remove_old(self.store, self.state_number)
        except OSError as error:
            raise failure(self.store, error) from None

    def vacuum(self, older_than_hours: int) -> int:
        """Delete files that no snapshot of the last `older_than_hours` names; return their number.

        Files that were never named stay for at least a day, as an archiver may be about to commit
        them. The log gets a checkpoint, and versions that it makes obsolete are deleted.
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


def _line(state: StreamState, epoch: int, first: int, last: int) -> list[Segment]:
    parts = [
        Segment(number, first, min(last, until)) for number, until in line_of(state.epochs, epoch)
    ]
    return [part for part in parts if not part.is_empty]
