"""CLUSTER: what a node shows of itself and of the others."""

from __future__ import annotations

import pytest

from server.cluster.core import Cluster
from server.cluster.nodes import Node
from server.inprocess.server import InProcessServer
from tests.commands.cluster.conftest import OTHER_ID
from tests.commands.streams.talk import NOW_MS, Talk


def test_the_slot_of_a_key_is_that_of_its_tag(client: Talk) -> None:
    assert client.do("CLUSTER KEYSLOT foo") == 12182
    assert client.do("CLUSTER KEYSLOT {foo}bar") == 12182
    assert client.do("CLUSTER KEYSLOT {}foo") != 12182


def test_keys_are_found_by_their_slot(client: Talk) -> None:
    client.all("SET foo 1", "XADD {foo}s 1-1 f v", "SET bar 1")
    assert client.do("CLUSTER COUNTKEYSINSLOT 12182") == 2
    assert client.do("CLUSTER GETKEYSINSLOT 12182 10") == [b"foo", b"{foo}s"]
    assert client.do("CLUSTER GETKEYSINSLOT 12182 1") == [b"foo"]
    client.all("DEL foo", "RENAME {foo}s {foo}t", "SET {foo}t 2 PX 1")
    client.server.advance(10)
    assert client.do("GET {foo}t") is None
    assert client.do("CLUSTER COUNTKEYSINSLOT 12182") == 0
    client.all("SET foo 1", "FLUSHALL")
    assert client.do("CLUSTER COUNTKEYSINSLOT 12182") == 0


@pytest.mark.parametrize(
    ("request_text", "error"),
    [
        ("CLUSTER COUNTKEYSINSLOT 16384", "ERR Invalid slot"),
        ("CLUSTER COUNTKEYSINSLOT -1", "ERR Invalid slot"),
        ("CLUSTER COUNTKEYSINSLOT x", "ERR value is not an integer or out of range"),
        ("CLUSTER GETKEYSINSLOT 16384 1", "ERR Invalid slot or number of keys"),
        ("CLUSTER GETKEYSINSLOT 1 -1", "ERR Invalid slot or number of keys"),
        ("CLUSTER REPLICAS x", "ERR Unknown node x"),
        ("CLUSTER COUNT-FAILURE-REPORTS x", "ERR Unknown node x"),
        ("CLUSTER NOTHING", "ERR unknown subcommand 'NOTHING'. Try CLUSTER HELP."),
        ("CLUSTER KEYSLOT", "ERR wrong number of arguments for 'cluster|keyslot' command"),
    ],
)
def test_bad_requests_are_refused(client: Talk, request_text: str, error: str) -> None:
    assert client.error(request_text) == error


def test_slots_lists_ranges_with_their_nodes(client: Talk, node: Cluster, other: Node) -> None:
    me = node.myself
    me.ip, me.port = "10.0.0.1", 7001
    client.do(f"CLUSTER SETSLOT 5 NODE {OTHER_ID}")
    mine = [b"10.0.0.1", 7001, me.id.encode(), []]
    assert client.do("CLUSTER SLOTS") == [
        [0, 4, mine],
        [5, 5, [b"10.0.0.2", 7002, OTHER_ID.encode(), []]],
        [6, 16383, mine],
    ]


def test_slots_tells_other_names_of_a_node(client: Talk, node: Cluster) -> None:
    node.myself.ip, node.myself.hostname = "10.0.0.1", "n1.example"
    ((_, _, shown),) = client.do("CLUSTER SLOTS")
    assert shown[0] == b"10.0.0.1"
    assert shown[3] == [b"hostname", b"n1.example"]
    client.do("CONFIG SET cluster-preferred-endpoint-type unknown-endpoint")
    ((_, _, shown),) = client.do("CLUSTER SLOTS")
    assert shown[0] is None
    assert shown[3] == [b"ip", b"10.0.0.1", b"hostname", b"n1.example"]


def test_shards_are_maps_in_resp3(server: InProcessServer, node: Cluster) -> None:
    resp3 = Talk(server, resp=3)
    shard = next(each for each in resp3.do("CLUSTER SHARDS") if each[b"slots"])
    assert shard[b"slots"] == [0, 16383]
    (member,) = shard[b"nodes"]
    assert member[b"id"] == node.myself.id.encode()
    assert (member[b"role"], member[b"health"]) == (b"master", b"online")


def test_nodes_and_info_are_text(client: Talk, node: Cluster) -> None:
    lines = client.do("CLUSTER NODES").decode().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(node.myself.id)
    assert lines[0].endswith("connected 0-16383")
    assert client.do("CLUSTER INFO").startswith(b"cluster_state:ok\r\n")
    assert client.do("CLUSTER MYID") == node.myself.id.encode()
    assert client.do("CLUSTER MYSHARDID") == node.myself.shard_id.encode()


def test_replicas_of_a_primary_are_listed(client: Talk, node: Cluster) -> None:
    assert client.do(f"CLUSTER REPLICAS {OTHER_ID}") == []
    assert client.do(f"CLUSTER SLAVES {OTHER_ID}") == []
    assert client.do(f"CLUSTER COUNT-FAILURE-REPORTS {OTHER_ID}") == 0
    assert client.do("CLUSTER LINKS") == []


def test_help_names_sub_commands(client: Talk) -> None:
    assert b"KEYSLOT <key>" in client.do("CLUSTER HELP")


def test_the_time_is_that_of_the_batch(client: Talk) -> None:
    assert client.server.now_ms == NOW_MS
