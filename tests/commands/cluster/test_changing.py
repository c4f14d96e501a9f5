"""CLUSTER: slots and nodes are changed; what that means is in tests/server/cluster."""

from __future__ import annotations

import pytest

from server.cluster.core import Cluster
from tests.commands.cluster.conftest import OTHER_ID
from tests.commands.streams.talk import Talk


def test_slots_are_taken_and_left(client: Talk, node: Cluster) -> None:
    assert client.do("CLUSTER DELSLOTS 1 2 3") == b"OK"
    assert node.slot_owner(2) is None
    assert client.do("CLUSTER ADDSLOTS 1 2") == b"OK"
    assert client.do("CLUSTER DELSLOTSRANGE 10 20 30 40") == b"OK"
    assert client.do("CLUSTER ADDSLOTSRANGE 3 3 10 20 30 40") == b"OK"
    assert node.slot_owner(40) is node.myself
    assert client.do("CLUSTER FLUSHSLOTS") == b"OK"
    assert node.slot_owner(0) is None


@pytest.mark.parametrize(
    ("request_text", "error"),
    [
        ("CLUSTER ADDSLOTS 1", "ERR Slot 1 is already busy"),
        ("CLUSTER ADDSLOTS 16384", "ERR Invalid or out of range slot"),
        ("CLUSTER ADDSLOTS 1 16384", "ERR Invalid or out of range slot"),
        ("CLUSTER ADDSLOTSRANGE 1 1 16384 1", "ERR Slot 1 is already busy"),
        ("CLUSTER SETSLOT 16384 SOMEWHERE x", "ERR Invalid or out of range slot"),
        (
            "CLUSTER RESET SOFT x",
            "ERR unknown subcommand or wrong number of arguments for 'RESET'. Try CLUSTER HELP.",
        ),
        (
            "CLUSTER FAILOVER FORCE x",
            "ERR unknown subcommand or wrong number of arguments for 'FAILOVER'. Try CLUSTER HELP.",
        ),
        (
            "CLUSTER ADDSLOTSRANGE 1 2 3",
            "ERR wrong number of arguments for 'cluster|addslotsrange' command",
        ),
        (
            "CLUSTER DELSLOTSRANGE 1 2 3",
            "ERR wrong number of arguments for 'cluster|delslotsrange' command",
        ),
        (
            "CLUSTER SETSLOT 1 SOMEWHERE x",
            "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP",
        ),
        (
            "CLUSTER SETSLOT 1 STABLE now",
            "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP",
        ),
        ("CLUSTER SETSLOT 1 MIGRATING x", "ERR I don't know about node x"),
        ("CLUSTER SETSLOT 1 NODE x", "ERR Unknown node x"),
        ("CLUSTER MEET host 7000", "ERR Invalid node address specified: host:7000"),
        (
            "CLUSTER MEET 10.0.0.3 1 2 3",
            "ERR unknown subcommand or wrong number of arguments for 'MEET'. Try CLUSTER HELP.",
        ),
        ("CLUSTER FORGET x", "ERR Unknown node x"),
        ("CLUSTER REPLICATE x", "ERR Unknown node x"),
        ("CLUSTER RESET NOW", "ERR syntax error"),
        ("CLUSTER FAILOVER NOW", "ERR syntax error"),
        ("CLUSTER FAILOVER", "ERR You should send CLUSTER FAILOVER to a replica"),
    ],
)
def test_bad_requests_change_nothing(
    client: Talk, node: Cluster, request_text: str, error: str
) -> None:
    before = node.nodes_text()
    assert client.error(request_text) == error
    assert node.nodes_text() == before


def test_a_node_is_met_and_forgotten(client: Talk, node: Cluster) -> None:
    assert client.do("CLUSTER MEET 10.0.0.3 7003") == b"OK"
    assert "10.0.0.3:7003@17003 handshake" in node.nodes_text()
    assert client.do(f"CLUSTER FORGET {OTHER_ID}") == b"OK"
    assert OTHER_ID not in node.nodes_text()


def test_a_node_with_keys_is_not_reset(client: Talk, node: Cluster) -> None:
    client.do("SET foo 1")
    assert client.error("CLUSTER RESET") == (
        "ERR CLUSTER RESET can't be called with master nodes containing keys"
    )
    client.do("FLUSHALL")
    before = node.myself.id
    assert client.do("CLUSTER RESET HARD") == b"OK"
    assert node.myself.id != before


def test_epochs_are_bumped(client: Talk, node: Cluster) -> None:
    assert client.do("CLUSTER BUMPEPOCH") == b"BUMPED 1"
    assert client.do("CLUSTER BUMPEPOCH") == b"STILL 1"
    assert client.error("CLUSTER SET-CONFIG-EPOCH 3").startswith("ERR The user can assign")
    assert client.do("CLUSTER SAVECONFIG") == b"OK"
