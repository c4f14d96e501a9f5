"""server/ending.py: a primary ends when its replicas have everything."""

from __future__ import annotations

import errno

from server.inprocess import InProcessClient, InProcessServer

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


def test_if_the_disk_does_not_take_it_the_server_goes_on() -> None:
    server, _, client = lagging()
    server.files.fail("create", errno.ENOSPC)
    client.execute("SHUTDOWN", "SAVE")
    server.advance(10_000)
    assert not server.shutdown_requested and client.received() == REFUSED
    assert client.execute("SET", "k", "w") == b"+OK\r\n"
