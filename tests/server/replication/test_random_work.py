"""Random work on a primary whose replicas lose their links: all end with the same data."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from server.inprocess.server import InProcessClient, InProcessServer
from server.replication.primary.feed import MIN_BYTES
from storage.policies.rows import STATISTICS, rows_of
from storage.stream import Stream
from storage.types.value import Value
from tests.commands.server.decoder import decode
from tests.compat.commands.sequences import Argv, Sequence, sequences
from tests.server.replication.pairs import OTHER, PRIMARY, REPLICA, Cluster, follow, is_up
from tests.support.views import reads_history, view

CUT, OFF, ON, LATER, FLOOD, PIECES = range(6)


def ids(*names: bytes) -> SearchStrategy[list[bytes]]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)


some_ids = ids(b"1-1", b"2-1", b"3-1", b"4-1", b"5-1", b"9-1")


def with_ids(*words: bytes) -> SearchStrategy[Argv]:
    return some_ids.map(lambda some: [*words, b"IDS", b"%d" % len(some), *some])


# What Redis 8.2 to 8.10 added to streams.
newer = st.one_of(
    st.sampled_from([b"1-1", b"3-1", b"5-1", b"*"]).map(lambda i: [b"XADD", b"n", i, b"f", b"v"]),
    st.just([b"XGROUP", b"CREATE", b"n", b"g", b"0", b"MKSTREAM"]),
    st.sampled_from([b"p1", b"p2"]).map(
        lambda p: [b"XADD", b"n", b"IDMP", b"p", p, b"*", b"f", b"v"]
    ),
    st.just([b"XADD", b"n", b"IDMPAUTO", b"p", b"*", b"f", b"v"]),
    st.just([b"XCFGSET", b"n", b"IDMP-DURATION", b"50"]),
    st.just([b"XREADGROUP", b"GROUP", b"g", b"a", b"COUNT", b"3", b"STREAMS", b"n", b">"]),
    st.just(
        [
            b"XREADGROUP",
            b"GROUP",
            b"g",
            b"b",
            b"CLAIM",
            b"5",
            b"COUNT",
            b"2",
            b"STREAMS",
            b"n",
            b">",
        ]
    ),
    st.sampled_from([b"SILENT", b"FAIL", b"FATAL"]).flatmap(
        lambda mode: with_ids(b"XNACK", b"n", b"g", mode)
    ),
    st.sampled_from([b"0", b"1", b"600", b"5000"]).map(
        lambda ms: [b"XADD", b"n", b"DELAY", ms, b"*", b"f", ms]
    ),
    st.just([b"XADD", b"n", b"IDMP", b"p", b"p3", b"AT", b"0", b"*", b"f", b"v"]),
    st.just([b"XDELRANGE", b"n", b"-", b"+", b"COUNT", b"2"]),
    st.just([b"XDELRANGE", b"n", b"(1-1", b"5", b"DELREF"]),
    st.just([b"XGROUP", b"DELCONSUMER", b"n", b"g", b"a", b"KEEPPENDING"]),
    st.just([b"XGROUP", b"DELCONSUMER", b"n", b"g", b"b", b"TRANSFER", b"a"]),
    st.just([b"XCFGSET", b"n", b"RETAIN-LEN", b"2", b"RETAIN-REFS", b"ACKED"]),
    st.just([b"XCFGSET", b"n", b"RETAIN-BYTES", b"5", b"RETAIN-REFS", b"DELREF"]),
    st.just([b"XCFGSET", b"n", b"RETAIN-ACKED", b"yes", b"GROUP-MAX-IDLE", b"900"]),
    st.just([b"XGROUP", b"CONFIG", b"n", b"g", b"ACK-WAIT", b"600", b"BACKOFF", b"100", b"500"]),
    st.just(
        [
            b"XGROUP",
            b"CONFIG",
            b"n",
            b"g",
            b"ACK-WAIT",
            b"600",
            b"MAX-DELIVERIES",
            b"2",
            b"DEAD-LETTER",
            b"dead",
            b"MAX-PENDING",
            b"3",
            b"CONSUMER-EXPIRY",
            b"4000",
        ]
    ),
    st.just(
        b"XGROUP CONFIG n g ACK-WAIT 600 KEY-FIELD f KEY-LOOKAHEAD 3 KEY-LOOKAHEAD-KEY 2".split()
    ),
    st.just(b"XREADGROUP GROUP g b COUNT 2 STREAMS n >".split()),
    with_ids(b"XNACK", b"n", b"g", b"FAIL").map(
        lambda argv: [*argv, b"DELAY", b"700", b"REASON", b"why"]
    ),
    with_ids(b"XDELEX", b"n"),
    with_ids(b"XDELEX", b"n", b"ACKED"),
    with_ids(b"XDELEX", b"n", b"DELREF"),
    with_ids(b"XACKDEL", b"n", b"g", b"DELREF"),
    with_ids(b"XACKDEL", b"n", b"g"),
)


def is_alike(argv: Argv) -> bool:
    """Whether a replica can be expected to have what the command does."""
    return not reads_history(argv) and argv[0].upper() not in (b"CONFIG", b"DEBUG", b"CLIENT")


def contents(server: InProcessServer) -> dict[tuple[int, bytes], Any]:
    """All keys of all databases."""
    found: dict[tuple[int, bytes], Any] = {}
    client = server.connect()
    for db in server.instance.databases:
        client.execute("SELECT", db.index)
        for key in list(db.keys()):
            found[db.index, key] = view(lambda *words: decode(client.execute(*words)), key)
            if found[db.index, key][0] == b"stream":
                found[db.index, b"schedule of " + key] = client.execute("XSCHEDULED", key)
                found[db.index, b"policies of " + key] = policies(db.values[key])
    return found


def policies(stream: Value) -> list[list[bytes]]:
    """The rows of a stream's policies, without what a server has counted."""
    assert isinstance(stream, Stream)
    return [row for row in rows_of(stream) if row[0] not in STATISTICS]


def disturb(
    cluster: Cluster, fault: int, replica: InProcessServer, client: InProcessClient
) -> None:
    """One of what can happen to a link."""
    network = cluster.network
    if fault == CUT:
        network.cut(replica)
    elif fault == FLOOD:  # more than the backlog holds: who is away needs a snapshot
        client.execute("SET", "flood", b"x" * 2 * MIN_BYTES)
    elif fault in (OFF, ON):
        network.is_open = fault == ON
        network.cut(replica)
    elif fault == PIECES:
        network.piece_bytes = 0 if network.piece_bytes else 17
    cluster.advance(1 if fault == LATER else 300)


faults = st.lists(st.tuples(st.integers(0, 80), st.sampled_from(range(6))), max_size=12)


def play(work: list[Argv], events: list[tuple[int, int]], **directives: str) -> None:
    cluster = Cluster()
    primary = cluster.server(PRIMARY, repl_backlog_size="1", **directives)
    replica, chained = cluster.server(REPLICA, **directives), cluster.server(OTHER, **directives)
    client = primary.connect()
    follow(replica)
    follow(chained, REPLICA)
    cluster.settle()
    for number, argv in enumerate(filter(is_alike, work)):
        client.execute(*argv)
        for place, fault in events:
            if place == number:
                disturb(cluster, fault, replica, client)
    cluster.network.is_open, cluster.network.piece_bytes = True, 0
    if client.closed:
        client = primary.connect()
    client.execute("DISCARD")
    client.execute("SET", "last", "write")
    cluster.settle(14)
    assert is_up(replica) and is_up(chained)
    expected = contents(primary)
    assert contents(replica) == expected
    assert contents(chained) == expected
    states = [server.instance.replication for server in cluster.servers]
    assert len({(state.replication_id, state.offset) for state in states}) == 1


@given(sequences(), faults)
def test_what_redis_7_knows(sequence: Sequence, events: list[tuple[int, int]]) -> None:
    entries = str(sequence.max_node_entries)
    play(sequence.commands, events, stream_node_max_entries=entries)


@given(st.lists(newer, min_size=5, max_size=80), faults)
def test_what_later_ones_have_added(work: list[Argv], events: list[tuple[int, int]]) -> None:
    play(work, events)
