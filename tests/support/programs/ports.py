"""Free ports for the servers of the tests, each handed out once in a run.

What a test has stopped may still be sought: the nodes of a cluster go on connecting to one that
is gone, and would take the next server on its port for it.
"""

from __future__ import annotations

import itertools
import socket

from rillway.cluster.member import ClusterFailed
from rillway.cluster.ports import check_free, rotating

# Linux takes the ports from 32768 on for connections; those of clusters' buses are 10,000 higher.
FIRST_PORT, END_OF_ports = 12_000, 22_000


def free_port() -> int:
    """A free loopback port, of those that the kernel gives to no connection by itself."""
    return next(port for port in _ports if _is_free(port))


def free_ports(count: int) -> int:
    """The first of so many free ports in a row, those of their buses free as well."""
    while True:
        ports = list(itertools.islice(_ports, count))
        if ports[-1] - ports[0] != count - 1:
            continue
        try:
            check_free(ports, "")
        except ClusterFailed:
            continue
        return ports[0]


def take_share(process: int, processes: int) -> None:
    """Hand out other ports in this process than in the others of a run."""
    global _ports
    count = (END_OF_ports - FIRST_PORT) // processes
    first = FIRST_PORT + process * count
    _ports = rotating(first, first + count)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_ports = rotating(FIRST_PORT, END_OF_ports)
