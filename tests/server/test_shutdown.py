"""server/shutdown.py: a primary ends when its replicas have everything."""

from __future__ import annotations

import errno

import pytest

from commands.replication.replica_table import ReplicaTable
from server.inprocess.server import InProcessClient, InProcessServer

REFUSED = b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"


def lagging() -> tuple[InProcessServer, InProcessClient, InProcessClient]:
    """A primary, a replica that does not have its last write, a client."""
    server = InProcessServer(repl_diskless_sync_delay="0", shutdown_timeout="10")
    replica, client = server.connect(), server.connect()
    replica.execute("PSYNC", "?", "-1")
    server.tick()
    client.execute("SET", "k", "v")
    return server, replica, client


def test_it_ends_when_they_have_everything_and_writes_wait_meanwhile() -> None:
    server, replica, client = lagging()
    writer = server.connect()
    offset = server.instance.replication.offset
    assert client.execute("SHUTDOWN") == b""
    assert not server.shutdown_requested and not client.closed
    assert writer.execute("SET", "k", "w") == b""
    assert writer.received() == b""
    replica.execute("REPLCONF", "ACK", offset)
    server.tick()
    assert server.shutdown_requested


def test_it_does_not_wait_longer_than_it_may() -> None:
    server, _, client = lagging()
    client.execute("SHUTDOWN")
    server.advance(9_999)
    assert not server.shutdown_requested
    server.advance(1)
    assert server.shutdown_requested


def test_shutdown_now_waits_for_no_replica() -> None:
    server, _, client = lagging()
    client.execute("SHUTDOWN", "NOW")
    assert server.shutdown_requested


def test_replicas_that_have_everything_are_not_waited_for() -> None:
    server, replica, client = lagging()
    replica.execute("REPLCONF", "ACK", server.instance.replication.offset)
    client.execute("SHUTDOWN")
    assert server.shutdown_requested


def test_it_can_be_called_off() -> None:
    server, _, client = lagging()
    writer, other = server.connect(), server.connect()
    client.execute("SHUTDOWN")
    writer.execute("SET", "k", "w")
    assert b"shutdown_in_milliseconds:10000" in other.execute("INFO", "server")
    assert other.execute("SHUTDOWN", "ABORT") == b"+OK\r\n"
    server.tick()
    assert client.received() == REFUSED and writer.received() == b"+OK\r\n"
    assert other.execute("SHUTDOWN", "ABORT") == b"-ERR No shutdown in progress.\r\n"
    assert b"shutdown_in" not in other.execute("INFO", "server")


def test_a_signal_waits_for_a_paused_cron_and_can_be_called_off_meanwhile() -> None:
    server = InProcessServer(enable_debug_command="yes")
    client = server.connect()
    client.execute("DEBUG", "PAUSE-CRON", "1")
    for _ in range(2):
        server.interrupt()
        server.handle_signal()
        server.tick()
        assert not server.shutdown_requested
        assert client.execute("SHUTDOWN", "ABORT") == b"+OK\r\n"
        assert client.execute("SHUTDOWN", "ABORT") == b"-ERR No shutdown in progress.\r\n"
    server.interrupt()
    server.handle_signal()
    client.execute("DEBUG", "PAUSE-CRON", "0")
    server.tick()
    assert server.shutdown_requested


def test_if_the_disk_does_not_take_it_the_server_goes_on() -> None:
    server, _, client = lagging()
    server.files.fail("create", errno.ENOSPC)
    client.execute("SHUTDOWN", "SAVE")
    server.advance(10_000)
    assert not server.shutdown_requested and client.received() == REFUSED
    assert client.execute("SET", "k", "w") == b"+OK\r\n"


def logged(server: InProcessServer) -> list[str]:
    """What the shutdown has logged so far, without what came before it."""
    lines = [text for _, text in server.log_lines]
    return lines[lines.index("User requested shutdown...") :]


def test_the_log_says_which_replicas_lag_behind() -> None:
    server, replica, client = lagging()
    online = server.connect()
    online.execute("REPLCONF", "listening-port", 7002)
    online.execute("PSYNC", "?", "-1")
    server.tick()
    state = server.instance.replication
    replica.execute("REPLCONF", "ACK", state.offset)
    client.execute("SHUTDOWN")
    server.advance(10_000)
    assert server.shutdown_requested
    assert logged(server)[:2] == [
        "User requested shutdown...",
        "Waiting for replicas before shutting down.",
    ]
    behind = list(server.instance.feature(ReplicaTable).replicas.values())[1]
    assert logged(server)[2:4] == [
        f"Lagging replica {behind.ip.decode()}:7002 reported offset {state.offset} behind master,"
        " lag=10, state=online.",
        "1 of 2 replicas are in sync when shutting down.",
    ]


def test_replicas_that_have_everything_are_in_sync_in_the_log() -> None:
    server, replica, client = lagging()
    replica.execute("REPLCONF", "ACK", server.instance.replication.offset)
    client.execute("SHUTDOWN")
    assert "1 of 1 replicas are in sync when shutting down." in logged(server)
    assert not any("Lagging" in line for line in logged(server))


def test_a_second_shutdown_waits_with_the_first_and_its_options_do_not_count() -> None:
    server, replica, client = lagging()
    offset = server.instance.replication.offset
    second = server.connect()
    client.execute("SHUTDOWN", "NOSAVE")
    assert second.execute("SHUTDOWN", "NOW", "SAVE") == b""
    assert not server.shutdown_requested
    assert logged(server).count("User requested shutdown...") == 1
    replica.execute("REPLCONF", "ACK", offset)
    server.tick()
    assert server.shutdown_requested and not server.files.exists("dump.rdb")


def test_a_further_shutdown_is_refused_with_the_first_if_the_server_goes_on() -> None:
    server, _, client = lagging()
    second = server.connect()
    client.execute("SHUTDOWN")
    second.execute("SHUTDOWN", "NOW")
    server.connect().execute("SHUTDOWN", "ABORT")
    server.tick()
    assert client.received() == second.received() == REFUSED


def test_client_unblock_does_not_end_the_wait_for_the_end() -> None:
    server, _, client = lagging()
    writer, other = server.connect(), server.connect()
    client.execute("SHUTDOWN")
    writer.execute("SET", "k", "w")
    for waiting in (client, writer):
        for reason in ("TIMEOUT", "ERROR"):
            assert other.execute("CLIENT", "UNBLOCK", waiting.state.id, reason) == b":0\r\n"
    assert other.execute("SHUTDOWN", "ABORT") == b"+OK\r\n"
    assert (client.received(), writer.received()) == (REFUSED, b"+OK\r\n")


@pytest.mark.parametrize("words", [("CLIENT", "PAUSE", "5000", "WRITE"), ("FAILOVER",)])
def test_replicas_are_not_asked_while_writes_are_held_back_anyway(words: tuple[str, ...]) -> None:
    server, _, client = lagging()
    server.connect().execute(*words)
    offset = server.instance.replication.offset
    client.execute("SHUTDOWN")
    server.tick()
    assert server.instance.replication.offset == offset


def test_a_write_waits_for_the_end_of_a_failover_after_an_abort() -> None:
    server, _, client = lagging()
    writer, other = server.connect(), server.connect()
    other.execute("FAILOVER")
    client.execute("SHUTDOWN")
    writer.execute("SET", "k", "w")
    other.execute("SHUTDOWN", "ABORT")
    assert (client.received(), writer.received()) == (REFUSED, b"")
    other.execute("FAILOVER", "ABORT")
    assert writer.received() == b"+OK\r\n"


def test_a_write_waits_for_the_shutdown_after_the_end_of_a_failover() -> None:
    server, _, client = lagging()
    writer, other = server.connect(), server.connect()
    client.execute("SHUTDOWN")
    other.execute("FAILOVER")
    writer.execute("SET", "k", "w")
    assert other.execute("FAILOVER", "ABORT") == b"+OK\r\n"
    assert writer.received() == b""
    other.execute("SHUTDOWN", "ABORT")
    assert writer.received() == b"+OK\r\n"


def test_a_write_goes_on_waiting_for_the_end_of_a_pause_after_an_abort() -> None:
    server, _, client = lagging()
    writer, other = server.connect(), server.connect()
    other.execute("CLIENT", "PAUSE", "5000", "WRITE")
    writer.execute("SET", "k", "w")
    client.execute("SHUTDOWN")
    assert other.execute("CLIENT", "UNPAUSE") == b"+OK\r\n"
    assert writer.received() == b""
    other.execute("CLIENT", "PAUSE", "5000", "WRITE")
    other.execute("SHUTDOWN", "ABORT")
    assert (client.received(), writer.received()) == (REFUSED, b"")
    server.advance(5000)
    assert writer.received() == b"+OK\r\n"


def test_writes_that_waited_do_not_run_before_the_end() -> None:
    server, replica, client = lagging()
    writer, offset = server.connect(), server.instance.replication.offset
    client.execute("SHUTDOWN", "SAVE")
    writer.execute("SET", "late", "v")
    replica.execute("REPLCONF", "ACK", offset)
    server.tick()
    assert server.shutdown_requested and writer.received() == b""
    assert server.restart().connect().execute("EXISTS", "late") == b":0\r\n"


def test_a_replica_waits_for_its_own_replicas_and_adds_nothing_to_the_stream() -> None:
    server, _, client = lagging()
    state = server.instance.replication
    server.connect().execute("REPLICAOF", "host", 7001)
    offset = state.offset
    client.execute("SHUTDOWN")
    assert not server.shutdown_requested and state.offset == offset
    server.advance(10_000)
    assert server.shutdown_requested


def test_the_append_only_file_is_synced_before_the_snapshot_is_saved() -> None:
    server = InProcessServer(appendonly="yes")
    server.connect().execute("SHUTDOWN", "SAVE")
    assert logged(server)[1:3] == [
        "Calling fsync() on the AOF file.",
        "Saving the final RDB snapshot before exiting.",
    ]


def test_a_snapshot_that_fails_does_not_keep_force_from_ending(server: InProcessServer) -> None:
    server.files.fail("create", errno.ENOSPC)
    server.connect().execute("SHUTDOWN", "SAVE", "FORCE")
    assert server.shutdown_requested
    assert logged(server)[-1] == "Error trying to save the DB. Exit anyway."
