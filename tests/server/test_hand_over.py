"""server/hand_over.py: a replica takes over from a primary that ends."""

from __future__ import annotations

from errno import ENOSPC

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.server.replication.primary.test_failover import pair
from tests.server.test_shutdown import REFUSED, lagging, logged

STAYS = "Waiting for replicas before shutting down."


def shut_down() -> tuple[InProcessServer, InProcessClient]:
    """A primary that was told to end while its replica lacks a write; the replica."""
    server, replica, client = lagging()
    assert client.execute("SHUTDOWN", "FAILOVER") == b""
    return server, replica


def test_writes_wait_until_a_replica_has_everything_and_is_asked_to_take_over() -> None:
    server, replica = shut_down()
    writer, state = server.connect(), server.instance.replication
    assert writer.execute("SET", "k", "w") == b"" and state.failover == "waiting-for-sync"
    replica.execute("REPLCONF", "ACK", state.offset)
    server.tick()
    assert state.failover == "failover-in-progress" and not server.shutdown_requested


def test_it_ends_once_the_replica_has_taken_over_and_clients_were_told() -> None:
    cluster, primary, replica = pair()
    primary.connect().execute("SET", "k", "v")
    cluster.network.is_open = False  # data in flight arrives, but no new connection opens
    client, writer = primary.connect(), primary.connect()
    client.execute("SHUTDOWN", "FAILOVER")
    assert writer.execute("SET", "k", "w") == b""
    cluster.network.is_open = True
    cluster.settle(2)
    while not primary.shutdown_requested:
        cluster.advance(100)
    assert client.received() == b"" and writer.received().startswith(b"-READONLY")
    assert "A replica has taken over." in logged(primary)
    heir = replica.connect()
    assert heir.execute("GET", "k") == b"$1\r\nv\r\n"
    assert heir.execute("SET", "k", "w") == b"+OK\r\n"


def test_when_the_time_is_over_it_ends_without() -> None:
    server, _ = shut_down()
    server.advance(9_999)
    assert not server.shutdown_requested
    server.advance(1)
    server.advance(100)
    assert server.shutdown_requested
    assert any(line.startswith("Not handed over: no replica") for line in logged(server))


def test_when_the_failover_is_called_off_it_waits_as_without() -> None:
    server, replica = shut_down()
    server.connect().execute("FAILOVER", "ABORT")
    server.tick()
    assert not server.shutdown_requested and logged(server)[-1] == STAYS
    replica.execute("REPLCONF", "ACK", server.instance.replication.offset)
    server.tick()
    assert server.shutdown_requested


def test_abort_calls_both_off() -> None:
    server, _ = shut_down()
    writer = server.connect()
    writer.execute("SET", "k", "w")
    assert server.connect().execute("SHUTDOWN", "ABORT") == b"+OK\r\n"
    assert server.instance.replication.failover == "no-failover"
    assert writer.received() == b"+OK\r\n"


def test_abort_leaves_one_primary_if_a_replica_is_asked_already() -> None:
    cluster, primary, replica = pair()
    cluster.network.is_open = False
    primary.connect().execute("SHUTDOWN", "FAILOVER")
    state = primary.instance.replication
    assert state.failover == "failover-in-progress"
    assert primary.connect().execute("SHUTDOWN", "ABORT") == b"+OK\r\n"
    cluster.network.is_open = True
    cluster.settle()
    assert state.is_replica and not replica.instance.replication.is_replica
    assert not primary.shutdown_requested


def test_now_does_not_wait_for_a_replica_that_lags() -> None:
    server, _, client = lagging()
    client.execute("SHUTDOWN", "FAILOVER", "NOW")
    assert server.shutdown_requested
    assert logged(server)[1] == "Not handing over: no replica has everything."


def test_now_hands_over_to_a_replica_that_has_everything() -> None:
    server, replica, client = lagging()
    state = server.instance.replication
    replica.execute("REPLCONF", "ACK", state.offset)
    client.execute("SHUTDOWN", "NOW", "FAILOVER")
    assert state.failover == "failover-in-progress" and not server.shutdown_requested


def test_without_a_replica_it_ends_at_once() -> None:
    server = InProcessServer()
    server.connect().execute("SHUTDOWN", "FAILOVER")
    assert server.shutdown_requested
    assert logged(server)[1] == "Not handing over: no replica is online."


def test_without_time_to_wait_it_ends_at_once() -> None:
    server, _, client = lagging()
    server.connect().execute("CONFIG", "SET", "shutdown-timeout", 0)
    client.execute("SHUTDOWN", "FAILOVER")
    assert server.shutdown_requested
    assert logged(server)[1] == "Not handing over: shutdown-timeout is 0."


def test_if_the_data_cannot_be_saved_after_the_hand_over_the_client_learns_of_it() -> None:
    cluster, primary, _ = pair()
    client = primary.connect()
    client.execute("SHUTDOWN", "FAILOVER", "SAVE")
    primary.files.fail("create", ENOSPC)
    while primary.instance.shutdown_at_ms:
        cluster.advance(100)
    assert client.received() == REFUSED
    assert primary.instance.replication.is_replica and not primary.shutdown_requested


def test_under_sentinel_nothing_is_handed_over() -> None:
    server, _, client = lagging()
    server.connect().execute("CLIENT", "SETNAME", "sentinel-0123abcd-cmd")
    client.execute("SHUTDOWN", "FAILOVER")
    assert server.instance.replication.failover == "no-failover"
    assert logged(server)[1] == ("Not handing over: Sentinel must order it (SENTINEL FAILOVER).")


@pytest.mark.parametrize("words", [("FAILOVER", "ABORT"), ("FAILOVER", "SAVE", "NOSAVE")])
def test_options_that_exclude_each_other(server: InProcessServer, words: tuple[str, ...]) -> None:
    assert server.connect().execute("SHUTDOWN", *words) == b"-ERR syntax error\r\n"
    assert not server.shutdown_requested


def test_a_signal_hands_over_if_the_directive_says_so() -> None:
    server, _, _ = lagging()
    client = server.connect()
    assert client.execute("CONFIG", "SET", "shutdown-on-sigterm", "FAILOVER nosave") == b"+OK\r\n"
    assert client.execute("CONFIG", "GET", "shutdown-on-sigterm").endswith(b"nosave failover\r\n")
    server.interrupt()
    server.handle_signal()
    assert server.instance.replication.failover == "waiting-for-sync"
