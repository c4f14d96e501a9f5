"""One range over archive and stream, with real servers, without Spark."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns.backfill import backfill
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.identity.recognition import (
    ArchiveBehind,
    OtherDatabase,
    Recognised,
    recognise,
)
from rillway.pipeline.archive.pins import PinLost
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.query.history import HISTORY_SCHEMA, History, open_history
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import group_infos
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.scene import add, add_many, ids_of

STREAM = "orders"
CONCURRENT_QUERIES = 3


@pytest.fixture
def table(tmp_path: Path) -> ArchiveTable:
    return ArchiveTable.open_or_create(tmp_path / "archive")


def archive(link: Connection, table: ArchiveTable, keep_ms: int = 0, trims: bool = True) -> None:
    rules = TrimRules(keep_ms=keep_ms)
    settings = ArchiverSettings(link.url, rules=rules, trims=trims, id_unit="ms")
    Archiver(table, LocalEngine(), settings).archive(STREAM)


def found(history: History) -> list[str]:
    return ids_of(history.batches())


def numbers(first: int, last: int) -> list[str]:
    return [f"{n}-0" for n in range(first, last + 1)]


def test_typed_columns_are_those_of_the_archive_and_live_entries_have_them(
    link: Connection, table: ArchiveTable, tmp_path: Path
) -> None:
    """But rows from before the schema have none, until they are backfilled."""
    link.call("XADD", STREAM, "1-0", "amount", "1.00")
    archive(link, table)
    set_columns(table, from_options([f"{STREAM}=amount DECIMAL(10,2)", "other=x INT"]))
    link.call("XADD", STREAM, "2-0", "amount", "2.00", "x", "y")
    link.call("XADD", STREAM, "3-0", "amount", "007")
    archive(link, table)
    link.call("XADD", STREAM, "4-0", "amount", "4.00")
    link.call("XADD", STREAM, "5-0", "amount", "x")
    with open_history(link.url, STREAM, table.root) as history:
        assert history.schema.names[len(HISTORY_SCHEMA) :] == ["amount", "_rescued"]
        rows = [row for batch in history.batches() for row in batch.to_pylist()]
        history.stage(tmp_path)
        assert pq.read_table(tmp_path / "live.parquet").to_pylist() == rows[3:]
    amounts = [None if row["amount"] is None else str(row["amount"]) for row in rows]
    assert amounts == [None, "2.00", "7.00", "4.00", None]
    assert [row["_rescued"] for row in rows] == [None] * 4 + [
        '{"amount": "no DECIMAL(10,2): \'x\'"}'
    ]
    values = [row["fields"][0]["value"] for row in rows]
    assert values == [b"1.00", b"2.00", b"007", b"4.00", b"x"]
    backfill(table)
    with open_history(link.url, STREAM, table.root) as history:
        assert str(next(history.batches()).column("amount")[0]) == "1.00"


@pytest.mark.parametrize("keep_ms", [0, 5, 1000])
def test_archived_and_live_entries_come_once_each(
    link: Connection, table: ArchiveTable, keep_ms: int
) -> None:
    add_many(link, STREAM, 20)
    archive(link, table, keep_ms)
    add_many(link, STREAM, 10, 21)
    with open_history(link.url, STREAM, table.root) as history:
        assert found(history) == numbers(1, 30)


@pytest.mark.parametrize(
    ("first", "last"), [(1, 5), (15, 25), (20, 20), (20, 21), (21, 21), (25, 30), (31, 40)]
)
def test_a_range_may_lie_on_either_side_or_across(
    link: Connection, table: ArchiveTable, first: int, last: int
) -> None:
    add_many(link, STREAM, 20)
    archive(link, table)
    add_many(link, STREAM, 10, 21)
    bounds = parse_id(f"{first}-0"), parse_id(f"{last}-0")
    with open_history(link.url, STREAM, table.root, *bounds) as history:
        assert found(history) == numbers(first, min(last, 30))


def test_a_stream_without_an_archive_is_read_alone(link: Connection, table: ArchiveTable) -> None:
    add_many(link, STREAM, 5)
    for archived in (None, table.root):
        with open_history(link.url, STREAM, archived) as history:
            assert found(history) == numbers(1, 5)


def test_ids_from_2_to_the_63_on_are_refused(link: Connection) -> None:
    add(link, STREAM, ["5-0", f"{(1 << 63) - 1}-0", f"{1 << 63}-0"])
    with (
        pytest.raises(ArchiveError, match=r"IDs of 2\^63 ms or more"),
        open_history(link.url, STREAM, None),
    ):
        pass
    last = parse_id(f"{(1 << 63) - 1}-0")
    with open_history(link.url, STREAM, None, last=last) as history:
        assert found(history) == ["5-0", f"{(1 << 63) - 1}-0"]
    assert not link.call("XINFO", "GROUPS", STREAM), "the pin is dropped"


def test_a_stream_that_is_nowhere_is_empty(link: Connection, table: ArchiveTable) -> None:
    with open_history(link.url, "nothing", table.root) as history:
        assert found(history) == []
    assert link.call("EXISTS", "nothing") == 0


def test_a_stream_that_is_nowhere_may_be_an_error(link: Connection, table: ArchiveTable) -> None:
    with (
        pytest.raises(StreamMissing, match="there is no stream nothing"),
        open_history(link.url, "nothing", table.root, fails_if_missing=True),
    ):
        pass
    add_many(link, STREAM, 5)
    archive(link, table)
    link.call("DEL", STREAM)
    with (
        pytest.raises(DataLost, match=r"is gone .--allow-missing reads what is archived"),
        open_history(link.url, STREAM, table.root, fails_if_missing=True),
    ):
        pass


def test_no_group_is_left_behind(link: Connection, table: ArchiveTable) -> None:
    add_many(link, STREAM, 5)
    with open_history(link.url, STREAM, table.root):
        assert len(link.call("XINFO", "GROUPS", STREAM)) == 1
    with pytest.raises(RuntimeError), open_history(link.url, STREAM, table.root):
        raise RuntimeError
    assert link.call("XINFO", "GROUPS", STREAM) == []


def test_what_is_archived_and_trimmed_meanwhile_is_still_read(
    link: Connection, table: ArchiveTable
) -> None:
    add_many(link, STREAM, 20)
    archive(link, table)
    add_many(link, STREAM, 20, 21)
    with open_history(link.url, STREAM, table.root) as history:
        archive(link, ArchiveTable.open(table.root))
        assert found(history) == numbers(1, 40)
    table.refresh()
    archive(link, table)
    assert link.call("XLEN", STREAM) == 1


def test_entries_that_are_in_neither_are_told(link: Connection, table: ArchiveTable) -> None:
    add_many(link, STREAM, 20)
    archive(link, table)
    add_many(link, STREAM, 20, 21)
    link.call("XTRIM", STREAM, "MAXLEN", 5)
    with (
        pytest.raises(DataLost, match=r"15 entries .* .`rillway archive --accept-loss` archives"),
        open_history(link.url, STREAM, table.root),
    ):
        pass


def test_a_trim_by_others_meanwhile_is_told(link: Connection, table: ArchiveTable) -> None:
    add_many(link, STREAM, 20)
    archive(link, table)
    add_many(link, STREAM, 20, 21)
    with (
        pytest.raises(DataLost, match="15 entries"),
        open_history(link.url, STREAM, table.root),
    ):
        link.call("XTRIM", STREAM, "MAXLEN", 5)


def test_a_pin_that_was_removed_meanwhile_is_told(link: Connection, table: ArchiveTable) -> None:
    add_many(link, STREAM, 20)
    with pytest.raises(PinLost), open_history(link.url, STREAM, table.root):
        [group] = link.call("XINFO", "GROUPS", STREAM)
        link.call("XGROUP", "DESTROY", STREAM, group[1])


def test_expired_days_are_noted(link: Connection, table: ArchiveTable) -> None:
    add(link, STREAM, ["1-0", "86400000-0"])
    archive(link, table)
    expire(table, [STREAM], date(1970, 1, 2))
    with open_history(link.url, STREAM, table.root) as history:
        assert found(history) == ["86400000-0"]
        assert history.notes == ["entries from before 1970-01-02 have expired"]


def test_an_archive_that_is_missing_is_an_error(link: Connection, tmp_path: Path) -> None:
    with (
        pytest.raises(ArchiveError, match="there is no archive"),
        open_history(link.url, STREAM, tmp_path / "nothing"),
    ):
        pass


def test_queries_are_complete_while_it_is_archived_and_trimmed(
    link: Connection, table: ArchiveTable
) -> None:
    """The archiver, a trimmer of its own accord, and the producer never stop."""
    add_many(link, STREAM, 500)
    with running(producer(link.url, 501), archiver(link.url, table.root)):
        for _ in range(CONCURRENT_QUERIES):
            with open_history(link.url, STREAM, table.root) as history:
                result = found(history)
            assert result == numbers(1, len(result))
            assert len(result) >= 500


def test_a_query_looks_again_if_the_archive_moved_on_while_it_looked(
    link: Connection, table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marker and archive are read one after the other, and an archiver moves both."""
    add_many(link, STREAM, 10)
    archive(link, table)
    rounds = iter([11, 21, 31])

    def recognise_late(*arguments: Any, **options: Any) -> Recognised | None:
        if (first := next(rounds, None)) is not None:
            add_many(link, STREAM, 10, first)
            archive(link, ArchiveTable.open(table.root))
        return recognise(*arguments, **options)

    monkeypatch.setattr("rillway.pipeline.query.history.recognise", recognise_late)
    with open_history(link.url, STREAM, table.root) as history:
        assert found(history) == numbers(1, 40)


def test_an_archive_that_is_behind_is_refused(
    link: Connection, table: ArchiveTable, tmp_path: Path
) -> None:
    add_many(link, STREAM, 10)
    archive(link, table)
    older = shutil.copytree(table.root, tmp_path / "older")
    add_many(link, STREAM, 10, 11)
    archive(link, ArchiveTable.open(table.root))
    with (
        pytest.raises(ArchiveBehind, match="this archive has it up to 10-0"),
        open_history(link.url, STREAM, older),
    ):
        pass


class running:  # noqa: N801 - reads as a word of the test
    """Steps that are repeated, each in a thread, until the block ends."""

    def __init__(self, *steps: Iterator[None]) -> None:
        self.ended = threading.Event()
        self.errors: list[BaseException] = []
        self.threads = [threading.Thread(target=self.repeat, args=(step,)) for step in steps]

    def repeat(self, steps: Iterator[None]) -> None:
        try:
            for _ in steps:
                if self.ended.is_set():
                    return
        except BaseException as error:
            self.errors.append(error)

    def __enter__(self) -> None:
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


def producer(url: str, first: int) -> Iterator[None]:
    with Connection(url) as connection:
        while True:
            add_many(connection, STREAM, 20, first)
            first += 20
            yield


def archiver(url: str, root: Path) -> Iterator[None]:
    with Connection(url) as connection:
        while True:
            archive(connection, ArchiveTable.open(root))
            yield


# -- epochs ---------------------------------------------------------------------------------------

LINE = [*numbers(1, 5), *(f"5-{n}" for n in range(1, 6)), "11-0"]


def part(link: Connection, table: ArchiveTable) -> None:
    """1-0 to 10-0, of which a failover loses 6-0 to 10-0; then 5-1 to 5-5 and 11-0 come."""
    add_many(link, STREAM, 5)
    older = link.call("DUMP", STREAM)
    add_many(link, STREAM, 5, 6)
    archive(link, table, keep_ms=100)
    link.call("RESTORE", STREAM, 0, older, "REPLACE")
    add(link, STREAM, [*(f"5-{n}" for n in range(1, 6)), "11-0"])


def with_epochs(history: History) -> list[tuple[str, int]]:
    return [
        pair
        for batch in history.batches()
        for pair in zip(
            batch.column("id").to_pylist(), batch.column("epoch").to_pylist(), strict=True
        )
    ]


@pytest.mark.parametrize("archived", [False, True])
def test_of_a_history_that_parted_all_is_read_or_what_leads_to_the_present(
    link: Connection, table: ArchiveTable, archived: bool
) -> None:
    """Whether the new part is archived already or not."""
    part(link, table)
    if archived:
        archive(link, table)
    add(link, STREAM, ["12-0"])
    later = [(entry_id, 2) for entry_id in [*LINE[5:], "12-0"]]
    with open_history(link.url, STREAM, table.root) as history:
        assert with_epochs(history) == [(entry_id, 1) for entry_id in numbers(1, 10)] + later
        assert history.notes
    with open_history(link.url, STREAM, table.root, epochs="current") as history:
        assert with_epochs(history) == [(entry_id, 1) for entry_id in numbers(1, 5)] + later
    bounds = parse_id("5-0"), parse_id("7-0")
    with open_history(link.url, STREAM, table.root, *bounds, epochs="current") as history:
        assert found(history) == ["5-0", *LINE[5:10]]
    archive(link, table)
    table.refresh()
    with open_history(link.url, STREAM, table.root, epochs="current") as history:
        assert found(history) == [*LINE, "12-0"]
    with (
        pytest.raises(ValueError, match="all, current"),
        open_history(link.url, STREAM, table.root, epochs="last"),
    ):
        pass


def test_a_stream_that_is_not_the_archived_one_is_refused(
    link: Connection, table: ArchiveTable
) -> None:
    add_many(link, STREAM, 5)
    archive(link, table)
    url = f"{link.url}/1"
    with Connection(url) as other:
        add(other, STREAM, ["3-0"])
    with pytest.raises(OtherDatabase), open_history(url, STREAM, table.root):
        pass
    assert group_infos(link, STREAM) and not group_infos(Connection(url), STREAM)


@pytest.mark.parametrize(("name", "is_plain"), [("a b", True), ("ü#", True), ("st*r[1]", False)])
def test_spark_does_not_read_an_archive_whose_folder_is_a_pattern_to_it(
    link: Connection, tmp_path: Path, name: str, *, is_plain: bool
) -> None:
    table = ArchiveTable.open_or_create(tmp_path / name)
    add_many(link, STREAM, 3)
    archive(link, table)
    with open_history(link.url, STREAM, table.root) as history:
        assert history.is_plain is is_plain
