"""A tenth of `make cluster-crash`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.cluster_rounds import FAILOVER_SECONDS, ClusterRounds

pytestmark = pytest.mark.compat

ROUNDS = 5
BUSY_SECONDS = 5  # of a machine that runs other tests as well


def test_a_replica_takes_over_with_all_that_was_confirmed(tmp_path: Path) -> None:
    rounds = ClusterRounds(tmp_path, seed=1)
    try:
        rounds.begin()
        for _ in range(ROUNDS):
            rounds.play()
    finally:
        rounds.end()
    assert rounds.confirmed >= ROUNDS
    assert rounds.slowest_seconds < FAILOVER_SECONDS + BUSY_SECONDS
