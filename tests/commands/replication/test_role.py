"""ROLE: a primary lists its replicas."""

from __future__ import annotations

from server.inprocess.server import InProcessServer


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
