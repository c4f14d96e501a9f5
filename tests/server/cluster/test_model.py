"""Random stories of a cluster of seven: what model.py asserts holds in each of them.

`make cluster-model` runs 100,000 (STORIES), with a seed of its own for each day.
"""

from __future__ import annotations

import os

import pytest

from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState
from tests.server.cluster.model import Broken, Model
from tests.support.examples import compat_seed, examples

PARTS = 8  # so that processes share them
STORY_ID_BITS = 32


def stories() -> int:
    return int(os.environ.get("CLUSTER_STORIES", examples(1_000)))


@pytest.mark.parametrize("part", range(PARTS))
def test_no_story_breaks_a_rule(part: int) -> None:
    first = compat_seed() << STORY_ID_BITS
    for seed in range(first + part, first + stories(), PARTS):
        try:
            Model(seed).run()
        except Exception as problem:
            raise Broken(f"Model({seed}).run(): {problem}") from problem


def is_noticed(text: str, stories: range) -> bool:
    """Whether one of the stories breaks the rule of which the text is."""
    for seed in stories:
        try:
            Model(seed).run()
        except Broken as problem:
            if text in str(problem):
                return True
    return False


def test_a_node_that_votes_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.cluster.failover.Failover._refusal", lambda *_: "")
    assert is_noticed("voted for", range(200))


def test_a_vote_that_is_not_saved_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterState, "save", lambda *_, **__: None)
    assert is_noticed("before it was saved", range(200))


def test_an_election_that_a_minority_wins_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterState, "quorum", lambda _: 1)
    assert is_noticed("own a slot by epoch", range(0, 1_000, 2))


def test_nodes_that_do_not_hear_of_lost_slots_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def silence(*_: object) -> None:
        return None

    monkeypatch.setattr(Outbox, "update", silence)
    monkeypatch.setattr("server.cluster.claims.Claims.apply", silence)
    assert is_noticed("not healed", range(200))
