"""REPLCONF: options and errors; PSYNC where it is not allowed."""

from __future__ import annotations

import pytest

from commands.replication.replica_table import ReplicaTable
from server.inprocess.server import InProcessServer


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ((), b"+OK"),
        (("listening-port", "7001", "CAPA", "eof", "capa", "nonsense"), b"+OK"),
        (("listening-port",), b"-ERR syntax error"),
        (("listening-port", "x"), b"-ERR value is not an integer or out of range"),
        (("version", "8.0.0"), b"+OK"),  # of a Valkey; Redis does not know the option
        (
            ("ip-address", "x" * 256),
            b"-ERR REPLCONF ip-address provided by replica instance is too long: 256 bytes",
        ),
        (("ip-address", "x" * 255), b"+OK"),
        (("rdb-only", "2"), b"-ERR value is out of range, value must between 0 and 1"),
        (("rdb-filter-only", '"'), b"-ERR Missing rdb-filter-only values"),
        (("rdb-filter-only", "keys"), b"-ERR Unsupported rdb-filter-only option: keys"),
        (("rdb-filter-only", "FUNCTIONS"), b"+OK"),
        (
            ("listening-port", "1", "bad", "x", "capa", "eof"),
            b"-ERR Unrecognized REPLCONF option: bad",
        ),
    ],
)
def test_replconf_says_what_is_wrong(words: tuple[str, ...], reply: bytes) -> None:
    assert InProcessServer().connect().execute("REPLCONF", *words).startswith(reply)


@pytest.mark.parametrize("words", [("ACK", "5"), ("ack", "x"), ("GETACK", "*")])
def test_acknowledgements_are_never_answered(words: tuple[str, ...]) -> None:
    client = InProcessServer().connect()
    assert client.execute("REPLCONF", *words) == b""
    assert client.execute("PING") == b"+PONG\r\n"


@pytest.mark.parametrize("request_", [("PSYNC", "?", "-1"), ("SYNC",)])
def test_no_client_becomes_a_replica_in_a_transaction(request_: tuple[str, ...]) -> None:
    client = InProcessServer().connect()
    client.execute("MULTI")
    refusal = b"-ERR Command not allowed inside a transaction\r\n"
    assert client.execute(*request_) == refusal


def test_pending_output_would_come_into_the_stream() -> None:
    client = InProcessServer().connect()
    answer = client.pipeline(("PING",), ("SYNC",))
    assert answer == b"+PONG\r\n-ERR SYNC and PSYNC are invalid with pending output\r\n"


def test_words_that_are_no_capability_are_accepted_and_not_kept() -> None:
    server = InProcessServer()
    client = server.connect()
    for number in range(100):
        assert client.execute("REPLCONF", "capa", f"word{number}") == b"+OK\r\n"
    assert client.execute("REPLCONF", "capa", "EOF", "capa", "rillway") == b"+OK\r\n"
    (replica,) = server.instance.feature(ReplicaTable).announced.values()
    assert replica.capabilities == {b"eof", b"rillway"}
