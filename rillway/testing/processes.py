"""Several server processes for tests, as a Redis Cluster, on free loopback ports.

The processes are RillwayServers; what makes them a cluster is what `rillway cluster start` uses.
Unlike the rest of this package, this module needs redis-py: the code of `rillway cluster` uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rillway.cluster.creation import create, patiently, wait_for_agreement
from rillway.cluster.member import ClusterFailed, Member
from rillway.cluster.ports import free_port
from rillway.testing.directives import Value, normalized
from rillway.testing.process import RillwayServer, ServerFailed

if TYPE_CHECKING:
    import redis
    import redis.asyncio

CONFIRM_MS = 5_000
# A test that ends a primary, and has replicas, does not wait for long.
NODE_TIMEOUT_MS = 2_000
RESERVED = {
    "port": "each node has its own",
    "cluster-port": "each node has its own",
    "cluster-enabled": "it is a cluster",
    "cluster-config-file": "each node has its own",
}


class RillwayCluster:
    """Primaries, and replicas of them. `servers`: the primaries first, as it was started."""

    def __init__(
        self,
        directives: Mapping[str, Value] | None = None,
        *,
        primaries: int = 3,
        replicas: int = 0,
        folder: Path | None = None,
    ) -> None:
        """`replicas`: their number for each primary. `folder`: for the nodes' folders; None makes
        temporary ones. Raises ValueError for a directive that is reserved for the harness.
        """
        named = normalized(directives or {})
        for name, reason in RESERVED.items():
            if name in named:
                raise ValueError(f"'{name}' cannot be set here: {reason}")
        if primaries < 1 or replicas < 0:
            raise ValueError("a cluster has one primary or more")
        if "requirepass" in named:  # nodes are clients of each other
            named.setdefault("masterauth", named["requirepass"])
        self.primaries, self.replicas = primaries, replicas
        self.servers = [
            _node(named, None if folder is None else folder / str(number))
            for number in range(primaries * (1 + replicas))
        ]
        self._is_created = False

    @property
    def host(self) -> str:
        """The address of the first node."""
        return self.servers[0].host

    @property
    def port(self) -> int:
        """The port of the first node."""
        return self.servers[0].port

    @property
    def url(self) -> str:
        """The URL of the first node: a cluster client asks it for the others."""
        return self.servers[0].url

    @property
    def running(self) -> bool:
        """True if all nodes run."""
        return all(server.running for server in self.servers)

    @property
    def state(self) -> str:
        """The state of each node, for reports."""
        return ", ".join(server.state for server in self.servers)

    @property
    def log(self) -> str:
        """The output of all nodes, one after the other."""
        return "".join(server.log for server in self.servers)

    def start(self) -> None:
        """Start the nodes that do not run; return when all serve. Raises ServerFailed."""
        if self.running:
            return
        try:
            with ThreadPoolExecutor(len(self.servers)) as threads:
                list(threads.map(RillwayServer.start, self.servers))
            with self._members() as members:
                if self._is_created:
                    wait_for_agreement(members)
                else:
                    create(members, self.primaries)
                    if self.replicas:
                        self._show_replicas(members)
        except ClusterFailed as failure:
            self.stop()
            raise self._failed(failure) from None
        except BaseException:
            self.stop()
            raise
        self._is_created = True

    def _show_replicas(self, members: list[Member]) -> None:
        """Wait until CLUSTER SLOTS lists the replicas: each must first have received some data.

        Raises ClusterFailed.
        """
        for primary in members[: self.primaries]:
            primary.ask("FLUSHALL")
        patiently(members, lambda: all(self._shows_all(member) for member in members))

    def _shows_all(self, member: Member) -> bool:
        """Return True if CLUSTER SLOTS lists all nodes: [first, last, primary, replicas...]."""
        ports = {node[1] for slots in member.ask("CLUSTER", "SLOTS") for node in slots[2:]}
        return len(ports) == len(self.servers)

    def stop(self) -> None:
        """End all nodes."""
        for server in self.servers:
            server.stop()

    def restart(self) -> None:
        """Stop and start all nodes; each keeps its port, its slots and its role.

        It takes two seconds, in which primaries that come back do not serve. Raises ServerFailed.
        """
        self.stop()
        self.start()

    def flush(self) -> None:
        """Empty all nodes. Raises ServerFailed if one does not answer, or the cluster is down."""
        if not self.running:
            raise ServerFailed(f"not all nodes run: {self.state}")
        try:
            with self._members() as members:
                for member in members:
                    if member.ask("ROLE")[0] == "master":
                        member.ask("FLUSHALL")
                        member.ask("WAIT", self.replicas, CONFIRM_MS)
                if not all(member.is_ok() for member in members):
                    raise ServerFailed("the cluster is down")
        except ClusterFailed as failure:
            raise self._failed(failure) from None

    def client(self, **options: Any) -> redis.RedisCluster:
        """A client of redis-py; `options` are its own."""
        import redis

        return redis.RedisCluster.from_url(self.url, **options)

    def async_client(self, **options: Any) -> redis.asyncio.RedisCluster:
        """An asyncio client of redis-py; `options` are its own."""
        import redis.asyncio

        return redis.asyncio.RedisCluster.from_url(self.url, **options)

    def __enter__(self) -> RillwayCluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> RillwayCluster:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    @contextmanager
    def _members(self) -> Iterator[list[Member]]:
        members = [
            Member(
                server.port,
                host=server.host,
                bus_port=int(str(server.directives["cluster-port"])),
                password=server.password,
            )
            for server in self.servers
        ]
        try:
            yield members
        finally:
            for member in members:
                member.close()

    def _failed(self, failure: ClusterFailed) -> ServerFailed:
        return ServerFailed(f"{failure} ({self.state}). The nodes printed:\n{self.log}")


def _node(directives: Mapping[str, Value], folder: Path | None) -> RillwayServer:
    """A server that is not started, in a folder of its own."""
    if folder is not None:
        folder.mkdir()
    own: dict[str, Value] = {
        "cluster-node-timeout": NODE_TIMEOUT_MS,
        "repl-diskless-sync-delay": 0,
        **directives,
        "cluster-enabled": True,
        "cluster-port": free_port(),
    }
    return RillwayServer(own, folder=folder)
