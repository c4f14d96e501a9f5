"""A Rillway server for test suites: pytest fixtures, and a context manager.

- `server(**directives)`: for scripts and unittest, `with` and `async with`;
- `RillwayContainer`: the same with the interface of a testcontainers class;
- the pytest plugin (rillway/testing/plugin.py), which pytest finds by itself.

Nothing here imports redis-py, asyncio or pytest before it is needed: pytest loads the plugin in
every run of every project that has Rillway installed. See docs/how-to/test.md.
"""

from __future__ import annotations

from rillway.testing.container import RillwayContainer
from rillway.testing.directives import Value
from rillway.testing.process import RillwayServer, ServerFailed

__all__ = ["RillwayContainer", "RillwayServer", "ServerFailed", "server"]


def server(**directives: Value) -> RillwayServer:
    """A server for `with` or `async with`: it runs inside of the block only.

    Directives are those of the configuration file, with `_` for `-`: `server(maxclients=10)`.
    Raises ValueError for one that belongs to the harness, and on entry ServerFailed.
    """
    return RillwayServer(directives)
