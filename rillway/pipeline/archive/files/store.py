"""Where an archive lies: a local folder, or a prefix in an object store.

Object stores are those that deltalake knows, by its URIs (`s3://`, `gs://`, `abfss://` and the
like) and its storage options, which may come from environment variables as well. Files are read and
written through the same client as the log, so there is one set of options for both. Commits are
safe there because a version of the log is put only if it is not there yet.

In a folder, what is written is synced before it is named; an object is durable once it is put.
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

# deltalake draws it in red.
CAUSE_MARK = "\x1b[31m↳\x1b[0m"
URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
UNUSABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
ENCODED = re.compile("%[0-9A-Fa-f]{2}")
MAX_REASON = 120
SCHEMES = ("s3", "s3a", "gs", "abfs", "abfss", "az", "adl")
# How the names of the environment variables begin that deltalake takes for options.
VARIABLES = ("AWS_", "AZURE_", "GOOGLE_")


class ArchiveError(Exception):
    """The archive is missing, is none, or cannot be used; the text says which and why."""


class StoreFailed(ArchiveError):
    """The disk or the object store has failed, which says nothing about what it holds. It may be
    mended later."""


class LogDamaged(ArchiveError):
    """The log cannot be read. `reason`: what deltalake says, empty if it takes it for whole."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class UnknownStore(ValueError):
    """A URI that is not understood: `ftp:` is not meant as the name of a folder."""


@dataclass(frozen=True, slots=True)
class Store:
    """It can be pickled: tasks on other machines write to it."""

    uri: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.uri

    @property
    def folder(self) -> Path | None:
        """None for an object store."""
        return None if URI.match(self.uri) else Path(self.uri)

    @property
    def delta_options(self) -> dict[str, str] | None:
        return dict(self.options) or None

    def with_environment(self) -> Store:
        """The same store for a task on another machine, whose environment has not the options that
        this one's may have. Those that were given come first, as deltalake has it.
        """
        if self.folder is not None:
            return self
        found = {k.lower(): v for k, v in os.environ.items() if k.upper().startswith(VARIABLES)}
        given = {name.lower(): value for name, value in self.options}
        return Store(self.uri, tuple(sorted((found | given).items())))

    @property
    def filesystem(self) -> pafs.FileSystem:
        """Its paths are relative to the archive."""
        return _filesystem(self)

    def make_parent(self, path: str) -> None:
        """Before a file is written."""
        if self.folder is not None:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)

    def settle(self, *paths: str) -> None:
        """Have files, and the names of their folders, on the disk."""
        if self.folder is not None and paths:
            files = [self.folder / path for path in paths]
            for place in (*files, *{file.parent for file in files}, self.folder):
                sync(place)

    def copy(self, path: str, to: str) -> None:
        """Have the content of a file in another one, on the disk. Raises OSError."""
        with self.filesystem.open_input_stream(path) as file:
            content = file.read()
        self.write(to, content)

    def write(self, path: str, content: bytes) -> None:
        """Have a file with a content, on the disk. Raises OSError."""
        self.make_parent(path)
        with self.filesystem.open_output_stream(path, buffer_size=1 << 16) as file:
            file.write(content)
        self.settle(path)

    def has(self, path: str) -> bool:
        """Return True if there is such a file. Raises OSError."""
        return bool(self.filesystem.get_file_info(path).type == pafs.FileType.File)

    def size(self, path: str) -> int:
        return int(self.filesystem.get_file_info(path).size)

    def remove(self, *paths: str) -> None:
        """Files that may be there."""
        for path in filter(self.has, paths):
            self.filesystem.delete_file(path)


@lru_cache(maxsize=16)
def _filesystem(store: Store) -> pafs.FileSystem:
    if store.folder is not None:
        return pafs.SubTreeFileSystem(str(store.folder), pafs.LocalFileSystem())
    from deltalake.fs import DeltaStorageHandler

    return pafs.PyFileSystem(DeltaStorageHandler(store.uri, store.delta_options))


def store_of(place: str | Path | Store, options: Mapping[str, str] | None = None) -> Store:
    """Raises UnknownStore."""
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
    """The folder as text. Raises UnknownStore for one that deltalake takes for another: it decodes
    `%20` once more than it encodes it.
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
    """Whether a file could be read as far as an object store is concerned: where its answer is an
    error, or was cut off, nothing is known about the file. Raises StoreFailed.
    """
    is_missing = isinstance(error, FileNotFoundError)
    # Arrow's own OSError has no such mark: it is about what was read.
    is_stores = isinstance(error, OSError) and CAUSE_MARK in str(error)
    if store.folder is None and is_stores and not is_missing:
        raise StoreFailed(f"{store}: {path}: {first_line(error)}") from None


def failure(store: Store, error: Exception) -> ArchiveError:
    """What deltalake or the system has raised."""
    kind = StoreFailed if isinstance(error, OSError) else ArchiveError
    return kind(f"{store}: {first_line(error)}")


def reason_of(error: BaseException) -> str:
    """What is wrong with a file, as a short part of a sentence."""
    text = str(error) or type(error).__name__
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    if isinstance(error, PermissionError) or "Permission denied" in text:
        return "it cannot be read: permission denied"
    is_cut = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
    if is_cut or "Parquet magic bytes" in text or "Parquet file size" in text:
        return "it is cut off or overwritten"
    first = text.splitlines()[0].split(". ")[0].rstrip(".")
    return first if len(first) <= MAX_REASON else first[:MAX_REASON] + "..."


def os_sentence(error: OSError) -> str:
    """`PATH: Permission denied`; Arrow has both in a text of its own."""
    found = re.search(r"(?:'([^']+)'.*)?\[errno \d+\] (.+)", str(error))
    if found:
        return f"{found[1]}: {found[2]}" if found[1] else found[2]
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return first_line(error)


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


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
