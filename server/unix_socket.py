"""The socket file of a Unix socket: stale ones are removed at a start, our own at the end.

A server that was killed leaves a stale socket file, which keeps the next one from binding. No other
file is ever removed: no other kind of file, no socket with a listener, and at the end no socket
file that another server has put in place of ours.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat


def make_way(path: str) -> None:
    """Remove a socket without a listener. Raises OSError if `path` is anything else."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "there is a file of that name, which is not a socket", path)
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
            pass  # there is a listener, with a full queue
    return True


def give_to_group(path: str, name: str) -> None:
    """Make a group the file's. Raises OSError: others than `unixsocketgroup` must not connect."""
    import grp  # needed by few

    try:
        os.chown(path, -1, grp.getgrnam(name).gr_gid)
    except KeyError:
        raise OSError(errno.EINVAL, f"there is no group '{name}' (unixsocketgroup)") from None
    except OSError as error:
        reason = f"{path}: unixsocketgroup {name}: {error.strerror}"
        raise OSError(error.errno, reason) from None


class SocketFile:
    """The socket file that this server has created at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._made = os.lstat(path)

    def remove(self) -> None:
        """Remove it, if it is still the one that this server created."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(self.path), self._made):
                os.unlink(self.path)
