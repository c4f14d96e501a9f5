"""A primary, its replicas and three Sentinels on loopback ports, each a process of its own.

Every server has a configuration file that may be rewritten, as Sentinel wants it. A server that was
killed is started again with its own file: it is not informed that there is another primary now.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from redis.sentinel import Sentinel

from rillway.pipeline.wire.connection import Connection
from tests.support.programs import processes
from tests.support.programs.ports import free_port
from tests.support.programs.processes import Process
from tests.support.programs.servers import RunningServer, begin_rillway

NAME = "mymaster"
SENTINELS = 3
QUORUM = 2
DOWN_AFTER_MS = 1000
FAILOVER_TIMEOUT_MS = 4000
MAX_LAG_SECONDS = 2
BOUND_TEXT = f"min-replicas-to-write 1, -max-lag {MAX_LAG_SECONDS}"
WAIT_SECONDS = 90.0  # Sentinel does nothing for 30 after the machine has stood still for 2
POLL_SECONDS = 0.05
SOCKET_SECONDS = 1.0
INSTALL_SENTINEL = "redis-sentinel is not installed: make redis-sentinel"
NODE_LINES = (
    "bind 127.0.0.1",
    'save ""',
    "repl-diskless-sync-delay 0",
    "min-replicas-to-write 1",
    f"min-replicas-max-lag {MAX_LAG_SECONDS}",
)


class Failed(Exception):
    """What was promised did not come true, or did not come in time."""


class Node:
    """A server that can be killed, stopped and started again.

    `kind`: "rillway", "redis", or the path of another server of that kind.
    """

    def __init__(self, kind: str, folder: Path, primary_port: int | None) -> None:
        self.kind = kind
        self.folder = folder
        self.port = free_port()
        folder.mkdir(parents=True)
        lines = [f"port {self.port}", f"dir {folder}", *NODE_LINES]
        if primary_port is not None:
            lines.append(f"replicaof 127.0.0.1 {primary_port}")
        (folder / "server.conf").write_text("\n".join(lines) + "\n")
        self.process: Process | None = None

    def start(self) -> None:
        file, log = str(self.folder / "server.conf"), self.folder / "log"
        if self.kind == "rillway":
            self.process = begin_rillway(log, file)
        else:
            program = "redis-server" if self.kind == "redis" else self.kind
            self.process = processes.start([program, file], folder=self.folder, output=log)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def client(self) -> Any:
        return direct_client(self.port)

    def replication(self) -> dict[str, Any]:
        """INFO replication; empty while it does not answer."""
        try:
            with self.client() as client:
                return dict(client.info("replication"))
        except RedisError:
            return {}

    def as_server(self) -> RunningServer:
        assert self.process is not None
        return RunningServer(self.kind, self.port, self.process, self.folder / "log")


class Cluster:
    """The processes. Ends them with the `with` block.

    `down_after_ms`: Sentinel promotes no replica that had lost its primary for ten times that long
    before the primary went down. `sentinel`: the program and its options.
    """

    def __init__(
        self,
        folder: Path,
        kinds: Sequence[str] = ("rillway",) * 3,
        down_after_ms: int = DOWN_AFTER_MS,
        sentinel: Sequence[str] = ("redis-sentinel",),
    ) -> None:
        if shutil.which(sentinel[0]) is None:
            raise Failed(INSTALL_SENTINEL)
        self.folder = folder
        self._down_after_ms = down_after_ms
        self._sentinel_words = sentinel
        first = Node(kinds[0], folder / "node-1", None)
        others = enumerate(kinds[1:], 2)
        self.nodes = [first, *(Node(k, folder / f"node-{n}", first.port) for n, k in others)]
        self.has_policies = set(kinds) == {"rillway"}
        self.sentinel_ports: list[int] = []
        self._sentinels: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        try:
            for node in self.nodes:
                node.start()
            wait_for(lambda: all(map(Node.replication, self.nodes)), "the servers do not answer")
            for number in range(SENTINELS):
                self._start_sentinel(self.folder / f"sentinel-{number + 1}")
            self.wait_until_whole()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End all processes, and stopped ones as well."""
        servers = [node.process for node in self.nodes if node.process is not None]
        for process in [*self._sentinels, *servers]:
            if process.poll() is None:
                process.kill()
            process.wait()

    def _start_sentinel(self, folder: Path) -> None:
        folder.mkdir()
        port = free_port()
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            f"sentinel monitor {NAME} 127.0.0.1 {self.nodes[0].port} {QUORUM}",
            f"sentinel down-after-milliseconds {NAME} {self._down_after_ms}",
            f"sentinel failover-timeout {NAME} {FAILOVER_TIMEOUT_MS}",
            f"sentinel parallel-syncs {NAME} 1",
        ]
        (folder / "sentinel.conf").write_text("\n".join(lines) + "\n")
        program, *options = self._sentinel_words
        argv = [program, str(folder / "sentinel.conf"), *options]
        self._sentinels.append(processes.start(argv, folder=folder, output=folder / "log"))
        self.sentinel_ports.append(port)

    def sentinel(self) -> Sentinel:
        """redis-py's, for one thread; its clients try nothing twice by themselves."""
        addresses = [("127.0.0.1", port) for port in self.sentinel_ports]
        return Sentinel(
            addresses,
            sentinel_kwargs={"socket_timeout": SOCKET_SECONDS},
            protocol=2,
            socket_timeout=SOCKET_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )  # type: ignore[no-untyped-call]

    def client(self) -> Any:
        """A client of the current primary."""
        return self.sentinel().master_for(NAME)  # type: ignore[no-untyped-call]

    def primary(self) -> Node | None:
        """Whom all Sentinels name; None while they differ."""
        named = set()
        for port in self.sentinel_ports:
            try:
                with direct_client(port) as client:
                    named.add(tuple(client.sentinel_get_master_addr_by_name(NAME) or ()))
            except RedisError:
                return None
        ports = {int(address[1]) for address in named if address}
        found = [node for node in self.nodes if node.port in ports]
        return found[0] if len(ports) == 1 and found else None

    def is_whole(self) -> bool:
        """Whether a primary has all others as replicas, and all Sentinels know that."""
        primary = self.primary()
        if primary is None or not all(map(self._sees_all, self.sentinel_ports)):
            return False
        for node in self.nodes:
            known = node.replication()
            if node is primary:
                if known.get("role") != "master" or known["connected_slaves"] != self._replicas:
                    return False
            elif known.get("master_port") != primary.port or known["master_link_status"] != "up":
                return False
        return True

    def _sees_all(self, port: int) -> bool:
        try:
            with direct_client(port) as client:
                state = client.sentinel_master(NAME)
                replicas = client.sentinel_slaves(NAME)
        except RedisError:
            return False
        return (
            (state["flags"], state["num-other-sentinels"]) == ("master", SENTINELS - 1)
            and len(replicas) == self._replicas
            and all(replica["flags"] == "slave" for replica in replicas)
        )

    @property
    def _replicas(self) -> int:
        return len(self.nodes) - 1

    def wait_until_whole(self) -> None:
        wait_for(self.is_whole, "the set does not become whole")


def url_of(node: Node) -> str:
    return f"redis://127.0.0.1:{node.port}"


def cut_off(link: Connection, replicas: list[Node]) -> None:
    """The replicas get no more from this primary, which takes writes all the same."""
    link.call("CONFIG", "SET", "min-replicas-to-write", 0)
    for node in replicas:
        with node.client() as client:
            client.config_set("masterauth", "wrong")
    link.call("CLIENT", "KILL", "TYPE", "replica")
    wait_for(
        lambda: all(node.replication()["master_link_status"] == "down" for node in replicas),
        "the replicas are not cut off",
    )


def let_follow(replicas: list[Node]) -> None:
    for node in replicas:
        with node.client() as client:
            client.config_set("masterauth", "")


def direct_client(port: int) -> Any:
    return redis.Redis(
        port=port, protocol=2, socket_timeout=SOCKET_SECONDS, retry=Retry(NoBackoff(), 0)
    )


def wait_for(condition: Callable[[], Any], what: str, seconds: float = WAIT_SECONDS) -> None:
    """Raises Failed with `what` if the condition does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(what)
        time.sleep(POLL_SECONDS)
