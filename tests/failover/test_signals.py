"""A primary under Sentinel that is told to end by a signal ends as it always did."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.failover.cluster import Cluster, wait_for


@pytest.mark.integration
@pytest.mark.thorough
def test_sentinel_alone_moves_the_role_when_a_signal_ends_a_primary(tmp_path: Path) -> None:
    with Cluster(tmp_path / "set", ("rillway", "rillway")) as cluster:
        old, new = cluster.nodes
        with old.client() as client:
            client.config_set("shutdown-on-sigterm", "failover")
        old.signal(signal.SIGTERM)
        assert old.process is not None
        old.process.wait()
        log = (old.folder / "log").read_text()
        assert "Not handing over: Sentinel must order it (SENTINEL FAILOVER)." in log
        wait_for(lambda: cluster.primary() is new, "no replica takes over")
