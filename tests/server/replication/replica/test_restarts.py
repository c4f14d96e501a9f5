"""Replicas of a primary that restarts, and keys that expire meanwhile."""

from __future__ import annotations

from protocol.replies import command
from server.inprocess.server import InProcessClient, InProcessServer
from tests.server.replication.pairs import (
    PRIMARY,
    REPLICA,
    Cluster,
    follow,
    pair,
)


def restarted(cluster: Cluster, primary: InProcessServer, **directives: str) -> InProcessServer:
    """The primary again, from its snapshot, when the keys of `expiring` have expired."""
    assert primary.persistence.save()
    cluster.servers.remove(primary)
    for server in cluster.servers:
        cluster.network.cut(server)
    cluster.network.now_ms += 1000
    primary.replication.stop()
    again = InProcessServer.in_network(
        cluster.network, primary.files, port=str(PRIMARY), **directives
    )
    cluster.servers.append(again)
    return again


def expiring(client: InProcessClient, count: int) -> None:
    """Keys that expire within two seconds, in two databases."""
    for db in (0, 3):
        client.execute("SELECT", db)
        client.pipeline(*[("SET", f"{number}", "v", "PX", 1500) for number in range(count // 2)])


def test_replicas_of_a_restarted_primary_go_on_and_lose_what_had_expired() -> None:
    cluster, primary, replica = pair()
    expiring(primary.connect(), 20)
    cluster.advance()
    old = primary.instance.replication
    again = restarted(cluster, primary)
    state, held = again.instance.replication, again.instance.persistence
    assert (held.loaded_keys, held.expired_keys_on_load) == (1, 20)
    assert (state.second_id, state.second_offset) == (old.replication_id, old.offset + 1)
    deletions = sum(2 * len(command([b"DEL", b"%d" % number])) for number in range(10))
    selections = sum(len(command([b"SELECT", b"%d" % index])) for index in (0, 3))
    assert state.offset == old.offset + deletions + selections
    cluster.settle()
    assert (state.partial_syncs, state.full_syncs) == (1, 0)
    for server in (again, replica):
        assert [len(db) for db in server.instance.databases[:4]] == [1, 0, 0, 0]


def test_too_many_keys_that_had_expired_force_a_full_synchronisation() -> None:
    cluster, primary, replica = pair()
    expiring(primary.connect(), 2000)
    cluster.advance()
    again = restarted(cluster, primary, repl_backlog_size="16384", repl_diskless_sync_delay="0")
    state = again.instance.replication
    assert state.backlog is not None
    assert state.backlog.first_offset > state.second_offset
    cluster.settle()
    assert (state.partial_syncs, state.full_syncs) == (0, 1)
    assert [len(db) for db in replica.instance.databases[:4]] == [1, 0, 0, 0]


def test_a_restarted_replica_keeps_expired_keys_until_its_primary_removes_them() -> None:
    cluster, primary, replica = pair(replicaof="host 7001")
    expiring(primary.connect(), 2)
    cluster.advance()
    assert replica.persistence.save()
    cluster.network.now_ms += 1000
    again = InProcessServer.in_network(
        cluster.network, replica.files, port=str(REPLICA), replicaof="host 7001"
    )
    assert again.instance.persistence.expired_keys_on_load == 0
    assert [len(db) for db in again.instance.databases[:4]] == [2, 0, 0, 1]


def test_a_writable_replica_expires_the_keys_of_its_own_clients_and_no_others() -> None:
    cluster = Cluster()
    primary, replica = cluster.server(PRIMARY), cluster.server(REPLICA, replica_read_only="no")
    primary.connect().execute("SET", "theirs", "v", "PX", "5000")
    follow(replica)
    cluster.settle()
    client = replica.connect()
    client.execute("SET", "set", "v", "PX", "100")
    client.execute("SET", "kept", "v", "PX", "100")
    client.execute("PERSIST", "kept")
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("PEXPIRE", "s", "100")
    client.execute("SET", "later", "v", "PX", "1000000")
    assert b"slave_expires_tracked_keys:4" in client.execute("INFO", "stats")
    primary.instance.active_expiry = False  # so it sends no DEL
    cluster.advance(10_000)
    cluster.advance(1)
    assert set(replica.instance.databases[0].values) == {b"theirs", b"kept", b"later"}
    assert b"slave_expires_tracked_keys:1" in client.execute("INFO", "stats")
    assert client.execute("REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    assert b"slave_expires_tracked_keys:0" in client.execute("INFO", "stats")
