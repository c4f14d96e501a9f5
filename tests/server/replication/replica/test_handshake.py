"""The handshake of a replica with its primary, byte by byte."""

from __future__ import annotations

import pytest

from commands.core.server_state import LinkPhase
from protocol.replies import command
from tests.server.replication.pairs import (
    ID,
    PRIMARY,
    REPLICA,
    Cluster,
    FakePrimary,
    faked,
    follow,
    full_sync,
    is_up,
    keys,
    snapshot,
)


def test_the_handshake_is_what_redis_sends_with_a_version_for_valkey() -> None:
    _, _, fake = faked({b"AUTH": b"+OK\r\n"}, masterauth="p", replica_announce_ip="10.0.0.9")
    burst = command([b"AUTH", b"p"]) + command([b"REPLCONF", b"listening-port", b"7002"])
    burst += command([b"REPLCONF", b"ip-address", b"10.0.0.9"])
    burst += command([b"REPLCONF", b"version", b"9.0.0"])
    words = [b"capa", b"eof", b"capa", b"psync2", b"capa", b"rillway"]
    burst += command([b"REPLCONF", *words])
    assert fake.seen[:2] == [command([b"PING"]), burst]
    assert fake.seen[2].startswith(b"*3\r\n$5\r\nPSYNC\r\n$40\r\n")


def test_a_primary_without_psync_is_asked_with_sync_and_gets_no_acknowledgements() -> None:
    data = snapshot(b"theirs")
    cluster, replica, fake = faked(
        {b"PSYNC": b"-ERR unknown command\r\n", b"SYNC": b"$%d\r\n%b" % (len(data), data)}
    )
    cluster.settle()
    assert is_up(replica) and keys(replica) == {b"theirs"}
    assert not any(b"ACK" in data for data in fake.seen)


def test_a_silent_primary_is_given_up() -> None:
    cluster, replica, fake = faked({b"PING": b""})
    assert replica.instance.replication.link.phase is LinkPhase.HANDSHAKE
    cluster.advance(5000)
    cluster.advance(1000)
    assert fake.connections == 2


def test_newlines_keep_waiting_alive() -> None:
    cluster, _, fake = faked({b"PSYNC": b"\n"}, repl_timeout="10")
    for _ in range(5):
        fake.send(b"\n")
        cluster.advance(5000)
    assert fake.connections == 1
    cluster.advance(11_000)
    cluster.advance(1000)
    assert fake.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"-NOMASTERLINK x\r\n",
        b"-LOADING x\r\n",
        b"+FULLRESYNC short 1\r\n",
        b"+FULLRESYNC " + ID.encode() + b" -1\r\n",
        b"+FULLRESYNC " + ID.encode() + b" " + b"9" * 30 + b"\r\n",
        b"+CONTINUE " + ID.encode()[:-1] + b"\r\n",
        b"x" * 2000,
        full_sync(b"")[:-3] + b"-ERR no\r\n",
        b"+FULLRESYNC " + ID.encode() + b" 1\r\n$-1\r\n",
        b"+FULLRESYNC " + ID.encode() + b" 1\r\n$99999999999999999999x\r\n",
        b"+FULLRESYNC " + ID.encode() + b" 1\r\n$EOF:short\r\n",
        b"+FULLRESYNC " + ID.encode() + b" 1\r\n" + b"$" * 400,
        full_sync(b"REDIS0099" + bytes(100)),
        full_sync(b"garbage" * 10),
        full_sync(snapshot(b"theirs")[:-9] + bytes(9)),
        full_sync(snapshot(b"theirs")[:-1] + b"x"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_and_the_data_stays(answer: bytes) -> None:
    cluster, replica, fake = faked({b"PSYNC": answer})
    cluster.network.settle()
    assert not is_up(replica) and keys(replica) == {b"own"}
    assert replica.connect().execute("GET", "own") == b"$1\r\nv\r\n"
    assert not [name for name in replica.files.names(".") if name.startswith("temp-")]
    cluster.settle(2)
    assert fake.connections == 2  # after a while, and not at once
    assert any(level == "warning" for level, _ in replica.log_lines)


@pytest.mark.parametrize("head", [b"$999999999999999999\r\n", b"$EOF:" + b"m" * 40 + b"\r\n"])
def test_a_snapshot_without_end_ends_where_the_disk_is_full(head: bytes) -> None:
    cluster, replica, fake = faked({b"PSYNC": b"+FULLRESYNC %b 1\r\n" % ID.encode() + head})
    replica.files.free_bytes = 10_000
    for _ in range(20):
        fake.send(b"x" * 1000)
        cluster.network.settle()
    assert not is_up(replica) and keys(replica) == {b"own"}
    assert not [name for name in replica.files.names(".") if name.startswith("temp-")]
    assert any("No space left" in text for _, text in replica.log_lines)


def test_an_unrequested_partial_resynchronization_is_refused() -> None:
    cluster, replica, fake = faked({b"PSYNC": full_sync(snapshot(b"theirs"))})
    cluster.settle()
    fake.send(b"inline\r\n")
    cluster.network.settle()
    fake.answers[b"PSYNC"] = b"+CONTINUE\r\n"
    cluster.settle()
    assert command([b"PSYNC", b"?", b"-1"]) in fake.seen
    assert not is_up(replica) and keys(replica) == {b"theirs"}


def test_a_snapshot_of_unknown_length_ends_with_its_mark() -> None:
    data, mark = snapshot(b"theirs"), b"m" * 40
    cluster, replica, fake = faked({b"PSYNC": b"+FULLRESYNC %b 7\r\n" % ID.encode()})
    cluster.network.piece_bytes = 11
    fake.send(b"\n$EOF:%b\r\n%b%b" % (mark, data, mark))
    cluster.network.settle()
    assert is_up(replica) and keys(replica) == {b"theirs"}
    assert fake.seen[-1] == command([b"REPLCONF", b"ACK", b"7"])


@pytest.mark.parametrize("answered", [b"", b"PING", b"REPLCONF"])
def test_a_primary_that_hangs_in_the_handshake_is_noticed_and_asked_again(answered: bytes) -> None:
    cluster, fake = Cluster(), FakePrimary()
    if answered != b"REPLCONF":
        fake.answers = {b"PING": b"+PONG\r\n"} if answered else {}
    cluster.network.peers[PRIMARY] = fake.connect
    replica = cluster.server(REPLICA, repl_timeout="5")
    follow(replica)
    for _ in range(20):
        cluster.advance(500)
    reason = "Timeout connecting to the MASTER..."
    assert ("warning", reason) in replica.log_lines
    assert fake.connections > 1
