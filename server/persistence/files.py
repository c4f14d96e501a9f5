"""The file system interface of persistence: all disk access goes through `Files`.

`OsFiles` is the real one; `MemoryFiles` (server/inprocess/memory_files.py) can fail and lose what
was not synced. Paths are plain strings, relative ones to the process's working directory (directive
`dir`). All operations raise OSError, with the errno of the system.

Guarantees that a caller may rely on:
* `File.write` may write a part of the data. It is on disk once `File.sync` has returned.
* A name (created, renamed, removed) is on disk once `sync_directory` of its directory has returned;
  syncing the file itself is not enough.
* `rename` replaces the target atomically: after a crash it is the old file or the new one. Of the
  new one only what was synced before is certain.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import socket
import time
from typing import Protocol

LOCK_NAME = "rillway.lock"

# How long to wait for a forked child of a server that was just killed to close its files.
PATIENCE_SECONDS = 0.2
_RETRY_SECONDS = 0.02
_MAX_OWNER_BYTES = 500


class FolderInUse(OSError):
    """Another process holds the lock; the text names it."""

    def __init__(self, directory: str, owner: str) -> None:
        super().__init__(errno.EBUSY, f"The folder {directory} is in use by {owner}")


class FolderLocks:
    """The locks that this process holds."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}  # by the path of the lock's file

    def claim(self, directory: str, name: str) -> None:
        """Lock a folder, unless this process has locked it; `name` describes it to others.

        Raises FolderInUse, and OSError if the file system has no locks.
        """
        path = _lock_path(directory)
        if path in self._descriptors:
            return
        descriptor = _lock(path)
        owner = f"process {os.getpid()} on {socket.gethostname()}, {name}"
        with contextlib.suppress(OSError):  # the lock matters, the file's content does not
            os.ftruncate(descriptor, 0)
            os.write(descriptor, owner.encode(errors="replace")[:_MAX_OWNER_BYTES])
        self._descriptors[path] = descriptor

    def release(self) -> None:
        """Release all locks, and remove their files."""
        while self._descriptors:
            path, descriptor = self._descriptors.popitem()
            with contextlib.suppress(OSError):
                os.unlink(path)
            os.close(descriptor)


def holder(directory: str) -> str | None:
    """The other process that holds a folder's lock; None if none does or locks do not exist."""
    try:
        descriptor = os.open(_lock_path(directory), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _owner(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _lock_path(directory: str) -> str:
    return os.path.join(os.path.realpath(directory), LOCK_NAME)


def _lock(path: str) -> int:
    """A descriptor that holds the lock. Raises FolderInUse and OSError."""
    give_up_s = time.monotonic() + PATIENCE_SECONDS
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            if time.monotonic() >= give_up_s:
                owner = _owner(descriptor)
                os.close(descriptor)
                raise FolderInUse(os.path.dirname(path), owner) from None
            time.sleep(_RETRY_SECONDS)
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    """Return True if the file still has its name: the previous holder may have removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _owner(descriptor: int) -> str:
    """The content of the lock file."""
    text = os.pread(descriptor, _MAX_OWNER_BYTES, 0).decode(errors="replace")
    return "".join(c for c in text if c.isprintable()) or "another process"


# The content of a file; slices of either type are bytes.
Buffer = bytes | mmap.mmap

_MODE = 0o644
# macOS has neither.
_sync_data = getattr(os, "fdatasync", os.fsync)
_advise = getattr(os, "posix_fadvise", None)
_NOT_NEEDED = getattr(os, "POSIX_FADV_DONTNEED", 0)


class File(Protocol):
    """A file open for writing at its end."""

    def write(self, data: bytes) -> int:
        """Append; returns the number of bytes written, at least one if `data` is not empty."""

    def sync(self) -> None:
        """Sync content and size to disk (fdatasync). May be called from another thread."""

    def begin_sync(self) -> None:
        """Start to write to disk what was written since the last call, and do not wait for it.

        So a later `sync` has little left to do. It guarantees nothing by itself.
        """

    def truncate(self, size: int) -> None:
        """Truncate the file to `size` bytes; the next write appends there."""

    def size(self) -> int:
        """The size in bytes."""

    def close(self) -> None:
        """Close the file without syncing it. Never raises: what must be durable was synced."""


class Files(Protocol):
    """Directories and files."""

    def append(self, path: str) -> File:
        """Open for appending; an absent file is created."""

    def create(self, path: str) -> File:
        """Open an empty file; an existing one is replaced."""

    def buffer(self, path: str) -> Buffer:
        """The whole content for reading; b"" for an empty file."""

    def size(self, path: str) -> int:
        """The size in bytes."""

    def leads_to(self, path: str, file: File) -> bool:
        """Return True if a name leads to a file that is open; also if that is impossible to say."""

    def exists(self, path: str) -> bool:
        """Return True if there is a file or a directory."""

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted, without its path."""

    def rename(self, path: str, to: str) -> None:
        """Rename a file; an existing target is replaced."""

    def remove(self, path: str) -> None:
        """Remove a file."""

    def make_directory(self, path: str) -> None:
        """Make one directory; it may exist already. Its parent must exist."""

    def sync_directory(self, path: str) -> None:
        """Sync the directory's names to disk."""

    def claim(self, directory: str, name: str) -> None:
        """Keep other servers out of a directory, until `release`; `name` describes this one.

        Raises FolderInUse, and OSError where the file system has no locks.
        """

    def release(self) -> None:
        """Give up the claims on all directories."""

    def holder(self, directory: str) -> str | None:
        """The other server that has claimed a directory; None if none has."""


class OsFile:
    """A file of the operating system."""

    def __init__(self, path: str, flags: int) -> None:
        self._descriptor = os.open(path, flags | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, _MODE)
        self._begun_bytes = 0  # the size at the last `begin_sync`

    def write(self, data: bytes) -> int:
        """Append, and return the number of bytes written."""
        return os.write(self._descriptor, data)

    def sync(self) -> None:
        """Sync content and size to disk (fdatasync)."""
        _sync_data(self._descriptor)

    def begin_sync(self) -> None:
        """Start to write what is new to disk, and do not wait for it.

        Linux does so when it is advised that the pages are not needed any more; those that are
        being written stay in memory. Where there is no such advice, nothing happens.
        """
        if _advise is not None:
            size = self.size()
            with contextlib.suppress(OSError):  # some file systems know no advice
                _advise(self._descriptor, self._begun_bytes, size - self._begun_bytes, _NOT_NEEDED)
            self._begun_bytes = size

    def truncate(self, size: int) -> None:
        """Truncate the file to `size` bytes."""
        os.ftruncate(self._descriptor, size)

    def size(self) -> int:
        """Return the size in bytes."""
        return os.fstat(self._descriptor).st_size

    def is_same(self, other: os.stat_result) -> bool:
        """Return True if this is the file that a name leads to."""
        return os.path.samestat(os.fstat(self._descriptor), other)

    def close(self) -> None:
        """Close the file without syncing it. Never raises OSError."""
        with contextlib.suppress(OSError):  # it is closed in any case, and some disks complain here
            os.close(self._descriptor)


class OsFiles:
    """The operating system's files."""

    def __init__(self) -> None:
        self._locks = FolderLocks()

    def append(self, path: str) -> File:
        """Open a file for appending; an absent file is created."""
        return OsFile(path, os.O_CREAT)

    def create(self, path: str) -> File:
        """Open an empty file; an existing one is truncated."""
        return OsFile(path, os.O_CREAT | os.O_TRUNC)

    def buffer(self, path: str) -> Buffer:
        """Map the file into memory: only pages that are read take memory. b"" for an empty file."""
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def size(self, path: str) -> int:
        """Return the size in bytes."""
        return os.stat(path).st_size

    def leads_to(self, path: str, file: File) -> bool:
        """Compare the inodes."""
        assert isinstance(file, OsFile)
        try:
            return file.is_same(os.stat(path))
        except FileNotFoundError:
            return False
        except OSError:
            return True  # it cannot be opened either

    def exists(self, path: str) -> bool:
        """Return True if there is a file or a directory."""
        return os.path.exists(path)

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted, without its path."""
        return sorted(os.listdir(directory))

    def rename(self, path: str, to: str) -> None:
        """Rename a file; an existing target is replaced."""
        os.rename(path, to)

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        """Make one directory; it may exist already. Its parent must exist."""
        try:
            os.mkdir(path, 0o755)
        except FileExistsError:
            if not os.path.isdir(path):
                raise

    def sync_directory(self, path: str) -> None:
        """Sync the directory's names to disk."""
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def claim(self, directory: str, name: str) -> None:
        """Lock a directory until `release`. Raises FolderInUse if another server has locked it."""
        self._locks.claim(directory, name)

    def release(self) -> None:
        """Release the locks of all directories."""
        self._locks.release()

    def holder(self, directory: str) -> str | None:
        """Return the other server that has locked a directory; None if none has."""
        return holder(directory)


def write_all(file: File, data: bytes) -> None:
    """Write all of `data`, in as many writes as it takes. Raises OSError."""
    while data:
        data = data[file.write(data) :]


def replace_file(files: Files, directory: str, name: str, data: bytes) -> None:
    """Replace `directory`/`name` atomically: after a crash it is the old file or the new one.

    Raises OSError; then the old file is in place, unless only the last step failed: then the new
    one is, and it is unknown which one a crash would leave.
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
