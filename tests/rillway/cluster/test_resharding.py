"""Which slots move, and that a move that is cut anywhere can be finished."""

from __future__ import annotations

from itertools import chain

import pytest

from rillway.cluster.member import ClusterFailed, Node
from rillway.cluster.resharding import Resharding, fair_share, forget, leaving_ports, parting_shares
from tests.rillway.cluster.doubles import FakeCluster

IDS = ["a" * 40, "b" * 40, "c" * 40]


def node(node_id: str, *slots: tuple[int, int]) -> Node:
    return Node(node_id, "127.0.0.1", 7000, frozenset({"master"}), None, 1, 17000, slots)


def test_each_gives_what_it_has_too_much() -> None:
    nodes = [node(IDS[0], (0, 8191)), node(IDS[1], (8192, 16383)), node(IDS[2])]
    gifts = fair_share(nodes, IDS[2])
    assert {source: (slots[0], slots[-1]) for source, slots in gifts.items()} == {
        IDS[0]: (5461, 8191),
        IDS[1]: (13654, 16383),
    }
    assert sum(map(len, gifts.values())) == 16384 // 3


def test_a_target_that_has_its_share_gets_nothing() -> None:
    nodes = [node(IDS[0], (0, 8191)), node(IDS[1], (8192, 16383))]
    assert fair_share(nodes, IDS[1]) == {}


def test_who_has_too_little_gives_nothing() -> None:
    nodes = [node(IDS[0], (0, 99)), node(IDS[1], (100, 16383)), node(IDS[2])]
    assert list(fair_share(nodes, IDS[2])) == [IDS[1]]


def test_who_has_least_gets_most_of_what_is_given_up() -> None:
    nodes = [node(IDS[0], (0, 99)), node(IDS[1], (100, 8191)), node(IDS[2], (8192, 16383))]
    shares = parting_shares(nodes, IDS[2])
    assert {target: len(slots) for target, slots in shares.items()} == {
        IDS[0]: 16384 // 2 - 100,
        IDS[1]: 100,
    }
    assert sorted(chain(*shares.values())) == list(range(8192, 16384))
    assert parting_shares(nodes[2:], IDS[2]) == {}


@pytest.fixture
def cluster() -> FakeCluster:
    """Two nodes with slots and keys, and one that gets its share."""
    made = FakeCluster(3)
    made.give_all()
    for member in made.members:
        member.known = {other.port for other in made.members}
    for slot in range(8100, 8192):
        made.keys[slot] = {b"%d:%d" % (slot, n): made.members[0] for n in range(3)}
    return made


def is_done(cluster: FakeCluster) -> bool:
    """All have the same number of slots, keys are where their slots are, no mark is left."""
    return (
        sorted(member.myself().slot_count for member in cluster.members) == [5461, 5461, 5462]
        and all(
            holder is cluster.owners[slot]
            for slot, held in cluster.keys.items()
            for holder in held.values()
        )
        and not any(member.migrating or member.importing for member in cluster.members)
    )


def test_slots_move_with_their_keys(cluster: FakeCluster) -> None:
    moved: list[int] = []
    Resharding(cluster.members[2], cluster.members, moved=moved.append).run()
    assert is_done(cluster)
    assert sum(moved) == 5461


@pytest.mark.parametrize("changes", [1, 63, 65, 130, 200, 257, 258, 300, 330, 2000])
def test_a_move_that_is_cut_is_finished(cluster: FakeCluster, changes: int) -> None:
    cluster.fail_after = changes
    with pytest.raises(ClusterFailed, match="cut"):
        Resharding(cluster.members[2], cluster.members).run()
    cluster.fail_after = None
    Resharding(cluster.members[2], cluster.members).run()
    assert is_done(cluster)


def test_a_node_can_give_all_that_it_has(cluster: FakeCluster) -> None:
    source, _, target = cluster.members
    Resharding(target, cluster.members).take(source.id, list(source.myself().each_slot()))
    assert not source.myself().slots
    assert all(holder is target for held in cluster.keys.values() for holder in held.values())


def test_a_source_that_cannot_be_reached_is_named(cluster: FakeCluster) -> None:
    with pytest.raises(ClusterFailed, match=f"the node {cluster.members[0].id} has slots"):
        Resharding(cluster.members[2], cluster.members[2:]).run()


@pytest.fixture
def grown() -> FakeCluster:
    """Two primaries, 7000 and 7001, a replica of each, and a node without slots."""
    made = FakeCluster(5)
    for slot in range(16384):
        made.owners[slot] = made.members[slot % 2]
    for member in made.members:
        member.known = {other.port for other in made.members}
    for number in (0, 1):
        made.members[2 + number].primary_id = made.members[number].id
    return made


def test_a_primary_leaves_with_its_replicas_however_it_is_called(grown: FakeCluster) -> None:
    for name in ("7001", "127.0.0.1:7001", grown.members[1].id):
        assert leaving_ports(name, grown.members) == [7001, 7003]
    assert leaving_ports("7001", grown.members[:3]) == [7001]
    assert leaving_ports("7002", grown.members) == [7002]


def test_what_cannot_leave_is_refused_in_a_sentence(grown: FakeCluster) -> None:
    with pytest.raises(ClusterFailed, match="the cluster has no node 7009"):
        leaving_ports("7009", grown.members)
    with pytest.raises(ClusterFailed, match="7004 was not started here"):
        leaving_ports("7004", grown.members[:4])
    grown.owners = [grown.members[0]] * 16384
    with pytest.raises(ClusterFailed, match=r"127\.0\.0\.1:7000 is the only primary"):
        leaving_ports("7000", grown.members)


def test_those_that_stay_forget_those_that_leave(grown: FakeCluster) -> None:
    first, second, first_replica, second_replica, empty = grown.members
    grown.owners = [first] * 16384
    ports = {first.port, first_replica.port, second_replica.port, empty.port}
    staying = [second_replica, first, first_replica, empty]
    forget([second], staying)
    assert all(member.known == ports for member in staying)
    assert second_replica.primary_id == first.id  # it was not started here, and stays
    assert second.known == {second.port}
    forget([second], staying)  # as if it had been cut
    assert all(member.known == ports for member in staying)
