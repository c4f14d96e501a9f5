from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.errors import ReplyError
from server.cluster.core import Cluster
from server.cluster.events import EmptyData, Promote, ReplicateFrom, Send
from server.cluster.messages import PONG
from server.cluster.nodes import PRIMARY, REPLICA, Link, Node
from tests.server.cluster.single_node import SingleNode

STRANGER = b"9" * 40


@pytest.fixture
def node() -> SingleNode:
    """A node that owns the slots up to 99, and knows of one other, which owns 100."""
    made = SingleNode()
    made.cluster.add_slots_range([b"0", b"99"])
    known(made.cluster, "b", PRIMARY, slots=1 << 100)
    made.take()
    return made


def known(cluster: Cluster, letter: str, flags: int, slots: int = 0) -> Node:
    node = cluster.state.new_node(letter * 40, flags, 0)
    node.ip, node.port = "10.0.0.1", 7000
    cluster.state.set_owner(slots, node)
    return node


Operation = Callable[[Cluster], object]


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (lambda c: c.add_slots([b"x"]), b"Invalid or out of range slot"),
        (lambda c: c.add_slots([b"200", b"16384"]), b"Invalid or out of range slot"),
        (lambda c: c.add_slots([b"200", b"5"]), b"Slot 5 is already busy"),
        (lambda c: c.add_slots([b"200", b"200"]), b"Slot 200 specified multiple times"),
        (lambda c: c.del_slots([b"5", b"200"]), b"Slot 200 is already unassigned"),
        (
            lambda c: c.add_slots_range([b"300", b"200"]),
            b"start slot number 300 is greater than end slot number 200",
        ),
        (lambda c: c.set_slot_migrating(b"100", b"b" * 40), b"I'm not the owner of hash slot 100"),
        (lambda c: c.set_slot_migrating(b"5", STRANGER), b"I don't know about node " + STRANGER),
        (lambda c: c.set_slot_importing(b"5", b"b" * 40), b"I'm already the owner of hash slot 5"),
        (lambda c: c.set_slot_node(b"5", STRANGER), b"Unknown node " + STRANGER),
        (lambda c: c.set_config_epoch(b"-1"), b"Invalid config epoch specified: -1"),
        (
            lambda c: c.set_config_epoch(b"1"),
            b"The user can assign a config epoch only when the node does not know any other node.",
        ),
        (lambda c: c.meet(b"host", b"1", None, 0), b"Invalid node address specified: host:1"),
        (lambda c: c.meet(b"::1", b"65000", None, 0), b"Invalid node address specified: ::1:65000"),
        (lambda c: c.meet(b"::1", b"x", None, 0), b"Invalid base port specified: x"),
        (lambda c: c.meet(b"::1", b"1", b"x", 0), b"Invalid bus port specified: x"),
        (lambda c: c.forget(STRANGER, 0), b"Unknown node " + STRANGER),
        (lambda c: c.forget(c.myself.id.encode(), 0), b"I tried hard but I can't forget myself..."),
        (lambda c: c.replicate(c.myself.id.encode()), b"Can't replicate myself"),
        (
            lambda c: c.replicate(b"b" * 40),
            b"To set a master the node must be empty and without assigned slots.",
        ),
        (lambda c: c.count_failure_reports(b"x", 0), b"Unknown node x"),
        (lambda c: c.replica_lines(b"x"), b"Unknown node x"),
    ],
)
def test_what_is_refused_changes_nothing(
    node: SingleNode, operation: Operation, text: bytes
) -> None:
    before = node.cluster.nodes_text()
    with pytest.raises(ReplyError) as raised:
        operation(node.cluster)
    assert raised.value.text == b"ERR " + text
    assert node.take() == []
    assert node.cluster.nodes_text() == before


def test_slots_are_added_and_dropped_in_ranges(node: SingleNode) -> None:
    node.cluster.del_slots_range([b"10", b"19", b"100", b"100"])
    node.cluster.add_slots([b"100", b"12"])
    assert node.saved.splitlines()[0].endswith(" connected 0-99")
    node.take()
    assert node.saved.splitlines()[0].endswith(" connected 0-9 12 20-100")


def test_slots_with_keys_are_neither_flushed_nor_given_away(node: SingleNode) -> None:
    node.data.keys[5] = 1
    with pytest.raises(ReplyError, match="DB must be empty"):
        node.cluster.flush_slots()
    with pytest.raises(ReplyError, match="I still hold keys"):
        node.cluster.set_slot_node(b"5", b"b" * 40)
    with pytest.raises(ReplyError, match="master nodes containing keys"):
        node.cluster.reset(is_hard=False)
    del node.data.keys[5]
    node.cluster.flush_slots()
    assert node.cluster.myself.slots == 0


def test_a_slot_moves_away_by_marks(node: SingleNode) -> None:
    node.cluster.set_slot_migrating(b"5", b"b" * 40)
    assert node.cluster.migrating_to(5) is node.cluster.find(b"b" * 40)
    node.take()
    assert f"[5->-{'b' * 40}]" in node.saved
    node.cluster.set_slot_node(b"5", b"b" * 40)
    assert node.cluster.migrating_to(5) is None
    assert node.cluster.slot_owner(5) is node.cluster.find(b"b" * 40)


def test_the_receiver_of_a_slot_takes_a_new_epoch(node: SingleNode) -> None:
    node.cluster.set_slot_importing(b"100", b"b" * 40)
    node.take()
    assert f"[100-<-{'b' * 40}]" in node.saved
    node.cluster.set_slot_node(b"100", node.cluster.myself.id.encode())
    assert node.cluster.importing_from(100) is None
    assert node.cluster.myself.config_epoch == 1
    assert node.cluster.bump_epoch() == (False, 1)


def test_others_are_told_once_of_all_slots_that_were_received(node: SingleNode) -> None:
    other = known(node.cluster, "b", PRIMARY, slots=0b11 << 100)
    other.link = Link(other, is_open=True)
    for slot in (b"100", b"101"):
        node.cluster.set_slot_importing(slot, b"b" * 40)
        node.cluster.set_slot_node(slot, node.cluster.myself.id.encode())
    (sent,) = (action.message for action in node.take() if isinstance(action, Send))
    assert (sent.type, sent.slots) == (PONG, node.cluster.myself.slots)
    assert sent.slots >> 100 == 0b11


def test_marks_are_removed(node: SingleNode) -> None:
    node.cluster.set_slot_migrating(b"5", b"b" * 40)
    node.cluster.set_slot_importing(b"100", b"b" * 40)
    node.cluster.set_slot_stable(b"5")
    node.cluster.set_slot_stable(b"100")
    assert (node.cluster.migrating_to(5), node.cluster.importing_from(100)) == (None, None)


def test_who_gives_its_last_slot_away_follows_the_receiver(node: SingleNode) -> None:
    node.cluster.del_slots_range([b"1", b"99"])
    node.cluster.set_slot_node(b"0", b"b" * 40)
    assert ReplicateFrom("10.0.0.1", 7000) in node.take()
    assert node.cluster.myself.primary is node.cluster.find(b"b" * 40)
    with pytest.raises(ReplyError, match="Please use SETSLOT only with masters"):
        node.cluster.set_slot_stable(b"0")
    with pytest.raises(ReplyError, match="Can't forget my master!"):
        node.cluster.forget(b"b" * 40, 0)


def test_a_replica_is_no_target(node: SingleNode) -> None:
    replica = known(node.cluster, "c", REPLICA)
    with pytest.raises(ReplyError, match="Target node is not a master"):
        node.cluster.set_slot_node(b"5", replica.id.encode())
    with pytest.raises(ReplyError, match="Target node is not a master"):
        node.cluster.set_slot_migrating(b"5", replica.id.encode())
    with pytest.raises(ReplyError, match="The specified node is not a master"):
        node.cluster.replica_lines(replica.id.encode())
    with pytest.raises(ReplyError, match="I can only replicate a master, not a replica"):
        node.cluster.replicate(replica.id.encode())


def test_a_forgotten_node_is_banned_for_a_minute(node: SingleNode) -> None:
    now_ms = node.now_ms
    node.cluster.forget(b"b" * 40, now_ms)
    assert node.cluster.slot_owner(100) is None
    node.cluster.forget(b"b" * 40, now_ms + 59_000)
    with pytest.raises(ReplyError, match="Unknown node"):
        node.cluster.forget(b"b" * 40, now_ms + 60_000)


def test_a_reset_replica_is_an_empty_primary(node: SingleNode) -> None:
    node.cluster.flush_slots()
    node.cluster.replicate(b"b" * 40)
    node.cluster.state.current_epoch = 7
    node.data.keys[5] = 1
    node.take()
    former = node.cluster.myself.id
    node.cluster.reset(is_hard=True)
    actions = node.take()
    assert Promote() in actions and EmptyData() in actions
    assert node.cluster.nodes_text() == (
        f"{node.cluster.myself.id} :6379@16379 myself,master - 0 0 0 connected\n"
    )
    assert node.cluster.myself.id != former
    assert "vars currentEpoch 0 lastVoteEpoch 0" in node.saved


def test_meet_begins_one_handshake_for_an_address(node: SingleNode) -> None:
    node.cluster.meet(b"10.0.0.9", b"7001", None, node.now_ms)
    node.cluster.meet(b"10.0.0.9", b"7001", b"17001", node.now_ms)
    (line,) = [line for line in node.cluster.nodes_text().splitlines() if "handshake" in line]
    assert " 10.0.0.9:7001@17001 handshake - 0 0 0 disconnected" in line


def test_keys_that_were_loaded_decide_about_their_slots(node: SingleNode) -> None:
    node.cluster.note_loaded(1 << 5 | 1 << 100 | 1 << 200)
    me = node.cluster.myself
    assert [node.cluster.slot_owner(slot) is me for slot in (5, 100, 200)] == [True, False, True]
    assert node.cluster.importing_from(100) is node.cluster.find(b"b" * 40)
    assert (node.cluster.importing_from(5), node.cluster.importing_from(200)) == (None, None)


def test_the_first_epoch_is_set_once() -> None:
    node = SingleNode()
    node.cluster.set_config_epoch(b"3")
    assert (node.cluster.myself.config_epoch, node.cluster.state.current_epoch) == (3, 3)
    with pytest.raises(ReplyError, match="Node config epoch is already non-zero"):
        node.cluster.set_config_epoch(b"4")
    with pytest.raises(ReplyError, match="not an integer"):
        node.cluster.set_config_epoch(b"x")
