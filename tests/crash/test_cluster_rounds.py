"""Some rounds of `make cluster-crash`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.cluster_rounds import EVENTS, FAILOVER_SECONDS, REFUSAL_SECONDS, ClusterRounds
from tests.support.examples import examples

pytestmark = pytest.mark.compat

ROUNDS = examples(5)  # of each kind
BUSY_SECONDS = 20  # of a machine that runs other tests as well


def test_what_was_confirmed_survives_losses_and_cuts(tmp_path: Path) -> None:
    rounds = ClusterRounds(tmp_path, seed=1)
    try:
        rounds.begin()
        for _ in range(ROUNDS):
            for event in EVENTS:
                rounds.play(event)
    finally:
        rounds.end()
    assert rounds.confirmed >= ROUNDS
    assert rounds.slowest_seconds < FAILOVER_SECONDS + BUSY_SECONDS
    assert max(rounds.refusal_seconds.values()) < REFUSAL_SECONDS + BUSY_SECONDS
