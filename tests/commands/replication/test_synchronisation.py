"""REPLCONF: options and errors; PSYNC where it is not allowed.

WAIT and WAITAOF.
"""

from __future__ import annotations

import errno

import pytest

from commands.core.services import Services
from commands.replication.replica_table import ReplicaTable
from server.inprocess.server import InProcessClient, InProcessServer


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


OK = b"+OK\r\n"
OFF = b"-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n"
SYNCED = b"*2\r\n:1\r\n:0\r\n"
NOT_SYNCED = b"*2\r\n:0\r\n:0\r\n"


def durable(policy: str) -> tuple[InProcessServer, InProcessClient]:
    server = InProcessServer(appendonly="yes", appendfsync=policy)
    return server, server.connect()


# -- WAIT --------------------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", ["0", "-1"])
def test_wait_for_no_replica_is_over_at_once(replicas: str) -> None:
    assert InProcessServer().connect().execute("WAIT", replicas, "10") == b":0\r\n"


def test_wait_for_a_replica_takes_the_whole_timeout() -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.execute("WAIT", "1", "100") == b""
    server.advance(99)
    assert client.received() == b""
    server.advance(2)
    assert client.received() == b":0\r\n"


def test_wait_without_a_timeout_lasts_until_somebody_ends_it() -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.execute("WAIT", "1", "0") == b""
    server.advance(10**9)
    assert client.received() == b""
    server.connect().execute("CLIENT", "UNBLOCK", client.state.id)
    assert client.received() == b":0\r\n"


def test_wait_in_a_transaction_does_not_wait(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("WAIT", "1", "0"), ("WAITAOF", "0", "1", "0"))
    assert client.execute("EXEC") == b"*2\r\n:0\r\n*2\r\n:0\r\n:0\r\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("a", "10"), b"value is not an integer or out of range"),
        (("1", "-1"), b"timeout is negative"),
        (("1", "x"), b"timeout is not an integer or out of range"),
        (("1", "9223372036854775807"), b"timeout is out of range"),
    ],
)
def test_wait_refuses_what_is_no_number(words: tuple[str, str], error: bytes) -> None:
    assert InProcessServer().connect().execute("WAIT", *words) == b"-ERR %b\r\n" % error


# -- WAITAOF -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("a", "0", "0"), b"value is not an integer or out of range"),
        (("2", "0", "0"), b"value is out of range, value must between 0 and 1"),
        (("-1", "0", "0"), b"value is out of range, value must between 0 and 1"),
        (("1", "a", "0"), b"value is out of range, must be positive"),
        (("1", "-1", "0"), b"value is out of range, must be positive"),
        (("1", "0", "-1"), b"timeout is negative"),
        (("1", "0", "x"), b"timeout is not an integer or out of range"),
    ],
)
def test_waitaof_refuses_what_is_out_of_range(words: tuple[str, ...], error: bytes) -> None:
    assert InProcessServer().connect().execute("WAITAOF", *words) == b"-ERR %b\r\n" % error


def test_waitaof_needs_an_append_only_file_to_wait_for_this_server(client: InProcessClient) -> None:
    assert client.execute("WAITAOF", "1", "0", "0") == OFF
    assert client.execute("WAITAOF", "0", "0", "0") == NOT_SYNCED


def test_who_has_written_nothing_does_not_wait() -> None:
    server, client = durable("everysec")
    server.connect().execute("SET", "k", "v")
    assert client.execute("WAITAOF", "1", "0", "0") == SYNCED


@pytest.mark.parametrize("policy", ["always", "everysec"])
def test_nobody_waits_for_what_the_file_does_not_get(policy: str) -> None:
    server, client = durable(policy)
    server.instance.feature(Services).replication.synchronise_blindly(server.connect().state)
    assert client.pipeline(("PUBLISH", "c", "m"), ("WAITAOF", "1", "0", "0")) == b":0\r\n" + SYNCED


def test_with_everysec_it_waits_for_the_next_sync() -> None:
    server, client = durable("everysec")
    server.syncs_are_held = True
    client.execute("SET", "k", "v")
    assert client.execute("WAITAOF", "1", "0", "0") == b""
    server.advance(1000)
    server.advance(1000)
    assert client.received() == b""
    server.syncer.run_next()
    server.advance(100)
    assert client.received() == SYNCED
    assert client.execute("GET", "k") == b"$1\r\nv\r\n"


def test_with_always_it_waits_only_for_the_sync_of_its_own_cycle() -> None:
    client = durable("always")[1]
    assert client.pipeline(("SET", "k", "v"), ("WAITAOF", "1", "0", "0")) == OK + SYNCED
    assert client.execute("WAITAOF", "1", "0", "0") == SYNCED


def test_at_the_timeout_the_count_so_far_is_returned() -> None:
    server, client = durable("no")
    client.execute("SET", "k", "v")
    assert client.execute("WAITAOF", "1", "0", "100") == b""
    server.advance(101)
    assert client.received() == NOT_SYNCED


def test_replicas_never_come_but_the_own_disk_counts() -> None:
    server, client = durable("everysec")
    client.execute("SET", "k", "v")
    assert client.execute("WAITAOF", "0", "1", "5000") == b""
    for _ in range(4):
        server.advance(1000)
    assert client.received() == b""
    server.advance(1001)
    assert client.received() == SYNCED


def test_only_those_wait_on_whose_writes_are_not_synced() -> None:
    server, early = durable("everysec")
    late = server.connect()
    server.syncs_are_held = True
    early.execute("SET", "k", "1")
    server.advance(1000)
    server.advance(100)
    late.execute("SET", "k", "2")
    assert early.execute("WAITAOF", "1", "0", "0") == late.execute("WAITAOF", "1", "0", "0") == b""
    server.syncer.run_next()
    server.advance(100)
    assert (early.received(), late.received()) == (SYNCED, b"")


def test_a_waiter_gets_an_error_when_the_file_is_switched_off() -> None:
    server, client = durable("no")
    client.execute("SET", "k", "v")
    assert client.execute("WAITAOF", "1", "0", "0") == b""
    server.connect().execute("CONFIG", "SET", "appendonly", "no")
    assert client.received() == OFF


def test_while_the_file_is_being_switched_on_nothing_is_safe() -> None:
    server = InProcessServer(appendfsync="always")
    client = server.connect()
    client.execute("SET", "k", "v")
    server.children.is_held = True
    client.execute("CONFIG", "SET", "appendonly", "yes")
    assert client.execute("WAITAOF", "1", "0", "0") == b""
    server.children.is_held = False
    server.advance(100)
    assert client.received() == SYNCED


def test_a_client_that_leaves_is_forgotten() -> None:
    server, client = durable("everysec")
    client.execute("SET", "k", "v")
    client.execute("WAITAOF", "1", "0", "0")
    client.disconnect()
    for _ in range(3):
        server.advance(1000)
    assert not server.persistence._waiting


def test_no_waiter_is_answered_while_the_disk_fails() -> None:
    server, client = durable("everysec")
    server.files.fail("sync", errno.EIO)
    client.execute("SET", "k", "v")
    assert client.execute("WAITAOF", "1", "0", "0") == b""
    for _ in range(3):
        server.advance(1000)
    assert client.received() == b""
