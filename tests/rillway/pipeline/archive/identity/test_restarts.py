"""Servers that are killed and started again: what their files have decides, not their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rillway.pipeline.archive.identity.recognition import OtherSource
from rillway.pipeline.archive.identity.sources import read_source
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.identity.test_recognition import Scene
from tests.support.programs.servers import RunningServer, start_of

pytestmark = pytest.mark.integration
Start = Callable[..., RunningServer]
APPEND_ONLY = "--appendonly", "yes", "--appendfsync", "no"


@pytest.fixture(params=["rillway", "redis", pytest.param("newer", marks=pytest.mark.thorough)])
def start(request: pytest.FixtureRequest) -> Start:
    """How a server is started."""
    return start_of(request.param)


@contextmanager
def run(start: Start, folder: Path, scene: Scene, *directives: str) -> Iterator[Scene]:
    """The scene at a server that has what is in a folder, and is killed."""
    server = start(folder, *directives)
    try:
        with Connection(f"redis://127.0.0.1:{server.port}") as link:
            yield replace(scene, link=link)
    finally:
        server.kill()
        server.log.unlink()  # it names the port, and the next one is another


@pytest.fixture
def scene(table: ArchiveTable) -> Scene:
    """Without a server yet."""
    return Scene(None, table)  # type: ignore[arg-type]


def test_an_append_only_file_has_the_history_up_to_where_it_was_cut(
    start: Start, scene: Scene, tmp_path: Path
) -> None:
    with run(start, tmp_path, scene, *APPEND_ONLY) as at:
        at.add(1, 100)
        at.archive()
        stored = read_source(at.link)
    with run(start, tmp_path, at, *APPEND_ONLY) as at:
        # Nothing says that it is the same server.
        assert not read_source(at.link).is_known_by(stored)
        at.add(101, 110)
        report = at.archive()
        assert (report.archived, report.notes, at.epoch) == (10, [], 1)
        [file] = tmp_path.glob("appendonlydir/*.incr.aof")
        kept = file.stat().st_size
        at.add(111, 120)
        assert at.archive().archived == 10
    with file.open("rb+") as opened:
        opened.truncate(kept)
    with run(start, tmp_path, at, *APPEND_ONLY) as at:
        at.add_ids("110-1", "110-2")
        at.add(121, 125)
        assert at.archive(keep_ms=0).archived == 7
        assert (at.epoch, at.branch) == (2, "110-0")
        at.check_nothing_lost()


def test_a_snapshot_has_an_older_history_and_nothing_has_none(
    start: Start, scene: Scene, tmp_path: Path
) -> None:
    with run(start, tmp_path, scene) as at:
        at.add(1, 100)
        at.archive()
        at.link.call("SAVE")
        at.add(101, 110)
        assert at.archive().archived == 10
    with run(start, tmp_path, at) as at:
        at.add_ids("100-1")
        at.archive()
        assert (at.epoch, at.branch) == (2, "100-0")
    (tmp_path / "dump.rdb").unlink()
    with run(start, tmp_path, at) as at:
        assert at.archive().is_missing
        at.add(200, 205)
        assert "the server is another one" in at.refuses(OtherSource)
        assert at.archive(opens_new_epoch=True).archived == 6
        assert (at.epoch, at.branch) == (3, "0-0")
        at.check_nothing_lost()
