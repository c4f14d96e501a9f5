"""Opens the table at a place, or says why that is not possible."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow.fs import FileSelector

from rillway.pipeline.archive.files.log_files import (
    check_readable,
    check_version,
    log_damaged,
    no_archive_sentence,
)
from rillway.pipeline.archive.files.parquet_files import DATE
from rillway.pipeline.archive.files.store import (
    ArchiveError,
    Store,
    UnknownStore,
    failure,
    store_of,
)
from rillway.pipeline.wire.places import LOG_FOLDER


class NoArchive(ArchiveError):
    """The table does not exist."""


def place_of(path: str | Path | Store, options: Mapping[str, str] | None = None) -> Store:
    """Return the store of a path or URI. Raises ArchiveError for an unknown kind of URI."""
    try:
        return store_of(path, options)
    except UnknownStore as error:
        raise ArchiveError(str(error)) from None


def open_delta(store: Store) -> DeltaTable:
    """Open a table. Raises NoArchive, or LogDamaged if it cannot be read."""
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
    """Suppress what Rust prints when a damaged checkpoint makes it panic."""
    with open(os.devnull, "wb") as nothing:
        before = os.dup(2)
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)


def is_table(store: Store) -> bool:
    """Return True if a store has a table.

    Raises ArchiveError if an object store fails or a folder cannot be read.
    """
    if store.folder is not None and (reason := check_readable(store.folder)):
        raise ArchiveError(f"{store}: {reason}")
    try:
        return bool(DeltaTable.is_deltatable(store.uri, store.delta_options))
    except (DeltaError, OSError, ValueError) as error:
        if store.folder is None:
            raise failure(store, error) from None
        return False


def check_empty(store: Store) -> None:
    """Create the folder. Raises ArchiveError if it has files of others, and OSError."""
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
