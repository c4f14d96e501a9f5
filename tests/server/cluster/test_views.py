from __future__ import annotations

from server.cluster.nodes import FAIL, PRIMARY, REPLICA
from server.cluster.views import Shard
from tests.server.cluster.single_node import SingleNode


def three() -> SingleNode:
    """A primary, and two replicas of it, of which one has failed."""
    made = SingleNode()
    made.cluster.add_slots([b"1", b"2", b"5"])
    state = made.cluster.state
    for letter, flags, offset in (("b", REPLICA, 5), ("c", REPLICA | FAIL, 5), ("d", REPLICA, 0)):
        node = state.new_node(letter * 40, flags, 0)
        node.offset = offset
        state.make_replica(node, state.myself)
    return made


def test_slots_show_ranges_with_the_replicas_that_work() -> None:
    node = three()
    other = node.cluster.state.new_node("e" * 40, PRIMARY, 0)
    node.cluster.state.set_owner(1 << 3, other)
    found = [
        (each.first, each.last, each.primary.id, [replica.id for replica in each.replicas])
        for each in node.cluster.slot_ranges()
    ]
    me = node.cluster.myself.id
    assert found == [
        (1, 2, me, ["b" * 40]),
        (3, 3, other.id, []),
        (5, 5, me, ["b" * 40]),
    ]


def test_shards_show_all_of_their_nodes() -> None:
    node = three()
    node.data.offset = 7
    (shard,) = node.cluster.shards()
    assert isinstance(shard, Shard)
    assert shard.ranges == [(1, 2), (5, 5)]
    assert [(each.role, each.offset, each.health) for each in shard.members] == [
        ("master", 7, "online"),
        ("replica", 5, "online"),
        ("replica", 5, "fail"),
        ("replica", 0, "loading"),
    ]


def test_info_counts_slots_nodes_and_messages() -> None:
    node = three()
    node.tick()
    node.cluster.state.sent[5] = 3
    assert node.cluster.info_text() == (
        "cluster_state:fail\r\n"
        "cluster_slots_assigned:3\r\n"
        "cluster_slots_ok:3\r\n"
        "cluster_slots_pfail:0\r\n"
        "cluster_slots_fail:0\r\n"
        "cluster_known_nodes:4\r\n"
        "cluster_size:1\r\n"
        "cluster_current_epoch:0\r\n"
        "cluster_my_epoch:0\r\n"
        "cluster_stats_messages_auth-req_sent:3\r\n"
        "cluster_stats_messages_sent:3\r\n"
        "cluster_stats_messages_received:0\r\n"
        "total_cluster_links_buffer_limit_exceeded:0\r\n"
    )


def test_replicas_have_lines() -> None:
    node = three()
    lines = node.cluster.replica_lines(node.cluster.myself.id.encode())
    assert lines[1] == f"{'c' * 40} :0@0 slave,fail {node.cluster.myself.id} 0 0 0 disconnected"
