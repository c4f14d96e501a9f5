"""Rows by a condition: the same as without a scan, and little is read for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.files import rows as module
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query.command import filtered
from rillway.pipeline.query.history import history_batch
from rillway.pipeline.ranges.filters import make_filter
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, archive

CONDITIONS = [
    "flight = 9999",
    "flight = 3",
    "flight = 3 OR carrier = 'UA'",
    "NOT (flight < 40 OR flight >= 42)",
    "flight IS NULL",
    "carrier IS NOT NULL AND flight > 100",
    "carrier LIKE 'U%'",
    "carrier IN ('UA', 'XX')",
    "carrier < 'B' AND ms > 86400000",
    "fields['carrier'] = 'UA' AND flight = 3",
    "fields['other'] = 'x'",
    "`seat.row` = 3",
    "amount >= 12.5 AND amount < 13",
    "day BETWEEN DATE '2020-01-02' AND DATE '2020-01-04'",
    "at = '2020-01-01T00:00:02Z'",
    "id = '86400003-0'",
    "ts > '1970-01-03T00:00:00Z' AND epoch = 1 AND stream = 'orders'",
    "stream = 'payments'",
    "ms = 3",
]


def words(number: int) -> list[str | int]:
    found: list[str | int] = ["carrier", ["AA", "UA", "DL"][number % 3], "flight", number]
    found += ["amount", f"{number}.50", "day", f"2020-01-0{number % 9 + 1}"]
    found += ["at", f"2020-01-01 00:00:0{number % 10}", "seat.row", number % 7]
    if number % 5 == 0:
        found += ["flight", "none", "other", "x"]
    return found


@pytest.fixture
def table(rillway_link: Connection, tmp_path: Path) -> ArchiveTable:
    """A file from before there were columns, and files of two streams and three days."""
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    for day in range(4):
        requests = []
        for number in range(day * 15, day * 15 + 15):
            entry_id = f"{day * DAY_MS + number % 15 + 1}-0"
            requests += [("XADD", name, entry_id, *words(number)) for name in (STREAM, "payments")]
        rillway_link.call_all(requests)
        archive(rillway_link, table)
        if not day:
            columns = "carrier STRING, flight INT, amount DECIMAL(10,2), day DATE, at TIMESTAMP"
            set_columns(table, from_options([f"*={columns}, `seat.row` INT"]))
    return table


def selected(table: ArchiveTable, where: str, *, scans: bool) -> list[dict[str, object]]:
    typed = tuple(table.columns.fields)
    chosen = make_filter(where, typed)
    rows = replace(table.rows(STREAM), typed=typed, condition=chosen if scans else None)
    batches = (history_batch(batch, epoch, typed) for epoch, batch in rows.batches())
    return [row for batch in filtered(batches, chosen) for row in batch.to_pylist()]


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_scan_finds_what_the_condition_says(table: ArchiveTable, where: str) -> None:
    expected = selected(table, where, scans=False)
    assert selected(table, where, scans=True) == expected


def test_times_may_be_after_the_year_9999(table: ArchiveTable, rillway_link: Connection) -> None:
    rillway_link.call("XADD", STREAM, "253402300800000-0", *words(0))
    archive(rillway_link, table)
    assert len(selected(table, "ts < '1970-01-01T00:00:00.004Z'", scans=True)) == 3


def test_files_without_such_rows_are_not_opened(
    table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    read: list[str] = []
    open_file, real = module.open_file, pq.ParquetFile.read_row_groups

    def spied(store: Store, file: ArchivedFile, *names: object) -> object:
        opened.append(file.path)
        return open_file(store, file, *names)  # type: ignore[arg-type]

    def spied_read(self: pq.ParquetFile, groups: object, columns: list[str], **_: object) -> object:
        read.extend(columns)
        return real(self, groups, columns=columns)

    monkeypatch.setattr(module, "open_file", spied)
    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", spied_read)
    untyped, *_ = table.files()
    assert selected(table, "flight = 9999 AND flight > 5", scans=True) == []
    assert opened == [untyped.path]  # it has no bounds of the column
    opened.clear()
    read.clear()
    assert selected(table, "flight > 20 AND flight < 22 AND carrier = 'BB'", scans=True) == []
    assert len(opened) == 2
    assert set(read) == {"flight", "carrier"}


def test_the_log_has_bounds_of_ids_and_of_all_columns(table: ArchiveTable) -> None:
    log = sorted((table.root / "_delta_log").glob("*.json"))[-1]
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    [stats] = [json.loads(one["add"]["stats"]) for one in actions if "add" in one]
    least, greatest = stats["minValues"], stats["maxValues"]
    assert (least["id"], greatest["id"]) == (f"{3 * DAY_MS + 1}-0", f"{3 * DAY_MS + 15}-0")
    assert (least["seq"], greatest["seq"]) == (0, 0)
    assert (least["flight"], greatest["flight"]) == (46, 59)
    assert (least["amount"], greatest["amount"]) == (45.5, 59.5)
    assert (least["carrier"], greatest["carrier"]) == ("AA", "UA")
    assert least["day"] == "2020-01-01"
