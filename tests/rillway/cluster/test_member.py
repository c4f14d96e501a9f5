"""Lines of CLUSTER NODES, and what becomes of errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rillway.cluster.member import ClusterFailed, Member, NotReady, parse_nodes, wait_until
from rillway.cluster.ports import free_port

A, B, C = "a" * 40, "b" * 40, "c" * 40
TEXT = (
    f"{A} 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 5462 "
    f"[7->-{B}] [93-<-{B}]\n"
    f"{B} 127.0.0.1:7001@17001,,tls-port=0,shard-id={C} master,fail? - 0 0 2 connected 5463-16383\n"
    f"{C} ::1:7002@17002 slave {A} 0 0 1 disconnected\n"
    "vars currentEpoch 5 lastVoteEpoch 3\n"
)


def test_a_node_has_its_address_role_slots_and_marks() -> None:
    first, second, third = parse_nodes(TEXT)
    assert (first.address, first.is_myself, first.is_primary) == ("127.0.0.1:7000", True, True)
    assert (first.slots, first.slot_count, first.epoch) == (((0, 5460), (5462, 5462)), 5462, 1)
    assert (first.migrating, first.importing) == ({7: B}, {93: B})
    assert list(first.each_slot())[-2:] == [5460, 5462]
    assert (second.address, second.bus_port, second.has_failed) == ("127.0.0.1:7001", 17001, True)
    assert (third.host, third.primary_id, third.is_primary) == ("::1", A, False)
    assert not third.has_failed and third.is_known


def test_a_node_in_a_handshake_is_not_known() -> None:
    [node] = parse_nodes(f"{A} 127.0.0.1:7000@17000 handshake,master - 0 0 0 disconnected")
    assert not node.is_known


def test_a_node_that_does_not_answer_is_named() -> None:
    port = free_port()
    with pytest.raises(NotReady, match=f"the node 127.0.0.1:{port} does not answer"):
        Member(port).ask("PING")


def test_a_node_that_is_not_ready_is_asked_again() -> None:
    replies: Iterator[NotReady | bool] = iter([NotReady("loading"), False, True])

    def holds() -> bool:
        reply = next(replies)
        if isinstance(reply, NotReady):
            raise reply
        return reply

    wait_until(holds, 10.0, lambda: "never")
    with pytest.raises(ClusterFailed, match="never"):
        wait_until(lambda: False, 0.0, lambda: "never")
