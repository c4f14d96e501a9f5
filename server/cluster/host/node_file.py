"""nodes.conf on disk: what a node has promised, so that it keeps its word after a crash."""

from __future__ import annotations

import fcntl
import os


class NodeFileInUse(Exception):
    """Another process has the file."""


class NodeFile:
    """The file at `path`; it stays locked while this object lives."""

    def __init__(self, path: str) -> None:
        """Create it if it is missing, and lock it. Raises OSError, NodeFileInUse."""
        self._path = path
        # Not the file itself, which is replaced: the lock would go with the old one.
        self._lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise NodeFileInUse(
                f"the cluster configuration file {path} is used by another node: each node needs"
                " one of its own (cluster-config-file)"
            ) from None

    def read(self) -> str:
        """The text; empty if there is no file yet. Raises OSError."""
        try:
            with open(self._path, encoding="latin-1") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, text: str, *, is_synced: bool) -> None:
        """Replace the text. `is_synced`: it is the new one that a crash leaves. Raises OSError."""
        temporary = f"{self._path}.tmp-{os.getpid()}"
        with open(temporary, "w", encoding="latin-1") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # or else the file before, with its promises, could be lost
        os.replace(temporary, self._path)
        if is_synced:
            folder = os.open(os.path.dirname(os.path.abspath(self._path)), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def close(self) -> None:
        """Let another process have it."""
        os.close(self._lock)
