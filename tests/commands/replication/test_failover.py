"""FAILOVER: the errors of a request."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer

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
