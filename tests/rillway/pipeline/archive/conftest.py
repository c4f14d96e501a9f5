"""An archive, and a real Redis with nothing in it; `link` is each server in turn."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.repair.damages import make_archive
from tests.support.programs.servers import RunningServer
from tests.support.stores.object_store import AWAY, BUCKET, SERVERS


@pytest.fixture
def redis_link(redis_server: RunningServer) -> Iterator[Connection]:
    """For what only Redis has, or what needs no second server."""
    with Connection(f"redis://127.0.0.1:{redis_server.port}") as opened:
        opened.call("FLUSHALL")
        yield opened


@pytest.fixture
def table(tmp_path: Path) -> ArchiveTable:
    return ArchiveTable.open_or_create(tmp_path / "archive")


STORES = ["s3", "gs"]
if "AZURITE_BLOB_STORAGE_URL" in os.environ:  # by hand: see tests/support/stores/object_store.py
    STORES.append("abfss")
NOT_GOOGLES = pytest.mark.parametrize(
    "store_options", [kind for kind in STORES if kind != "gs"], indirect=True
)
"""For slow tests of code that is the same for all object stores."""
GOOGLES_THOROUGH = pytest.mark.parametrize(
    "store_options",
    [pytest.param(kind, marks=pytest.mark.thorough if kind == "gs" else ()) for kind in STORES],
    indirect=True,
)
"""The same, with Google's in the nightly run."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A place where no other test has an archive, and the options to reach it."""

    uri: str
    options: dict[str, str]
    away: dict[str, str]
    """The options of an address at which no server listens."""


@pytest.fixture(scope="session", params=STORES)
def store_options(request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    """Of each object store in turn, which lives as long as the tests."""
    kind = request.param
    with SERVERS[kind]() as options:
        yield ObjectStore(f"{kind}://{BUCKET}", options, AWAY[kind] | {"max_retries": "0"})


@pytest.fixture
def object_store(store_options: ObjectStore, tmp_path: Path) -> ObjectStore:
    return replace(
        store_options, uri=f"{store_options.uri}/{tmp_path.parent.name}/{tmp_path.name} of a test"
    )


@pytest.fixture(scope="session")
def whole_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that is made once."""
    return make_archive(tmp_path_factory.mktemp("whole") / "archive").root


@pytest.fixture
def root(whole_archive: Path, tmp_path: Path) -> Path:
    """A copy of it for a test that damages it."""
    copied: Path = shutil.copytree(whole_archive, tmp_path / "archive")
    return copied
