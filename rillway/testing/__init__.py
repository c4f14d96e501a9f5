"""A Rillway server for test suites: in the test's process, or in one of its own.

- `FakeServer`: in this process, without a port; `FakeRedis` and `FakeAsyncRedis` are its clients;
- `server(**directives)`: a process, for `with` and `async with`;
- `cluster(**directives)`: several processes, as a Redis Cluster;
- `RillwayContainer`: a process, with the interface of testcontainers' `RedisContainer`;
- the pytest plugin (rillway/testing/plugin.py), which pytest finds by itself.

Nothing here imports redis-py, asyncio or pytest before it is needed: pytest loads the plugin in
every run of every project that has Rillway installed. See docs/how-to/test.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rillway.testing.container import RillwayContainer
from rillway.testing.directives import Value
from rillway.testing.fake_server import FakeServer
from rillway.testing.process import RillwayServer, ServerFailed

if TYPE_CHECKING:
    from rillway.testing.fake_redis import FakeAsyncRedis, FakeRedis
    from rillway.testing.processes import RillwayCluster

__all__ = [
    "FakeAsyncRedis",
    "FakeRedis",
    "FakeServer",
    "RillwayCluster",
    "RillwayContainer",
    "RillwayServer",
    "ServerFailed",
    "cluster",
    "server",
]


def server(**directives: Value) -> RillwayServer:
    """A server for `with` or `async with`: it runs inside of the block only.

    Directives are those of the configuration file, with `_` for `-`: `server(maxclients=10)`.
    Raises ValueError for a directive that is reserved for the harness, and ServerFailed on entry.
    """
    return RillwayServer(directives)


def cluster(primaries: int = 3, replicas: int = 0, **directives: Value) -> RillwayCluster:
    """A Redis Cluster for `with` or `async with`; `replicas` of each primary.

    All nodes get the directives. Raises ValueError for one that is reserved for the harness, and
    ServerFailed on entry.
    """
    from rillway.testing.processes import RillwayCluster

    return RillwayCluster(directives, primaries=primaries, replicas=replicas)


def __getattr__(name: str) -> Any:
    """Import the names that need redis-py when they are first used. Raises AttributeError."""
    if name in ("FakeRedis", "FakeAsyncRedis"):
        from rillway.testing import fake_redis

        return getattr(fake_redis, name)
    if name == "RillwayCluster":
        from rillway.testing.processes import RillwayCluster

        return RillwayCluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
