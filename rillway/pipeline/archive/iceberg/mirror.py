"""Brings the mirror to the archive's version: one snapshot covers all versions that it lags.

The summary of a snapshot contains the version of the archive that it shows. It is made from a
committed version, so the mirror may lag but never leads; after a crash the next process continues
from the summary. A snapshot is committed only as the successor of the one that was read: if two
processes update the mirror at once, the second has a conflict and reads it again.

Only this module may write to the table. If another program did, or the archive's log was cleaned up
beyond the mirror's version, all files are compared.

A table's metadata lists all snapshots and is rewritten with each commit, so old snapshots are
expired; the files that only they used are deleted here, because pyiceberg does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import DateType, TimestampType, TimestamptzType

from rillway.pipeline.archive.files.store import ArchiveError, Store
from rillway.pipeline.archive.iceberg.catalogue import (
    DAY_FIELD,
    TS,
    MirrorFailed,
    columns,
    drop_table,
    open_catalogue,
    open_table,
)
from rillway.pipeline.archive.iceberg.changes import (
    Change,
    NamedFile,
    commit_hash,
    compared_change,
    logged_change,
)
from rillway.pipeline.archive.limits import MIRROR_FOLDER as FOLDER
from rillway.pipeline.archive.table import (
    MAX_COMMIT_ATTEMPTS,
    ORPHAN_HOURS,
    ArchiveTable,
    first_line,
)
from rillway.pipeline.wire.urls import public_url

TIMES = (DateType, TimestampType, TimestamptzType)
# In a snapshot's summary.
VERSION, COMMIT = "rillway.delta-version", "rillway.delta-commit"


@dataclass(frozen=True, slots=True)
class Followed:
    """The outcome of an update. `version`: the version of the archive that the mirror shows now."""

    version: int
    added: int = 0
    removed: int = 0


class Mirror:
    """The mirror of the archive in a store, a table of a catalogue. `follow` opens both."""

    def __init__(self, store: Store, uri: str, name: str) -> None:
        self._store, self._uri, self._name = store, uri, name
        self._archive: ArchiveTable | None = None
        self._catalogue: Catalog | None = None

    def follow(self) -> Followed:
        """Update the mirror. Raises MirrorFailed, or the archive's ArchiveError."""
        try:
            return self._follow()
        # pyiceberg's errors have no common base, and catalogues raise those of their clients.
        except Exception as error:
            # Both are opened again next time, as they may have been replaced by then.
            self._archive = self._catalogue = None
            if isinstance(error, ArchiveError):
                raise
            raise self._failed(error) from error

    def drop(self) -> None:
        """Drop the mirror from the catalogue; `follow` creates it again. Raises MirrorFailed."""
        try:
            drop_table(self._opened_catalogue(), self._name, self._store)
        except MirrorFailed:
            raise
        except Exception as error:  # as above
            raise self._failed(error) from error

    def renew(self) -> Followed:
        """Create the mirror again, and delete all of its own files that it had before: their bounds
        have values of removed rows. Raises MirrorFailed, or the archive's ArchiveError.
        """
        until = datetime.now(UTC)
        self.drop()
        done = self.follow()
        try:
            table = self._opened_catalogue().load_table(self._name)
            _remove_unnamed(table, self._store, until)
        except Exception as error:  # as above
            raise self._failed(error) from error
        return done

    def _failed(self, error: Exception) -> MirrorFailed:
        """Return an error without the password that the catalogue's URI may contain."""
        said = first_line(error).replace(self._uri, public_url(self._uri))
        return MirrorFailed(f"{self._name}: {said}")

    def _opened_catalogue(self) -> Catalog:
        if self._catalogue is None:
            self._catalogue = open_catalogue(self._uri, self._store)
        return self._catalogue

    def _follow(self) -> Followed:
        if self._archive is None:
            self._archive = ArchiveTable.open(self._store)
        archive, catalogue = self._archive, self._opened_catalogue()
        for _ in range(MAX_COMMIT_ATTEMPTS):
            table = open_table(catalogue, self._name, archive)
            # The archive is read after the mirror, which therefore cannot be ahead.
            archive.refresh()
            step = _Step(archive, table)
            if not step.is_due:
                return Followed(archive.version)
            try:
                step.commit()
            except CommitFailedException:
                continue
            tidy(table, self._store)
            return Followed(archive.version, len(step.change.added), len(step.change.removed))
        raise MirrorFailed(f"{self._name}: gave up, because others kept committing")


class _Step:
    """The step from one snapshot of the mirror to the next."""

    def __init__(self, archive: ArchiveTable, table: Table) -> None:
        self._archive, self._table = archive, table
        since = self._mirrored_version()
        change = None if since is None else logged_change(archive, since)
        self._held: Mapping[str, DataFile] = {}
        if change is None or change.removed:
            self._held = self._data_files()
        if change is None or not self._held.keys() >= change.removed:
            change = compared_change(archive, self._held)
        self.change: Change = change
        named = {field.name for field in table.schema().fields}
        self._has_new_columns = any(field.name not in named for field in columns(archive))

    @property
    def is_due(self) -> bool:
        return bool(self.change) or self._has_new_columns

    def commit(self) -> None:
        """Commit the snapshot. Raises CommitFailedException and other errors of pyiceberg."""
        with self._table.transaction() as transaction:
            if self._has_new_columns:
                with transaction.update_schema() as schema:
                    schema.union_by_name(columns(self._archive))
            if self._is_by_day and not all(file.is_of_one_day for file in self.change.added):
                with transaction.update_spec() as spec:
                    spec.remove_field(DAY_FIELD)
            if self.change:
                self._commit_files(transaction)

    def _commit_files(self, transaction: Transaction) -> None:
        version = self._archive.version
        summary = {VERSION: str(version), COMMIT: commit_hash(self._archive, version) or ""}
        snapshot = transaction.update_snapshot(snapshot_properties=summary)
        metadata = transaction.table_metadata  # a deep copy
        added = [self._described(file, metadata) for file in self.change.added]
        with snapshot.overwrite() if self.change.removed else snapshot.merge_append() as files:
            for data_file in added:
                files.append_data_file(data_file)
            for path in self.change.removed:
                files.delete_data_file(self._held[path])

    def _described(self, file: NamedFile, metadata: TableMetadata) -> DataFile:
        """Return a file as Iceberg describes it, with the statistics of its footer."""
        io, path = self._table.io, self._prefix + file.path
        try:
            return parquet_file_to_data_file(io, metadata, path)
        except OverflowError:
            # Omits bounds after the year 9999, which datetime cannot represent. If `ts` has no
            # bounds, the table is not partitioned by it.
            modes = {
                f"{TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX}.{field.name}": "counts"
                for field in metadata.schema().fields
                if isinstance(field.field_type, TIMES)
                and not (field.name == TS and file.is_of_one_day)
            }
            without = metadata.model_copy(update={"properties": metadata.properties | modes})
            return parquet_file_to_data_file(io, without, path)

    @property
    def _is_by_day(self) -> bool:
        return any(field.name == DAY_FIELD for field in self._table.spec().fields)

    @property
    def _prefix(self) -> str:
        return f"{self._archive.store.uri}/"

    def _mirrored_version(self) -> int | None:
        """Return the version that the mirror shows; None if the archive's log lacks that commit: it
        was cleaned up, or the archive was replaced by an older copy.
        """
        snapshot = self._table.current_snapshot()
        said = {} if snapshot is None or snapshot.summary is None else snapshot.summary
        version, commit = said.get(VERSION), said.get(COMMIT)
        if version is None or commit is None:
            return None
        return int(version) if commit_hash(self._archive, int(version)) == commit else None

    def _data_files(self) -> dict[str, DataFile]:
        """Return the files that the mirror names, by their paths relative to the archive."""
        snapshot, io = self._table.current_snapshot(), self._table.io
        return {
            entry.data_file.file_path.removeprefix(self._prefix): entry.data_file
            for manifest in ([] if snapshot is None else snapshot.manifests(io))
            for entry in manifest.fetch_manifest_entry(io, discard_deleted=True)
        }


# -- tidying ---------------------------------------------------------------------------------------

# Snapshots are expired down to the first number when there are more than the second.
KEPT_SNAPSHOTS, MAX_SNAPSHOTS = 10, 30
METADATA = f"{FOLDER}/metadata"


def tidy(table: Table, store: Store) -> None:
    """Expire old snapshots and delete their files. Raises errors of pyiceberg, and OSError."""
    snapshots = sorted(table.snapshots(), key=lambda snapshot: snapshot.sequence_number or 0)
    if len(snapshots) <= MAX_SNAPSHOTS:
        return
    old = [snapshot.snapshot_id for snapshot in snapshots[:-KEPT_SNAPSHOTS]]
    table.maintenance.expire_snapshots().by_ids(old).commit()
    table.refresh()
    # A commit in progress will name its files later.
    _remove_unnamed(table, store, datetime.now(UTC) - timedelta(hours=ORPHAN_HOURS))


def _remove_unnamed(table: Table, store: Store, until: datetime) -> None:
    """Delete the mirror's own files from before a time that no snapshot names."""
    named = {location.rpartition("/")[2] for location in _named(table)}
    for file in store.listed(METADATA):
        if file.base_name not in named and file.mtime < until:
            store.filesystem.delete_file(file.path)


def _named(table: Table) -> Iterator[str]:
    yield table.metadata_location
    for entry in table.metadata.metadata_log:
        yield entry.metadata_file
    for snapshot in table.snapshots():
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            yield manifest.manifest_path
