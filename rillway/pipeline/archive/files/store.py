"""The store of an archive: a local folder, or a prefix in an object store.

Object stores are those of deltalake, with its URIs (`s3://`, `gs://`, `abfss://` and the like) and
its storage options, which environment variables may set as well. Files are accessed through the
same client as the log, with the same options. Commits to an object store are safe because a version
of the log is put only if it does not exist.

In a folder, files are synced before a commit names them; an object is durable once it is put.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import pyarrow.fs as pafs

# deltalake prints it before each cause of an error, in red.
CAUSE_MARK = "\x1b[31m↳\x1b[0m"
URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
UNUSABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
ENCODED = re.compile("%[0-9A-Fa-f]{2}")
MAX_REASON = 120
SCHEMES = ("s3", "s3a", "gs", "abfs", "abfss", "az", "adl")
# The prefixes of environment variables that deltalake uses as options.
VARIABLES = ("AWS_", "AZURE_", "GOOGLE_")


class ArchiveError(Exception):
    """The archive is missing, invalid or unusable; the text says which and why."""


class StoreFailed(ArchiveError):
    """The disk or the object store failed, maybe temporarily; nothing is known of the archive."""


class LogDamaged(ArchiveError):
    """The log cannot be read. `reason`: deltalake's error, empty if it considers the log intact."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class UnknownStore(ValueError):
    """A URI of an unknown kind: `ftp:` is not meant as the name of a folder."""


@dataclass(frozen=True, slots=True)
class Store:
    """A folder or a prefix in an object store. It can be pickled, for tasks on other machines."""

    uri: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.uri

    @property
    def folder(self) -> Path | None:
        """The folder; None for an object store."""
        return None if URI.match(self.uri) else Path(self.uri)

    @property
    def delta_options(self) -> dict[str, str] | None:
        return dict(self.options) or None

    def with_environment(self) -> Store:
        """Return the store with options from environment variables, which a task on another
        machine does not have. Explicit options take precedence, as in deltalake.
        """
        if self.folder is not None:
            return self
        found = {k.lower(): v for k, v in os.environ.items() if k.upper().startswith(VARIABLES)}
        given = {name.lower(): value for name, value in self.options}
        return Store(self.uri, tuple(sorted((found | given).items())))

    @property
    def filesystem(self) -> pafs.FileSystem:
        """The file system of the store; paths are relative to the archive."""
        return _filesystem(self)

    def make_parent(self, path: str) -> None:
        """Create the folder of a file."""
        if self.folder is not None:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)

    def settle(self, *paths: str) -> None:
        """Sync files and their folders."""
        if self.folder is not None and paths:
            files = [self.folder / path for path in paths]
            for place in (*files, *{file.parent for file in files}, self.folder):
                sync(place)

    def copy(self, path: str, to: str) -> None:
        """Copy a file and sync the copy. Raises OSError."""
        with self.filesystem.open_input_stream(path) as file:
            content = file.read()
        self.write(to, content)

    def write(self, path: str, content: bytes) -> None:
        """Write a file and sync it. Raises OSError."""
        self.make_parent(path)
        with self.filesystem.open_output_stream(path, buffer_size=1 << 16) as file:
            file.write(content)
        self.settle(path)

    def has(self, path: str) -> bool:
        """Return True if a file exists. Raises OSError."""
        return bool(self.filesystem.get_file_info(path).type == pafs.FileType.File)

    def listed(self, folder: str, *, recursive: bool = False) -> list[pafs.FileInfo]:
        """Return the files in a folder; none if there is no such folder. Raises OSError."""
        selector = pafs.FileSelector(folder, allow_not_found=True, recursive=recursive)
        found = self.filesystem.get_file_info(selector)
        return [info for info in found if info.type == pafs.FileType.File]

    def size(self, path: str) -> int:
        return int(self.filesystem.get_file_info(path).size)

    def remove(self, *paths: str) -> None:
        """Remove files, if they exist."""
        for path in filter(self.has, paths):
            self.filesystem.delete_file(path)


@lru_cache(maxsize=16)
def _filesystem(store: Store) -> pafs.FileSystem:
    if store.folder is not None:
        return pafs.SubTreeFileSystem(str(store.folder), pafs.LocalFileSystem())
    from deltalake.fs import DeltaStorageHandler

    return pafs.PyFileSystem(DeltaStorageHandler(store.uri, store.delta_options))


def store_of(place: str | Path | Store, options: Mapping[str, str] | None = None) -> Store:
    """Return the store of a folder or URI. Raises UnknownStore."""
    if isinstance(place, Store):
        return place
    found = URI.match(str(place))
    if found is None:
        if options:
            raise UnknownStore(f"{place}: a local folder has no storage options")
        return Store(_named(Path(place).absolute()))
    if found[1] not in SCHEMES:
        raise UnknownStore(
            f"{place}: an archive is a local folder, or one of {', '.join(SCHEMES[:5])}://"
        )
    return Store(str(place).rstrip("/"), tuple(sorted((options or {}).items())))


def _named(folder: Path) -> str:
    """Return a folder as text. Raises UnknownStore for names with `%20` and the like, which
    deltalake decodes once too often.
    """
    name = str(folder)
    if (found := ENCODED.search(name)) is not None:
        raise UnknownStore(
            f"{name}: the folder of an archive has no {found[0]!r} in its name, which Delta takes "
            f"for {unquote(found[0])!r}"
        )
    if UNUSABLE.search(name):
        raise UnknownStore(f"{name!r}: the folder of an archive has no such characters in its name")
    return name


def check_answered(store: Store, path: str, error: BaseException) -> None:
    """Raise StoreFailed if `error` is an error of the object store, or of its connection: then
    nothing is known about the file.
    """
    is_missing = isinstance(error, FileNotFoundError)
    # Errors of Arrow itself have no such mark: they concern the content.
    is_stores = isinstance(error, OSError) and CAUSE_MARK in str(error)
    if store.folder is None and is_stores and not is_missing:
        raise StoreFailed(f"{store}: {path}: {first_line(error)}") from None


def failure(store: Store, error: Exception) -> ArchiveError:
    """Return the ArchiveError for an error of deltalake or the system."""
    kind = StoreFailed if isinstance(error, OSError) else ArchiveError
    return kind(f"{store}: {first_line(error)}")


def reason_of(error: BaseException) -> str:
    """Return what is wrong with a file, as a short part of a sentence."""
    text = str(error) or type(error).__name__
    if isinstance(error, FileNotFoundError):
        return "it is missing"
    if isinstance(error, PermissionError) or "Permission denied" in text:
        return "it cannot be read: permission denied"
    is_cut = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
    if is_cut or "Parquet magic bytes" in text or "Parquet file size" in text:
        return "it is cut off or overwritten"
    first = text.splitlines()[0].split(". ")[0].rstrip(".")
    return first if len(first) <= MAX_REASON else first[:MAX_REASON] + "..."


def os_sentence(error: OSError) -> str:
    """Return an error as `PATH: Permission denied`; Arrow words both differently."""
    found = re.search(r"(?:'([^']+)'.*)?\[errno \d+\] (.+)", str(error))
    if found:
        return f"{found[1]}: {found[2]}" if found[1] else found[2]
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return first_line(error)


def first_line(error: BaseException) -> str:
    """Return an error in one line, with the last cause if deltalake lists causes.

    The XML reply of an object store is reduced to its code and message.
    """
    text, *causes = str(error).split(CAUSE_MARK)
    first = (text.strip() or type(error).__name__).splitlines()[0]
    if not causes:
        return first
    said = re.search(r"<Code>(.*?)</Code>\s*<Message>([^\n<]*)", causes[-1])
    cause = f"{said[1]}: {said[2]}" if said else " ".join(causes[-1].split())
    return f"{first}: {cause}" if cause else first


def sync(path: Path) -> None:
    """Sync a file or a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
