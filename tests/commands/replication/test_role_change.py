"""REPLICAOF and SLAVEOF: replies, errors, and what a client sees of the role."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


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
