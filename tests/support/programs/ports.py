"""Ports for the nodes of a test's cluster."""

from __future__ import annotations

import random

from rillway.cluster.failure import ClusterFailed
from rillway.cluster.ports import check_free


def free_ports(count: int) -> int:
    """The first of so many free ports in a row, those of their buses free as well.

    Below those that the system hands out, of which another test may get one meanwhile.
    """
    for _ in range(1000):
        first = random.randrange(12_000, 22_000)
        try:
            check_free(range(first, first + count), "")
        except ClusterFailed:
            continue
        return first
    raise AssertionError("no ports are free")
