"""The name of a Unix socket in the file system: taken at a start, given back at the end.

A server that was killed leaves its socket behind, which is in the way of the next one. Nothing else
is ever removed: no other kind of file, no socket that somebody listens on, and at the end no socket
that another server has put in the place of ours.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat


def make_way(path: str) -> None:
    """Remove a socket that nobody listens on. Raises OSError where `path` is anything else."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "there is a file of that name, which is no socket", path)
    if _is_listened_on(path):
        raise OSError(errno.EADDRINUSE, "another server listens there", path)
    os.unlink(path)


def _is_listened_on(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return False
        except BlockingIOError:
            pass  # somebody does, and has a full queue
    return True


class SocketFile:
    """The socket that this server has made at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._made = os.lstat(path)

    def remove(self) -> None:
        """Remove it, if it is still the one that was made."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(self.path), self._made):
                os.unlink(self.path)
