"""WAIT and WAITAOF."""

from __future__ import annotations

import errno

import pytest

from commands.core.services import Services
from server.inprocess.server import InProcessClient, InProcessServer

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
