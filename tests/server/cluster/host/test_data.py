from __future__ import annotations

import pytest

from commands.core.server_state import UNKNOWN, LinkPhase
from server.cluster.host.data import InstanceData
from server.inprocess.server import InProcessServer


@pytest.mark.parametrize(
    ("phase", "down_since_ms", "age_ms"),
    [
        (LinkPhase.CONNECTED, UNKNOWN, 100),
        (LinkPhase.SYNC, UNKNOWN, None),
        (LinkPhase.SYNC, -7_000, 7_000),
        (LinkPhase.CONNECT, -7_000, 7_000),
    ],
)
def test_a_snapshot_that_comes_makes_data_no_younger(
    server: InProcessServer, phase: LinkPhase, down_since_ms: int, age_ms: int | None
) -> None:
    instance = server.instance
    facts = instance.replication.link
    facts.phase, facts.heard_ms = phase, instance.now_ms - 100
    if down_since_ms != UNKNOWN:
        facts.down_since_ms = instance.now_ms + down_since_ms
    assert InstanceData(instance).data_age_ms() == age_ms
