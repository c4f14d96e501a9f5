"""Subscribers of shard channels while slots move, beside Redis 8.2: two nodes of each.

`b`, in slot 3300, is on the first node, `a`, in slot 15495, on the second.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.compat.conftest import compared_redis_or_skip
from tests.support.programs.cluster import wait_until
from tests.support.programs.ports import free_port
from tests.support.programs.servers import COMPARED_REDIS, RunningServer, start_redis, start_rillway

pytestmark = pytest.mark.compat

SLOT_OF_B = "3300"
KINDS = ("rillway", "redis")
REST_SECONDS = 0.15  # without a byte: all has come


class Client:
    """A connection that returns what comes within a time, as it comes."""

    def __init__(self, node: Node, resp: int = 2) -> None:
        self._sock = socket.create_connection(("127.0.0.1", node.server.port))
        self._replace = node.pair.anonymous
        if resp == 3:
            self.ask("HELLO 3")

    def ask(self, request: str) -> bytes:
        """The reply, and messages that come until nothing has come for a time."""
        self.send(request)
        return self.read()

    def send(self, request: str) -> None:
        words = request.encode().split()
        parts = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
        self._sock.sendall(b"*%d\r\n%b" % (len(words), b"".join(parts)))

    def read(self, seconds: float = 10.0) -> bytes:
        """What comes within a time; all of it, if anything comes."""
        found = b""
        self._sock.settimeout(seconds)
        try:
            while data := self._sock.recv(65536):
                found += data
                self._sock.settimeout(REST_SECONDS)
        except TimeoutError:
            pass
        return self._replace(found)

    def close(self) -> None:
        self._sock.close()


class Node:
    """A node of one of the pairs."""

    def __init__(self, pair: Pair, folder: Path, slots: str, epoch: int) -> None:
        folder.mkdir(parents=True)
        self.pair, self.bus_port = pair, free_port()
        directives = [
            *("--cluster-enabled", "yes", "--cluster-port", str(self.bus_port)),
            *("--cluster-node-timeout", "5000", "--repl-diskless-sync-delay", "0"),
        ]
        if pair.kind == "rillway":
            self.server: RunningServer = start_rillway(folder, *directives)
        else:
            program = compared_redis_or_skip()
            self.server = start_redis(folder, *directives, program=program, line=COMPARED_REDIS)
        self.admin = Client(self)
        if slots:
            self.admin.ask(f"CLUSTER ADDSLOTSRANGE {slots}")
        self.admin.ask(f"CLUSTER SET-CONFIG-EPOCH {epoch}")
        self.id = self.admin.ask("CLUSTER MYID").split()[1].decode()

    def is_ok(self) -> bool:
        return b"cluster_state:ok" in self.admin.ask("CLUSTER INFO")

    def is_replica(self) -> bool:
        return b"master_link_status:up" in self.admin.ask("INFO replication")


class Pair:
    """Two nodes of a kind, and a transcript of what clients got."""

    def __init__(self, kind: str, folder: Path, *slots: str) -> None:
        """`slots`: a range for each node."""
        self.kind = kind
        self.nodes: list[Node] = []
        self.clients: list[Client] = []
        for epoch, own in enumerate(slots, 1):
            self.nodes.append(Node(self, folder / f"{kind}-{epoch}", own, epoch))
        self.first, self.second = self.nodes
        port, bus_port = self.second.server.port, self.second.bus_port
        self.first.admin.ask(f"CLUSTER MEET 127.0.0.1 {port} {bus_port}")
        wait_until(lambda: all(node.is_ok() for node in self.nodes))

    def anonymous(self, data: bytes) -> bytes:
        """Without what differs between pairs."""
        for number, node in enumerate(self.nodes):
            data = re.sub(rb":%d\b" % node.server.port, b":port of %d" % number, data)
        return data

    def connect(self, node: Node, resp: int) -> Client:
        client = Client(node, resp)
        self.clients.append(client)
        return client

    def mark(self, node: Node, words: str) -> None:
        assert node.admin.ask(f"CLUSTER SETSLOT {SLOT_OF_B} {words}") == b"+OK\r\n"

    def replicas(self) -> bytes:
        """As the first node knows them."""
        return self.first.admin.ask(f"CLUSTER REPLICAS {self.first.id}")

    def close(self) -> None:
        for client in [*self.clients, *(node.admin for node in self.nodes)]:
            client.close()
        for node in self.nodes:
            node.server.stop()


@contextmanager
def pair_of(kind: str, folder: Path, *slots: str) -> Iterator[Pair]:
    pair = Pair(kind, folder, *slots)
    try:
        yield pair
    finally:
        pair.close()


def test_subscribers_are_told_that_their_slot_has_left(tmp_path: Path) -> None:
    found = []
    for kind in KINDS:
        with pair_of(kind, tmp_path, "0 8191", "8192 16383") as pair:
            found.append([*moved(pair), *given_up(pair)])
    assert found[0] == found[1]


def test_subscribers_of_both_are_told_when_a_replica_takes_over(tmp_path: Path) -> None:
    found = []
    for kind in KINDS:
        with pair_of(kind, tmp_path, "0 16383", "") as pair:
            found.append(list(taken_over(pair)))
    assert found[0] == found[1]


def moved(pair: Pair) -> Iterator[bytes]:
    """`b` moves to the second node."""
    here, there = pair.connect(pair.first, 2), pair.connect(pair.second, 2)
    silent = pair.connect(pair.first, 3)
    yield here.ask("SSUBSCRIBE b")
    yield here.ask("SUBSCRIBE common")
    silent.send("CLIENT REPLY OFF")
    yield silent.ask("SSUBSCRIBE b")
    pair.mark(pair.second, f"IMPORTING {pair.first.id}")
    pair.mark(pair.first, f"MIGRATING {pair.second.id}")
    yield pair.connect(pair.first, 3).ask("SSUBSCRIBE b {b}1")  # one that goes again
    for request in ("SSUBSCRIBE b", "ASKING", "SSUBSCRIBE b {b}1", "SUNSUBSCRIBE {b}1"):
        yield there.ask(request)
    yield here.ask("SUNSUBSCRIBE b")
    yield pair.second.admin.ask("SPUBLISH b message")
    yield pair.first.admin.ask("SPUBLISH b message")
    yield here.read()
    pair.mark(pair.second, f"NODE {pair.second.id}")
    pair.mark(pair.first, f"NODE {pair.second.id}")
    yield b"".join(sorted(here.read().split(b"*")))
    yield silent.read()
    yield b"".join(sorted(there.read().splitlines()))
    yield here.ask("SUNSUBSCRIBE")
    yield here.ask("SSUBSCRIBE b")
    yield there.ask("SSUBSCRIBE b")


def given_up(pair: Pair) -> Iterator[bytes]:
    """The second node gives up the slot of `a`."""
    client = pair.connect(pair.second, 3)
    yield client.ask("SSUBSCRIBE a")
    yield pair.second.admin.ask("CLUSTER DELSLOTS 15495")
    yield client.read()
    wait_until(lambda: not pair.second.is_ok())
    yield client.ask("SSUBSCRIBE {foo}1")
    yield client.ask("SUNSUBSCRIBE {foo}1")
    yield client.ask("SUNSUBSCRIBE")


def taken_over(pair: Pair) -> Iterator[bytes]:
    """The second node becomes a replica of the first, and takes over."""
    pair.second.admin.ask(f"CLUSTER REPLICATE {pair.first.id}")
    wait_until(pair.second.is_replica)
    wait_until(lambda: pair.second.id.encode() in pair.replicas())
    clients = [pair.connect(node, 2) for node in pair.nodes]
    for client in clients:
        yield client.ask("SSUBSCRIBE b")
    yield clients[1].ask("SUNSUBSCRIBE b")
    yield pair.first.admin.ask("SPUBLISH b message")
    yield from (client.read() for client in clients)
    pair.second.admin.ask("CLUSTER FAILOVER")
    yield from (client.read() for client in clients)
    wait_until(pair.first.is_replica)
    yield from (client.ask("SSUBSCRIBE b") for client in clients)
