"""What the tests of the pipeline share: each runs against Rillway; each night, also against Redis.

They call the classes that Spark would call. What needs Spark itself is in the folder `spark`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from rillway.pipeline.wire.connection import Connection

if TYPE_CHECKING:
    from tests.support.programs.servers import RunningServer


@pytest.fixture(params=["rillway", pytest.param("redis", marks=pytest.mark.thorough)])
def link(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection to a server that is empty; `link.url` is the server's."""
    yield from empty(request.getfixturevalue(f"{request.param}_server"))


@pytest.fixture
def rillway_link(rillway_server: RunningServer) -> Iterator[Connection]:
    """The same for what only Rillway has."""
    yield from empty(rillway_server)


def empty(server: RunningServer) -> Iterator[Connection]:
    with Connection(f"redis://127.0.0.1:{server.port}") as connection:
        connection.call("FLUSHALL")
        yield connection
