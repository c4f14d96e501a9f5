"""Who listens on a port of this machine: for the error of a start whose port is taken.

Source: proc_net(5). Where there is no /proc, or it shows no other users' processes, nothing is
said of the process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

_LISTENING = "0A"


def port_in_use(directive: str, port: int, free: int | None, proc: str = "/proc") -> str:
    """`port 6379 is in use by redis-server, pid 123; try --port 6380`.

    `free` is a port that is not taken; None if there is none.
    """
    user = listener(port, proc)
    by = f" by {user}" if user else ""
    advice = f"; try --{directive} {free}" if free else ""
    return f"port {port} is in use{by}{advice}"


def listener(port: int, proc: str = "/proc") -> str | None:
    """The program that listens on a port, and its process ID; None if that cannot be read."""
    sockets = {f"socket:[{inode}]" for inode in _listening_sockets(port, proc)}
    for pid in filter(str.isdecimal, _names(proc)):
        for descriptor in _names(f"{proc}/{pid}/fd"):
            with contextlib.suppress(OSError):  # it was closed meanwhile
                if os.readlink(f"{proc}/{pid}/fd/{descriptor}") in sockets:
                    return f"{_program(f'{proc}/{pid}')}, pid {pid}"
    return None


def _program(process: str) -> str:
    """The name of a process; with the module, where Python runs one."""
    name, words = _lines(f"{process}/comm")[0], _lines(f"{process}/cmdline")[0].split("\0")
    return f"{name} -m {words[2]}" if words[1:2] == ["-m"] else name


def first_free(port: int, is_free: Callable[[int], bool]) -> int | None:
    """The first port above `port` that is free; None if none of the next hundred is."""
    return next(filter(is_free, range(port + 1, min(port + 101, 65_536))), None)


def _listening_sockets(port: int, proc: str) -> Iterator[str]:
    """The inodes of the sockets that listen on a port."""
    for table in ("tcp", "tcp6"):
        for line in _lines(f"{proc}/net/{table}")[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                yield inode


def _lines(path: str) -> list[str]:
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines() or [""]
    except OSError:
        return [""]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
