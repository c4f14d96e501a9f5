"""Finds and checks free ports before servers are started on them."""

from __future__ import annotations

import errno
import itertools
import os
import random
import socket
from collections.abc import Iterable, Iterator

from rillway.cluster.arguments import BUS_PORT_OFFSET, MAX_PORT
from rillway.cluster.member import ClusterFailed

# Below the range of ephemeral ports.
FIRST_PORT, END_OF_PORTS = 22_000, 32_000


def free_port() -> int:
    """Return a loopback port that is free, and outside the range of ephemeral ports.

    A different one each time, because it may take a while until a program listens there.
    """
    return next(port for port in _ports if not is_taken(port))


def rotating(first: int, end: int) -> Iterator[int]:
    """Yield the ports of a range in a cycle, from a random one on."""
    # Not the default generator, which tests seed.
    start = random.SystemRandom().randrange(end - first)
    return (first + (start + step) % (end - first) for step in itertools.count())


def _begin_elsewhere() -> None:
    global _ports
    _ports = rotating(FIRST_PORT, END_OF_PORTS)


_ports = rotating(FIRST_PORT, END_OF_PORTS)
os.register_at_fork(after_in_child=_begin_elsewhere)


def is_taken(port: int) -> bool:
    """Return True if another program listens on the port. Raises OSError if the user may not."""
    with socket.socket() as probe:
        # As in the server: closed connections do not occupy the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return True
    return False


def check_free(ports: Iterable[int], advice: str) -> None:
    """Check that ports and their bus ports are free. Raises ClusterFailed."""
    taken = []
    for port in ports:
        if port > MAX_PORT:
            raise ClusterFailed(
                f"port {port} is too high: the bus takes that and {BUS_PORT_OFFSET}, so "
                f"{MAX_PORT} is the highest"
            )
        for number, use in ((port, ""), (port + BUS_PORT_OFFSET, f" (the bus of {port})")):
            try:
                if is_taken(number):
                    taken.append(f"{number}{use}")
            except OSError as error:
                raise ClusterFailed(f"port {number} cannot be used: {error.strerror}") from None
    if taken:
        several = len(taken) > 1
        words = "ports are" if several else "port is"
        raise ClusterFailed(f"the {words} in use: {', '.join(taken)}. {advice}")
