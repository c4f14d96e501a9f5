from __future__ import annotations

from server.cluster import messages
from server.cluster.events import Close, LinkOpened
from server.cluster.nodes import HANDSHAKE, MEET
from tests.server.cluster.small_cluster import SmallCluster


def test_each_known_node_is_dialled_and_pinged_at_once() -> None:
    core = SmallCluster("b")
    link = core.node("b").link
    assert link is not None
    assert [(each.ip, each.port) for each in core.dialled] == [("10.0.0.2", 17001)]
    core.lose(link)
    core.tick()
    core.open("b")
    assert [to for to, _ in core.said(messages.PING)] == ["b"]


def test_a_link_that_was_given_up_while_it_was_dialled_is_closed() -> None:
    core = SmallCluster("b")
    link = core.node("b").link
    assert link is not None
    core.cluster.forget(b"b" * 40, core.now_ms)
    core.take()
    (action,) = core.cluster.step(LinkOpened(link), core.now_ms)
    assert isinstance(action, Close) and action.link is link


def test_a_node_without_address_is_not_dialled_but_suspected() -> None:
    core = SmallCluster("b")
    core.answer("b")
    core.lose(core.node("b").link)
    core.node("b").ip = ""
    core.dialled.clear()
    core.tick(1.3)
    assert core.dialled == []
    assert core.node("b").is_suspected


def test_a_node_that_was_to_be_met_gets_meet_once() -> None:
    core = SmallCluster("b")
    core.lose(core.node("b").link)
    core.node("b").flags |= MEET
    core.tick()
    core.open("b")
    assert [to for to, _ in core.said(messages.MEET)] == ["b"]
    assert not core.node("b").flags & MEET


def test_a_silent_node_is_pinged_after_half_of_the_timeout_and_suspected_after_all_of_it() -> None:
    core = SmallCluster("bc")
    core.answer("b")
    core.answer("c")
    core.pass_time(500, alive="c")
    assert "b" not in [to for to, _ in core.said(messages.PING)]
    core.pass_time(100, alive="c")
    assert "b" in [to for to, _ in core.said(messages.PING)]
    core.pass_time(1_000, alive="c")
    assert not core.node("b").is_suspected
    core.pass_time(100, alive="c")
    assert core.node("b").is_suspected
    assert not core.node("c").is_suspected


def test_a_link_on_which_nothing_comes_is_dialled_again() -> None:
    core = SmallCluster("b")
    link = core.node("b").link
    assert link is not None
    actions = core.tick(1.2)
    assert any(isinstance(action, Close) and action.link is link for action in actions)
    assert core.node("b").link is not link


def test_a_node_at_which_nobody_listens_is_suspected() -> None:
    core = SmallCluster("b")
    core.answer("b")
    for _ in range(15):
        core.lose(core.node("b").link)
        core.tick()
    assert core.node("b").is_suspected


def test_a_ping_that_was_pending_when_its_link_broke_still_is() -> None:
    core = SmallCluster("b")
    pending_ms = core.node("b").ping_sent_ms
    assert pending_ms
    core.lose(core.node("b").link)
    core.tick()
    core.open("b")
    assert core.node("b").ping_sent_ms == pending_ms


def test_a_handshake_that_nobody_answers_is_given_up() -> None:
    core = SmallCluster()
    core.cluster.meet(b"10.0.0.9", b"7000", None, core.now_ms)
    assert any(node.flags & HANDSHAKE for node in core.state.nodes.values())
    core.tick(1.1)
    assert len(core.state.nodes) == 1


def test_of_some_nodes_the_one_that_was_heard_of_longest_ago_is_pinged() -> None:
    core = SmallCluster("b")
    core.answer("b")
    core.settings.node_timeout_ms = 60_000
    core.pass_time(2_000)
    assert [to for to, _ in core.said(messages.PING)] == ["b"]
