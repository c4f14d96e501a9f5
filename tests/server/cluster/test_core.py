from __future__ import annotations

from server.cluster.events import Save, StateChanged
from tests.server.cluster.single_node import SingleNode


def test_a_new_node_saves_its_id_first() -> None:
    node = SingleNode()
    assert node.saved.startswith(f"{node.cluster.myself.id} :6379@16379,,tls-port=0,shard-id=")
    assert node.saved.endswith("\nvars currentEpoch 0 lastVoteEpoch 0\n")


def test_a_new_node_is_ok_as_soon_as_all_slots_have_an_owner() -> None:
    node = SingleNode()
    node.tick(1)
    node.cluster.add_slots_range([b"0", b"16383"])
    assert StateChanged(True) in node.take()


def test_a_node_that_comes_back_with_slots_is_ok_two_seconds_after_its_start() -> None:
    first = SingleNode()
    first.cluster.add_slots_range([b"0", b"16383"])
    first.take()
    node = SingleNode(first.saved)
    assert not any(isinstance(action, StateChanged) for action in node.tick(1.9))
    assert not node.cluster.is_ok
    assert StateChanged(True) in node.tick(0.3)
    assert node.cluster.is_ok
    assert node.cluster.slot_owner(5) is node.cluster.myself


def test_clients_with_and_without_tls_have_ports_of_their_own() -> None:
    node = SingleNode(port=7001, second_port=7000, tls_cluster=True)
    me = node.cluster.myself
    assert f"{me.id} :7001@16379,,tcp-port=7000,shard-id=" in node.saved
    assert (node.cluster.client_port(me, True), node.cluster.client_port(me, False)) == (7001, 7000)
    assert " :7000@16379 myself" in node.cluster.nodes_text(is_tls=False)
    node = SingleNode(port=7000)
    assert node.cluster.client_port(node.cluster.myself, True) == 7000


def test_ports_change_places_when_tls_cluster_is_switched() -> None:
    node = SingleNode(port=7000, second_port=7001)
    other = "a" * 40
    line = f"{other} 127.0.0.1:7010@17010,,tls-port=7011 master - 0 0 1 connected\n"
    switched = SingleNode(node.saved + line, port=7001, second_port=7000, tls_cluster=True)
    peer = switched.cluster.find(other.encode())
    assert peer is not None
    assert (peer.port, peer.second_port) == (7011, 7010)
    switched.settings.tls_cluster = False
    switched.settings.port, switched.settings.second_port = 7000, 7001
    switched.cluster.state.refresh_myself()
    assert (peer.port, peer.second_port) == (7010, 7011)
    assert (switched.cluster.myself.port, switched.cluster.myself.second_port) == (7000, 7001)


def test_a_slot_without_an_owner_makes_it_fail_unless_that_is_allowed() -> None:
    node = SingleNode()
    node.cluster.add_slots_range([b"0", b"16383"])
    node.tick(3)
    node.cluster.del_slots([b"7"])
    assert StateChanged(False) in node.take()
    node.settings.require_full_coverage = False
    assert StateChanged(True) in node.tick()


def test_the_file_is_saved_before_anything_else_is_done() -> None:
    node = SingleNode()
    node.cluster.add_slots([b"1"])
    assert isinstance(node.take()[0], Save)
    assert node.take() == []
