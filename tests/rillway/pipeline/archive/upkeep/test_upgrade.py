"""An archive of layout 1, with files for each stream, becomes one of this release.

The folder `layout_1` was written by the release before. `orders` has 1-0 to 10-0 of the second day,
and in epoch 2, which branches off after 5-0, three entries more; its first day has expired.
`a/b=c d` has 1-0 to 5-0 and one entry of the third day.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from rillway.pipeline.archive.archiver import Archiver, Settings
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.files.parquet_files import SORTED_BY
from rillway.pipeline.archive.files.periods import MONTH
from rillway.pipeline.archive.files.store import store_of
from rillway.pipeline.archive.table import (
    LAYOUT,
    LAYOUT_PROPERTY,
    PERIOD_PROPERTY,
    ArchiveError,
    ArchiveTable,
    OldLayout,
)
from rillway.pipeline.archive.upkeep import upgrade as upgrade_module
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.upgrade import Upgraded, upgrade
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import parse_id
from rillway.pipeline.query.command import main as query
from rillway.pipeline.ranges.offsets import Position
from tests.rillway.pipeline.archive.conftest import ObjectStore
from tests.rillway.pipeline.archive.scene import DAY_MS, archived_ids, commit, live_ids

FOLDER = Path(__file__).parents[1] / "layout_1"
ODD = "a/b=c d"
FIRST_EPOCH = [f"{DAY_MS + n}-0" for n in range(1, 11)]
SECOND_EPOCH = [f"{DAY_MS + 5}-{n}" for n in (1, 2, 3)]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER / "archive", tmp_path / "archive")
    return tmp_path / "archive"


def test_it_is_refused_until_it_is_upgraded(
    old: Path, link: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OldLayout, match=f"rillway archive upgrade --to {old}"):
        ArchiveTable.open(old)
    words = ["--stream", "orders", "--url", link.url]
    assert main([*words, "--to", str(old)]) == 1
    assert query([*words, "--archive", str(old)]) == 1
    assert capsys.readouterr().err.count("rillway archive upgrade --to") == 2


def test_all_rows_and_all_that_is_known_are_kept(old: Path) -> None:
    assert upgrade(old) == Upgraded(streams=2, rows=19, files_before=4, files_after=3)
    table = ArchiveTable.open(old)
    assert archived_ids(table, "orders") == FIRST_EPOCH + SECOND_EPOCH
    assert archived_ids(table, ODD) == [*(f"{n}-0" for n in range(1, 6)), f"{2 * DAY_MS}-0"]
    assert table.streams() == [ODD, "orders"]
    assert table.end("orders") == Position(parse_id(SECOND_EPOCH[-1]), 28)
    state = table.state("orders")
    assert state is not None and len(state.epochs) == 2 and len(state.anchors) == 2
    assert table.marker(state.present).endswith(":7e0f34ba1865d6b8")
    assert (table.expired_before_ms("orders"), table.expired_ms("orders", 1)) == (DAY_MS, 20)
    assert table.expired_before_ms(ODD) is None
    assert upgrade(old).is_new


def test_an_archive_in_an_object_store_is_upgraded(object_store: ObjectStore) -> None:
    store = store_of(object_store.uri, object_store.options)
    for path in (FOLDER / "archive").rglob("*.*"):
        name = path.relative_to(FOLDER / "archive").as_posix()
        with store.filesystem.open_output_stream(name, buffer_size=1 << 16) as file:
            file.write(path.read_bytes())
    with pytest.raises(OldLayout, match="rillway archive upgrade"):
        ArchiveTable.open(store)
    assert upgrade(store) == Upgraded(streams=2, rows=19, files_before=4, files_after=3)
    table = ArchiveTable.open(store)
    assert archived_ids(table, "orders") == FIRST_EPOCH + SECOND_EPOCH
    assert archived_ids(table, ODD) == [*(f"{n}-0" for n in range(1, 6)), f"{2 * DAY_MS}-0"]
    assert upgrade(store).is_new


def test_the_archiver_goes_on(old: Path, link: Connection) -> None:
    """The marker and the last entries are in the stream as that release left them."""
    upgrade(old)
    table = ArchiveTable.open(old)
    state = table.state("orders")
    assert state is not None
    for n in range(1, 6):
        link.call("XADD", "orders", f"{DAY_MS + n}-0", "n", n, "bytes", b"\x00\xff\r\n")
    for n in (1, 2, 3):
        link.call("XADD", "orders", f"{DAY_MS + 5}-{n}", "n", f"other-{n}")
    link.call("XGROUP", "CREATE", "orders", table.marker(state.present), SECOND_EPOCH[-1])
    link.call("XADD", "orders", f"{DAY_MS + 6}-0", "n", "new")
    report = Archiver(table, LocalEngine(), Settings(link.url)).archive("orders")
    assert (report.archived, report.notes) == (1, [])
    assert archived_ids(table, "orders") == [*FIRST_EPOCH, *SECOND_EPOCH, f"{DAY_MS + 6}-0"]
    assert live_ids(link, "orders") == [f"{DAY_MS + 6}-0"]


def test_a_commit_meanwhile_is_an_error_and_changes_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = upgrade_module._rows

    def overtaken(*words: object) -> object:
        log = old / "_delta_log"
        shutil.copy(log / f"{1:020d}.json", log / f"{6:020d}.json")
        return real(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(upgrade_module, "_rows", overtaken)
    with pytest.raises(ArchiveError, match="others commit to it meanwhile"):
        upgrade(old)
    with pytest.raises(OldLayout):
        ArchiveTable.open(old)


def test_files_of_another_period_become_sorted_ones(old: Path) -> None:
    """By month from now on; until then, each day had files of its own."""
    DeltaTable(old).alter.set_table_properties({PERIOD_PROPERTY: MONTH}, False)
    upgrade(old)
    table = ArchiveTable.open(old)
    for file in table.files():
        rows = pq.ParquetFile(old / file.path).read(list(SORTED_BY)).to_pylist()
        keys = [tuple(row.values()) for row in rows]
        assert keys == sorted(keys)
    compact(table)
    assert len(table.files()) == 1
    assert archived_ids(table, "orders") == FIRST_EPOCH + SECOND_EPOCH
    assert archived_ids(table, ODD) == [*(f"{n}-0" for n in range(1, 6)), f"{2 * DAY_MS}-0"]


def test_an_upgrade_that_another_one_has_overtaken_changes_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = upgrade_module._read_plan

    def overtaken(*words: Any) -> Any:
        monkeypatch.setattr(upgrade_module, "_read_plan", real)
        upgrade(old)
        commit(ArchiveTable.open(old), Position(parse_id("9-9"), 40), stream="later")
        return real(*words)

    monkeypatch.setattr(upgrade_module, "_read_plan", overtaken)
    assert upgrade(old).is_new
    assert ArchiveTable.open(old).end("later") is not None


def test_an_upgrade_that_ended_between_its_commits_is_finished(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(Exception):
        pass

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(ArchiveTable, "append", crash)
        upgrade(old)
    with pytest.raises(OldLayout, match="rillway archive upgrade"):
        ArchiveTable.open(old)
    assert upgrade(old).rows == 19
    assert DeltaTable(old).metadata().configuration[LAYOUT_PROPERTY] == LAYOUT
    assert archived_ids(ArchiveTable.open(old), "orders") == FIRST_EPOCH + SECOND_EPOCH


def test_the_command_says_what_it_did(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", "--to", str(old)]) == 0
    assert capsys.readouterr().out.startswith("2 streams, 19 rows; 4 files became 3")
    assert main(["upgrade", "--to", str(old)]) == 0
    assert "of this release already" in capsys.readouterr().out
