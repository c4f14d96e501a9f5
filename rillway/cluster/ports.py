"""Whether ports are free, before servers are started on them."""

from __future__ import annotations

import errno
import itertools
import random
import socket
from collections.abc import Iterable, Iterator

from rillway.cluster.arguments import BUS_PORT_OFFSET, MAX_PORT
from rillway.cluster.member import ClusterFailed

# Below those from which connections have theirs.
FIRST_PORT, END_OF_PORTS = 22_000, 32_000


def free_port() -> int:
    """A loopback port on which no program listens, and which Linux gives to no connection.

    Another one each time, as it may be some time until a program listens there.
    """
    return next(port for port in _ports if not is_taken(port))


def rotating(first: int, end: int) -> Iterator[int]:
    """The ports of a range, from a random one on, round and round."""
    # Tests set the seed of the other generator.
    start = random.SystemRandom().randrange(end - first)
    return (first + (start + step) % (end - first) for step in itertools.count())


_ports = rotating(FIRST_PORT, END_OF_PORTS)


def is_taken(port: int) -> bool:
    """Whether another program listens on the port. Raises OSError where it is not allowed."""
    with socket.socket() as probe:
        # Connections that have ended are no obstacle, as they are none for the server.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return True
    return False


def check_free(ports: Iterable[int], advice: str) -> None:
    """Raises ClusterFailed for the ports, or the bus's ports, that are taken."""
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
