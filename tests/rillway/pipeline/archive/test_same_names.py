"""Streams of one name and different histories, archived to one folder by the command: what is lost,
what is printed, and the exit status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.query import command as query
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import STREAM, live_ids
from tests.rillway.pipeline.scene import add
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def other(redis_server: RunningServer) -> Iterator[Connection]:
    """A second server, with the same number of the database as the first one."""
    with Connection(f"redis://127.0.0.1:{redis_server.port}") as opened:
        opened.call("FLUSHALL")
        yield opened


def fill(link: Connection, first: int, last: int, era: str) -> None:
    for ms in range(first, last + 1):
        add(link, STREAM, [f"{ms}-0"], "n", f"{era}-{ms}")


def archived(url: str, folder: Path, *words: str) -> int:
    where = ["--stream", STREAM, "--to", str(folder), "--url", url]
    return main([*where, "--keep", "0", *words])


def queried(url: str, folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    capsys.readouterr()
    where = ["--stream", STREAM, "--archive", str(folder), "--url", url, "--from", "0"]
    assert query.main([*where, "--format", "json", *words]) == 0
    return [json.loads(line)["fields"]["n"] for line in capsys.readouterr().out.splitlines()]


def values(era: str, first: int, last: int) -> list[str]:
    return [f"{era}-{ms}" for ms in range(first, last + 1)]


@pytest.mark.parametrize("first", [1, 31, 61], ids=["same IDs", "IDs that overlap", "higher IDs"])
def test_another_database_is_refused_and_keeps_its_entries(
    link: Connection, folder: Path, capsys: pytest.CaptureFixture[str], first: int
) -> None:
    fill(link, 1, 60, "here")
    with Connection(f"{link.url}/5") as second:
        fill(second, first, first + 59, "there")
        assert archived(link.url, folder) == 0
        there = live_ids(second)
        for words in ([], ["--accept-loss"], []):
            assert archived(second.url, folder, *words) == 1
            assert "was archived from database 0, and this is 5" in capsys.readouterr().err
        assert live_ids(second) == there
        fill(link, 61, 70, "here")
        assert archived(link.url, folder) == 0
        assert queried(link.url, folder, capsys) == values("here", 1, 70)
        # As a history of its own, if that is wanted; then the first one is.
        assert archived(second.url, folder, "--new-epoch") == 0
        assert archived(link.url, folder) == 1
        found = queried(second.url, folder, capsys)
        assert sorted(found) == sorted(values("here", 1, 70) + values("there", first, first + 59))
        current = queried(second.url, folder, capsys, "--epochs", "current")
        assert current == values("there", first, first + 59)


@pytest.mark.parametrize("first", [1, 31, 61], ids=["same IDs", "IDs that overlap", "higher IDs"])
def test_another_server_is_refused_and_keeps_its_entries(
    rillway_link: Connection,
    other: Connection,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    first: int,
) -> None:
    link = rillway_link
    fill(link, 1, 60, "here")
    fill(other, first, first + 59, "there")
    assert archived(link.url, folder) == 0
    there = live_ids(other)
    for words in ([], ["--accept-loss"], []):
        assert archived(other.url, folder, *words) == 1
        assert "nothing shows that this is the same stream" in capsys.readouterr().err
    assert live_ids(other) == there
    fill(link, 61, 70, "here")
    assert archived(link.url, folder) == 0
    assert archived(other.url, folder, "--new-epoch") == 0
    here = live_ids(link)
    assert archived(link.url, folder) == 1
    assert "has gone on with another copy of it, as epoch 2" in capsys.readouterr().err
    assert live_ids(link) == here
    found = queried(other.url, folder, capsys)
    assert sorted(found) == sorted(values("here", 1, 70) + values("there", first, first + 59))


@pytest.mark.parametrize("words", [[], ["--accept-loss"]])
@pytest.mark.parametrize(("first", "last"), [(1, 10), (1, 100), (41, 90), (61, 90)], ids=str)
def test_a_stream_that_was_created_again_is_archived_as_a_new_history(
    link: Connection,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    first: int,
    last: int,
    words: list[str],
) -> None:
    fill(link, 1, 60, "old")
    assert archived(link.url, folder) == 0
    link.call("DEL", STREAM)
    fill(link, first, last, "new")
    assert archived(link.url, folder, *words) == 0
    fill(link, last + 1, last + 5, "new")
    assert archived(link.url, folder) == 0
    assert live_ids(link) == [f"{last + 5}-0"]
    assert queried(link.url, folder, capsys) == values("old", 1, 60) + values(
        "new", first, last + 5
    )
    current = queried(link.url, folder, capsys, "--epochs", "current")
    assert current == values("new", first, last + 5)
