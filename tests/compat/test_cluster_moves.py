"""Moves of a slot that are cut short, between Rillway and Redis: redis-cli mends them.

A slot moves as redis-cli moves it, step by step. After one of the steps, nobody goes on (redis-cli
was killed), or a node is killed and starts again. `redis-cli --cluster fix` must leave each key
on exactly one node, with all that belongs to it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import redis

from protocol.request import key_slot
from tests.compat.conftest import cluster_of
from tests.support.programs.cluster import Cluster, Node, redis_cli, wait_until

pytestmark = pytest.mark.compat

KINDS = ["rillway", "redis", "rillway", "newer"]
RILLWAY, REDIS, SECOND_RILLWAY, NEWER = range(4)
# A stream from 8.2 is refused by 7.0: each pair has a Rillway.
PAIRS = [
    (REDIS, RILLWAY),
    (RILLWAY, REDIS),
    (RILLWAY, SECOND_RILLWAY),
    (NEWER, RILLWAY),
    (RILLWAY, NEWER),
]
STAGES = ("importing", "migrating", "in MIGRATE", "migrated", "target owns it")
VICTIMS = ("redis-cli", "source", "target")
ALL_CUTS = [(pair, stage, victim) for stage in STAGES for victim in VICTIMS for pair in PAIRS]
# Each stage with each victim, and the pairs in turn: `make cluster-crash` tries all.
CUTS = ALL_CUTS if "CLUSTER_LONG" in os.environ else ALL_CUTS[:: len(PAIRS) + 1]
# With everysec, Redis may leave out of its file what it has answered last. A key that is on both
# nodes is moved if DEBUG DIGEST-VALUE says that its values are equal.
DIRECTIVES = (
    *("--appendonly", "yes", "--appendfsync", "always"),
    *("--enable-debug-command", "local"),
)
KEYS = 30
MOVED_EARLIER = 10
TIMEOUT_MS = "10000"
LATE_MS = 3_600_000
POLICY = ("ACK-WAIT", LATE_MS, "MAX-PENDING", 7)


# Primaries whose keys survive a crash.
cluster = cluster_of(KINDS, *DIRECTIVES, replicas=0)


class Move:
    """A slot of `source` with streams, which have a group with one pending entry each.

    Between two Rillways they have a policy and a delayed entry, too.
    """

    def __init__(self, source: Node, target: Node, number: int) -> None:
        self.source, self.target = source, target
        tag = next(tag for tag in (f"{number}-{n}" for n in range(10_000)) if is_free(source, tag))
        self.slot = key_slot(tag.encode())
        self.keys = sorted(f"{{{tag}}}:{n}" for n in range(KEYS))
        self.has_policies = {source.server.name, target.server.name} == {"rillway"}
        client = source.client
        for key in self.keys:
            client.xadd(key, {"n": key}, id="1-1")
            client.xadd(key, {"n": key}, id="1-2")
            client.xgroup_create(key, "billing", id="0")
            client.xreadgroup("billing", "anna", {key: ">"}, count=1)
            if self.has_policies:
                client.execute_command("XGROUP", "CONFIG", key, "billing", *POLICY)
                client.execute_command("XADD", key, "DELAY", LATE_MS, "*", "n", "late")

    def play(self, stage: str, victim: str) -> None:
        """Move until the end of a stage, and lose the victim there."""
        place = STAGES.index(stage)
        is_cut_within = stage == "in MIGRATE"
        steps = (self.import_, self.migrate, self.send, self.send, self.hand_over)
        for step in steps[: place if is_cut_within else place + 1]:
            step()
        if is_cut_within:
            self._cut_within_migrate(victim)
        elif victim != "redis-cli":
            node = self.source if victim == "source" else self.target
            node.kill()
            node.start_again()

    def import_(self) -> None:
        self._set_slot(self.target, "IMPORTING", self.source)

    def migrate(self) -> None:
        self._set_slot(self.source, "MIGRATING", self.target)

    def send(self) -> None:
        """Some keys; called again, the others."""
        words = ("CLUSTER", "GETKEYSINSLOT", self.slot, KEYS)
        keys = self.source.client.execute_command(*words)
        keys = keys[:MOVED_EARLIER] if len(keys) == KEYS else keys
        assert self.source.client.execute_command(*self._migrate_words(keys)) == "OK"

    def hand_over(self) -> None:
        self._set_slot(self.target, "NODE", self.target)

    def _set_slot(self, node: Node, action: str, other: Node) -> None:
        node.client.execute_command("CLUSTER SETSLOT", self.slot, action, other.id)

    def _migrate_words(self, keys: list[str]) -> list[str]:
        port = str(self.target.server.port)
        return ["MIGRATE", "127.0.0.1", port, "", "0", TIMEOUT_MS, "KEYS", *keys]

    def _cut_within_migrate(self, victim: str) -> None:
        """Some keys have moved, and the others have been sent to a target that does not answer."""
        self.send()
        keys = self.source.client.execute_command("CLUSTER GETKEYSINSLOT", self.slot, KEYS)
        target = self.target.server.process
        target.send_signal(signal.SIGSTOP)
        try:
            with self.source.server.connect() as operator:
                operator.write(*self._migrate_words(keys))
                wait_until(lambda: has_unread_bytes(self.target.server.port))
            if victim == "source":
                self.source.kill()
            elif victim == "target":
                self.target.kill()
        finally:
            target.send_signal(signal.SIGCONT)
        if victim == "source":
            self.source.start_again()
        elif victim == "target":
            self.target.start_again()

    def check(self, nodes: list[Node]) -> None:
        """Each key is on one node, and as it was."""
        found = [(node, key) for node in nodes for key in self._keys_of(node)]
        assert sorted(key for _, key in found) == self.keys
        assert len({node.id for node, _ in found}) == 1
        for node, key in found:
            assert [entry for entry, _ in node.client.xrange(key)] == ["1-1", "1-2"]
            assert node.client.xpending(key, "billing")["pending"] == 1
            ((_, ((entry, _),)),) = node.client.xreadgroup("billing", "bob", {key: ">"})
            assert entry == "1-2"
            if self.has_policies:
                ((_, fields),) = node.client.execute_command("XSCHEDULED", key)
                assert fields == ["n", "late"]
                told = node.client.execute_command("XINFO", "POLICY", key, "billing")
                assert (told["ack-wait"], told["max-pending"]) == (LATE_MS, 7)

    def _keys_of(self, node: Node) -> list[str]:
        return list(node.client.keys(self.keys[0].partition(":")[0] + ":*"))


def is_free(node: Node, key: str) -> bool:
    """Whether the node has the key's slot, and the slot has no keys."""
    try:
        node.client.get(key)
    except redis.exceptions.MovedError:
        return False
    return not node.client.execute_command("CLUSTER COUNTKEYSINSLOT", key_slot(key.encode()))


def has_unread_bytes(port: int) -> bool:
    """Whether a server has not read all that its clients have sent."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    queues = [words[4] for words in lines if words[1].endswith(f":{port:04X}")]
    return any(int(queue.partition(":")[2], 16) for queue in queues)


@pytest.mark.parametrize(("pair", "stage", "victim"), CUTS)
def test_a_move_that_is_cut_is_mended(
    cluster: Cluster, pair: tuple[int, int], stage: str, victim: str
) -> None:
    source, target = (cluster.nodes[place] for place in pair)
    move = Move(source, target, ALL_CUTS.index((pair, stage, victim)))
    move.play(stage, victim)
    cluster.wait_until_whole()  # a Redis that has started refuses requests for two seconds
    redis_cli("fix", cluster.nodes[REDIS].address)
    cluster.wait_until_agreed()
    move.check(cluster.nodes)
