"""server/replication/primary/failover.py: a primary hands its role over, or stays what it is."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from server.replication.primary.feed import GETACK
from tests.server.replication.pairs import PRIMARY, REPLICA, Cluster, FakePrimary, follow, is_up
from tests.server.test_shutdown import lagging


def pair() -> tuple[Cluster, InProcessServer, InProcessServer]:
    """A primary with a key, and its replica."""
    cluster = Cluster()
    primary, replica = cluster.server(PRIMARY), cluster.server(REPLICA)
    primary.connect().execute("SET", "k", "v")
    follow(replica)
    cluster.settle()
    assert is_up(replica)
    return cluster, primary, replica


@pytest.mark.parametrize("words", [(), ("TO", "127.0.0.1", REPLICA), ("TIMEOUT", 5000)])
def test_the_roles_are_exchanged(words: tuple[str | int, ...]) -> None:
    cluster, primary, replica = pair()
    client = primary.connect()
    client.execute("SET", "k2", "v")
    assert client.execute("FAILOVER", *words) == b"+OK\r\n"
    cluster.settle()
    assert primary.instance.replication.is_replica and is_up(primary)
    assert not replica.instance.replication.is_replica
    assert primary.instance.replication.failover == "no-failover"
    replica.connect().execute("SET", "k3", "v")
    cluster.advance()
    assert client.execute("EXISTS", "k", "k2", "k3") == b":3\r\n"
    assert replica.instance.replication.partial_syncs == 1
    assert primary.instance.replication.full_syncs == 1  # that of the replica, at the beginning


def test_writes_are_held_back_and_answered_by_what_this_server_is_then() -> None:
    cluster, primary, _ = pair()
    primary.connect().execute("SET", "k2", "v")
    cluster.network.is_open = False  # data in flight arrives, but no new connection opens
    client, reader = primary.connect(), primary.connect()
    assert client.execute("FAILOVER", "TIMEOUT", 60_000) == b"+OK\r\n"
    assert primary.instance.replication.failover == "waiting-for-sync"
    assert client.execute("SET", "k", "w") == b""
    assert reader.execute("GET", "k") == b"$1\r\nv\r\n"
    cluster.network.is_open = True
    cluster.settle()
    assert client.received().startswith(b"-READONLY")


def test_a_replica_is_asked_what_it_has() -> None:
    server, replica, client = lagging()
    offset = server.instance.replication.offset
    client.execute("FAILOVER")
    server.tick()
    asked = replica.received()
    assert asked.endswith(GETACK) and asked.count(GETACK) == 1
    replica.execute("REPLCONF", "ACK", offset - 1)
    assert server.instance.replication.failover == "waiting-for-sync"
    replica.execute("REPLCONF", "ACK", offset)
    assert server.instance.replication.failover == "failover-in-progress"


@pytest.mark.parametrize("is_forced", [True, False])
def test_a_time_limit_ends_it_or_forces_it(is_forced: bool) -> None:
    cluster, primary, replica = pair()
    cluster.servers.remove(replica)  # its clock stands still: it acknowledges nothing
    client = primary.connect()
    client.execute("SET", "k2", "v")
    words = ("TO", "127.0.0.1", REPLICA, "FORCE") if is_forced else ()
    assert client.execute("FAILOVER", *words, "TIMEOUT", 100) == b"+OK\r\n"
    assert client.execute("SET", "k", "w") == b""
    cluster.servers[0].advance(101)
    if is_forced:
        assert primary.instance.replication.failover == "failover-in-progress"
        line = f"FAILOVER to 127.0.0.1:{REPLICA} time out exceeded, failing over."
        assert ("notice", line) in primary.log_lines
        cluster.settle()
        assert primary.instance.replication.is_replica
    else:
        assert primary.instance.replication.failover == "no-failover"
        assert client.received() == b"+OK\r\n"


def test_it_can_be_called_off_while_it_waits() -> None:
    _, primary, _ = pair()
    client = primary.connect()
    client.execute("SET", "k2", "v")
    client.execute("FAILOVER")
    other = primary.connect()
    assert other.execute("SET", "k", "w") == b""
    assert client.execute("REPLICAOF", "h", 1) == (
        b"-ERR REPLICAOF not allowed while failing over.\r\n"
    )
    assert client.execute("FAILOVER", "ABORT") == b"+OK\r\n"
    primary.tick()
    assert other.received() == b"+OK\r\n"


@pytest.mark.parametrize("answer", [b"-ERR PSYNC FAILOVER replid must match my replid.\r\n", b""])
def test_a_primary_whose_failover_is_refused_stays_the_primary(answer: bytes) -> None:
    cluster, primary, _ = pair()
    fake = FakePrimary({b"PSYNC": answer})
    cluster.network.peers[REPLICA] = fake.connect
    if not answer:
        del cluster.network.peers[REPLICA]
    client = primary.connect()
    client.execute("FAILOVER")
    waiting = primary.connect()
    waiting.execute("SET", "k", "w")
    cluster.settle()
    assert not primary.instance.replication.is_replica
    assert primary.instance.replication.failover == "no-failover"
    assert waiting.execute("SET", "k", "x") == b"+OK\r\n"
    reason = "Failover target rejected psync request" if answer else "Error condition on socket"
    lines = [line for _, line in primary.log_lines if reason in line]
    assert [line.startswith(f"FAILOVER to any replica aborted: {reason}") for line in lines] == [
        True
    ]
    if answer:
        assert any(request.endswith(b"$8\r\nFAILOVER\r\n") for request in fake.seen)


def test_only_a_replica_of_the_same_history_takes_over() -> None:
    _, primary, replica = pair()
    words = ("PSYNC", primary.instance.replication.replication_id, 1, "FAILOVER")
    assert primary.connect().execute(*words) == (
        b"-ERR PSYNC FAILOVER can't be sent to a master.\r\n"
    )
    refusal = replica.connect().execute("PSYNC", "f" * 40, 1, "failover")
    assert refusal == b"-ERR PSYNC FAILOVER replid must match my replid.\r\n"
    assert replica.instance.replication.is_replica


def test_of_several_replicas_one_that_answers_takes_over() -> None:
    server, hangs, client = lagging()
    offset = server.instance.replication.offset
    hangs.execute("REPLCONF", "ACK", offset)  # it has everything, and hangs from now on
    lives = server.connect()
    lives.execute("REPLCONF", "LISTENING-PORT", 7777)
    lives.execute("PSYNC", "?", -1)
    server.tick()
    server.advance(1)
    client.execute("FAILOVER")
    server.advance(100)
    assert server.instance.replication.failover == "waiting-for-sync"
    lives.execute("REPLCONF", "ACK", offset)
    assert server.instance.replication.failover == "failover-in-progress"
    assert client.execute("ROLE").startswith(b"*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:7777")
