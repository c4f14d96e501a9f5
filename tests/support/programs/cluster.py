"""Clusters of redis-server and Rillway, made by redis-cli."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import redis

from tests.support.programs.ports import free_port
from tests.support.programs.servers import RunningServer, start_of

NODE_TIMEOUT_MS = 2_000
SETTLING_SECONDS = 60.0
POLL_SECONDS = 0.05
MIGRATE_TIMEOUT_MS = 10_000
# Redis is 7.0, newer is 8.2.
KINDS = ("rillway", "redis", "newer")


class Node:
    """A node, and a plain client of it. It keeps its ports and its files when it starts again."""

    def __init__(
        self, kind: str, folder: Path, *directives: str, node_timeout_ms: int = NODE_TIMEOUT_MS
    ) -> None:
        folder.mkdir(parents=True)
        self.kind, self.folder = kind, folder
        self.bus_port = free_port()
        self.directives: tuple[str, ...] = (
            *("--cluster-enabled", "yes", "--cluster-port", str(self.bus_port)),
            *("--cluster-node-timeout", str(node_timeout_ms), "--repl-diskless-sync-delay", "0"),
            *directives,
        )
        self.server = self._started(free_port())
        # redis-py's annotations leave out what a cluster's commands return.
        self.client: Any = redis.Redis(port=self.server.port, decode_responses=True)
        self.id = str(self.client.cluster("MYID"))

    def _started(self, port: int) -> RunningServer:
        return start_of(self.kind)(self.folder, *self.directives, port=port)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def facts(self) -> dict[str, str]:
        """CLUSTER INFO."""
        return dict(self.client.execute_command("CLUSTER INFO"))

    def role(self) -> str:
        """`master` or `slave`."""
        return str(self.client.role()[0])

    def kill(self) -> None:
        self.server.kill()

    def start_again(self) -> None:
        """After `kill`."""
        self.server = self._started(self.server.port)

    def stop(self) -> None:
        self.client.close()
        self.server.stop()


class Cluster:
    """Nodes in a folder. `create` makes a cluster of them."""

    def __init__(self, folder: Path, kinds: Sequence[str], *directives: str) -> None:
        self._folder, self._numbers = folder, itertools.count()
        self.nodes: list[Node] = []
        try:
            for kind in kinds:
                self.add(kind, *directives)
        except BaseException:
            self.close()
            raise

    def add(self, kind: str, *directives: str) -> Node:
        """One more node, which knows no other yet."""
        node = Node(kind, self._folder / str(next(self._numbers)), *directives)
        self.nodes.append(node)
        return node

    def create(self, replicas: int = 1) -> None:
        """redis-cli makes the first nodes primaries, and the others their replicas."""
        addresses = [node.address for node in self.nodes]
        redis_cli("create", *addresses, "--cluster-replicas", str(replicas), "--cluster-yes")
        self.wait_until_whole()
        primaries = self.nodes[: len(self.nodes) // (1 + replicas)]
        if replicas:
            wait_until(lambda: all(self.replicas_of(primary) for primary in primaries))

    def wait_until_whole(self) -> None:
        wait_until(lambda: all(self.is_whole(node) for node in self.nodes))

    def is_whole(self, node: Node) -> bool:
        facts = node.facts()
        known = int(facts["cluster_known_nodes"])
        return facts["cluster_state"] == "ok" and known == len(self.nodes)

    def agrees(self, node: Node) -> bool:
        """Whether redis-cli finds nothing wrong; it ends with 1 then."""
        return _run_redis_cli("check", node.address).returncode == 0

    def wait_until_agreed(self) -> None:
        """Until all nodes serve, and redis-cli finds nothing wrong at any of them."""
        self.wait_until_whole()
        wait_until(lambda: all(self.agrees(node) for node in self.nodes))

    def replica_of(self, primary: Node) -> Node:
        (replica,) = self.replicas_of(primary)
        return replica

    def knows_replica(self, primary: Node, replica: Node) -> bool:
        return replica in self.replicas_of(primary)

    def replicas_of(self, primary: Node) -> list[Node]:
        """As the primary knows them."""
        lines = str(primary.client.execute_command("CLUSTER REPLICAS", primary.id))
        return [node for node in self.nodes if node is not primary and node.id in lines]

    def close(self) -> None:
        for node in self.nodes:
            node.stop()


def move_slot(cluster: Cluster, slot: int, source: Node, target: Node, keys_at_once: int) -> None:
    """What redis-cli does, with pauses in which clients meet all the states of a move."""
    target.client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
    source.client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", target.id)
    words = ("MIGRATE", "127.0.0.1", target.server.port, "", 0, MIGRATE_TIMEOUT_MS, "KEYS")
    while keys := source.client.execute_command("CLUSTER GETKEYSINSLOT", slot, keys_at_once):
        assert source.client.execute_command(*words, *keys) in ("OK", "NOKEY")
        time.sleep(POLL_SECONDS / 10)
    others = [node for node in cluster.nodes if node not in (source, target)]
    for node in (target, source, *others):
        if node.role() == "master":
            node.client.execute_command("CLUSTER SETSLOT", slot, "NODE", target.id)


def redis_cli(action: str, *words: str, seconds: float = 60) -> str:
    """`redis-cli --cluster ACTION ...`: what it prints. Fails if it finds anything wrong."""
    run = _run_redis_cli(action, *words, seconds=seconds)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def _run_redis_cli(
    action: str, *words: str, seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["redis-cli", "--cluster", action, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )


def wait_until(holds: Callable[[], bool], seconds: float = SETTLING_SECONDS) -> float:
    """The seconds until it holds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + seconds, f"not within {seconds:.0f} s"
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began
