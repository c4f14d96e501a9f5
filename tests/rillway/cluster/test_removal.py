"""Which nodes leave a cluster, and that the others forget them."""

from __future__ import annotations

import pytest

from rillway.cluster.failure import ClusterFailed
from rillway.cluster.removal import forget, leaving_ports
from tests.rillway.cluster.doubles import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    """Two primaries, 7000 and 7001, a replica of each, and a node without slots."""
    made = FakeCluster(5)
    for slot in range(16384):
        made.owners[slot] = made.members[slot % 2]
    for member in made.members:
        member.known = {other.port for other in made.members}
    for number in (0, 1):
        made.members[2 + number].primary_id = made.members[number].id
    return made


def test_a_primary_leaves_with_its_replicas_however_it_is_called(cluster: FakeCluster) -> None:
    for name in ("7001", "127.0.0.1:7001", cluster.members[1].id):
        assert leaving_ports(name, cluster.members) == [7001, 7003]
    assert leaving_ports("7001", cluster.members[:3]) == [7001]
    assert leaving_ports("7002", cluster.members) == [7002]


def test_what_cannot_leave_is_refused_in_a_sentence(cluster: FakeCluster) -> None:
    with pytest.raises(ClusterFailed, match="the cluster has no node 7009"):
        leaving_ports("7009", cluster.members)
    with pytest.raises(ClusterFailed, match="7004 was not started here"):
        leaving_ports("7004", cluster.members[:4])
    cluster.owners = [cluster.members[0]] * 16384
    with pytest.raises(ClusterFailed, match=r"127\.0\.0\.1:7000 is the only primary"):
        leaving_ports("7000", cluster.members)


def test_those_that_stay_forget_those_that_leave(cluster: FakeCluster) -> None:
    first, second, first_replica, second_replica, empty = cluster.members
    cluster.owners = [first] * 16384
    ports = {first.port, first_replica.port, second_replica.port, empty.port}
    staying = [second_replica, first, first_replica, empty]
    forget([second], staying)
    assert all(member.known == ports for member in staying)
    assert second_replica.primary_id == first.id  # it was not started here, and stays
    assert second.known == {second.port}
    forget([second], staying)  # as if it had been cut
    assert all(member.known == ports for member in staying)
