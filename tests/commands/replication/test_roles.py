"""ROLE: a primary lists its replicas.

REPLICAOF and SLAVEOF: replies, errors, and what a client sees of the role.

FAILOVER: the errors of a request.

INFO replication, and what other sections say of replicas.
"""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import info_fields


def test_role_is_a_primary_without_replicas() -> None:
    assert InProcessServer().connect().execute("ROLE") == b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"


def test_role_lists_replicas_that_are_online() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    replica, client = server.connect(), server.connect()
    replica.execute("REPLCONF", "listening-port", 7001, "ip-address", "10.0.0.1")
    replica.execute("PSYNC", "?", "-1")
    assert client.execute("ROLE").endswith(b"*0\r\n")
    server.tick()
    replica.execute("REPLCONF", "ACK", 0)
    listed = b"*1\r\n*3\r\n$8\r\n10.0.0.1\r\n$4\r\n7001\r\n$1\r\n0\r\n"
    assert client.execute("ROLE") == b"*3\r\n$6\r\nmaster\r\n:0\r\n" + listed


@pytest.mark.parametrize("name", ["REPLICAOF", "slaveof"])
def test_the_role_changes_at_once(client: InProcessClient, name: str) -> None:
    assert client.execute(name, "host", "7001") == b"+OK\r\n"
    role = client.execute("ROLE")
    assert role.startswith(b"*5\r\n$5\r\nslave\r\n$4\r\nhost\r\n:7001\r\n") and role.endswith(
        b":-1\r\n"
    )
    assert b"$7\r\nreplica" in client.execute("HELLO")
    assert client.execute("CONFIG", "GET", "replicaof").endswith(b"$9\r\nhost 7001\r\n")
    again = b"+OK Already connected to specified master\r\n"
    assert client.execute(name, "host", "7001") == again
    assert client.execute(name, "No", "oNE") == b"+OK\r\n"
    assert client.execute("ROLE").startswith(b"*3\r\n$6\r\nmaster")


@pytest.mark.parametrize("port", ["x", "-1", "65536", ""])
def test_a_port_is_a_port(client: InProcessClient, port: str) -> None:
    assert client.execute("REPLICAOF", "host", port) == b"-ERR Invalid master port\r\n"
    assert client.execute("ROLE").startswith(b"*3\r\n$6\r\nmaster")


def test_replicaof_no_one_on_a_primary_changes_nothing(server: InProcessServer) -> None:
    name = server.instance.replication.replication_id
    assert server.connect().execute("REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    assert server.instance.replication.replication_id == name


def test_the_role_changes_within_a_transaction_as_sentinel_does_it(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.pipeline(("MULTI",), ("SLAVEOF", "host", "7001"), ("CONFIG", "REWRITE"))
    client.pipeline(("CLIENT", "KILL", "TYPE", "normal"), ("CLIENT", "KILL", "TYPE", "pubsub"))
    refusal = b"-ERR The server is running without a config file\r\n"
    assert client.execute("EXEC") == b"*4\r\n+OK\r\n" + refusal + b":1\r\n:0\r\n"
    assert other.closed and not client.closed
    assert server.instance.replication.is_replica


def test_what_a_transaction_wrote_before_goes_to_the_file() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"), ("REPLICAOF", "host", "1"), ("EXEC",))
    assert server.propagated == [(0, [[b"SET", b"k", b"v"]])]


def test_the_directive_cannot_be_set_but_by_the_command(client: InProcessClient) -> None:
    refusal = client.execute("CONFIG", "SET", "replicaof", "host 1")
    assert b"(possibly related to argument 'replicaof') - can't set immutable config" in refusal


FORCE = b"FAILOVER with force option requires both a timeout and target HOST and IP."


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("ABORT",), b"No failover in progress."),
        (("TIMEOUT", "0"), b"FAILOVER timeout must be greater than 0"),
        (("TIMEOUT", "-1"), b"FAILOVER timeout must be greater than 0"),
        (("TIMEOUT", "x"), b"value is not an integer or out of range"),
        (("TIMEOUT",), b"syntax error"),
        (("TO", "host"), b"syntax error"),
        (("NONSENSE",), b"syntax error"),
        (("ABORT", "ABORT"), b"syntax error"),
        (("FORCE",), FORCE),
        (("TIMEOUT", "1", "FORCE"), FORCE),
        (("TO", "host", "1", "FORCE"), FORCE),
        (("TO", "host", "1"), b"FAILOVER target HOST and PORT is not a replica."),
        (("TO", "127.0.0.1", "0"), b"FAILOVER target replica is not online."),
    ],
)
def test_a_request_that_cannot_be_followed(words: tuple[str, ...], error: bytes) -> None:
    server = InProcessServer()  # the snapshot waits for others
    server.connect().execute("REPLCONF", "capa", "eof")
    replica = server.connect()
    replica.execute("REPLCONF", "capa", "eof")
    replica.execute("PSYNC", "?", "-1")
    assert server.connect().execute("FAILOVER", *words) == b"-ERR %b\r\n" % error


def test_there_must_be_a_replica_and_it_must_be_a_primary(client: InProcessClient) -> None:
    assert client.execute("FAILOVER") == b"-ERR FAILOVER requires connected replicas.\r\n"
    client.execute("REPLICAOF", "host", "1")
    refusal = b"-ERR FAILOVER is not valid when server is a replica.\r\n"
    assert client.execute("FAILOVER") == refusal


def test_a_primary_without_replicas(server: InProcessServer) -> None:
    fields = info_fields(server.connect().execute("INFO", "replication"))
    assert list(fields) == [
        "role", "connected_slaves", "repl_newer_commands_refused", "repl_last_newer_command",
        "repl_older_replicas_refused", "master_failover_state", "master_replid", "master_replid2",
        "master_repl_offset", "second_repl_offset", "repl_backlog_active", "repl_backlog_size",
        "repl_backlog_first_byte_offset", "repl_backlog_histlen",
    ]  # fmt: skip
    assert fields["master_replid"] == server.instance.replication.replication_id
    assert (fields["role"], fields["second_repl_offset"]) == ("master", "-1")


def test_replicas_are_numbered_and_the_backlog_is_measured() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0", min_replicas_to_write="1")
    replica = server.connect()
    replica.execute("REPLCONF", "listening-port", 7001)
    replica.execute("PSYNC", "?", "-1")
    client = server.connect()
    fields = info_fields(client.execute("INFO", "replication"))
    assert fields["slave0"] == "ip=127.0.0.1,port=7001,state=wait_bgsave,offset=0,lag=0"
    server.tick()
    replica.execute("REPLCONF", "ACK", 0)
    server.advance(3000)
    client.execute("SET", "k", "v")
    fields = info_fields(client.execute("INFO", "replication"))
    assert fields["slave0"] == "ip=127.0.0.1,port=7001,state=online,offset=0,lag=3"
    assert fields["min_slaves_good_slaves"] == "1"
    assert fields["repl_backlog_first_byte_offset"] == "1"
    assert fields["repl_backlog_histlen"] == fields["master_repl_offset"] != "0"
    memory = info_fields(client.execute("INFO", "memory"))
    assert memory["mem_replication_backlog"] == fields["repl_backlog_histlen"]


def test_synchronisations_are_counted_and_set_to_zero() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    server.connect().execute("PSYNC", "?", "-1")
    server.connect().execute("PSYNC", "f" * 40, "7")
    client = server.connect()
    fields = info_fields(client.execute("INFO", "stats"))
    names = ("sync_full", "sync_partial_ok", "sync_partial_err")
    assert [fields[name] for name in names] == ["2", "0", "1"]
    client.execute("CONFIG", "RESETSTAT")
    fields = info_fields(client.execute("INFO", "stats"))
    assert [fields[name] for name in names] == ["0", "0", "0"]
