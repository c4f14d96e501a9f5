"""The place of back-ups: a folder, or a prefix in an object store, with a folder for each back-up.

What is written is durable when a call returns, except in a local folder, where `settle` makes it
so. A manifest appears at once, and whole.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from rillway.backup.manifest import MANIFEST, BackupError

CHUNK_BYTES = 1 << 20
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Store(Protocol):
    """A place. Paths are relative to it, with slashes. Methods raise OSError."""

    place: str

    def names(self, path: str = "") -> list[str]:
        """The names in a folder, sorted; none if there is no such folder."""

    def has(self, path: str) -> bool:
        """Return True if there is such a file."""

    def make(self, path: str) -> None:
        """Make a folder; it may exist."""

    def read(self, path: str) -> Iterator[bytes]:
        """The content, in chunks."""

    def write(self, path: str, chunks: Iterable[bytes]) -> None:
        """Write a new file."""

    def put(self, path: str, content: bytes) -> None:
        """Write a file, or replace it, at once."""

    def copy(self, path: str, to: str) -> None:
        """Copy a file, which never changes, within the place."""

    def link(self, descriptor: int, source: str, to: str) -> bool:
        """Give an open file of this machine, which never changes, a name here. False: it cannot."""

    def settle(self, path: str) -> None:
        """Make all below a folder durable."""

    def remove(self, path: str) -> None:
        """Remove a folder with all files."""


def content_of(store: Store, path: str) -> bytes:
    return b"".join(store.read(path))


def open_store(place: str, options: Mapping[str, str]) -> Store:
    """The store at a place. Raises BackupError."""
    if URI.match(place):
        return ObjectStore(place, options)
    if options:
        raise BackupError(f"{place}: a folder has no storage options")
    return FolderStore(Path(place).absolute())


class FolderStore:
    """A folder of this machine. Only its owner can read it: back-ups have passwords and data."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        self._folder = folder

    def names(self, path: str = "") -> list[str]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(os.listdir(self._folder / path))
        return []

    def has(self, path: str) -> bool:
        return (self._folder / path).is_file()

    def make(self, path: str) -> None:
        folder = self._folder / path
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)

    def read(self, path: str) -> Iterator[bytes]:
        with open(self._folder / path, "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def write(self, path: str, chunks: Iterable[bytes]) -> None:
        with self._create(path) as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())

    def _create(self, path: str) -> BinaryIO:
        self.make(os.path.dirname(path))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return open(os.open(self._folder / path, flags, 0o600), "wb")

    def put(self, path: str, content: bytes) -> None:
        temporary = f"{path}.part-{os.getpid()}"
        self.write(temporary, [content])
        os.rename(self._folder / temporary, self._folder / path)
        _sync_folder((self._folder / path).parent)

    def copy(self, path: str, to: str) -> None:
        self.make(os.path.dirname(to))
        try:
            os.link(self._folder / path, self._folder / to)
        except OSError:  # a file system without links
            self.write(to, self.read(path))

    def link(self, descriptor: int, source: str, to: str) -> bool:
        self.make(os.path.dirname(to))
        target = self._folder / to
        try:
            os.link(source, target)
            if os.path.samestat(os.stat(target), os.fstat(descriptor)):
                return True
            target.unlink()
        except OSError:  # another file system, or a rewrite has removed the name
            pass
        return False

    def settle(self, path: str) -> None:
        for folder, _, _ in os.walk(self._folder / path):
            _sync_folder(Path(folder))
        _sync_folder(self._folder)

    def remove(self, path: str) -> None:
        # The manifest first: an interruption leaves an unfinished back-up.
        (self._folder / path / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(self._folder / path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ObjectStore:
    """A prefix in an object store, reached as archives are."""

    def __init__(self, uri: str, options: Mapping[str, str]) -> None:
        try:
            from rillway.pipeline.archive.files.store import UnknownStore, store_of
        except ModuleNotFoundError as error:
            message = f"{error.name} is missing: pip install 'rillway[archive]'"
            raise BackupError(message) from None
        try:
            self._files: Any = store_of(uri, options).filesystem
        except (UnknownStore, OSError, ValueError) as error:
            raise BackupError(str(error)) from None
        self.place = uri.rstrip("/")

    def names(self, path: str = "") -> list[str]:
        import pyarrow.fs as pafs

        selector = pafs.FileSelector(path, allow_not_found=True, recursive=True)
        prefix = f"{path}/" if path else ""
        found = [each.path.removeprefix(prefix) for each in self._files.get_file_info(selector)]
        return sorted({name.partition("/")[0] for name in found if name})

    def has(self, path: str) -> bool:
        return bool(self._files.get_file_info(path).is_file)

    def make(self, path: str) -> None:
        """Folders are not made in an object store."""

    def read(self, path: str) -> Iterator[bytes]:
        with self._files.open_input_file(path) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def write(self, path: str, chunks: Iterable[bytes]) -> None:
        # Without a buffer Arrow would hand over what deltalake does not take.
        with self._files.open_output_stream(path, buffer_size=1 << 16) as file:
            for chunk in chunks:
                file.write(chunk)

    def put(self, path: str, content: bytes) -> None:
        self.write(path, [content])

    def copy(self, path: str, to: str) -> None:
        # Its own copy_file passes names of arguments that its client does not have (1.6).
        self._files.handler._handler.copy_file(path, to)

    def link(self, descriptor: int, source: str, to: str) -> bool:
        return False

    def settle(self, path: str) -> None:
        """An object is durable once it is written."""

    def remove(self, path: str) -> None:
        import pyarrow.fs as pafs

        selector = pafs.FileSelector(path, allow_not_found=True, recursive=True)
        paths = [each.path for each in self._files.get_file_info(selector) if each.is_file]
        # The manifest first: an interruption leaves an unfinished back-up.
        for one in sorted(paths, key=lambda name: not name.endswith(f"/{MANIFEST}")):
            self._files.delete_file(one)
