"""An archive, and a real Redis with nothing in it; `link` is each server in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.client.connection import Connection
from tests.support.object_store import BUCKET, s3_server
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


@pytest.fixture(scope="session")
def s3_options() -> Iterator[dict[str, str]]:
    """Of an S3 server that lives as long as the tests."""
    with s3_server() as options:
        yield options


@pytest.fixture
def s3_place(tmp_path: Path) -> str:
    """Where no other test has an archive."""
    return f"s3://{BUCKET}/{tmp_path.name} of a test"
