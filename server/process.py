"""Daemonizing and supervision: `daemonize`, and `supervised` by systemd or Upstart.

Source: the directives of redis.conf; sd_notify(3) for systemd's protocol.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping

# A supervisor, and the variable that it sets for the processes that it watches.
VARIABLES = {"systemd": "NOTIFY_SOCKET", "upstart": "UPSTART_JOB"}


def supervisor(mode: str, environment: Mapping[str, str], warn: Callable[[str], None]) -> str:
    """The supervisor of the process ("no", "systemd", "upstart") for a value of `supervised`.

    Warns if the configuration names a supervisor that did not start the process.
    """
    if mode == "auto":
        found = (name for name in ("upstart", "systemd") if VARIABLES[name] in environment)
        return next(found, "no")
    if mode == "no" or VARIABLES[mode] in environment:
        return mode
    warn(f"supervised {mode}: {VARIABLES[mode]} is not set, so {mode} did not start this process.")
    return "no"


def detach() -> None:
    """Continue as a child in a session of its own; this process ends with status 0.

    Call it before threads, the event loop, and locks on files: a child inherits none of them.
    """
    if os.fork():
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:
        os.close(null)


def notify_systemd(state: str, environment: Mapping[str, str]) -> None:
    """Send lines such as READY=1 to systemd. A missing socket is no error."""
    address = environment.get(VARIABLES["systemd"], "")
    if address.startswith("@"):
        address = "\0" + address[1:]  # an abstract socket
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock,
    ):
        sock.sendto(state.encode(), address)
