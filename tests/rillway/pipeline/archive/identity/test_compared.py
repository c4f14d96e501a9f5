"""A reader compares its range only, says so, and remembers it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rillway.pipeline.archive.identity import recognition
from rillway.pipeline.archive.identity.compared import Compared, known, remember
from rillway.pipeline.archive.identity.walk import Walk, walk
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query.history import open_history
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import make_id
from tests.rillway.pipeline.archive.scene import STREAM, add, add_many, archive

COMPARED = Compared("archive", STREAM, 1, 100, "run", 10, 50, 40, "hash", 0)
Windows = list[tuple[int, int]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(recognition, "MIN_ENTRIES", 1)
    return tmp_path / "cache" / "rillway" / "compared.json"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Windows:
    """The milliseconds that are compared."""
    found: Windows = []

    def counted(*arguments: Any) -> Walk:
        first = arguments[5] if len(arguments) > 5 else 0
        found.append((first >> 64, arguments[4] >> 64))
        return walk(*arguments)

    monkeypatch.setattr(recognition, "walk", counted)
    return found


def unmarked(link: Connection, table: ArchiveTable) -> None:
    """The archive's group is gone, as after a copy of the folder was archived."""
    add_many(link, 20)
    archive(link, table, trims=False)
    for group in link.call("XINFO", "GROUPS", STREAM):
        link.call("XGROUP", "DESTROY", STREAM, group[1])


def read(
    link: Connection, table: ArchiveTable, first: int, last: int, say: Callable[[str], None]
) -> list[str]:
    bounds = make_id(first), make_id(last)
    with open_history(link.url, STREAM, table.root, *bounds, say=say) as history:
        return [one for batch in history.batches() for one in batch.column("id").to_pylist()]


def ids(first: int, last: int) -> list[str]:
    return [f"{n}-0" for n in range(first, last + 1)]


def test_a_range_is_compared_once_and_the_user_is_told(
    redis_link: Connection, table: ArchiveTable, windows: Windows
) -> None:
    unmarked(redis_link, table)
    told: list[str] = []
    assert read(redis_link, table, 5, 9, told.append) == ids(5, 9)
    assert windows == [(5, 9)] and len(told) == 1
    assert "up to 20, are compared with the rows" in told[0]
    assert read(redis_link, table, 6, 8, told.append) == ids(6, 8)
    assert windows == [(5, 9)] and len(told) == 1
    assert read(redis_link, table, 6, 10, told.append) == ids(6, 10)
    assert windows == [(5, 9), (6, 10)]


def test_a_range_that_is_not_in_memory_is_known_by_one_entry(
    redis_link: Connection, table: ArchiveTable, windows: Windows
) -> None:
    unmarked(redis_link, table)
    redis_link.call("XTRIM", STREAM, "MINID", "15")
    assert read(redis_link, table, 5, 9, lambda text: None) == ids(5, 9)
    assert windows == [(5, 9), (20, 20)]


def test_another_history_is_compared_as_a_whole(
    redis_link: Connection, table: ArchiveTable, windows: Windows
) -> None:
    unmarked(redis_link, table)
    assert read(redis_link, table, 5, 9, lambda text: None) == ids(5, 9)
    redis_link.call("DEL", STREAM)
    add_many(redis_link, 6)
    add(redis_link, "8-5", "21-0")
    found = read(redis_link, table, 5, 30, lambda text: None)
    assert found[-2:] == ["8-5", "21-0"]
    assert (0, 20) in windows


def test_a_memory_is_of_one_archive_epoch_end_and_server(cache: Path) -> None:
    assert known(COMPARED) is None
    remember(COMPARED)
    inner = Compared("archive", STREAM, 1, 100, "run", 20, 30, 0, "", 0)
    assert known(inner) == COMPARED
    for change in ({"epoch": 2}, {"end": 101}, {"run_id": "x"}, {"last": 51}, {"run_id": ""}):
        assert known(Compared(**{**_fields(inner), **change})) is None
    remember(Compared(**{**_fields(COMPARED), "last": 60}))
    assert len(cache.read_text().split('"archive":')) == 2
    cache.write_text("{")
    assert known(inner) is None


def test_a_folder_that_is_not_writable_is_no_error(cache: Path) -> None:
    cache.parent.parent.write_text("a file")
    remember(COMPARED)
    assert known(COMPARED) is None


def _fields(one: Compared) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Compared.__slots__}
