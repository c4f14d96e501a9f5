"""The file system as persistence sees it: everything that touches disk goes through `Files`.

`OsFiles` is the real one; `MemoryFiles` (memory_files.py) can fail and lose what was not synced.
Paths are plain strings, relative ones to the process's working directory (directive `dir`). All
operations raise OSError, with the errno of the system.

What a caller may rely on, and no more:
* `File.write` may be short. What was written is on disk after `File.sync` returned, not before.
* A name (created, renamed, removed) is on disk after `sync_directory` of its directory, not before;
  syncing the file itself is not enough.
* `rename` replaces the target in one step: after a crash there is the old file or the new one. Its
  content is only what was synced before.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from typing import Protocol

from server.persistence.folder_lock import FolderLocks, holder

# What a file is read through; slices of either are bytes.
Buffer = bytes | mmap.mmap

_MODE = 0o644
_sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


class File(Protocol):
    """A file open for writing at its end."""

    def write(self, data: bytes) -> int:
        """Append; how many bytes were taken, at least one of a `data` that is not empty."""

    def sync(self) -> None:
        """Bring content and size to disk (fdatasync). May be called from another thread."""

    def truncate(self, size: int) -> None:
        """Cut the file to its first `size` bytes; the next write appends there."""

    def size(self) -> int:
        """The size in bytes."""

    def close(self) -> None:
        """Give the file back. It is not synced. Never raises: what had to be on disk was synced."""


class Files(Protocol):
    """Directories and files."""

    def append(self, path: str) -> File:
        """Open for appending; an absent file is created."""

    def create(self, path: str) -> File:
        """Open an empty file, in the place of one that is there."""

    def buffer(self, path: str) -> Buffer:
        """The whole content for reading; b"" for an empty file."""

    def size(self, path: str) -> int:
        """The size in bytes."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""

    def names(self, directory: str) -> list[str]:
        """What is in a directory, sorted, without its path."""

    def rename(self, path: str, to: str) -> None:
        """Give a file another name, in the place of one that has it."""

    def remove(self, path: str) -> None:
        """Take a file's name away."""

    def make_directory(self, path: str) -> None:
        """Make one directory; it may be there already. Its parent must be."""

    def sync_directory(self, path: str) -> None:
        """Bring the directory's names to disk."""

    def claim(self, directory: str, name: str) -> None:
        """Keep other servers out of a directory, until `release`; `name` describes this one.

        Raises FolderInUse, and OSError where the file system has no locks.
        """

    def release(self) -> None:
        """Let others have the directories that were claimed."""

    def holder(self, directory: str) -> str | None:
        """Which other server has claimed a directory; None if none has."""


class OsFile:
    """A file of the operating system."""

    def __init__(self, path: str, flags: int) -> None:
        self._descriptor = os.open(path, flags | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, _MODE)

    def write(self, data: bytes) -> int:
        """See `File.write`."""
        return os.write(self._descriptor, data)

    def sync(self) -> None:
        """See `File.sync`."""
        _sync_data(self._descriptor)

    def truncate(self, size: int) -> None:
        """See `File.truncate`."""
        os.ftruncate(self._descriptor, size)

    def size(self) -> int:
        """See `File.size`."""
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        """See `File.close`."""
        with contextlib.suppress(OSError):  # it is closed in any case, and some disks complain here
            os.close(self._descriptor)


class OsFiles:
    """The operating system's files."""

    def __init__(self) -> None:
        self._locks = FolderLocks()

    def append(self, path: str) -> File:
        """See `Files.append`."""
        return OsFile(path, os.O_CREAT)

    def create(self, path: str) -> File:
        """See `Files.create`."""
        return OsFile(path, os.O_CREAT | os.O_TRUNC)

    def buffer(self, path: str) -> Buffer:
        """See `Files.buffer`. The file is mapped: it costs memory only where it is looked at."""
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def size(self, path: str) -> int:
        """See `Files.size`."""
        return os.stat(path).st_size

    def exists(self, path: str) -> bool:
        """See `Files.exists`."""
        return os.path.exists(path)

    def names(self, directory: str) -> list[str]:
        """See `Files.names`."""
        return sorted(os.listdir(directory))

    def rename(self, path: str, to: str) -> None:
        """See `Files.rename`."""
        os.rename(path, to)

    def remove(self, path: str) -> None:
        """See `Files.remove`."""
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        """See `Files.make_directory`."""
        try:
            os.mkdir(path, 0o755)
        except FileExistsError:
            if not os.path.isdir(path):
                raise

    def sync_directory(self, path: str) -> None:
        """See `Files.sync_directory`."""
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def claim(self, directory: str, name: str) -> None:
        """See `Files.claim`."""
        self._locks.claim(directory, name)

    def release(self) -> None:
        """See `Files.release`."""
        self._locks.release()

    def holder(self, directory: str) -> str | None:
        """See `Files.holder`."""
        return holder(directory)


def write_all(file: File, data: bytes) -> None:
    """Write all of `data`, in as many writes as it takes. Raises OSError."""
    while data:
        data = data[file.write(data) :]


def replace_file(files: Files, directory: str, name: str, data: bytes) -> None:
    """Put `data` in the place of `directory`/`name`: after a crash there is the old or the new.

    Raises OSError; then the old file is what counts, unless only the last step failed: the new one
    is in place, and nobody knows which one a crash would leave.
    """
    temporary = f"{directory}/temp-{name}"
    try:
        file = files.create(temporary)
        try:
            write_all(file, data)
            file.sync()
        finally:
            file.close()
        files.rename(temporary, f"{directory}/{name}")
    except OSError:
        with contextlib.suppress(OSError):
            files.remove(temporary)
        raise
    files.sync_directory(directory)
