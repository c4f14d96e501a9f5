from __future__ import annotations

import random

import pytest

from server.cluster.config_file import BadConfig, config_text, read_config
from server.cluster.nodes import range_of_slots
from server.cluster.state import ClusterState, Settings
from tests.server.cluster.single_node import START_MS, FakeData

ME, PEER, REPLICA_ID, SHARD = "a" * 40, "b" * 40, "c" * 40, "d" * 40
# As redis-server 7.0.15 and 8.2.3 have written them.
OLDER = f"""\
{REPLICA_ID} 127.0.0.1:7003@17003,host-c slave {ME} 0 1700000000123 4 connected
{ME} 127.0.0.1:7001@17001 myself,master - 0 1700000000000 4 connected \
0-99 101 [5->-{PEER}] [300-<-{PEER}]
{PEER} ::1:7002@17002 master,fail - 1700000000123 1700000000123 2 disconnected 300
vars currentEpoch 6 lastVoteEpoch 3


"""
NEWER = f"""\
{ME} 127.0.0.1:7001@17001,host-a,nodename=first,tls-port=0,shard-id={SHARD} \
myself,master - 0 0 4 connected 0-99
{REPLICA_ID} 127.0.0.1:7003@17003,,tls-port=0,shard-id={SHARD} slave {ME} 0 0 4 connected
vars currentEpoch 6 lastVoteEpoch 0
"""


def state_of(text: str) -> ClusterState:
    state = ClusterState(Settings(), FakeData({}), random.Random(1))
    read_config(state, text, START_MS)
    return state


def test_the_file_of_redis_7_0_is_read() -> None:
    state = state_of(OLDER)
    me, peer, replica = (state.nodes[node_id] for node_id in (ME, PEER, REPLICA_ID))
    assert state.myself is me
    assert me.slots == range_of_slots(0, 99) | 1 << 101
    assert state.owners[101] is me and state.owners[100] is None
    assert (state.migrating, state.importing) == ({5: peer}, {300: peer})
    assert replica.primary is me and me.replicas == [replica]
    assert (replica.hostname, replica.config_epoch, replica.shard_id) == ("host-c", 0, me.shard_id)
    assert (peer.ip, peer.port, peer.bus_port) == ("::1", 7002, 17002)
    assert peer.is_failed and peer.fail_ms == peer.ping_sent_ms == START_MS
    assert (state.current_epoch, state.last_vote_epoch) == (6, 3)


def test_the_file_of_newer_redis_is_read_and_written_as_it_was() -> None:
    state = state_of(NEWER)
    assert state.myself.human_name == "first"
    assert state.myself.shard_id == state.nodes[REPLICA_ID].shard_id == SHARD
    for node in state.nodes.values():
        node.ping_sent_ms = node.pong_received_ms = 0
    written = config_text(state).replace("disconnected", "connected")
    assert written == NEWER


def test_what_is_written_without_values_is_what_redis_7_0_reads() -> None:
    state = state_of(OLDER)
    written = config_text(state, has_values=False)
    assert f"{ME} 127.0.0.1:7001@17001 myself,master - " in written
    assert f"{REPLICA_ID} 127.0.0.1:7003@17003,host-c slave {ME} " in written
    again = state_of(written)
    assert again.owners == [node and again.nodes[node.id] for node in state.owners]


def test_nodes_in_handshake_are_not_saved() -> None:
    state = state_of(NEWER)
    state.new_node("e" * 40, 32, START_MS)
    assert "e" * 40 not in config_text(state)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vars currentEpoch 1 lastVoteEpoch 0\n",
        NEWER.replace("myself,", ""),
        NEWER.replace("myself,master", "myself"),
        NEWER.replace("slave", "sleeve"),
        NEWER.replace("0-99", "0-16384"),
        NEWER.replace("0-99", "99-0"),
        NEWER.replace("0-99", "x"),
        NEWER.replace("0-99", f"[5->+{ME}]"),
        NEWER.replace("currentEpoch 6", "currentEpoch x"),
        NEWER.replace(ME, "A" * 40),
        NEWER.replace("127.0.0.1:7001", "127"),
        NEWER.replace("lastVoteEpoch", ""),
        NEWER[:100],
        NEWER.splitlines()[0] + "\n" + NEWER,
    ],
)
def test_a_damaged_file_is_refused(text: str) -> None:
    with pytest.raises(BadConfig):
        state_of(text)


def test_an_error_names_the_line() -> None:
    with pytest.raises(BadConfig, match=r"^line 2: 1 fields, which is too few$"):
        state_of(NEWER.replace("\n", "\nx\n", 1))
