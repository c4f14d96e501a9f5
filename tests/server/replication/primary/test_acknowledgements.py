"""server/replication/primary/acknowledgements.py: WAIT and WAITAOF with replicas."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from server.replication.primary.feed import GETACK
from tests.server.replication.pairs import OTHER, PRIMARY, REPLICA, Cluster, follow


def replica_of(server: InProcessServer) -> InProcessClient:
    """A replica, byte by byte: it has all there is."""
    replica = server.connect()
    replica.execute("PSYNC", "?", "-1")
    server.network.settle()
    server.tick()
    replica.execute("REPLCONF", "ACK", server.instance.replication.offset)
    replica.received()
    return replica


def test_one_getack_is_sent_for_all_clients_that_wait_in_a_cycle() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    replicas = [replica_of(server) for _ in range(3)]
    clients = [server.connect() for _ in range(20)]
    for client in clients:
        client.send(b"SET k v\r\nWAIT 2 0\r\n")
    server.finish_cycle()
    assert all(client.received() == b"+OK\r\n" for client in clients)
    for replica in replicas:
        assert replica.received().count(GETACK) == 1
    offset = server.instance.replication.offset - len(GETACK)
    replicas[0].execute("REPLCONF", "ACK", offset)
    assert all(client.received() == b"" for client in clients)
    replicas[1].execute("REPLCONF", "ACK", offset)
    server.finish_cycle()
    assert all(client.received() == b":2\r\n" for client in clients)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (("CLIENT", "PAUSE", "5000", "WRITE"), ("CLIENT", "UNPAUSE")),
        (("FAILOVER",), ("FAILOVER", "ABORT")),
    ],
)
def test_getack_is_sent_when_writes_are_not_held_back_any_more(
    begin: tuple[str, ...], end: tuple[str, ...]
) -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    replica, client, other = replica_of(server), server.connect(), server.connect()
    client.execute("SET", "k", "v")
    other.execute(*begin)
    client.execute("WAIT", 1, 0)
    assert GETACK not in replica.received()
    other.execute(*end)
    server.tick()
    assert replica.received().count(GETACK) == 1


def test_each_waits_for_its_own_write() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    replica = replica_of(server)
    first, second = server.connect(), server.connect()
    first.execute("SET", "k", "v")
    offset = server.instance.replication.offset
    second.execute("SET", "k", "w")
    assert first.execute("WAIT", 1, 0) == b"" == second.execute("WAIT", 1, 0)
    replica.execute("REPLCONF", "ACK", offset)
    assert (first.received(), second.received()) == (b":1\r\n", b"")
    assert first.execute("WAIT", 1, 0) == b":1\r\n"
    assert server.connect().execute("WAIT", 1, 0) == b":1\r\n"  # it wrote nothing
    replica.execute("REPLCONF", "ACK", server.instance.replication.offset)
    assert second.received() == b":1\r\n"


def test_when_the_time_is_over_the_answer_is_what_was_reached() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    replicas = [replica_of(server) for _ in range(2)]
    client = server.connect()
    client.execute("SET", "k", "v")
    assert client.execute("WAIT", 3, 1000) == b""
    for replica in replicas:
        replica.execute("REPLCONF", "ACK", server.instance.replication.offset)
    replicas[0].disconnect()
    server.advance(500)
    assert client.received() == b""
    server.advance(501)
    assert client.received() == b":1\r\n"


def test_in_a_transaction_no_client_waits() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    replica_of(server)
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"), ("WAIT", 1, 0))
    assert client.execute("EXEC") == b"*2\r\n+OK\r\n:1\r\n"


def test_wait_on_a_replica_does_not_wait(client: InProcessClient) -> None:
    client.execute("REPLICAOF", "host", 1)
    assert client.execute("WAIT", 0, 0).startswith(b"-ERR WAIT cannot be used with replica")
    assert client.execute("WAITAOF", 0, 0, 0).startswith(b"-ERR WAITAOF cannot be used with repl")


@pytest.mark.parametrize(("policy", "own"), [("always", 0), ("everysec", 1)])
def test_waitaof_counts_replicas_with_the_write_on_disk(policy: str, own: int) -> None:
    """With `always` the replica has it on disk before the primary, whose policy is everysec."""
    cluster = Cluster()
    primary = cluster.server(PRIMARY, appendonly="yes")
    cluster.server(OTHER)
    durable = cluster.server(REPLICA, appendonly="yes", appendfsync=policy)
    follow(durable)
    follow(cluster.servers[1])
    cluster.settle(10)
    client = primary.connect()
    client.execute("SET", "k", "v")
    durable.syncs_are_held = True
    assert client.execute("WAITAOF", 0, 1, 0) == b""
    assert client.execute("WAITAOF", 0, 1, 0) == b""
    cluster.network.settle()
    if policy == "everysec":
        assert client.received() == b""
    durable.syncs_are_held = False
    cluster.settle(6)
    assert client.received() == b"*2\r\n:%d\r\n:1\r\n" % own * 2
    assert client.execute("WAITAOF", 1, 2, 100) == b""
    cluster.advance(101)
    assert client.received() == b"*2\r\n:1\r\n:1\r\n"
