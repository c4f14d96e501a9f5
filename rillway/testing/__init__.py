"""Rillway in other people's tests: a server of its own, one line away.

- `server(**directives)`: for scripts and unittest, `with` and `async with`;
- `RillwayContainer`: the same in the shape of a testcontainers class;
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
    """A server to be used in `with` or `async with`: it runs inside the block, and only there.

    Directives are those of the configuration file, with `_` for `-`: `server(maxclients=10)`.
    Raises ValueError for one that belongs to the harness, and on entry ServerFailed.
    """
    return RillwayServer(directives)
