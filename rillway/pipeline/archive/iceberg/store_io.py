"""pyiceberg's files in the place where the archive is: one set of options for both.

What is written to a folder is on the disk before a catalogue names it.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from rillway.pipeline.archive.files.store import Store, sync

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
