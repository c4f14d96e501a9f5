"""An archive of the release before there were epochs, upgraded, goes on by itself, or is refused.

The folder `before_epochs` was written by that release: `orders` has 1-0 to 20-0, of which 12-0 to
20-0 were still in memory; `payments` has 1-0 to 5-0, of which nothing was.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rillway.pipeline.archive.archiver import Archiver, Report, Settings
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.identity.recognition import OtherSource
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.upgrade import upgrade
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.facts import group_infos, group_name
from rillway.pipeline.query.history import open_history
from tests.rillway.pipeline.archive.scene import DAY_MS, archived_ids, live_ids

FOLDER = Path(__file__).parents[1] / "before_epochs"


@pytest.fixture
def old(link: Connection, tmp_path: Path) -> ArchiveTable:
    """The archive, upgraded; the server as it was left, with a group at the archived end."""
    shutil.copytree(FOLDER / "archive", tmp_path / "archive")
    upgrade(tmp_path / "archive")
    table = ArchiveTable.open(tmp_path / "archive")
    add_orders(link, 1, 20)
    link.call("XTRIM", "orders", "MINID", "12-0")
    for n in range(1, 6):
        link.call("XADD", "payments", f"{n}-0", "n", n)
    link.call("XTRIM", "payments", "MAXLEN", 0)
    for stream, end in (("orders", "20-0"), ("payments", "5-0")):
        link.call("XGROUP", "CREATE", stream, table.group, end)
    return table


def add_orders(link: Connection, first: int, last: int) -> None:
    for n in range(first, last + 1):
        link.call("XADD", "orders", f"{n}-0", "n", n, "bytes", b"\x00\xff\r\n")


def archive(
    link: Connection, table: ArchiveTable, stream: str, opens_new_epoch: bool = False
) -> Report:
    settings = Settings(link.url, opens_new_epoch=opens_new_epoch)
    return Archiver(table, LocalEngine(), settings).archive(stream)


def test_its_end_is_compared_once_and_then_marked(link: Connection, old: ArchiveTable) -> None:
    before = old.state("orders")
    assert before is not None and before.present.token == ""
    report = archive(link, old, "orders")
    assert (report.archived, report.trimmed, report.notes) == (0, 8, [])
    state = old.state("orders")
    assert state is not None and len(state.epochs) == 1 and state.present.token
    [group] = group_infos(link, "orders")
    assert (group_name(group), group[b"last-delivered-id"]) == (old.marker(state.present), b"20-0")
    add_orders(link, 21, 30)
    report = archive(link, old, "orders")
    assert (report.archived, report.remaining) == (10, 1)
    assert archived_ids(old, "orders") == [f"{n}-0" for n in range(1, 31)]
    assert {(file.first_epoch, file.last_epoch) for file in old.files()} == {(1, 1)}


def test_where_nothing_can_be_compared_it_is_refused(link: Connection, old: ArchiveTable) -> None:
    for n in range(6, 9):
        link.call("XADD", "payments", f"{n}-0", "n", n)
    version = old.version
    with pytest.raises(OtherSource, match="--new-epoch"):
        archive(link, old, "payments")
    old.refresh()
    assert old.version == version
    assert live_ids(link, "payments") == ["6-0", "7-0", "8-0"]
    assert archive(link, old, "payments", opens_new_epoch=True).archived == 3
    assert archived_ids(old, "payments") == [f"{n}-0" for n in range(1, 9)]


def test_another_stream_of_the_name_is_refused(link: Connection, old: ArchiveTable) -> None:
    link.call("DEL", "orders")
    for n in range(5, 25):
        link.call("XADD", "orders", f"{n}-0", "n", "another")
    with pytest.raises(OtherSource):
        archive(link, old, "orders")
    assert len(live_ids(link, "orders")) == 20


def test_a_tail_that_was_lost_before_the_upgrade_is_found(
    link: Connection, old: ArchiveTable
) -> None:
    link.call("DEL", "orders")
    add_orders(link, 12, 15)
    for n in range(16, 30):
        link.call("XADD", "orders", f"{n}-0", "n", "another")
    assert archive(link, old, "orders").archived == 14
    assert len(archived_ids(old, "orders")) == 34


def test_the_streams_beside_a_refused_one_go_on(
    link: Connection, old: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--to", str(old.root), "--url", link.url, "--keep", "0"]
    both = ["--stream", "payments", "--stream", "orders"]
    assert main([*both, *words]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("orders: 0 archived; 8 trimmed")
    _, error = printed.err.splitlines()
    assert error.startswith("rillway archive: payments: is archived")


def test_it_is_read_and_compacted_as_it_is(link: Connection, old: ArchiveTable) -> None:
    add_orders(link, 21, 25)
    with open_history(link.url, "orders", old.root) as history:
        found = [
            (i, e)
            for b in history.batches()
            for i, e in zip(b.column("id").to_pylist(), b.column("epoch").to_pylist(), strict=True)
        ]
    assert found == [(f"{n}-0", 1) for n in range(1, 26)]
    link.call("XADD", "orders", f"{2 * DAY_MS}-0", "n", "later")
    archive(link, old, "orders")
    assert compact(old).files_after == 1
    assert len(archived_ids(ArchiveTable.open(old.root), "orders")) == 26
