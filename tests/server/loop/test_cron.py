"""server/loop/cron.py: periodic work."""

from __future__ import annotations

import pytest

from commands.streams.idempotence import IdempotenceWatch
from server.inprocess.server import InProcessServer
from server.loop.cron import close_idle_clients, expire_keys, forget_idempotent_ids


def test_expired_keys_go_without_anybody_asking(server: InProcessServer) -> None:
    server.connect().execute("SET", "k", "v", "PX", "10")
    server.propagated.clear()
    server.advance(11)
    assert len(server.instance.databases[0]) == 0
    assert server.propagated == [(0, [[b"DEL", b"k"]])]
    assert server.instance.stats.expired_keys == 1


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (("CLIENT", "PAUSE", "5000", "WRITE"), ("CLIENT", "UNPAUSE")),
        (("FAILOVER",), ("FAILOVER", "ABORT")),
    ],
)
def test_while_writes_are_held_back_expired_keys_and_fields_stay_and_are_hidden(
    begin: tuple[str, ...], end: tuple[str, ...]
) -> None:
    server = InProcessServer(repl_snapshot_version="auto")
    client = server.connect()
    server.connect().execute("PSYNC", "?", "-1")
    client.execute("SET", "active", "v", "PX", "10")
    client.execute("SET", "read", "v", "PX", "10")
    client.pipeline(("HSET", "h", "f", "v", "g", "v"), ("HPEXPIRE", "h", "10", "FIELDS", "1", "f"))
    client.execute(*begin)
    server.propagated.clear()
    server.advance(11)
    assert client.execute("GET", "read") == client.execute("HGET", "h", "f") == b"$-1\r\n"
    server.advance(11)
    assert len(server.instance.databases[0]) == 3
    assert server.propagated == [] and server.instance.stats.expired_keys == 0
    client.execute(*end)
    server.advance(11)
    assert len(server.instance.databases[0]) == 1
    assert server.instance.stats.expired_keys == 2
    assert len(server.propagated) == 3


def test_active_expiry_can_be_switched_off(server: InProcessServer) -> None:
    server.connect().execute("SET", "k", "v", "PX", "10")
    server.instance.active_expiry = False
    server.instance.now_ms += 11
    assert expire_keys(server.instance, limit=10) == 0
    assert len(server.instance.databases[0]) == 1


def test_one_pass_removes_a_bounded_number_of_keys() -> None:
    server = InProcessServer()
    client = server.connect()
    for i in range(5):
        client.execute("SET", f"k{i}", "v", "PX", "10")
    server.instance.now_ms += 11
    assert expire_keys(server.instance, limit=3) == 3
    assert expire_keys(server.instance, limit=3) == 2


def test_idle_clients_are_closed_but_not_those_that_wait() -> None:
    server = InProcessServer(timeout="1")
    idle, waiting, listening = server.connect(), server.connect(), server.connect()
    idle.execute("PING")
    waiting.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    listening.execute("SSUBSCRIBE", "news")
    server.instance.monotonic_ms += 1001
    close_idle_clients(server.instance)
    assert idle.closed and not waiting.closed and not listening.closed


def test_a_client_that_is_held_back_is_not_idle() -> None:
    server = InProcessServer(timeout="1")
    client = server.connect()
    server.connect().execute("CLIENT", "PAUSE", "5000")
    assert client.execute("PING") == b""
    server.instance.monotonic_ms += 1001
    close_idle_clients(server.instance)
    assert not client.closed


def test_a_client_whose_write_a_failover_holds_back_is_not_idle() -> None:
    server = InProcessServer(timeout="1")
    client, writer = server.connect(), server.connect()
    client.execute("PSYNC", "?", "-1")
    server.connect().execute("FAILOVER")
    assert writer.execute("SET", "k", "v") == b""
    server.instance.monotonic_ms += 1001
    close_idle_clients(server.instance)
    assert not writer.closed


def test_old_ids_of_producers_are_dropped_for_a_limited_number_of_producers_at_a_time() -> None:
    server = InProcessServer()
    client = server.connect()
    for i in range(5):
        client.execute("XADD", f"s{i}", "IDMP", "p", "1", "*", "f", "v")
    server.instance.now_ms += 100_001
    forget_idempotent_ids(server.instance, limit=3)
    assert len(server.instance.feature(IdempotenceWatch)) == 2
    forget_idempotent_ids(server.instance, limit=3)
    assert len(server.instance.feature(IdempotenceWatch)) == 0
