"""Our node of the cluster bus beside real ones: Redis 7.0 and 8.2 in one cluster with it.

They share a cluster; the last of the tests have failovers in it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.cluster import messages
from server.cluster.config_file import config_text, read_config
from server.cluster.gossip import Gossip
from server.cluster.messages import EXT_DATA, FORCE_ACK, PAUSED
from server.cluster.nodes import KNOWS_EXTENSIONS, PRIMARY, REPLICA, range_of_slots
from server.cluster.state import ClusterState, Settings
from tests.compat.bus_node import BusNode
from tests.compat.conftest import compared_redis_or_skip
from tests.support.programs.ports import free_port
from tests.support.programs.servers import COMPARED_REDIS, DEBIAN_REDIS, RunningServer, start_redis
from tests.support.resp import parse

pytestmark = pytest.mark.compat

NODE_TIMEOUT_MS = 1_000
# Where the extension begins that follows the shard ID, and what it takes.
SECRET_START, SECRET_BYTES = messages.HEADER_BYTES + 48, 48


class RealNode:
    """A real redis-server in cluster mode."""

    def __init__(self, server: RunningServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.client = server.connect()
        self.id = self.ask("CLUSTER", "MYID")

    def ask(self, *words: str) -> str:
        return parse(self.client.send(*words)).text.decode()

    def stop(self) -> None:
        self.client.close()
        self.server.stop()


class Cluster:
    """Three real nodes and ours. `older` and `newer` are primaries, `replica` is of `older`."""

    def __init__(self, older: RealNode, newer: RealNode, replica: RealNode, ours: BusNode) -> None:
        self.older, self.newer, self.replica, self.ours = older, newer, replica, ours
        self.real = [older, newer, replica]
        self.me = ours.cluster.myself.id


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Four nodes that have met; each primary has a third of the slots."""
    program = compared_redis_or_skip()

    folders = [tmp_path_factory.mktemp(name) for name in ("older", "newer", "replica")]
    real = (start(folders[0]), start(folders[1], program), start(folders[2]))
    ours = BusNode(NODE_TIMEOUT_MS)
    made = Cluster(*real, ours)
    try:
        meet(made)
        yield made
    finally:
        ours.close()
        for node in real:
            node.stop()


def start(folder: Path, program: str = "redis-server") -> RealNode:
    """Redis 7.0, or another, which takes up what nodes.conf in its folder says."""
    words = ["--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MS)]
    words += ["--cluster-port", str(free_port()), "--repl-diskless-sync-delay", "0"]
    line = DEBIAN_REDIS if program == "redis-server" else COMPARED_REDIS
    return RealNode(start_redis(folder, *words, program=program, line=line), folder)


def meet(made: Cluster) -> None:
    older, newer, replica, ours = made.older, made.newer, made.replica, made.ours
    older.ask("CLUSTER", "ADDSLOTSRANGE", "0", "4999")
    newer.ask("CLUSTER", "ADDSLOTSRANGE", "5000", "9999")
    ours.cluster.add_slots_range([b"10000", b"16383"])
    for epoch, node in enumerate((older, newer, replica), 1):
        node.ask("CLUSTER", "SET-CONFIG-EPOCH", str(epoch))
    ours.cluster.set_config_epoch(b"4")
    # One is met by us, one meets us, and of one we hear by gossip.
    port = str(ours.port)
    assert older.ask("CLUSTER", "MEET", "127.0.0.1", port, port) == "OK"
    bus_port = newer.ask("CLUSTER", "NODES").split("@")[1].split(",")[0].split()[0]
    ours.cluster.meet(b"127.0.0.1", b"%d" % newer.server.port, bus_port.encode(), ours.now_ms())
    bus_port = replica.ask("CLUSTER", "NODES").split("@")[1].split(",")[0].split()[0]
    newer.ask("CLUSTER", "MEET", "127.0.0.1", str(replica.server.port), bus_port)
    ours.take_actions()
    ours.run_until(lambda: all(knows_all(made, node) for node in made.real), "they do not meet")
    replica.ask("CLUSTER", "REPLICATE", older.id)
    ours.run_until(lambda: all(is_ok(node) for node in made.real), "the cluster is not ok")
    ours.run_until(lambda: ours.cluster.is_ok, "ours is not ok")


def knows_all(made: Cluster, node: RealNode) -> bool:
    lines = node.ask("CLUSTER", "NODES").splitlines()
    return len(lines) == 4 and not any("handshake" in line for line in lines)


def is_ok(node: RealNode) -> bool:
    return "cluster_state:ok" in node.ask("CLUSTER", "INFO")


def without_secret(frame: bytes) -> bytes:
    """A frame without what Redis 8 adds to it: extension 4, a secret that its modules share."""
    message = messages.unpack(frame)
    start = SECRET_START + len(message.gossip) * messages.GOSSIP_BYTES
    if message.extensions is None or len(frame) < start + SECRET_BYTES:
        return frame
    assert frame[start : start + 8] == b"\0\0\0\x30\0\4\0\0"
    count = frame[2214:2216]
    rest = struct.pack("!H", int.from_bytes(count) - 1) + frame[2216:start]
    size = struct.pack("!I", len(frame) - SECRET_BYTES)
    return frame[:4] + size + frame[8:2214] + rest + frame[start + SECRET_BYTES :]


def line_of(node: RealNode, node_id: str) -> str:
    (line,) = [line for line in node.ask("CLUSTER", "NODES").splitlines() if node_id in line[:40]]
    return line


def test_each_lists_the_others(cluster: Cluster) -> None:
    ours = cluster.ours
    for node in cluster.real:
        line = line_of(node, cluster.me).split()
        assert line[1] == f"127.0.0.1:{ours.port}@{ours.port}"
        assert [line[2], line[3], *line[6:]] == ["master", "-", "4", "connected", "10000-16383"]
        mine = ours.cluster.state.nodes[node.id]
        assert (mine.ip, mine.port) == ("127.0.0.1", node.server.port)
    of_replica = ours.cluster.state.nodes[cluster.replica.id]
    ours.run_until(lambda: of_replica.primary is not None, "the replica has no primary")
    assert of_replica.leader.id == cluster.older.id
    ranges = {each.primary.id: (each.first, each.last) for each in ours.cluster.slot_ranges()}
    assert ranges == {
        cluster.older.id: (0, 4999),
        cluster.newer.id: (5000, 9999),
        cluster.me: (10000, 16383),
    }


def test_our_bytes_of_their_messages_are_theirs(cluster: Cluster) -> None:
    for frame in cluster.ours.frames:
        assert messages.pack(messages.unpack(frame)) == without_secret(frame)
    for node in cluster.real:
        kinds = {message.type for message in cluster.ours.frames_of(node.id)}
        assert {messages.PING, messages.PONG} <= kinds
    assert cluster.ours.received(messages.MEET, cluster.older.id)


def test_a_header_says_who_has_sent_it(cluster: Cluster) -> None:
    last = {node.id: cluster.ours.received(messages.PING, node.id)[-1] for node in cluster.real}
    older, newer, replica = (last[node.id] for node in cluster.real)
    roles = [message.flags & (PRIMARY | REPLICA) for message in (older, newer, replica)]
    assert roles == [PRIMARY, PRIMARY, REPLICA]
    assert older.slots == replica.slots == range_of_slots(0, 4999)
    assert newer.slots == range_of_slots(5000, 9999)
    assert (older.primary, newer.primary, replica.primary) == ("", "", cluster.older.id)
    assert (older.config_epoch, newer.config_epoch, replica.config_epoch) == (1, 2, 1)
    assert older.port == cluster.older.server.port and older.second_port == 0
    assert (older.marks & EXT_DATA, newer.marks & EXT_DATA) == (0, EXT_DATA)


def test_only_nodes_that_understand_extensions_get_and_send_them(cluster: Cluster) -> None:
    shards = cluster.ours.received(messages.PING, cluster.newer.id)[-1].extensions
    assert shards is not None
    assert shards.shard_id == cluster.newer.ask("CLUSTER", "MYSHARDID")
    assert cluster.ours.cluster.state.nodes[cluster.newer.id].shard_id == shards.shard_id
    assert not cluster.ours.cluster.state.nodes[cluster.older.id].flags & KNOWS_EXTENSIONS
    assert "unknown extension" not in cluster.older.server.output()


def test_messages_of_publish_cross_the_bus(cluster: Cluster) -> None:
    ours = cluster.ours
    cluster.older.ask("PUBLISH", "channel", "from a real one")
    ours.run_until(lambda: ours.delivered, "no message")
    found = ours.delivered[-1]
    assert (found.channel, found.message) == (b"channel", b"from a real one")
    listeners = [node.server.connect() for node in (cluster.older, cluster.newer)]
    for listener in listeners:
        listener.send("SUBSCRIBE", "channel")
    ours.cluster.publish(b"channel", b"from ours", is_sharded=False)
    ours.take_actions()
    for listener in listeners:
        assert b"from ours" in listener.read_reply()
        listener.close()


def test_who_claims_what_another_owns_is_sent_an_update(cluster: Cluster) -> None:
    ours = cluster.ours
    state = ours.cluster.state
    state.myself.config_epoch, epoch = 0, state.myself.config_epoch

    def is_updated() -> bool:
        """The owner's next message ends the claim: claim it until ours was sent."""
        if ours.received(messages.UPDATE):
            return True
        state.set_owner(1 << 5, state.myself)
        return False

    ours.run_until(is_updated, "no UPDATE")
    ours.run_until(lambda: not state.myself.slots >> 5 & 1, "ours keeps the slot")
    update = ours.received(messages.UPDATE)[-1]
    assert (update.subject, update.subject_epoch) == (cluster.older.id, 1)
    assert update.subject_slots == range_of_slots(0, 4999)
    state.myself.config_epoch = max(epoch, state.myself.config_epoch)


def test_replicas_take_over_with_our_vote(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over(cluster)
    lose_primary(cluster, monkeypatch)
    kinds = {messages.unpack(frame).type for frame in cluster.ours.frames}
    assert kinds >= {messages.FAIL, messages.AUTH_REQUEST}
    test_our_bytes_of_their_messages_are_theirs(cluster)


def hand_over(cluster: Cluster) -> None:
    """CLUSTER FAILOVER: `replica` becomes the primary of `older`."""
    ours, replica = cluster.ours, cluster.replica
    wait_for_replication(cluster, replica)
    assert replica.ask("CLUSTER", "FAILOVER") == "OK"
    new = ours.cluster.state.nodes[replica.id]
    ours.run_until(lambda: new.is_primary and new.slots, "no failover")
    (request,) = ours.received(messages.AUTH_REQUEST, replica.id)
    assert request.marks & FORCE_ACK
    old = ours.cluster.state.nodes[cluster.older.id]
    ours.run_until(lambda: old.primary is new, "the old primary is no replica")


def lose_primary(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """`replica`, which is a primary now, dies, and `older` replaces it."""
    ours, replica, older = cluster.ours, cluster.replica, cluster.older
    # Ours reports it, and leaves it to the other primary to count the reports.
    monkeypatch.setattr(Gossip, "declare_failed", lambda *_: None)
    wait_for_replication(cluster, older)
    replica.server.process.kill()
    failed = ours.cluster.state.nodes[replica.id]
    ours.run_until(lambda: failed.is_failed, "it is not declared as failed")
    assert {message.subject for message in ours.received(messages.FAIL)} == {replica.id}
    new = ours.cluster.state.nodes[older.id]
    ours.run_until(lambda: new.is_primary and new.slots, "nobody was elected")
    assert ours.cluster.state.last_vote_epoch == new.config_epoch
    ours.run_until(lambda: ours.cluster.is_ok, "the cluster is not ok")


def wait_for_replication(cluster: Cluster, replica: RealNode) -> None:
    """An election needs a replica that has synchronised."""
    cluster.ours.run_until(
        lambda: "master_link_status:up" in replica.ask("INFO", "replication"), "no replication"
    )


def test_their_files_are_read(cluster: Cluster) -> None:
    for node in (cluster.older, cluster.newer):
        node.ask("CLUSTER", "SAVECONFIG")
        text = (node.folder / "nodes.conf").read_text()
        state = ClusterState(Settings(), cluster.ours, cluster.ours.random)
        read_config(state, text, 0)
        assert state.myself.id == node.id
        assert state.nodes[cluster.me].slots == range_of_slots(10000, 16383)
    # The last is of 8.2, which has our shard by an extension.
    assert state.nodes[cluster.me].shard_id == cluster.ours.cluster.myself.shard_id


@pytest.mark.parametrize("is_newer", [False, True])
def test_they_read_our_file(tmp_path: Path, is_newer: bool) -> None:
    program = compared_redis_or_skip() if is_newer else "redis-server"
    ours = BusNode(NODE_TIMEOUT_MS)
    state = ours.cluster.state
    other = state.new_node("b" * 40, PRIMARY, 0)
    other.ip, other.port, other.bus_port, other.config_epoch = "127.0.0.1", 1, 2, 7
    state.set_owner(range_of_slots(100, 199), other)
    ours.cluster.add_slots([b"5", b"7"])
    ours.cluster.set_slot_migrating(b"5", b"b" * 40)
    (tmp_path / "nodes.conf").write_text(config_text(state, has_values=is_newer))
    ours.close()
    node = start(tmp_path, program)
    try:
        assert node.id == state.myself.id
        assert line_of(node, node.id).endswith(f" connected 5 7 [5->-{other.id}]")
        assert " 127.0.0.1:1@2 master - " in line_of(node, other.id)
        assert line_of(node, other.id).endswith(" 7 disconnected 100-199")
        if is_newer:
            assert node.ask("CLUSTER", "MYSHARDID") == state.myself.shard_id
    finally:
        node.stop()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[RealNode, RealNode, BusNode]]:
    """Primaries of both versions, each with half of the slots, and ours, which has none."""
    program = compared_redis_or_skip()
    folders = [tmp_path / "older", tmp_path / "newer"]
    for folder in folders:
        folder.mkdir()
    older, newer, ours = start(folders[0]), start(folders[1], program), BusNode(NODE_TIMEOUT_MS)
    try:
        older.ask("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        newer.ask("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        for epoch, node in enumerate((older, newer), 1):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", str(epoch))
            node.ask("CLUSTER", "MEET", "127.0.0.1", str(ours.port), str(ours.port))
        ours.run_until(lambda: is_ok(older) and is_ok(newer), "the cluster is not ok")
        ours.run_until(lambda: ours.cluster.is_ok, "ours is not ok")
        yield older, newer, ours
    finally:
        ours.close()
        older.stop()
        newer.stop()


@pytest.mark.parametrize("place", [0, 1])
def test_our_replica_takes_over_from_a_real_primary(
    pair: tuple[RealNode, RealNode, BusNode], place: int
) -> None:
    older, newer, ours = pair
    primary, other = (older, newer) if place == 0 else (newer, older)
    me = ours.cluster.myself
    ours.cluster.replicate(primary.id.encode())
    ours.take_actions()
    ours.run_until(lambda: primary.id in line_of(other, me.id), "ours is no replica")
    ours.run_until(lambda: primary.id in line_of(primary, me.id), "ours is no replica")
    ours.cluster.fail_over(b"", ours.now_ms())
    ours.take_actions()
    ours.run_until(lambda: me.is_primary, "ours was not elected")
    assert any(ping.marks & PAUSED for ping in ours.received(messages.PING, primary.id))
    assert len(ours.received(messages.AUTH_ACK)) == 2
    slots = "0-8191" if place == 0 else "8192-16383"
    ours.run_until(lambda: slots in line_of(primary, me.id), "the slots are not ours")
    ours.run_until(lambda: slots in line_of(other, me.id), "the slots are not ours")
    ours.run_until(lambda: me.id in line_of(primary, primary.id), "it does not follow")
