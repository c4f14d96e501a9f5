"""server/replication/replica/link.py: the link from its first connection to a promotion."""

from __future__ import annotations

import pytest

from commands.core.server_state import LinkPhase
from commands.replication.replica_table import ReplicaTable
from protocol import errors
from protocol.replies import command
from server.inprocess.server import InProcessServer
from server.replication.primary.feed import MIN_BYTES
from tests.server.replication.pairs import (
    OTHER,
    PRIMARY,
    REPLICA,
    Cluster,
    FakePrimary,
    faked,
    follow,
    full_sync,
    is_up,
    keys,
    pair,
    snapshot,
    syncs,
)

# -- between two servers -----------------------------------------------------------------------


@pytest.mark.parametrize("piece_bytes", [0, 1, 7])
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_a_replica_gets_a_snapshot_and_the_stream(diskless: str, piece_bytes: int) -> None:
    cluster = Cluster()
    cluster.network.piece_bytes = piece_bytes
    primary = cluster.server(PRIMARY, repl_diskless_sync=diskless)
    replica = cluster.server(REPLICA)
    client = primary.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    follow(replica)
    cluster.settle()
    client.pipeline(("SELECT", 3), ("XADD", "t", "5-*", "f", "v"), ("XADD", "t", "5-*", "f", "w"))
    cluster.advance()
    reader = replica.connect()
    assert reader.execute("XLEN", "s") == b":1\r\n"
    assert reader.pipeline(("SELECT", 3), ("XLEN", "t")) == b"+OK\r\n:2\r\n"
    cluster.advance()
    state = primary.instance.replication
    replicas = primary.instance.feature(ReplicaTable).replicas
    assert [held.offset for held in replicas.values()] == [state.offset]
    assert replica.instance.replication.offset == state.offset


def test_a_cut_link_goes_on_where_it_was() -> None:
    cluster, primary, replica = pair()
    cluster.network.cut(replica)
    primary.connect().execute("SET", "k", "v")
    cluster.settle()
    assert keys(replica) == {b"s", b"k"}
    assert syncs(primary) == (1, 1)


def test_systemd_is_told_when_a_replica_is_ready() -> None:
    cluster, _, replica = pair()
    cluster.network.cut(replica)
    cluster.settle()
    ready = "Ready to accept connections in read-write mode."
    assert replica.supervisor_states == [
        f"STATUS=MASTER <-> REPLICA sync: Finished with success. {ready}",
        f"STATUS=MASTER <-> REPLICA sync: Partial Resynchronization accepted. {ready}",
    ]


def test_a_replica_that_was_disconnected_for_too_long_gets_a_snapshot() -> None:
    cluster, primary, replica = pair()
    cluster.network.is_open = False
    cluster.network.cut(replica)
    client = primary.connect()
    client.execute("CONFIG", "SET", "repl-backlog-size", MIN_BYTES)
    for number in range(5):
        client.execute("SET", f"k{number}", "x" * MIN_BYTES)
    client.execute("DEL", "s")
    cluster.settle()
    assert replica.instance.replication.link.phase is LinkPhase.CONNECT
    assert keys(replica) == {b"s"}  # the old data is served
    cluster.network.is_open = True
    cluster.settle()
    assert keys(replica) == keys(primary)
    assert primary.instance.replication.full_syncs == 2


def test_a_transaction_that_the_link_has_cut_is_done_once() -> None:
    cluster, primary, replica = pair()
    cluster.network.piece_bytes = 40
    client = primary.connect()
    client.pipeline(("MULTI",), ("INCR", "n"), ("INCR", "n"), ("INCR", "n"), ("EXEC",))
    for _ in range(2):
        cluster.network.deliver()
    state = replica.instance.replication
    assert state.link.received_offset == 80
    assert state.offset == len(command([b"SELECT", b"0"]))
    assert b"n" not in keys(replica)
    cluster.network.cut(replica)
    cluster.settle()
    assert replica.connect().execute("GET", "n") == b"$1\r\n3\r\n"
    assert primary.instance.replication.partial_syncs == 1


def test_a_chain_has_one_history() -> None:
    cluster, primary, replica = pair()
    last = cluster.server(OTHER)
    follow(last, REPLICA)
    cluster.settle()
    primary.connect().pipeline(("SELECT", 2), ("SET", "k", "v"))
    cluster.advance()
    states = [server.instance.replication for server in (primary, replica, last)]
    assert len({(state.replication_id, state.offset) for state in states}) == 1
    assert last.connect().pipeline(("SELECT", 2), ("GET", "k")) == b"+OK\r\n$1\r\nv\r\n"
    # What happens in the middle stays there.
    replica.connect().execute("PUBLISH", "c", "m")
    assert replica.instance.replication.offset == primary.instance.replication.offset


def test_a_chained_replica_cannot_synchronise_while_the_middle_has_no_link() -> None:
    cluster = Cluster()
    middle = cluster.server(REPLICA)
    follow(middle)
    cluster.settle()
    answer = middle.connect().execute("PSYNC", "?", "-1")
    assert answer == b"-NOMASTERLINK Can't SYNC while not connected with my master\r\n"


def test_after_a_promotion_the_others_go_on_with_it() -> None:
    cluster, primary, replica = pair()
    other = cluster.server(OTHER)
    follow(other)
    cluster.settle()
    old = replica.instance.replication
    name, offset = old.replication_id, old.offset
    assert replica.connect().execute("REPLICAOF", "no", "one") == b"+OK\r\n"
    assert (old.second_id, old.second_offset) == (name, offset + 1)
    assert old.replication_id != name
    replica.connect().execute("SET", "new", "v")
    follow(other, REPLICA)
    follow(primary, REPLICA)
    cluster.settle()
    assert keys(primary) == keys(other) == {b"s", b"new"}
    assert (old.full_syncs, old.partial_syncs) == (0, 2)
    assert primary.instance.replication.second_id == name


def test_a_replica_that_is_ahead_of_the_promoted_one_gets_a_snapshot() -> None:
    cluster, primary, replica = pair()
    cluster.network.is_open = False
    cluster.network.cut(replica)
    primary.connect().execute("SET", "lost", "v")
    replica.connect().execute("REPLICAOF", "no", "one")
    replica.connect().execute("SET", "other", "v")
    cluster.network.is_open = True
    follow(primary, REPLICA)
    cluster.settle()
    assert keys(primary) == {b"s", b"other"}
    assert replica.instance.replication.full_syncs == 1


def test_a_restarted_replica_goes_on_where_its_snapshot_ends() -> None:
    cluster, primary, replica = pair(replicaof="host 7001")
    primary.connect().pipeline(("SELECT", 4), ("SET", "k", "v"))
    cluster.advance()
    assert replica.persistence.save()
    cluster.servers.remove(replica)
    replica.replication.stop()
    primary.connect().pipeline(("SELECT", 4), ("SET", "k2", "v"))
    again = InProcessServer.in_network(
        cluster.network, replica.files, port=str(REPLICA), replicaof="host 7001"
    )
    cluster.servers.append(again)
    assert again.instance.databases[4].get(b"k") is not None
    cluster.settle()
    assert is_up(again) and again.instance.databases[4].get(b"k2") is not None
    state = primary.instance.replication
    assert (state.full_syncs, state.partial_syncs) == (1, 1)


def test_a_restarted_primary_lets_its_replicas_go_on() -> None:
    cluster, primary, replica = pair()
    primary.connect().execute("SET", "k", "v")
    cluster.advance()
    assert primary.persistence.save()
    cluster.servers.remove(primary)
    again = InProcessServer.in_network(cluster.network, primary.files, port=str(PRIMARY))
    cluster.servers.append(again)
    cluster.network.cut(replica)
    again.connect().execute("SET", "k2", "v")
    cluster.settle()
    assert keys(replica) == {b"s", b"k", b"k2"}
    assert (again.instance.replication.full_syncs, again.instance.replication.partial_syncs) == (
        0,
        1,
    )


def test_a_server_that_follows_itself_never_gets_anywhere() -> None:
    cluster = Cluster()
    server = cluster.server(REPLICA)
    server.connect().execute("SET", "k", "v")
    follow(server, REPLICA)
    cluster.settle(10)
    assert not is_up(server) and keys(server) == {b"k"}


def test_servers_that_follow_each_other_keep_their_data() -> None:
    cluster, primary, replica = pair()
    follow(primary, REPLICA)
    offset = replica.instance.replication.offset
    for _ in range(140):
        cluster.advance(1000)
    assert keys(primary) == keys(replica) == {b"s"}
    assert offset == replica.instance.replication.offset  # nothing goes round and round
    replica.connect().execute("REPLICAOF", "NO", "ONE")
    cluster.settle(10)
    assert is_up(primary) and keys(primary) == {b"s"}


def test_a_password_is_sent_and_a_wrong_one_leads_nowhere() -> None:
    cluster = Cluster()
    primary = cluster.server(PRIMARY, requirepass="secret")
    replica = cluster.server(REPLICA, masterauth="wrong")
    follow(replica)
    cluster.settle()
    assert not is_up(replica)
    replica.connect().execute("CONFIG", "SET", "masterauth", "secret", "masteruser", "default")
    cluster.settle()
    assert is_up(replica) and len(primary.instance.feature(ReplicaTable).replicas) == 1


# -- the stream --------------------------------------------------------------------------------


def following() -> tuple[Cluster, InProcessServer, FakePrimary]:
    """A replica whose link to a made-up primary stands, at offset 10."""
    cluster, replica, fake = faked({b"PSYNC": full_sync(snapshot(b"theirs"))})
    cluster.network.settle()
    assert is_up(replica) and replica.instance.replication.offset == 10
    return cluster, replica, fake


def test_getack_is_answered_with_the_offset_before_it() -> None:
    cluster, replica, fake = following()
    set_k, getack = command([b"SET", b"k", b"v"]), command([b"REPLCONF", b"GETACK", b"*"])
    fake.send(set_k + getack + set_k)
    cluster.network.settle()
    assert fake.seen[-1] == command([b"REPLCONF", b"ACK", b"%d" % (10 + len(set_k))])
    end = 10 + 2 * len(set_k) + len(getack)
    assert replica.instance.replication.offset == end
    cluster.advance(1000)
    assert fake.seen[-1] == command([b"REPLCONF", b"ACK", b"%d" % end])


def test_getack_is_answered_again_when_the_stream_is_on_disk() -> None:
    """So WAITAOF need not wait for the acknowledgement that is sent once a second."""
    cluster, replica, fake = faked(
        {b"PSYNC": full_sync(snapshot(b"theirs"))}, appendonly="yes", appendfsync="everysec"
    )
    cluster.settle(8)
    replica.syncs_are_held = True
    set_k, getack = command([b"SET", b"k", b"v"]), command([b"REPLCONF", b"GETACK", b"*"])
    fake.send(set_k)
    cluster.advance(1)
    fake.send(getack)
    cluster.advance(1)
    offset = 10 + len(set_k)
    assert b"$%d\r\n%d\r\n" % (len(str(offset)), offset) in fake.seen[-1]
    replica.syncs_are_held = False
    before = len(fake.seen)
    for _ in range(9):
        cluster.advance(110)
    answers = [one for one in fake.seen[before:] if b"FACK" in one]
    synced = command(
        [
            b"REPLCONF",
            b"ACK",
            b"%d" % (offset + len(getack)),
            b"FACK",
            b"%d" % (offset + len(getack)),
        ]
    )
    assert answers.count(synced) == 1


@pytest.mark.parametrize(
    "stream",
    [
        b"PING\r\n",
        b"#x\r\n",
        b"*1\r\n+PING\r\n",
        b"*x\r\n",
        b"*2\r\n$3\r\nDEL\r\n$99999999999999\r\n",
        command([b"SELECT", b"16"]),
        command([b"SELECT"]),
    ],
)
def test_a_stream_that_makes_no_sense_is_the_end_of_the_history(stream: bytes) -> None:
    cluster, replica, fake = following()
    fake.send(command([b"SET", b"k", b"v"]) + stream + command([b"SET", b"k2", b"v"]))
    cluster.network.settle()
    assert not is_up(replica)
    fake.answers[b"PSYNC"] = b""
    cluster.settle()
    assert fake.seen[-1] == command([b"PSYNC", b"?", b"-1"])


@pytest.mark.parametrize(
    "request_",
    [
        [b"NONSENSE", b"x"],
        [b"XADD", b"theirs", b"1-1", b"f", b"v"],  # a string
        [b"XADD", b"s"],
        [b"REPLICAOF", b"NO", b"ONE"],
        [b"SHUTDOWN"],
        [b"CONFIG", b"SET", b"maxclients", b"1"],
        [b"XREAD", b"BLOCK", b"0", b"STREAMS", b"s", b"$"],
        [b"EXEC"],
    ],
)
def test_what_cannot_run_is_skipped_and_counted(request_: list[bytes]) -> None:
    cluster, replica, fake = following()
    data = command(request_) + command([b"SET", b"k", b"v"])
    fake.send(data)
    cluster.network.settle()
    assert is_up(replica) and replica.instance.replication.offset == 10 + len(data)
    assert keys(replica) == {b"theirs", b"k"}


def test_a_bare_newline_in_the_stream_counts_for_nothing() -> None:
    cluster, replica, fake = following()
    fake.send(b"\n\n" + command([b"SET", b"k", b"v"]))
    cluster.network.settle()
    state = replica.instance.replication
    assert state.offset == 10 + len(command([b"SET", b"k", b"v"])) == state.link.received_offset


def test_keys_that_have_expired_stay_until_the_primary_says_so() -> None:
    cluster, replica, fake = following()
    deadline_ms = b"%d" % (cluster.network.now_ms + 100)
    fake.send(command([b"SET", b"k", b"v", b"PXAT", deadline_ms]))
    cluster.network.settle()
    cluster.advance(200)
    client = replica.connect()
    assert client.execute("GET", "k") == b"$-1\r\n"
    assert client.execute("EXISTS", "k") == b":0\r\n"
    assert client.execute("TTL", "k") == b":-2\r\n"
    assert client.execute("DBSIZE") == b":2\r\n"
    fake.send(command([b"APPEND", b"k", b"w"]))  # it was not expired where this ran
    fake.send(command([b"PERSIST", b"k"]))
    cluster.network.settle()
    assert client.execute("GET", "k") == b"$2\r\nvw\r\n"


# -- clients of a replica ----------------------------------------------------------------------


def test_a_replica_takes_no_writes_unless_it_may() -> None:
    _, _, replica = pair()
    client = replica.connect()
    refusal = b"-READONLY You can't write against a read only replica.\r\n"
    assert client.execute("SET", "k", "v") == refusal
    assert client.execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">") == refusal
    offset = replica.instance.replication.offset
    client.execute("CONFIG", "SET", "replica-read-only", "no")
    assert client.execute("SET", "k", "v") == b"+OK\r\n"
    assert replica.instance.replication.offset == offset


def test_stale_data_is_refused_where_it_must_not_be_served() -> None:
    cluster, _, replica = pair(replica_serve_stale_data="no")
    client = replica.connect()
    assert client.execute("XLEN", "s") == b":1\r\n"
    cluster.network.is_open = False
    cluster.network.cut(replica)
    refusal = b"-" + errors.MASTER_DOWN + b"\r\n"
    assert client.execute("XLEN", "s") == refusal
    assert client.execute("PING") == refusal
    assert client.execute("INFO", "replication").startswith(b"$")
    assert client.execute("REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    assert client.execute("XLEN", "s") == b":1\r\n"


def test_readers_that_block_are_served_as_entries_arrive() -> None:
    cluster, primary, replica = pair()
    reader = replica.connect()
    assert reader.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$") == b""
    primary.connect().execute("XADD", "s", "2-1", "f", "w")
    cluster.network.settle()
    assert b"2-1" in reader.received()


def test_blocked_clients_of_a_primary_that_becomes_a_replica_are_unblocked_and_closed() -> None:
    cluster = Cluster()
    server = cluster.server(REPLICA)
    waiting = server.connect()
    waiting.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    waiting.execute("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">")
    follow(server)
    assert waiting.received() == (
        b"-UNBLOCKED force unblock from blocking operation, instance state changed"
        b" (master -> replica?)\r\n"
    )
    assert waiting.closed


def test_a_new_snapshot_fails_transactions_and_wakes_readers() -> None:
    cluster = Cluster()
    primary, replica = cluster.server(PRIMARY), cluster.server(REPLICA)
    primary.connect().execute("XADD", "s", "5-1", "f", "v")
    watching, reading = replica.connect(), replica.connect()
    watching.pipeline(("WATCH", "k"), ("MULTI",), ("PING",))
    follow(replica)
    reading.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "0")
    cluster.settle()
    assert b"5-1" in reading.received()
    assert watching.execute("EXEC") == b"*-1\r\n"


def test_loading_is_what_clients_hear_unless_the_old_data_may_be_served() -> None:
    for mode, expected in (("disabled", b"-LOADING"), ("swapdb", b"$1")):
        cluster, replica, fake = faked({b"PSYNC": b""}, repl_diskless_load=mode)
        fake.send(full_sync(snapshot(b"theirs")))
        cluster.network.deliver()
        assert replica.connect().execute("GET", "own").startswith(expected)
        cluster.network.settle()
        assert keys(replica) == {b"theirs"}


@pytest.mark.parametrize(
    ("mode", "is_empty", "is_on_disk"),
    [
        ("disabled", True, True),
        ("on-empty-db", True, False),
        ("on-empty-db", False, True),
        ("swapdb", False, False),
    ],
)
def test_a_snapshot_is_received_into_a_file_or_memory_as_the_directive_says(
    mode: str, is_empty: bool, is_on_disk: bool
) -> None:
    cluster, replica, fake = faked({b"PSYNC": b""}, repl_diskless_load=mode, save="")
    if is_empty:
        replica.instance.databases[0].clear()
    fake.send(full_sync(snapshot(b"theirs")))
    cluster.network.settle()
    assert keys(replica) == {b"theirs"}
    created = {path for call, path in replica.files.log if call == "create"}
    assert any(path.startswith("temp-link-") for path in created) == is_on_disk
    assert ("dump.rdb" in replica.files.snapshot()) == is_on_disk
    assert any(("to disk" if is_on_disk else "to parser") in line for _, line in replica.log_lines)


def test_damage_of_a_snapshot_in_memory_leaves_the_data() -> None:
    cluster, replica, fake = faked({b"PSYNC": b""}, repl_diskless_load="swapdb")
    fake.send(full_sync(snapshot(b"theirs")[:-9] + bytes(9)))
    cluster.network.settle()
    assert keys(replica) == {b"own"}
    assert any("synchronization DB from socket: " in line for _, line in replica.log_lines)


def test_the_link_is_a_client_that_can_be_killed() -> None:
    cluster, primary, replica = pair()
    client = replica.connect()
    listed = client.execute("CLIENT", "LIST", "TYPE", "master")
    assert b"flags=M" in listed and b"addr=127.0.0.1:7001" in listed
    assert b"user=(superuser)" in listed
    assert b"flags=S" in primary.connect().execute("CLIENT", "LIST", "TYPE", "replica")
    assert client.execute("CLIENT", "KILL", "TYPE", "master") == b":1\r\n"
    cluster.settle()
    assert is_up(replica) and primary.instance.replication.partial_syncs == 1


@pytest.mark.parametrize("events", ["", "KEA"])
def test_runs_reach_readers_and_the_replicas_own_file(events: str) -> None:
    cluster, primary, replica = pair(appendonly="yes", notify_keyspace_events=events)
    cluster.settle(8)  # the first base is written
    reader, listener = replica.connect(), replica.connect()
    reader.execute("XREAD", "COUNT", 1, "BLOCK", 0, "STREAMS", "s", "$")
    listener.execute("SUBSCRIBE", "__keyevent@0__:xadd")
    client = primary.connect()
    client.pipeline(*[("XADD", "s", "*", "f", number) for number in range(50)])
    client.pipeline(*[("XADD", f"t{number % 2}", "*", "f", number) for number in range(50)])
    cluster.advance()
    assert reader.received().endswith(b"$1\r\nf\r\n$1\r\n0\r\n")
    assert listener.received().count(b"xadd\r\n$") == (100 if events else 0)
    expected = primary.connect().execute("DEBUG", "DIGEST")
    assert replica.connect().execute("DEBUG", "DIGEST") == expected
    assert replica.restart().connect().execute("DEBUG", "DIGEST") == expected


def test_nothing_changes_under_a_script_that_has_paused() -> None:
    cluster, primary, replica = pair()
    replica.clock_step_us = 10_000_000
    replica.dispatcher.script_runs.slice_ns = 0
    reader = replica.connect()
    body = "for i = 1, 11000 do end return redis.call('xlen', 's')"
    assert reader.execute("EVAL", body, 0) == b""
    primary.connect().execute("XADD", "s", "2-1", "f", "v")
    for _ in range(5):
        cluster.network.deliver()
    offset = replica.instance.replication.offset
    while replica.dispatcher.script_runs.paused is not None:
        replica.dispatcher.script_runs.go_on()
    replica.finish_cycle()
    assert reader.received() == b":1\r\n"
    replica.clock_step_us = 0
    cluster.network.settle()
    assert reader.execute("XLEN", "s") == b":2\r\n"
    assert replica.instance.replication.offset > offset


def test_the_stream_is_received_and_not_applied_during_client_pause() -> None:
    cluster, primary, replica = pair()
    client, link = replica.connect(), replica.instance.replication.link
    client.execute("CLIENT", "PAUSE", 5000, "WRITE")
    offset = replica.instance.replication.offset + len(command([b"SELECT", b"0"]))
    for number in (2, 3):
        primary.connect().execute("XADD", "s", f"{number}-1", "f", "v")
        cluster.settle()
    assert client.execute("XLEN", "s") == b":1\r\n"
    assert b"\r\nblocked_clients:1\r\n" in client.execute("INFO", "clients")
    assert b" flags=Mb " in client.execute("CLIENT", "LIST", "TYPE", "master")
    assert replica.instance.replication.offset == offset < link.received_offset
    client.execute("CLIENT", "UNPAUSE")
    cluster.settle()
    assert client.execute("XLEN", "s") == b":3\r\n"
    assert b"\r\nblocked_clients:0\r\n" in client.execute("INFO", "clients")
    assert replica.instance.replication.offset == link.received_offset


def test_what_a_script_did_comes_as_one_transaction() -> None:
    cluster, primary, replica = pair()
    body = "redis.call('xadd', 's', '7-1', 'f', 'v') redis.call('set', 'k', 'v') error('no')"
    assert primary.connect().execute("EVAL", body, 0).startswith(b"-")
    cluster.network.settle()
    client = replica.connect()
    assert client.execute("EXISTS", "s", "k") == b":2\r\n"
    assert client.execute("XLEN", "s") == b":2\r\n"
    assert client.execute("EVAL", "return redis.call('set', 'k', 'w')", 0).startswith(b"-READONLY")


def test_nothing_limits_an_approximate_trim_of_the_primary() -> None:
    cluster, replica, fake = following()
    client = replica.connect()
    client.execute("CONFIG", "SET", "stream-node-max-entries", "1")
    for number in range(1, 301):
        fake.send(command([b"XADD", b"s", b"%d-1" % number, b"f", b"v"]))
    fake.send(command([b"XADD", b"s", b"MAXLEN", b"~", b"1", b"301-1", b"f", b"v"]))
    cluster.advance()
    assert client.execute("XLEN", "s") == b":1\r\n"


def test_a_full_synchronisation_counts_the_keys_that_it_loads() -> None:
    _, _, replica = pair()
    state = replica.instance.persistence
    assert (state.loaded_keys, state.expired_keys_on_load) == (1, 0)
    assert ("notice", "Done loading RDB, keys loaded: 1, keys expired: 0.") in replica.log_lines
