"""The lock on a data folder: only one server at a time writes into it.

Two servers in one folder destroy each other's append-only file and replace each other's snapshot.
The lock is flock() on `rillway.lock` in the folder; the system releases it when the process ends.
The file names the holder. A clean shutdown removes it; a file without a lock means nothing.

Limits: redis-server does not know the lock, and a file system without locks cannot hold it (`claim`
raises the system's error).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time

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
