"""The mirror's table in a catalogue of pyiceberg: SQLite, PostgreSQL, REST, Hive.

It has the archive's columns, except `date`, which is in no file, and names the archive's files by
their full paths; its own files are in the folder `_iceberg` of the archive. It is partitioned by
the day of `ts`, so that readers skip whole manifests, as long as each file has entries of one day.

pyiceberg accesses files through the archive's store, with the same options. In a folder, files are
synced before the catalogue names them.
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
from rillway.pipeline.archive.limits import MIRROR_FOLDER as FOLDER
from rillway.pipeline.archive.table import ArchiveTable

CATALOGUE = "rillway"
TS = "ts"
# A name that no other column of an archive has.
DAY_FIELD = DATE
LOCATION = "rillway.location"
PROPERTIES = {
    # After a conflict the mirror is read again; pyiceberg must not retry by itself.
    TableProperties.COMMIT_NUM_RETRIES: "0",
    # Each commit adds a manifest, and readers read them all.
    TableProperties.MANIFEST_MERGE_ENABLED: "true",
    # Each commit copies the metadata several times, so it has to be small.
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
    TableProperties.METADATA_PREVIOUS_VERSIONS_MAX: "30",
}


class MirrorFailed(ArchiveError):
    """The mirror is not at the archive's version; the text says why."""


def open_catalogue(uri: str, store: Store) -> Catalog:
    """Open a catalogue. pyiceberg's configuration adds properties, under the name CATALOGUE."""
    io = f"{StoreIO.__module__}.{StoreIO.__qualname__}"
    return load_catalog(CATALOGUE, **{"uri": uri, "py-io-impl": io, STORE: described(store)})


def open_table(catalogue: Catalog, name: str, archive: ArchiveTable) -> Table:
    """Open the mirror, or create it. Raises MirrorFailed, and errors of pyiceberg."""
    try:
        table = catalogue.load_table(name)
    except NoSuchTableError:
        try:
            _create(catalogue, name, archive)
        except Exception:
            # Another process may have created it; the error for that depends on the catalogue.
            if not catalogue.table_exists(name):
                raise
        table = catalogue.load_table(name)
    check_own(table, name, archive.store)
    return table


def drop_table(catalogue: Catalog, name: str, store: Store) -> None:
    """Drop the mirror, even if its files are missing.

    Raises MirrorFailed if the table is not a mirror of this archive.
    """
    try:
        check_own(catalogue.load_table(name), name, store)
    except NoSuchTableError:
        return
    except FileNotFoundError:
        pass
    catalogue.drop_table(name)


def check_own(table: Table, name: str, store: Store) -> None:
    """Raise MirrorFailed if a table is not a mirror of the archive in a store."""
    location = table.properties.get(LOCATION)
    if location != store.uri:
        other = "is no mirror" if location is None else f"is the mirror of {location}"
        raise MirrorFailed(f"the table {name} of the catalogue {other}: --iceberg-table NAME")


def columns(archive: ArchiveTable) -> pa.Schema:
    """Return the columns of the archive's files."""
    return pa.schema([field for field in archive.schema if field.name != DATE])


def _create(catalogue: Catalog, name: str, archive: ArchiveTable) -> None:
    store = archive.store
    namespace, _, _ = name.rpartition(".")
    catalogue.create_namespace_if_not_exists(namespace)
    properties = PROPERTIES | {LOCATION: store.uri}
    step = catalogue.create_table_transaction(
        name, columns(archive), location=f"{store.uri}/{FOLDER}", properties=properties
    )
    # The files have no field IDs.
    mapping = step.table_metadata.schema().name_mapping.model_dump_json()
    step.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
    if archive.period == DAY:
        with step.update_spec() as update:
            update.add_field(TS, DayTransform(), DAY_FIELD)
    step.commit_transaction()


# -- files -----------------------------------------------------------------------------------------

STORE = "rillway.store"


class StoreIO(PyArrowFileIO):
    """Files by their full names, `s3://bucket/archive/...`, in the store of the property STORE.

    pyiceberg itself handles files elsewhere, which a catalogue may demand.
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
        """Return the store, and the path in it; None if the location is elsewhere."""
        uri, options = json.loads(self.properties[STORE])
        store = Store(uri, tuple((name, value) for name, value in options))
        path = location.removeprefix(f"{uri}/")
        return store, None if path == location else path


def described(store: Store) -> str:
    """Return a store as the text of a catalogue's property."""
    return json.dumps([store.uri, store.options])


class _SyncedFile(PyArrowFile):
    """A local file that is synced when it is closed."""

    def create(self, overwrite: bool = False) -> OutputStream:
        return io.BufferedWriter(_SyncedStream(self.location, "wb" if overwrite else "xb"))


class _SyncedStream(io.FileIO):
    def close(self) -> None:
        if not self.closed:
            os.fsync(self.fileno())
            super().close()
            sync(Path(os.fsdecode(self.name)).parent)
