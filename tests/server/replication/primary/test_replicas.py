"""server/replication/primary/replicas.py: PSYNC, acknowledgements, timeouts."""

from __future__ import annotations

import pytest

from commands.replication.replica_table import ReplicaTable
from protocol.replies import command
from server.inprocess.memory_network import Network
from server.inprocess.server import InProcessClient, InProcessServer
from server.replication.primary.feed import GETACK, PING
from server.replication.primary.transfers import HIGH_WATER_BYTES
from storage.snapshot.reader import SnapshotReader
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
    replica.received()  # a failover asks by itself
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


NOBODY = "0" * 40
LARGEST_PIECE = 128 << 10


def serving(**directives: str) -> InProcessServer:
    return InProcessServer.in_network(Network(), None, repl_diskless_sync_delay="0", **directives)


def psync(server: InProcessServer, *capabilities: str) -> InProcessClient:
    """A replica that has sent PSYNC."""
    replica = server.connect()
    for word in capabilities:
        assert replica.execute("REPLCONF", "capa", word) == b"+OK\r\n"
    assert replica.execute("PSYNC", "?", "-1").startswith(b"+FULLRESYNC ")
    return replica


def payload(server: InProcessServer, replica: InProcessClient) -> bytes:
    """What comes until the snapshot is transferred."""
    server.network.settle()
    server.tick()
    return replica.received()


def online(server: InProcessServer) -> InProcessClient:
    """A replica that has all there is, and has said so."""
    replica = psync(server, "eof", "psync2")
    payload(server, replica)
    replica.execute("REPLCONF", "ACK", 0)
    return replica


def test_a_snapshot_without_a_file_stands_between_two_marks() -> None:
    server = serving()
    server.connect().execute("XADD", "s", "1-1", "f", "v")
    replica = server.connect()
    replica.execute("REPLCONF", "capa", "eof", "capa", "psync2")
    head = replica.execute("PSYNC", "?", "-1") + payload(server, replica)
    line, mark, rest = head.split(b"\r\n", 2)
    assert line == b"+FULLRESYNC %b 0" % server.instance.replication.replication_id.encode()
    assert mark.startswith(b"$EOF:") and rest.endswith(mark[5:])
    reader = SnapshotReader(rest[:-40], now_ms=server.now_ms)
    assert [item.key for item in reader.items()] == [b"s"]
    assert reader.version == 10  # what Redis 7.0 reads
    assert reader.aux[b"repl-id"] == server.instance.replication.replication_id.encode()
    assert (reader.aux[b"repl-stream-db"], reader.aux[b"repl-offset"]) == (b"0", b"0")


def test_a_snapshot_on_disk_says_its_length_and_the_stream_follows() -> None:
    server = serving()
    replica = psync(server)  # without `eof`
    server.connect().execute("SET", "k", "v")
    sent = payload(server, replica)
    size, rest = sent.lstrip(b"\n").split(b"\r\n", 1)
    stream = command([b"SELECT", b"0"]) + command([b"SET", b"k", b"v"])
    assert rest[int(size[1:]) :] == stream
    assert not [name for name in server.files.names(".") if name.startswith("temp-repl")]


def test_after_a_mark_the_stream_waits_for_an_acknowledgement() -> None:
    server = serving()
    replica = psync(server, "eof")
    server.connect().execute("SET", "k", "v")
    assert b"SELECT" not in payload(server, replica)
    assert b"SET" in replica.execute("REPLCONF", "ACK", 0)


def test_diskless_waits_for_others_and_sends_newlines_meanwhile() -> None:
    server = InProcessServer(repl_diskless_sync_delay="2")
    first = server.connect()
    first.execute("REPLCONF", "capa", "eof")
    assert first.execute("PSYNC", "?", "-1") == b""
    server.advance(1000)
    assert first.received() == b"\n"
    second = server.connect()
    second.execute("REPLCONF", "capa", "eof")
    second.execute("PSYNC", "?", "-1")
    server.advance(1000)
    assert all(b"+FULLRESYNC" in replica.received() for replica in (first, second))
    assert server.instance.stats.forks == 1


def test_no_snapshot_begins_in_the_middle_of_a_script() -> None:
    server = serving()
    server.clock_step_us, server.dispatcher.script_runs.slice_ns = 10_000_000, 0
    psync(server, "eof")
    second = server.connect()
    second.execute("REPLCONF", "capa", "eof")
    assert second.execute("PSYNC", "?", -1) == b""
    client = server.connect()
    script = "redis.call('incr', 'k') for i = 1, 11000 do end redis.call('incr', 'k')"
    assert client.execute("EVAL", script, 0) == b""
    server.network.settle()  # the end of the first one's snapshot
    while server.dispatcher.script_runs.paused is not None:
        assert server.instance.stats.forks == 1
        server.dispatcher.script_runs.go_on()
    second.received()
    server.tick()
    line, rest = second.received().split(b"\r\n", 1)
    offset = server.instance.replication.offset
    assert line.endswith(b" %d" % offset) and rest.startswith(b"$EOF:")


@pytest.mark.parametrize("knows_ids", [True, False])
def test_a_replica_that_lacks_little_goes_on(knows_ids: bool) -> None:
    server = serving()
    online(server).disconnect()
    client, state = server.connect(), server.instance.replication
    client.execute("SET", "k", "v")
    back = server.connect()
    if knows_ids:
        back.execute("REPLCONF", "capa", "psync2")
    answer = back.execute("PSYNC", state.replication_id.upper(), 1)
    id_word = b" " + state.replication_id.encode() if knows_ids else b""
    stream = command([b"SELECT", b"0"]) + command([b"SET", b"k", b"v"])
    assert answer == b"+CONTINUE%b\r\n%b" % (id_word, stream)
    client.execute("SET", "k", "w")
    assert back.received() == command([b"SET", b"k", b"w"])
    assert state.partial_syncs == 1


@pytest.mark.parametrize("offset", [0, -5, 3, 1 << 63, 10**30])
def test_an_offset_that_is_not_held_needs_a_snapshot_or_is_refused(offset: int) -> None:
    server = serving()
    online(server)
    asking = server.connect()
    answer = asking.execute("PSYNC", server.instance.replication.replication_id, offset)
    if offset >= 1 << 63:
        assert answer == b"-ERR value is not an integer or out of range\r\n"
        assert len(server.instance.feature(ReplicaTable).replicas) == 1
    else:
        assert answer.startswith(b"+FULLRESYNC ")
        assert server.instance.replication.refused_partial_syncs == 1


@pytest.mark.parametrize("name", [NOBODY, "f" * 40, "short", "\r\n"])
def test_another_history_needs_a_snapshot(name: str) -> None:
    server = serving()
    online(server)
    assert server.connect().execute("PSYNC", name, 1).startswith(b"+FULLRESYNC ")


@pytest.mark.parametrize("request_", [("PING",), ("GET", "k"), ("NONSENSE",), ("XADD", "s")])
def test_whatever_would_be_answered_closes_a_replica(request_: tuple[str, ...]) -> None:
    server = serving()
    replica = online(server)
    assert replica.execute(*request_) == b""
    assert replica.closed and not server.instance.feature(ReplicaTable).replicas


@pytest.mark.parametrize("request_", [("SET", "k", "v"), ("FLUSHALL",), ("PUBLISH", "c", "m")])
def test_a_replica_cannot_write(request_: tuple[str, ...]) -> None:
    server = serving()
    client, replica = server.connect(), online(server)
    client.execute("SET", "own", "v")
    before = server.instance.replication.offset
    replica.feed(command([word.encode() for word in request_]))
    assert replica.closed and client.execute("DBSIZE") == b":1\r\n"
    assert client.execute("EXISTS", "own") == b":1\r\n"
    assert server.instance.replication.offset == before


def test_a_second_psync_is_ignored() -> None:
    server = serving()
    replica = online(server)
    assert replica.execute("PSYNC", "?", "-1") == b"" and not replica.closed


def test_a_replica_is_pinged_and_a_silent_one_is_closed() -> None:
    server = serving(repl_timeout="30", repl_ping_replica_period="10")
    replica = online(server)
    server.advance(10_000)
    assert replica.received() == PING
    replica.feed(b"\n")
    server.advance(29_000)
    assert not replica.closed
    server.advance(1_000)
    assert replica.closed
    assert server.instance.feature(ReplicaTable).replicas == {}


def test_acknowledgements_only_rise_and_nonsense_is_ignored() -> None:
    server = serving()
    replica = online(server)
    held = server.instance.feature(ReplicaTable).replicas[replica.state]
    for word, expected in (("10", 10), ("5", 10), ("x", 10), ("12", 12)):
        assert replica.execute("REPLCONF", "ACK", word) == b""
        assert held.offset == expected
    replica.execute("REPLCONF", "ACK", "13", "FACK", "11")
    assert (held.offset, held.synced_offset) == (13, 11)


def test_the_history_is_dropped_after_a_while_without_replicas() -> None:
    server = serving(repl_backlog_ttl="60")
    state = server.instance.replication
    replica = online(server)
    name = state.replication_id
    server.tick()
    server.advance(100_000)
    assert state.backlog is not None
    replica.disconnect()
    server.tick()
    server.advance(60_000)
    assert state.backlog is None and state.replication_id != name
    assert not server.instance.replication.is_feeding


def test_writes_are_refused_while_good_replicas_are_too_few() -> None:
    server = serving(min_replicas_to_write="1", min_replicas_max_lag="10", repl_timeout="1000")
    client = server.connect()
    server.advance(1000)
    refusal = b"-NOREPLICAS Not enough good replicas to write.\r\n"
    assert client.execute("SET", "k", "v") == refusal
    assert client.execute("GET", "k") == b"$-1\r\n"
    replica = online(server)
    server.advance(1000)
    assert client.execute("SET", "k", "v") == b"+OK\r\n"
    server.advance(11_000)
    assert client.execute("SET", "k", "v") == refusal
    replica.execute("REPLCONF", "ACK", 0)
    server.advance(1000)
    assert client.execute("SET", "k", "v") == b"+OK\r\n"
    client.pipeline(("CONFIG", "SET", "min-replicas-to-write", "2"), ("MULTI",))
    assert client.execute("SET", "k", "v") == refusal
    assert client.execute("EXEC").startswith(b"-EXECABORT")


def test_a_snapshot_that_cannot_begin_is_an_error_and_the_end() -> None:
    server = serving()
    server.snapshot_children.fails_to_start = OSError(11, "no more processes")
    replica = server.connect()
    replica.execute("REPLCONF", "capa", "eof")
    answer = replica.execute("PSYNC", "?", "-1")
    assert answer == b"-ERR BGSAVE failed, replication can't continue\r\n" and replica.closed


def test_a_failed_child_closes_the_replicas_that_wait_for_it() -> None:
    server = serving()
    server.snapshot_children.dies_at_byte = 10
    replica = psync(server)  # through a file
    payload(server, replica)
    assert replica.closed


def test_sync_has_no_line_of_its_own_and_snapshot_only_ends() -> None:
    server = serving()
    replica = server.connect()
    replica.execute("REPLCONF", "capa", "eof")
    replica.execute("REPLCONF", "rdb-only", 1)
    head = replica.feed(b"SYNC\r\n") + payload(server, replica)
    assert head.startswith(b"$EOF:") and replica.closed


def test_a_filtered_snapshot_holds_no_key() -> None:
    server = serving()
    server.connect().execute("SET", "k", "v")
    replica = server.connect()
    assert replica.execute("REPLCONF", "rdb-filter-only", "") == b"+OK\r\n"
    assert replica.feed(b"SYNC\r\n") == b"-ERR Filtered replica requires EOF capability\r\n"
    replica.execute("REPLCONF", "capa", "eof")
    head = replica.feed(b"SYNC\r\n") + payload(server, replica)
    assert b"REDIS0010" in head and b"$EOF" in head
    reader = SnapshotReader(head.split(b"\r\n", 1)[1][:-40], now_ms=server.now_ms)
    assert list(reader.items()) == []


@pytest.mark.parametrize("capability", ["eof", "psync2"])
def test_a_replica_that_does_not_read_holds_little_of_its_snapshot(
    capability: str,
) -> None:
    """With `eof` its bytes come through a pipe, otherwise from a file."""
    server = serving(rdbcompression="no")
    client = server.connect()
    for number in range(200):
        client.execute("SET", f"k{number}", b"x" * 5000)
    replica = server.connect()
    replica.execute("REPLCONF", "capa", capability)
    replica.unsent = len(replica.execute("PSYNC", "?", "-1"))
    for _ in range(50):
        server.network.settle()
        server.tick()
        server.replication.send_more()
        replica.unsent += len(replica.received())
    assert replica.unsent <= HIGH_WATER_BYTES + LARGEST_PIECE
    replica.unsent = 0  # it has read all
    rest = b""
    for _ in range(200):
        server.network.settle()
        server.tick()
        server.replication.send_more()
        rest += replica.received()
    assert len(rest) > 800_000


def test_a_replica_that_waits_too_long_for_its_snapshot_is_cut_off() -> None:
    """What changes meanwhile is held for it: up to its limit, but at least a backlog of 1 MiB."""
    server = serving(client_output_buffer_limit="replica 100kb 0 0")
    server.children.is_held = True
    replica, client = psync(server, "eof"), server.connect()
    client.execute("SET", "k", b"x" * 1_000_000)
    server.tick()
    assert not replica.closed
    client.execute("SET", "k", b"x" * 100_000)
    server.tick()
    assert replica.closed


def test_a_replica_that_reads_at_once_gets_a_file_without_waiting_for_ticks() -> None:
    """A connection that takes all bytes at once never reports that it has room again."""
    server = serving(rdbcompression="no")
    client = server.connect()
    for number in range(200):
        client.execute("SET", f"k{number}", b"x" * 5000)
    replica = psync(server)  # without `eof`
    received = payload(server, replica)
    cycles = 0
    while server.replication.can_send():
        server.cycle.wake()
        server.finish_cycle()
        received += replica.received()
        cycles += 1
    assert len(received) > 1_000_000
    assert cycles <= 1_100_000 // HIGH_WATER_BYTES
