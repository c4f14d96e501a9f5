"""How slots are divided, and what a creation that is begun again leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.cluster.creation import create, divided, wait_for_agreement
from rillway.cluster.member import ClusterFailed, Member, NotReady
from tests.rillway.cluster.doubles import FakeCluster


@pytest.mark.parametrize("primaries", [1, 2, 3, 7, 16])
def test_each_slot_has_one_primary(primaries: int) -> None:
    ranges = divided(primaries)
    assert [slot for first, last in ranges for slot in range(first, last + 1)] == list(range(16384))
    sizes = [last - first + 1 for first, last in ranges]
    assert max(sizes) - min(sizes) <= 1


def test_three_are_divided_as_redis_cli_does() -> None:
    assert divided(3) == [(0, 5460), (5461, 10922), (10923, 16383)]


def test_nodes_get_slots_know_each_other_and_have_replicas() -> None:
    cluster = FakeCluster(4)
    create(cluster.members, primaries=2)
    assert [member.myself().slots for member in cluster.members] == [
        ((0, 8191),),
        ((8192, 16383),),
        (),
        (),
    ]
    ids = [member.id for member in cluster.members]
    assert [member.myself().primary_id for member in cluster.members] == [None, None, *ids[:2]]
    assert [member.myself().epoch for member in cluster.members[:2]] == [1, 2]


def test_a_creation_that_is_begun_again_changes_nothing() -> None:
    cluster = FakeCluster(4)
    create(cluster.members, primaries=2)
    before = len(cluster.changes)
    create(cluster.members, primaries=2)
    assert len(cluster.changes) == before


def test_a_creation_that_was_cut_goes_on() -> None:
    cluster = FakeCluster(3)
    first: Member = cluster.members[0]
    first.ask("CLUSTER", "ADDSLOTSRANGE", 0, 5460)
    first.ask("CLUSTER", "MEET", "127.0.0.1", cluster.members[1].port, 0)
    create(cluster.members, primaries=3)
    assert sum(member.myself().slot_count for member in cluster.members) == 16384


def test_waiting_ends_at_once_if_the_check_fails_though_a_node_does_not_answer() -> None:
    cluster = FakeCluster(1)
    cluster.members[0].nodes = lambda: raising(NotReady("it is down"))

    with pytest.raises(ClusterFailed, match="the node has ended"):
        wait_for_agreement(cluster.members, lambda: raising(ClusterFailed("the node has ended")))


def raising(failure: Exception) -> Any:
    raise failure
