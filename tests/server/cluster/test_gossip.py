from __future__ import annotations

from server.cluster import messages
from server.cluster.messages import EXT_DATA, Extensions
from server.cluster.nodes import (
    FAIL,
    HANDSHAKE,
    KNOWS_EXTENSIONS,
    NO_ADDRESS,
    PFAIL,
    PRIMARY,
    REPLICA,
    Link,
)
from tests.server.cluster.small_cluster import MY_IP, PEER_IP, SmallCluster, about

STRANGER = "e" * 40


def test_a_node_that_others_speak_of_is_added() -> None:
    core = SmallCluster("b")
    core.hear("b", gossip=[about("e", REPLICA)])
    node = core.node("e")
    assert (node.ip, node.port, node.bus_port) == (PEER_IP, 7009, 17009)
    assert node.is_replica and node.primary is None
    core.tick()
    assert core.dialled[-1].port == 17009


def test_nodes_without_address_forgotten_ones_and_malformed_ids_are_not_added() -> None:
    core = SmallCluster("bc")
    core.cluster.forget(b"c" * 40, core.now_ms)
    core.hear("b", gossip=[about("e", PRIMARY | NO_ADDRESS), about("c"), about("x")])
    assert {node_id[0] for node_id in core.state.nodes} == {core.state.myself.id[0], "b"}


def test_a_majority_of_reports_makes_a_suspicion_a_failure() -> None:
    core = SmallCluster("bcd")
    core.pass_time(1_400, alive="bc")
    assert core.node("d").is_suspected
    core.hear("b", gossip=[about("d", PRIMARY | PFAIL)])
    assert not core.node("d").is_failed
    core.hear("c", gossip=[about("d", PRIMARY | FAIL)])
    assert core.node("d").is_failed
    assert sorted(to for to, _ in core.said(messages.FAIL)) == ["b", "c"]
    assert core.cluster.count_failure_reports(b"d" * 40, core.now_ms) == 2


def test_reports_are_withdrawn_and_expire() -> None:
    core = SmallCluster("bcd")
    core.hear("b", gossip=[about("d", PRIMARY | PFAIL)])
    core.hear("c", gossip=[about("d", PRIMARY | PFAIL)])
    core.hear("b", gossip=[about("d", PRIMARY)])
    assert list(core.node("d").reports) == ["c" * 40]
    assert core.cluster.count_failure_reports(b"d" * 40, core.now_ms + 2_001) == 0


def test_replicas_report_no_failures() -> None:
    core = SmallCluster("bcd")
    core.state.make_replica(core.node("b"), core.node("c"))
    core.hear("b", gossip=[about("d", PRIMARY | PFAIL)])
    assert not core.node("d").reports


def test_a_message_of_failure_is_believed_and_ends_with_an_answer_after_a_while() -> None:
    core = SmallCluster("bc")
    core.hear("b", messages.FAIL, subject="c" * 40)
    assert core.node("c").is_failed
    core.answer("c")
    assert core.node("c").is_failed
    core.pass_time(2_100, alive="bc")
    assert core.node("c").is_reachable


def test_a_failed_node_without_slots_is_back_at_once() -> None:
    core = SmallCluster("bc")
    core.state.set_owner(core.node("c").slots, None)
    core.hear("b", messages.FAIL, subject="c" * 40)
    core.answer("c")
    assert core.node("c").is_reachable


def test_what_others_have_heard_saves_pings() -> None:
    core = SmallCluster("bc")
    core.answer("c")
    later_s = core.now_ms // 1000 + 1
    core.hear("b", gossip=[about("c", pong_received_s=later_s + 60)])
    assert core.node("c").pong_received_ms == core.now_ms
    core.now_ms += 1_000
    core.hear("b", gossip=[about("c", pong_received_s=later_s)])
    assert core.node("c").pong_received_ms == later_s * 1000


def test_a_node_that_cannot_be_reached_may_be_at_another_address() -> None:
    core = SmallCluster("bc")
    core.hear("b", gossip=[about("c", ip="10.0.0.3")])
    assert core.node("c").ip == PEER_IP
    core.node("c").flags |= PFAIL
    core.hear("b", gossip=[about("c", ip="10.0.0.3")])
    assert core.node("c").ip == "10.0.0.3"
    assert core.node("c").link is None


def test_who_says_meet_is_dialled_and_known_by_its_answer() -> None:
    core = SmallCluster("b")
    meet = core.message("b", messages.MEET)
    meet.sender, meet.bus_port = STRANGER, 17050
    core.receive(Link(None, True, True, 0, PEER_IP, MY_IP), meet)
    assert [to for to, _ in core.said(messages.PONG)] == [""]
    (node,) = (node for node in core.state.nodes.values() if node.flags & HANDSHAKE)
    assert (node.ip, node.bus_port) == (PEER_IP, 17050)
    core.tick()
    link = node.link
    assert link is not None
    link.is_open = True
    pong = core.message("b", messages.PONG)
    pong.sender, pong.slots = STRANGER, 0
    core.receive(link, pong)
    assert core.state.nodes[STRANGER] is node
    assert node.flags & (PRIMARY | HANDSHAKE) == PRIMARY


def test_a_handshake_with_a_node_that_is_known_ends() -> None:
    core = SmallCluster("b")
    core.cluster.meet(PEER_IP.encode(), b"7005", None, core.now_ms)
    core.tick()
    (node,) = (node for node in core.state.nodes.values() if node.flags & HANDSHAKE)
    link = node.link
    assert link is not None
    link.is_open = True
    core.receive(link, core.message("b", messages.PONG, port=7005, bus_port=17005))
    assert node.id not in core.state.nodes
    assert core.node("b").port == 7005


def test_a_ping_from_another_address_moves_a_node_and_the_replication_from_it() -> None:
    core = SmallCluster("b", primary="b")
    link = core.node("b").link
    actions = core.hear("b", port=7777)
    assert core.node("b").port == 7777
    assert core.node("b").link is not link
    assert "ReplicateFrom(ip='10.0.0.2', port=7777)" in map(str, actions)


def test_another_node_at_the_address_of_one_makes_that_lost() -> None:
    core = SmallCluster("b")
    link = core.node("b").link
    assert link is not None
    pong = core.message("b", messages.PONG)
    pong.sender = STRANGER
    core.receive(link, pong)
    assert core.node("b").flags & NO_ADDRESS
    core.tick()
    assert core.node("b").link is None


def test_extensions_go_to_those_that_understand_them() -> None:
    core = SmallCluster("bc", hostname="host-a")
    core.hear("b", marks=EXT_DATA)
    core.hear("c")
    core.said(messages.PONG)
    core.cluster.forget(b"c" * 40, core.now_ms)
    core.hear("b", marks=EXT_DATA)
    ((_, pong),) = core.said(messages.PONG)
    assert core.node("b").flags & KNOWS_EXTENSIONS
    shard = core.state.myself.shard_id
    assert pong.extensions == Extensions("host-a", "", shard, [("c" * 40, 60)])


def test_extensions_say_names_shards_and_whom_to_forget() -> None:
    core = SmallCluster("bc", primary="b")
    found = Extensions("host-b", "second", "d" * 40, [("c" * 40, 30), ("b" * 40, 30)])
    core.hear("b", extensions=found)
    node = core.node("b")
    assert (node.hostname, node.human_name, node.shard_id) == ("host-b", "second", "d" * 40)
    assert core.state.myself.shard_id == "d" * 40
    assert "c" * 40 not in core.state.nodes
    assert core.state.is_banned("c" * 40, core.now_ms + 29_000)


def test_gossip_is_about_some_nodes_and_all_that_are_suspected() -> None:
    core = SmallCluster("bcdefghi")
    for letter in "hi":
        core.node(letter).flags |= PFAIL
    core.hear("b")
    ((_, pong),) = core.said(messages.PONG)
    spoken_of = {entry.id[0] for entry in pong.gossip}
    assert {"h", "i"} <= spoken_of
    assert len(spoken_of) == 5
    assert "b" not in spoken_of
