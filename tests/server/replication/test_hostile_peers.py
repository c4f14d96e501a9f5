"""Peers that break the protocol: the data is unchanged, and replication goes on with good ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commands.core.client import Clients
from commands.replication.replica_table import ReplicaTable
from protocol.replies import command
from server.inprocess.server import InProcessServer
from tests.server.replication.pairs import (
    OTHER,
    PRIMARY,
    REPLICA,
    Cluster,
    FakePrimary,
    follow,
    full_sync,
    is_up,
    keys,
    snapshot,
)

MARK = b"m" * 40
SNAPSHOT = snapshot(b"theirs", b"more")
ID = b"ab" * 20


def valid_answers() -> list[bytes]:
    """What a correct primary may answer to PSYNC, followed by a part of the stream."""
    stream = command([b"SELECT", b"0"]) + command([b"SET", b"k", b"v"])
    transaction = command([b"MULTI"]) + command([b"INCR", b"n"]) + command([b"EXEC"])
    marked = b"+FULLRESYNC %b 7\r\n\n$EOF:%b\r\n%b%b" % (ID, MARK, SNAPSHOT, MARK)
    return [full_sync(SNAPSHOT) + stream + transaction, marked, b"+CONTINUE\r\n" + stream]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """An answer with bytes changed, left out, put in or doubled."""
    data = bytearray(draw(st.sampled_from(valid_answers())))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["flip", "cut", "insert", "repeat"]))
        if kind == "flip" and at < len(data):
            data[at] ^= draw(st.integers(1, 255))
        elif kind == "cut":
            del data[at : at + draw(st.integers(1, 60))]
        elif kind == "insert":
            data[at:at] = draw(st.binary(max_size=30) | st.just(b"\r\n") | st.just(b"$-1\r\n"))
        else:
            data[at:at] = data[max(0, at - 50) : at]
    return bytes(data)


@given(st.one_of(damaged(), st.binary(max_size=200)), st.sampled_from([0, 1, 13]), st.booleans())
def test_whatever_a_primary_says_the_data_is_the_old_or_the_new(
    answer: bytes, piece_bytes: int, closes: bool
) -> None:
    cluster = Cluster()
    cluster.network.piece_bytes = piece_bytes
    fake = FakePrimary({b"PSYNC": answer})
    cluster.network.peers[PRIMARY] = fake.connect
    replica = cluster.server(REPLICA)
    replica.connect().execute("SET", "own", "v")
    follow(replica)
    cluster.network.settle()
    if closes:
        cluster.network.cut(replica)
    assert keys(replica) == {b"own"} or b"theirs" in keys(replica)
    assert (b"own" in keys(replica)) != (b"theirs" in keys(replica))
    cluster.network.piece_bytes = 0
    honest = cluster.server(OTHER)
    honest.connect().execute("SET", "honest", "v")
    follow(replica, OTHER)
    cluster.settle(8)
    assert is_up(replica) and keys(replica) == {b"honest"}
    assert not [name for name in replica.files.names(".") if name.startswith("temp-")]
    assert not replica.instance.persistence.loading


WORDS = st.sampled_from(
    [b"?", b"-1", b"0", b"1", b"9" * 30, b"x", b"", ID, b"\xff\x00", b"-9223372036854775808", b"*"]
)
OPTIONS = st.sampled_from(
    b"listening-port ip-address capa ack ACK FACK getack rdb-only rdb-filter-only version"
    b" rdb-channel main-ch-client-id".split()
)
requests = st.one_of(
    st.tuples(st.just(b"PSYNC"), WORDS, WORDS),
    st.tuples(st.just(b"PSYNC"), st.just(b"OWN"), WORDS),
    st.just((b"SYNC",)),
    st.tuples(st.just(b"REPLCONF"), OPTIONS, WORDS),
    st.tuples(st.just(b"REPLCONF"), OPTIONS, WORDS, OPTIONS, WORDS),
    st.sampled_from([(b"PING",), (b"MONITOR",), (b"MULTI",), (b"SET", b"k", b"v"), (b"EXEC",)]),
)
actions = st.one_of(
    st.tuples(st.integers(0, 3), st.just("request"), requests),
    st.tuples(st.integers(0, 3), st.just("bytes"), st.binary(max_size=20)),
    st.tuples(st.integers(0, 3), st.just("leave"), st.none()),
    st.tuples(st.just(0), st.just("time"), st.integers(0, 3000)),
)


@given(st.lists(actions, max_size=40), st.booleans())
def test_whatever_a_replica_says_others_are_served(
    drawn: list[tuple[int, str, object]], from_disk: bool
) -> None:
    cluster = Cluster()
    diskless = "no" if from_disk else "yes"
    primary = cluster.server(PRIMARY, repl_diskless_sync=diskless, repl_timeout="60")
    honest = cluster.server(REPLICA)
    follow(honest)
    cluster.settle()
    client = primary.connect()
    peers = [primary.connect() for _ in range(4)]
    for index, kind, what in drawn:
        peer = peers[index]
        if peer.closed:
            peer = peers[index] = primary.connect()
        if kind == "leave":
            peer.disconnect()
        elif kind == "bytes":
            peer.feed(what)  # type: ignore[arg-type]
        elif kind == "time":
            cluster.advance(what)  # type: ignore[arg-type]
        else:
            own = primary.instance.replication.replication_id.encode()
            peer.execute(*[own if word == b"OWN" else word for word in what])  # type: ignore[attr-defined]
        client.execute("INCR", "n")
    cluster.settle()
    assert is_up(honest)
    number = client.execute("GET", "n")
    assert honest.connect().execute("GET", "n") == number
    check_accounts(primary)


def check_accounts(primary: InProcessServer) -> None:
    """No replica that has left is kept, and no file remains."""
    clients = primary.instance.feature(Clients).by_id.values()
    assert all(client in clients for client in primary.instance.feature(ReplicaTable).replicas)
    assert not [name for name in primary.files.names(".") if name.startswith("temp-repl")]
