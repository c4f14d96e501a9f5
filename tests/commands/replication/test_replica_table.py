"""commands/replication/replica_table.py: where a replica is reached, and what belongs to one."""

from __future__ import annotations

import pytest

from commands.replication.replica_table import Replica, ReplicaPhase
from server.inprocess.server import InProcessServer


@pytest.mark.parametrize(
    ("address", "announced", "expected"),
    [
        (b"10.0.0.1:5", b"", b"10.0.0.1"),
        (b"[::1]:5", b"", b"::1"),
        (b"10.0.0.1:5", b"host", b"host"),
    ],
)
def test_the_ip_is_the_announced_one_or_the_peers(
    address: bytes, announced: bytes, expected: bytes
) -> None:
    client = InProcessServer().connect().state
    client.address = address
    assert Replica(client, announced_ip=announced).ip == expected


def test_a_connection_that_only_said_something_is_no_replica() -> None:
    replica = Replica(InProcessServer().connect().state)
    assert not replica.is_attached and not replica.is_online
    replica.phase = ReplicaPhase.WAIT_SNAPSHOT
    assert replica.is_attached and not replica.is_online
