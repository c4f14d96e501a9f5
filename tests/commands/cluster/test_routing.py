"""Where a request is served: here, at another node, or nowhere."""

from __future__ import annotations

import pytest

from commands.cluster.mode import ClusterMode
from server.cluster.core import Cluster
from server.cluster.host.runner import release_blocked
from server.cluster.nodes import Node
from server.inprocess.server import InProcessServer
from tests.commands.cluster.conftest import OTHER_ID
from tests.commands.streams.talk import Talk, entry

SLOT = 12182  # of foo
MOVED = "MOVED 12182 10.0.0.2:7002"
ASK = "ASK 12182 10.0.0.2:7002"
DOWN = "CLUSTERDOWN The cluster is down"


def give_away(client: Talk) -> None:
    client.do(f"CLUSTER SETSLOT {SLOT} NODE {OTHER_ID}")


def test_a_slot_of_this_node_is_served(client: Talk) -> None:
    assert client.do("SET foo 1") == b"OK"
    assert client.do("XADD {foo}s 1-1 f v") == b"1-1"
    assert client.do("MSET foo 1 {foo}b 2") == b"OK"


def test_a_slot_of_another_node_is_moved(client: Talk) -> None:
    give_away(client)
    assert client.error("GET foo") == MOVED
    assert client.error("XADD foo * f v") == MOVED
    assert client.error("XREAD STREAMS foo 0") == MOVED
    assert client.error("EVAL return(1) 1 foo") == MOVED
    assert client.do("GET bar") is None


def test_a_request_that_was_served_is_moved_once_its_slot_has_left(client: Talk) -> None:
    request = "XREADGROUP GROUP g c STREAMS foo >"
    client.do("XGROUP CREATE foo g $ MKSTREAM")
    assert client.do(request) is client.do(request) is None
    client.do("DEL foo")
    give_away(client)
    assert client.error(request) == MOVED


def test_a_slot_without_owner_is_not_served(client: Talk) -> None:
    client.do(f"CLUSTER DELSLOTS {SLOT}")
    assert client.error("GET foo") == "CLUSTERDOWN Hash slot not served"


def test_keys_of_several_slots_are_refused(client: Talk, node: Cluster) -> None:
    refused = "CROSSSLOT Keys in request don't hash to the same slot"
    assert client.error("MSET foo 1 bar 2") == refused
    assert client.error("XREAD STREAMS foo bar 0 0") == refused
    options = "ACK-WAIT 5 BACKOFF 1 2 MAX-DELIVERIES 2 DEAD-LETTER"
    client.do("XGROUP CREATE foo g 0 MKSTREAM")
    assert client.error(f"XGROUP CONFIG foo g {options} bar") == refused
    client.do(f"XGROUP CONFIG foo g {options} {{foo}}bar")
    client.do("DEL foo")
    give_away(client)
    assert client.error("MGET foo bar") == refused


def test_commands_without_keys_run_anywhere(client: Talk, node: Cluster) -> None:
    node.flush_slots()
    assert client.do("PING") == b"PONG"
    assert client.do("EVAL return(1) 0") == 1
    assert client.do("DBSIZE") == 0


@pytest.mark.parametrize(
    ("directives", "read", "write"),
    [
        ({}, DOWN, DOWN),
        (
            {"cluster-allow-reads-when-down": "yes"},
            None,
            "CLUSTERDOWN The cluster is down and only accepts read commands",
        ),
    ],
)
def test_a_cluster_that_is_down_serves_nothing_but_perhaps_reads(
    server: InProcessServer,
    client: Talk,
    node: Cluster,
    directives: dict[str, str],
    read: str | None,
    write: str,
) -> None:
    for name, value in directives.items():
        client.do(f"CONFIG SET {name} {value}")
    node.state.is_ok = False
    server.instance.feature(ClusterMode).refresh()
    assert client.error("SET foo 1") == write
    assert client.do("GET foo") is None if read is None else client.error("GET foo") == read


# -- a slot that moves ---------------------------------------------------------------------------


def test_keys_that_have_left_a_slot_are_asked_for_at_its_target(client: Talk) -> None:
    client.all("SET foo 1", f"CLUSTER SETSLOT {SLOT} MIGRATING {OTHER_ID}")
    assert client.do("GET foo") == b"1"
    assert client.error("GET {foo}gone") == ASK
    assert client.error("SET {foo}new 1") == ASK
    assert client.error("MGET foo {foo}gone") == (
        "TRYAGAIN Multiple keys request during rehashing of slot"
    )
    assert client.error("MGET {foo}gone {foo}new") == ASK


def test_a_slot_that_comes_is_served_to_those_who_ask(client: Talk, node: Cluster) -> None:
    give_away(client)
    client.do(f"CLUSTER SETSLOT {SLOT} IMPORTING {OTHER_ID}")
    assert client.error("GET foo") == MOVED
    client.do("ASKING")
    assert client.do("SET foo 1") == b"OK"
    assert client.error("GET foo") == MOVED  # ASKING was for one request
    client.do("ASKING")
    assert client.error("MGET foo {foo}gone") == (
        "TRYAGAIN Multiple keys request during rehashing of slot"
    )


def test_what_migrate_sends_needs_no_asking(client: Talk) -> None:
    client.do("SET foo 1")
    payload = client.do("DUMP foo")
    client.do("DEL foo")
    give_away(client)
    assert client.error("RESTORE-ASKING foo 0 x") == MOVED
    client.do(f"CLUSTER SETSLOT {SLOT} IMPORTING {OTHER_ID}")
    assert client.client.execute("RESTORE-ASKING", "foo", 0, payload) == b"+OK\r\n"
    assert client.do(f"CLUSTER COUNTKEYSINSLOT {SLOT}") == 1


def test_asking_before_multi_holds_for_the_transaction(client: Talk) -> None:
    give_away(client)
    client.do(f"CLUSTER SETSLOT {SLOT} IMPORTING {OTHER_ID}")
    client.all("ASKING", "MULTI", "SET foo 1", "INCR foo")
    assert client.do("EXEC") == [b"OK", 2]
    assert client.error("GET foo") == MOVED


# -- clients that wait ---------------------------------------------------------------------------


def a_waiting_group_reader(client: Talk) -> Talk:
    """It waits for new entries of two streams, which a slot has that is about to move away."""
    for key in ("foo", "{foo}b"):
        client.do(f"XGROUP CREATE {key} g $ MKSTREAM")
    client.do(f"CLUSTER SETSLOT {SLOT} MIGRATING {OTHER_ID}")
    reader = Talk(client.server)
    assert reader.raw("XREADGROUP GROUP g c BLOCK 0 STREAMS foo {foo}b > >") == b""
    return reader


def test_a_group_reader_asks_again_where_its_stream_has_gone(client: Talk) -> None:
    """Source: Redis 8.2, which runs the command again."""
    reader = a_waiting_group_reader(client)
    client.do("DEL foo")
    assert str(reader.received()) == "TRYAGAIN Multiple keys request during rehashing of slot"
    client.all(f"CLUSTER SETSLOT {SLOT} STABLE", "DEL {foo}b")
    reader = a_waiting_group_reader(client)
    client.do("DEL foo {foo}b")
    assert str(reader.received()) == ASK


def test_who_was_sent_here_waits_here(client: Talk, server: InProcessServer) -> None:
    give_away(client)
    client.do(f"CLUSTER SETSLOT {SLOT} IMPORTING {OTHER_ID}")
    reader = Talk(server)
    reader.do("ASKING")
    assert reader.raw("XREAD BLOCK 0 STREAMS foo $") == b""
    release_blocked(server.instance)
    client.do("ASKING")
    client.do("XADD foo 1-1 f v")
    assert reader.received() == [[b"foo", [entry("1-1", "f", "v")]]]
    reader.do("ASKING")
    assert reader.raw("XREAD BLOCK 0 STREAMS foo $") == b""
    client.do(f"CLUSTER SETSLOT {SLOT} STABLE")
    release_blocked(server.instance)
    server.finish_cycle()
    assert str(reader.received()) == MOVED


def test_a_script_uses_a_slot_that_comes_only_after_asking(client: Talk) -> None:
    give_away(client)
    client.do(f"CLUSTER SETSLOT {SLOT} IMPORTING {OTHER_ID}")
    script = ("EVAL", "return redis.call('set','foo','1')", 0)
    assert b"non local key in a cluster node" in client.client.execute(*script)
    client.do("ASKING")
    assert client.client.execute(*script) == b"+OK\r\n"
    assert b"non local key in a cluster node" in client.client.execute(*script)
    client.all("ASKING", "MULTI")
    client.client.execute(*script)
    assert client.do("EXEC") == [b"OK"]


# -- transactions --------------------------------------------------------------------------------


def test_a_redirected_request_fails_its_transaction(client: Talk) -> None:
    give_away(client)
    client.do("MULTI")
    assert client.error("SET foo 1") == MOVED
    assert client.do("SET bar 1") == b"QUEUED"
    assert client.error("EXEC") == ("EXECABORT Transaction discarded because of previous errors.")


def test_a_transaction_is_about_one_slot(client: Talk) -> None:
    client.all("MULTI", "SET foo 1", "SET bar 1")
    assert client.error("EXEC") == "CROSSSLOT Keys in request don't hash to the same slot"
    assert client.do("EXISTS foo") == 0


def test_a_slot_that_leaves_before_exec_moves_the_transaction(client: Talk) -> None:
    client.all("MULTI", "SET foo 1")
    give_away(Talk(client.server))
    assert client.error("EXEC") == MOVED
    assert client.error("EXEC") == "ERR EXEC without MULTI"


@pytest.mark.parametrize("between", ["PING", "NOSUCH", "GET"])
def test_asking_is_for_the_next_request_whatever_it_is(
    client: Talk, node: Cluster, between: str
) -> None:
    give_away(client)
    client.do(f"CLUSTER SETSLOT {SLOT} IMPORTING {OTHER_ID}")
    client.do("ASKING")
    client.client.execute(between)
    assert client.error("GET foo") == MOVED


# -- replicas ------------------------------------------------------------------------------------


def test_a_replica_serves_reads_to_those_who_want_them(
    client: Talk, node: Cluster, other: Node
) -> None:
    give_away(client)
    node.myself.primary = other
    assert client.error("GET foo") == MOVED
    assert client.do("READONLY") == b"OK"
    assert client.do("GET foo") is None
    assert client.error("SET foo 1") == MOVED
    assert client.do("READWRITE") == b"OK"
    assert client.error("GET foo") == MOVED
    client.all("READONLY", "RESET")
    assert client.error("GET foo") == MOVED


def test_shard_channels_are_routed_as_keys(client: Talk, node: Cluster) -> None:
    assert client.do("SPUBLISH foo hello") == 0
    give_away(client)
    assert client.error("SPUBLISH foo hello") == MOVED
    assert client.error("SSUBSCRIBE foo") == MOVED
    assert client.do("PUBLISH foo hello") == 0


# -- how a node is named -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preferred", "hostname", "endpoint"),
    [
        ("ip", "n2.example", "10.0.0.2"),
        ("hostname", "n2.example", "n2.example"),
        ("hostname", "", "?"),
        ("unknown-endpoint", "n2.example", ""),
    ],
)
def test_the_endpoint_is_what_the_configuration_prefers(
    client: Talk, other: Node, preferred: str, hostname: str, endpoint: str
) -> None:
    other.hostname = hostname
    client.do(f"CONFIG SET cluster-preferred-endpoint-type {preferred}")
    give_away(client)
    assert client.error("GET foo") == f"MOVED {SLOT} {endpoint}:7002"


# -- what cluster mode forbids -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_text", "error"),
    [
        ("SELECT 1", "ERR SELECT is not allowed in cluster mode"),
        ("MOVE foo 1", "ERR MOVE is not allowed in cluster mode"),
        ("SWAPDB 0 1", "ERR SWAPDB is not allowed in cluster mode"),
        ("COPY foo {foo}b DB 1", "ERR DB index is out of range"),
        ("REPLICAOF 10.0.0.2 7002", "ERR REPLICAOF not allowed in cluster mode."),
        (
            "FAILOVER",
            "ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.",
        ),
    ],
)
def test_what_does_not_fit_a_cluster_is_refused(
    client: Talk, request_text: str, error: str
) -> None:
    assert client.error(request_text) == error


def test_database_0_may_be_selected(client: Talk) -> None:
    assert client.do("SELECT 0") == b"OK"
    client.do("SET foo 1")
    assert client.do("COPY foo {foo}b DB 0") == 1


def test_what_clients_are_told_is_below_the_version_that_moves_slots_in_another_way(
    client: Talk,
) -> None:
    info = client.do("INFO server").decode()
    assert "redis_version:8.2.0\r\n" in info
    assert "redis_mode:cluster\r\n" in info
    assert "cluster_enabled:1\r\n" in client.do("INFO cluster").decode()
    hello = client.do("HELLO")
    facts = dict(zip(hello[::2], hello[1::2], strict=True))
    assert (facts[b"version"], facts[b"mode"]) == (b"8.2.0", b"cluster")


@pytest.mark.parametrize("request_text", ["CLUSTER INFO", "CLUSTER MYID", "ASKING", "READONLY"])
def test_without_cluster_mode_there_is_nothing(server: InProcessServer, request_text: str) -> None:
    assert Talk(server).error(request_text) == "ERR This instance has cluster support disabled"


# -- scripts, SORT, messages ---------------------------------------------------------------------

NOT_HERE = "ERR Script attempted to access a non local key in a cluster node"
CROSSING = "ERR Script attempted to access keys that do not hash to the same slot"


def script(client: Talk, source: str, *keys: str) -> bytes:
    return client.client.execute("EVAL", source, len(keys), *keys)


def test_a_script_uses_keys_that_are_here(client: Talk) -> None:
    assert script(client, "return redis.call('get', 'bar')", "foo") == b"$-1\r\n"
    give_away(client)
    assert script(client, "return redis.call('get', 'foo')").startswith(f"-{NOT_HERE}".encode())
    found = script(client, "return redis.pcall('mget', 'foo', 'bar')", "bar")
    assert found == (
        b"-ERR Command 'mget' in script attempted to access keys that don't hash to the same"
        b" slot\r\n"
    )
    client.do(f"CLUSTER DELSLOTS {SLOT}")
    found = script(client, "return redis.pcall('get', 'foo')", "bar")
    assert found == b"-ERR Script attempted to access a slot not served\r\n"


def test_a_script_with_a_shebang_keeps_to_one_slot(client: Talk) -> None:
    both = "\nreturn {redis.call('get', 'bar'), redis.call('get', 'foo')}"
    assert script(client, f"#!lua{both}").startswith(f"-{CROSSING}".encode())
    one = "#!lua\nreturn redis.call('get', 'bar')"
    assert script(client, one, "foo").startswith(f"-{CROSSING}".encode())
    assert script(client, one, "{bar}") == b"$-1\r\n"
    assert script(client, f"#!lua flags=allow-cross-slot-keys{both}") == b"*2\r\n$-1\r\n$-1\r\n"
    assert script(client, "#!lua flags=no-cluster\nreturn 1") == (
        b"-ERR Can not run script on cluster, 'no-cluster' flag is set.\r\n"
    )


def test_a_script_reads_from_a_replica_as_its_caller_may(
    client: Talk, node: Cluster, other: Node
) -> None:
    give_away(client)
    node.myself.primary = other
    source = "return redis.call(KEYS[1] == 'foo' and 'get' or 'incr', 'foo')"
    assert script(client, source, "foo").startswith(b"-MOVED")
    client.do("READONLY")
    assert script(client, source, "foo") == b"$-1\r\n"
    assert script(client, source, "{foo}").startswith(f"-{NOT_HERE}".encode())
    client.do("READWRITE")
    assert script(client, source, "foo").startswith(b"-MOVED")


def test_sort_reads_other_keys_in_its_slot_only(client: Talk) -> None:
    denied = (
        "option of SORT denied in Cluster mode when keys formed by the pattern may be in different"
        " slots."
    )
    client.all("RPUSH foo 1 2", "SET w{foo}_1 5", "SET w{foo}_2 4")
    assert client.error("SORT foo BY w_*") == f"ERR BY {denied}"
    assert client.error("SORT foo GET w_*") == f"ERR GET {denied}"
    assert client.do("SORT foo BY w{foo}_* GET #") == [b"2", b"1"]
    assert client.do("SORT foo BY nosort GET w{foo}_*") == [b"5", b"4"]


def test_messages_go_over_the_bus_and_not_to_replicas(
    client: Talk, node: Cluster, propagated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[bytes, bytes, bool]] = []
    monkeypatch.setattr(node, "publish", lambda *message: sent.append(message))
    client.all("PUBLISH news hello", "SPUBLISH foo bye")
    assert sent == [(b"news", b"hello", False), (b"foo", b"bye", True)]
    assert propagated == []
