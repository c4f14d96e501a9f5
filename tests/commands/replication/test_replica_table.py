"""commands/replication/replica_table.py: where a replica is reached, and what belongs to one."""

from __future__ import annotations

import pytest

from commands.replication.replica_table import Replica
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
