"""Full synchronisations that fail again and again: both sides pause longer each time."""

from __future__ import annotations

import pytest

from protocol.replies import command
from server.inprocess.server import InProcessServer
from server.replication.backoff import Backoff
from storage.redis_format.primitives import crc64, encode_checksum
from tests.commands.streams.talk import Talk
from tests.commands.streams.test_damage import damage
from tests.server.replication.pairs import (
    PRIMARY,
    REPLICA,
    Cluster,
    faked,
    follow,
    full_sync,
    is_up,
    snapshot,
)

CONTENT = b"\xc8what?" + b"\x50\x00"  # of a type that there is not
UNKNOWN_TYPE = CONTENT + encode_checksum(crc64(CONTENT))
NEVER = {b"PSYNC": full_sync(b"no snapshot, whatever the length")}


def lines(server: InProcessServer, text: str) -> list[str]:
    return [line for _, line in server.log_lines if text in line]


def damaged_snapshot() -> bytes:
    """A snapshot with a right checksum and a damaged node in the stream at s."""
    server = InProcessServer(stream_node_max_entries="4")
    Talk(server).all(*(f"XADD s {n}-1 f v{n}" for n in range(1, 13)))
    damage(server)
    server.persistence.save()
    return bytes(server.files.buffer("dump.rdb"))


def test_pauses_double_up_to_a_minute() -> None:
    backoff = Backoff()
    assert backoff.is_over(0)
    pauses = []
    for _ in range(9):
        backoff.fail(5000)
        pauses.append(backoff.pause_ms // 1000)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert not backoff.is_over(5000 + 59_999)
    assert backoff.is_over(5000 + 60_000)


def test_a_replica_asks_ever_less_for_a_snapshot_that_it_cannot_load() -> None:
    cluster, replica, fake = faked(NEVER)
    for _ in range(60):
        cluster.advance(500)
    assert fake.connections == 5  # at 0, 1, 3, 7 and 15 s
    for _ in range(1200):
        cluster.advance(500)
    assert fake.connections <= 5 + 2 + 10
    assert replica.instance.databases[0].get(b"own") is not None
    assert lines(replica, "Failed trying to load the MASTER synchronization DB")
    assert lines(replica, "failed, 5 in a row: the next attempt is in 16 s")


def test_replicaof_begins_to_count_again() -> None:
    cluster, replica, fake = faked(NEVER)
    for _ in range(60):
        cluster.advance(500)
    fake.answers[b"PSYNC"] = full_sync(snapshot(b"theirs"))
    replica.connect().execute("REPLICAOF", "NO", "ONE")
    follow(replica)
    cluster.network.settle()
    assert is_up(replica)


def test_a_replica_whose_stream_meets_damage_synchronises_again_ever_more_slowly() -> None:
    answer = full_sync(damaged_snapshot()) + command([b"SELECT", b"0"])
    answer += command([b"XDEL", b"s", b"6-1"])
    cluster, replica, fake = faked({b"PSYNC": answer})
    for _ in range(60):
        cluster.advance(500)
    assert fake.connections == 5
    assert b"PSYNC\r\n$1\r\n?" in fake.seen[-1]  # for all of the data
    assert len(lines(replica, "Damage in stream 's' of database 0: entries 5-1 to 9-0")) == 5
    assert not lines(replica, "Traceback") and not lines(replica, "CRITICAL")
    fake.answers[b"PSYNC"] = full_sync(snapshot(b"theirs"))
    cluster.settle(100)
    assert is_up(replica)


@pytest.mark.parametrize("payload", [b"no payload", UNKNOWN_TYPE])
def test_a_replica_that_cannot_read_a_payload_synchronises_again_ever_more_slowly(
    payload: bytes,
) -> None:
    answer = full_sync(snapshot(b"theirs")) + command([b"SELECT", b"0"])
    answer += command([b"RESTORE", b"k", b"0", payload])
    cluster, replica, fake = faked({b"PSYNC": answer})
    for _ in range(60):
        cluster.advance(500)
    assert fake.connections == 5
    assert b"PSYNC\r\n$1\r\n?" in fake.seen[-1]
    assert len(lines(replica, "the payload for 'k' is refused")) == 5
    assert not lines(replica, "CRITICAL")


def test_a_replica_that_sanitizes_refuses_a_damaged_snapshot() -> None:
    answers = {b"PSYNC": full_sync(damaged_snapshot())}
    cluster, replica, fake = faked(answers, sanitize_dump_payload="yes")
    for _ in range(60):
        cluster.advance(500)
    assert fake.connections == 5
    assert replica.instance.databases[0].get(b"own") is not None
    assert lines(replica, "is refused: entries 5-1 to 9-0 were damaged")


class Refusing:
    """A replica on the primary that leaves as soon as it has received its snapshot.

    `loads`: it acknowledges the snapshot before, but not what was written meanwhile.
    """

    def __init__(self, cluster: Cluster, primary: InProcessServer, *, loads: bool = False) -> None:
        self.cluster = cluster
        self.primary = primary
        self.loads = loads
        self.snapshots = 0
        self.newlines = 0

    def ask(self) -> None:
        """Ask for a snapshot, and wait until it is received, for up to two minutes."""
        client = self.primary.connect()
        client.state.address = b"10.0.0.7:5555"
        client.execute("REPLCONF", "listening-port", "7009", "capa", "eof", "capa", "psync2")
        data = client.execute("PSYNC", "?", "-1")
        for _ in range(240):
            if b"$EOF" in data:
                break
            self.cluster.advance(500)
            data += client.received()
        self.newlines += data.startswith(b"\n")
        self.snapshots += data.count(b"$EOF")
        if self.loads:
            self.primary.connect().execute("SET", "k", "v")
            self.cluster.advance(500)
            client.execute("REPLCONF", "ACK", data.partition(b"\r\n")[0].split()[-1])
        client.disconnect()


def test_a_primary_lets_a_replica_wait_that_never_loads_its_snapshot() -> None:
    cluster = Cluster()
    primary = cluster.server(PRIMARY)
    replica = Refusing(cluster, primary)
    began_ms = primary.now_ms
    times = []
    for _ in range(6):
        replica.ask()
        times.append((primary.now_ms - began_ms) // 1000)
    assert replica.snapshots == 6
    assert sum(time <= 30 for time in times) <= 10
    assert times[-1] >= 31
    (line,) = lines(primary, "failed, 5 in a row")
    assert line.startswith("Full synchronization with replica 10.0.0.7:7009 failed")
    assert "connection" in line and "16 s" in line
    assert replica.newlines  # it does not time out meanwhile

    honest = cluster.server(REPLICA)  # others do not wait for it
    follow(honest)
    cluster.settle(4)
    assert is_up(honest)


def test_a_primary_lets_a_replica_wait_that_never_catches_up() -> None:
    cluster = Cluster()
    primary = cluster.server(PRIMARY)
    replica = Refusing(cluster, primary, loads=True)
    began_ms = primary.now_ms
    for _ in range(6):
        replica.ask()
    assert replica.snapshots == 6 and primary.now_ms - began_ms >= 31_000
    (line,) = lines(primary, "failed, 5 in a row")
    assert "it had loaded the snapshot, and the connection ended before it had caught up" in line


def test_the_log_says_why_a_primary_refuses_an_older_replica() -> None:
    primary = Cluster().server(PRIMARY, repl_snapshot_version="7.2")
    primary.connect().execute("HSETEX", "h", "EX", "100", "FIELDS", "1", "f", "v")
    client = primary.connect()
    client.execute("REPLCONF", "listening-port", "7009", "capa", "eof", "capa", "psync2")
    assert client.execute("PSYNC", "?", "-1").startswith(b"-NOMASTERLINK")
    (line,) = lines(primary, "is refused: ")
    assert ":7009 is refused: hash fields here have a time to live, which no Redis before" in line


def test_a_replica_that_loads_its_snapshot_does_not_wait_for_the_next() -> None:
    cluster = Cluster()
    primary, replica = cluster.server(PRIMARY), cluster.server(REPLICA)
    for _ in range(4):
        follow(replica)
        cluster.settle(3)
        assert is_up(replica)
        replica.connect().execute("REPLICAOF", "NO", "ONE")
        replica.connect().execute("SET", "k", "v")
    assert not lines(primary, "in a row")
