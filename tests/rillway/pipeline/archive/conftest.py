"""An archive, and a real Redis with nothing in it; `link` is each server in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.connection import Connection
from tests.support.servers import RunningServer


@pytest.fixture
def redis_link(redis_server: RunningServer) -> Iterator[Connection]:
    """For what only Redis has, or what needs no second server."""
    with Connection(f"redis://127.0.0.1:{redis_server.port}") as opened:
        opened.call("FLUSHALL")
        yield opened


@pytest.fixture
def table(tmp_path: Path) -> ArchiveTable:
    return ArchiveTable.open_or_create(tmp_path / "archive")
