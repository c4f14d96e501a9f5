"""Streams with typed columns, archived, backfilled, compacted and expired; with real servers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain
from typing import Any

import pyarrow.dataset as ds
import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns.backfill import backfill
from rillway.pipeline.archive.columns.layouts import Layout
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.identity.walk import walk
from rillway.pipeline.archive.repair.rebuilding import rebuilt
from rillway.pipeline.archive.report.rounds import RoundOutcome
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.tasks import WriteTask, Written
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import DAY_MS

SCHEMA = ["o*=customer STRING, amount DECIMAL(10,2)", "clicks=amount AS clicks INT"]
ROWS: list[list[str | bytes]] = [
    ["customer", "ann", "amount", "12.50"],
    ["amount", "007", "customer", b"\xff", "note", "x", "note", "y"],
    ["amount", "1.00", "amount", "2.00", "Amount", "3.00"],
    [b"\xff", "z"],
]


def fill(link: Connection, streams: Sequence[str], first: int = 1) -> None:
    for stream in streams:
        for number in range(20):
            entry_id = f"{first + number}-0"
            link.call("XADD", stream, entry_id, *ROWS[(first + number) % len(ROWS)])


def archive(
    link: Connection, table: ArchiveTable, streams: Sequence[str], engine: Any = None
) -> RoundOutcome:
    settings = ArchiverSettings(link.url, rules=TrimRules(), trims=False, id_unit="ms")
    return Archiver(table, engine or LocalEngine(), settings).round(streams)


def check_same(link: Connection, table: ArchiveTable, stream: str) -> None:
    """What is archived is what is live, byte for byte."""
    batches = (batch for _, batch in table.rows(stream).batches())
    found = list(chain.from_iterable(map(raw_entries, batches)))
    assert found == link.call("XRANGE", stream, "-", "+")


def columns(table: ArchiveTable, stream: str, *names: str) -> list[tuple[Any, ...]]:
    """As other readers of Parquet see them."""
    paths = [str(table.root / file.path) for file in table.files()]
    schema = table.file_schema
    rows = ds.dataset(paths, schema=schema).to_table(filter=ds.field("stream") == stream)
    rows = rows.sort_by("ms")
    return list(zip(*(rows.column(name).to_pylist() for name in names), strict=True))


def test_entries_are_archived_backfilled_compacted_and_stay_what_they_were(
    link: Connection, table: ArchiveTable
) -> None:
    streams = ["clicks", "o1", "o2", "misc"]
    fill(link, streams)
    archive(link, table, streams)
    set_columns(table, from_options(SCHEMA))
    fill(link, streams, 21)
    archive(link, table, streams)
    for stream in streams:
        check_same(link, table, stream)
    before = columns(table, "o1", "amount", "layout")
    assert before[:20] == [(None, None)] * 20
    assert None not in [layout for _, layout in before[20:]]
    assert [file.rows for file in table.files()] == [80, 80]

    assert backfill(table).files == 1
    assert backfill(table).files == 0
    after = columns(table, "o1", "amount", "layout")
    assert after[:20] == after[20:] == before[20:]
    assert columns(table, "misc", "layout", "amount") == [(None, None)] * 40
    compact(table)
    reopened = ArchiveTable.open(table.root)
    assert [file.rows for file in reopened.files()] == [160]
    assert columns(reopened, "o1", "amount", "layout") == after
    for stream in streams:
        check_same(link, reopened, stream)
    end = parse_id("40-0")
    assert walk(link, reopened, "o1", 1, end).branch == end


def test_expiry_keeps_the_columns_of_the_others(link: Connection, table: ArchiveTable) -> None:
    set_columns(table, from_options(SCHEMA))
    fill(link, ["o1", "o2"])
    archive(link, table, ["o1", "o2"])
    before = columns(table, "o2", "amount", "layout", "_rescued")
    expire(table, ["o1"], date(1970, 1, 2))
    assert columns(table, "o1", "amount") == []
    assert columns(table, "o2", "amount", "layout", "_rescued") == before
    check_same(link, table, "o2")


def test_another_schema_gives_older_rows_other_columns(
    link: Connection, table: ArchiveTable
) -> None:
    set_columns(table, from_options(["o1=customer AS who STRING, amount DECIMAL(10,2)"]))
    fill(link, ["o1"])
    archive(link, table, ["o1"])
    set_columns(table, from_options(["o1=customer AS name STRING, note STRING"]))
    fill(link, ["o1"], 21)
    archive(link, table, ["o1"])
    check_same(link, table, "o1")
    assert columns(table, "o1", "who", "name")[3::20] == [("ann", None), (None, "ann")]
    assert backfill(table).rows == 20
    check_same(link, table, "o1")
    assert columns(table, "o1", "who", "name")[3::20] == [(None, "ann")] * 2


def test_a_stream_with_a_bad_value_is_left_out_if_that_is_wanted(
    link: Connection, table: ArchiveTable
) -> None:
    set_columns(table, replace(from_options(["o*=n INT"]), fails=True))
    link.call("XADD", "o1", "1-0", "n", "1")
    link.call("XADD", "o2", "1-0", "n", "one")
    outcome = archive(link, table, ["o1", "o2"])
    assert outcome.archived == 1
    assert "o2: the entry 1-0 cannot be read, and bad is fail: n: no INT: 'one'" in str(
        outcome.failures["o2"]
    )
    assert table.end("o2") is None


class Clashing(LocalEngine):
    """Two layouts have one number, as of two tasks, until both tasks know the first one."""

    def __init__(self) -> None:
        self.known: list[int] = []

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        written = super().write(tasks)
        self.known.append(len(tasks[0].parts[0].layouts))
        if len(self.known) == 1:
            (read,) = written[0].parts
            number, layout = next(iter(read.layouts.items()))
            half = replace(read.part, last=read.part.after)
            first = replace(
                read, part=half, end=read.part.after + 1, rows=0, layouts={number: layout}
            )
            other = {number: Layout((b"other",), (None,))}
            second = replace(read, part=replace(read.part, after=first.end), layouts=other)
            written = [Written(written[0].files, [first, second])]
        return written


def test_a_clash_of_layouts_is_read_again(link: Connection, table: ArchiveTable) -> None:
    set_columns(table, from_options(SCHEMA))
    link.call("XADD", "o1", "1-0", "amount", "1.00")
    engine = Clashing()
    assert archive(link, table, ["o1"], engine).archived == 1
    assert engine.known == [0, 1]
    check_same(link, table, "o1")


def test_a_backfill_needs_columns(table: ArchiveTable) -> None:
    with pytest.raises(ArchiveError, match="archive with --schema"):
        backfill(table)


def test_rows_of_several_days_are_backfilled(link: Connection, table: ArchiveTable) -> None:
    for day in range(3):
        fill(link, ["o1"], day * DAY_MS + 1)
    archive(link, table, ["o1"])
    set_columns(table, from_options(SCHEMA))
    assert backfill(table, is_interrupted=lambda: True).files == 0
    advanced: list[int] = []
    assert backfill(table, advanced=advanced.append).files == 3
    assert advanced == [20] * 3
    check_same(link, table, "o1")


def test_layouts_are_in_the_footers_if_the_state_is_lost(
    link: Connection, table: ArchiveTable
) -> None:
    """Of files that a round, a compaction, an expiry or a backfill has written."""
    fill(link, ["o1", "o2"])
    archive(link, table, ["o1", "o2"])
    set_columns(table, from_options(SCHEMA))
    fill(link, ["o1", "o2"], 21)
    fill(link, ["o1"], DAY_MS)
    archive(link, table, ["o1", "o2"])
    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: backfill(table),
        lambda: compact(table),
        lambda: expire(table, ["o2"], date(1970, 1, 2)),
    ]
    for step in steps:
        step()
        before = {name: record.layouts for name, record in table.records.items()}
        shutil.move(table.root / "_rillway", table.root / "_lost")
        records, version = rebuilt(ArchiveTable.open(table.root))
        shutil.move(table.root / "_lost", table.root / "_rillway")
        assert version is None
        assert records["o1"].layouts == before["o1"]
