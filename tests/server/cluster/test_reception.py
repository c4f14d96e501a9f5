from __future__ import annotations

from server.cluster import messages
from server.cluster.events import Close, Deliver
from server.cluster.nodes import NO_FAILOVER, Link
from tests.server.cluster.small_cluster import MY_IP, PEER_IP, SmallCluster, about

STRANGER = "e" * 40


def test_a_ping_is_answered_on_its_link() -> None:
    core = SmallCluster("b")
    core.hear("b")
    ((to, pong),) = core.said(messages.PONG)
    assert (to, pong.slots, pong.ip) == ("b", core.state.myself.slots, MY_IP)


def test_nothing_is_learnt_from_a_stranger() -> None:
    core = SmallCluster("b")
    before = core.cluster.nodes_text()
    link = Link(None, True, True, 0, PEER_IP, MY_IP)
    for kind in range(len(messages.TYPE_NAMES)):
        if kind != messages.MEET:
            message = core.message("b", kind, gossip=[about("f")], subject="b" * 40, slots=1)
            message.sender = STRANGER
            message.current_epoch = 99
            core.receive(link, message)
    assert core.cluster.nodes_text() == before
    assert core.state.current_epoch == 1
    assert [to for to, _ in core.sent] == [""]


def test_messages_of_publish_are_delivered() -> None:
    core = SmallCluster("b")
    assert Deliver(b"c", b"m", False) in core.hear(
        "b", messages.PUBLISH, channel=b"c", payload=b"m"
    )
    assert Deliver(b"c", b"m", True) in core.hear(
        "b", messages.PUBLISHSHARD, channel=b"c", payload=b"m"
    )


def test_publish_goes_to_all_and_spublish_to_the_shard() -> None:
    core = SmallCluster("bcd")
    core.state.make_replica(core.node("c"), core.state.myself)
    core.cluster.publish(b"c", b"m", is_sharded=False)
    core.take()
    assert [to for to, _ in core.said(messages.PUBLISH)] == ["b", "c", "d"]
    core.cluster.publish(b"c", b"m", is_sharded=True)
    core.take()
    assert [to for to, _ in core.said(messages.PUBLISHSHARD)] == ["c"]


def test_a_new_link_from_a_node_replaces_its_older_one() -> None:
    core = SmallCluster("b")
    core.hear("b")
    older = core.inbound.pop("b")
    actions = core.hear("b")
    assert [action.link for action in actions if isinstance(action, Close)] == [older]
    assert core.node("b").inbound is core.inbound["b"]
    assert len(core.cluster.links()) == 2


def test_the_address_of_this_node_is_that_at_which_it_is_met() -> None:
    core = SmallCluster("b")
    core.settings.announce_ip = core.state.myself.ip = ""
    core.hear("b", messages.MEET)
    assert core.state.myself.ip == MY_IP


def test_a_node_may_refuse_failover() -> None:
    core = SmallCluster("b")
    core.hear("b", flags=1 | NO_FAILOVER)
    assert core.node("b").flags & NO_FAILOVER
    core.hear("b")
    assert not core.node("b").flags & NO_FAILOVER


def test_messages_are_counted() -> None:
    core = SmallCluster("b")
    core.hear("b")
    text = core.cluster.info_text()
    assert "cluster_stats_messages_ping_received:1\r\n" in text
    assert "cluster_stats_messages_pong_sent:1\r\n" in text
