"""The mirror's table in a catalogue of pyiceberg: SQLite, PostgreSQL, REST, Hive.

It has the archive's columns, without `date`, which is in no file, and the same files under their
whole names; its own files are in the folder `_iceberg` of the archive. It is partitioned by the day
of `ts`, so that a reader skips whole manifests, as long as each file has entries of one day.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import Table, TableProperties
from pyiceberg.transforms import DayTransform

from rillway.pipeline.archive.files.parquet_files import DATE
from rillway.pipeline.archive.files.store import ArchiveError, Store, sync
from rillway.pipeline.archive.limits import DAY
from rillway.pipeline.archive.table import ArchiveTable

CATALOGUE = "rillway"
FOLDER = "_iceberg"
TS = "ts"
# A name that no other column of an archive has.
DAY_FIELD = DATE
LOCATION = "rillway.location"
PROPERTIES = {
    # Who comes second looks again, and does not commit on top of what it has not seen.
    TableProperties.COMMIT_NUM_RETRIES: "0",
    # A commit is a manifest, and a reader reads them all.
    TableProperties.MANIFEST_MERGE_ENABLED: "true",
    # All that the metadata holds is copied several times for each commit.
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
    TableProperties.METADATA_PREVIOUS_VERSIONS_MAX: "30",
}


class MirrorFailed(ArchiveError):
    """The mirror is not at the archive's version; the text says why."""


def open_catalogue(uri: str, store: Store) -> Catalog:
    """Properties beside these come from pyiceberg's file and environment, under CATALOGUE."""
    io = f"{StoreIO.__module__}.{StoreIO.__qualname__}"
    return load_catalog(CATALOGUE, **{"uri": uri, "py-io-impl": io, STORE: described(store)})


def open_table(catalogue: Catalog, name: str, archive: ArchiveTable) -> Table:
    """The mirror, made if there is none. Raises MirrorFailed, and what pyiceberg does."""
    try:
        table = catalogue.load_table(name)
    except NoSuchTableError:
        try:
            _create(catalogue, name, archive)
        except Exception:
            # Another one may have made it meanwhile: what that raises depends on the catalogue.
            if not catalogue.table_exists(name):
                raise
        table = catalogue.load_table(name)
    check_own(table, name, archive.store)
    return table


def drop_table(catalogue: Catalog, name: str, store: Store) -> None:
    """Also if its files are gone. Raises MirrorFailed for what is no mirror of this archive."""
    try:
        check_own(catalogue.load_table(name), name, store)
    except NoSuchTableError:
        return
    except FileNotFoundError:
        pass
    catalogue.drop_table(name)


def check_own(table: Table, name: str, store: Store) -> None:
    """Raises MirrorFailed if it is no mirror of the archive in a store."""
    location = table.properties.get(LOCATION)
    if location != store.uri:
        other = "is no mirror" if location is None else f"is the mirror of {location}"
        raise MirrorFailed(f"the table {name} of the catalogue {other}: --iceberg-table NAME")


def columns(archive: ArchiveTable) -> pa.Schema:
    """Those that files have."""
    return pa.schema([field for field in archive.schema if field.name != DATE])


def _create(catalogue: Catalog, name: str, archive: ArchiveTable) -> None:
    store = archive.store
    namespace, _, _ = name.rpartition(".")
    catalogue.create_namespace_if_not_exists(namespace)
    properties = PROPERTIES | {LOCATION: store.uri}
    step = catalogue.create_table_transaction(
        name, columns(archive), location=f"{store.uri}/{FOLDER}", properties=properties
    )
    # The files have no numbers for their columns.
    mapping = step.table_metadata.schema().name_mapping.model_dump_json()
    step.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
    if archive.period == DAY:
        with step.update_spec() as update:
            update.add_field(TS, DayTransform(), DAY_FIELD)
    step.commit_transaction()


# -- files -----------------------------------------------------------------------------------------

STORE = "rillway.store"


class StoreIO(PyArrowFileIO):
    """Files by their whole names, `s3://bucket/archive/...`. The property STORE: from `described`.

    Those that are elsewhere, as a catalogue may want it, are pyiceberg's own affair.
    """

    def new_input(self, location: str) -> PyArrowFile:
        store, path = self._found(location)
        if path is None:
            return super().new_input(location)
        return PyArrowFile(location, path, store.filesystem)

    def new_output(self, location: str) -> PyArrowFile:
        store, path = self._found(location)
        if path is None:
            return super().new_output(location)
        if store.folder is None:
            return PyArrowFile(location, path, store.filesystem)
        store.make_parent(path)
        return _SyncedFile(location, path, store.filesystem)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        name = location if isinstance(location, str) else location.location
        store, path = self._found(name)
        if path is None:
            super().delete(location)
        else:
            store.filesystem.delete_file(path)

    def _found(self, location: str) -> tuple[Store, str | None]:
        """The path below the archive; None if it is elsewhere."""
        uri, options = json.loads(self.properties[STORE])
        store = Store(uri, tuple((name, value) for name, value in options))
        path = location.removeprefix(f"{uri}/")
        return store, None if path == location else path


def described(store: Store) -> str:
    """For the properties of a catalogue, which are texts."""
    return json.dumps([store.uri, store.options])


class _SyncedFile(PyArrowFile):
    """Of a folder. What is written is on the disk when it is closed."""

    def create(self, overwrite: bool = False) -> OutputStream:
        return io.BufferedWriter(_SyncedStream(self.location, "wb" if overwrite else "xb"))


class _SyncedStream(io.FileIO):
    def close(self) -> None:
        if not self.closed:
            os.fsync(self.fileno())
            super().close()
            sync(Path(os.fsdecode(self.name)).parent)
