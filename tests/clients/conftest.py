"""Programs of others, unchanged, against the session's Rillway."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.support.programs.servers import RunningServer


@pytest.fixture
def server(rillway_server: RunningServer) -> RunningServer:
    """The session's Rillway, without a key, script or library."""
    with rillway_server.connect() as client:
        for request in (("FLUSHALL",), ("SCRIPT", "FLUSH"), ("FUNCTION", "FLUSH")):
            assert client.send(*request) == b"+OK\r\n"
    return rillway_server


@pytest.fixture
def url(server: RunningServer) -> str:
    return f"redis://127.0.0.1:{server.port}/0"


@pytest.fixture(autouse=True)
def the_level_of_the_log() -> Iterator[None]:
    """The root logger's level as before the test: celery's worker sets it, and later tests log."""
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)
