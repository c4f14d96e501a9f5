"""The walk: what is live and what is archived, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import ArchivedFile, write_files
from rillway.pipeline.archive.identity.epochs import Epoch, StreamState
from rillway.pipeline.archive.identity.walk import Walk, line_identities, walk
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, parse_id
from tests.rillway.pipeline.archive.scene import STREAM, add, commit, written

EPOCHS = (Epoch(1, "a", end=parse_id("10-0")), Epoch(2, "b", parent=1, branch=parse_id("6-0")))


@dataclass
class Rows:
    """Rows, committed file by file; a value is the ID's text unless `value` is given."""

    table: ArchiveTable
    ids: list[str] = field(default_factory=list)

    def add(self, *ids: str, epoch: int = 1, value: bytes | None = None) -> None:
        entries = [[text.encode(), [b"n", value or text.encode()]] for text in ids]
        files = written(self.table, entries, epoch=epoch)
        commit(self.table, Position(parse_id(ids[-1]), None), files, StreamState(EPOCHS))

    def expire(self, file: ArchivedFile, before_ms: int) -> None:
        """Of a file's rows, and that all before a time has expired."""
        record = self.table.record(STREAM)
        assert record is not None
        expired = {**record.expired, file.first_epoch: file.last_ms}
        changed = replace(record, expired_before_ms=before_ms, expired=expired)
        self.table.expire([file], [], self.table.write_state({STREAM: changed}))


@pytest.fixture
def rows(table: ArchiveTable) -> Rows:
    return Rows(table)


def numbers(first: int, last: int) -> list[str]:
    return [f"{n}-0" for n in range(first, last + 1)]


def walked(link: Connection, rows: Rows, end: str = "10-0", epoch: int = 1) -> Walk:
    return walk(link, rows.table, STREAM, epoch, parse_id(end))


def at(text: str) -> Anchor:
    return Anchor(parse_id(text), entry_hash([b"n", text.encode()]))


def test_all_that_is_live_is_archived(redis_link: Connection, rows: Rows) -> None:
    rows.add(*numbers(1, 5))
    rows.add(*numbers(6, 10))
    add(redis_link, *numbers(3, 12))
    assert walked(redis_link, rows) == Walk(at("10-0"), None, 0)


def test_what_was_deleted_from_memory_is_counted_after_the_last_that_agrees(
    redis_link: Connection, rows: Rows
) -> None:
    rows.add(*numbers(1, 10))
    add(redis_link, "2-0", "5-0", "7-0")
    assert walked(redis_link, rows) == Walk(at("7-0"), None, 3)


def test_nothing_live_proves_nothing(redis_link: Connection, rows: Rows) -> None:
    rows.add(*numbers(1, 10))
    add(redis_link, "11-0")
    assert walked(redis_link, rows) == Walk(None, None, 0)


def test_it_ends_at_an_id_that_is_not_archived(redis_link: Connection, rows: Rows) -> None:
    rows.add("1-0", "2-0", "4-0", "9-0")
    add(redis_link, *numbers(1, 4))
    assert walked(redis_link, rows) == Walk(at("2-0"), parse_id("3-0"), 2)


def test_it_ends_at_an_entry_with_other_bytes(redis_link: Connection, rows: Rows) -> None:
    rows.add(*numbers(1, 4))
    add(redis_link, "1-0", "2-0")
    redis_link.call("XADD", STREAM, "3-0", "n", "another")
    found = walked(redis_link, rows)
    assert (found.agreed, found.lacking) == (at("2-0"), parse_id("3-0"))


def test_what_has_expired_is_no_difference_before_what_is_archived(
    redis_link: Connection, rows: Rows
) -> None:
    rows.add("2-0", "4-0")
    rows.add(*numbers(5, 10))
    rows.expire(rows.table.files()[0], before_ms=5)
    add(redis_link, *numbers(3, 6))
    assert walked(redis_link, rows).agreed == at("6-0")
    assert walked(redis_link, rows).lacking is None
    redis_link.call("XDEL", STREAM, "5-0", "6-0")
    assert walked(redis_link, rows) == Walk(None, parse_id("3-0"), 6, has_expired=True)


def test_the_line_of_an_epoch_has_its_parent_up_to_the_branch(
    redis_link: Connection, rows: Rows
) -> None:
    rows.add(*numbers(1, 10))
    rows.add("6-1", "7-0", "12-0", epoch=2)
    line = [identity[0] for identity in line_identities(rows.table, STREAM, 2)]
    assert line == [parse_id(text) for text in [*numbers(1, 6), "6-1", "7-0", "12-0"]]
    add(redis_link, *numbers(5, 10))
    assert walked(redis_link, rows, epoch=1).lacking is None
    assert walked(redis_link, rows, "12-0", epoch=2).lacking == parse_id("8-0")


def test_files_that_overlap_are_read_by_what_each_has_of_the_stream(
    redis_link: Connection, rows: Rows
) -> None:
    """Other streams have made the times of the first commit's file the latest."""
    others = [[f"{ms}-0".encode(), [b"n", b"1"]] for ms in (0, 100)]
    rows.add("5-0", "6-0")
    first = rows.table.files()[0]
    for n in (7, 8):
        rows.add(f"{n}-0")
        commit(rows.table, Position(parse_id("100-0"), None), written(rows.table, others, "other"))
    mixed = merged(rows.table.store, rows.table.files())
    rows.table.replace(rows.table.files(), write_files(rows.table.store, mixed))
    rows.add("9-0", "10-0")
    assert first.last_ms == 6 and len(rows.table.files()) == 2
    line = [identity[0] for identity in line_identities(rows.table, STREAM, 1, 0, MAX_ID)]
    assert line == [parse_id(text) for text in numbers(5, 10)]
    add(redis_link, *numbers(6, 10))
    assert walked(redis_link, rows).agreed == at("10-0")


def test_what_another_epoch_had_has_not_expired_from_this_one(
    redis_link: Connection, rows: Rows
) -> None:
    """As for a stream that was renamed, and then restored from before it was trimmed."""
    rows.add("1-0", "2-0")
    rows.add("7-0", "12-0", epoch=2)
    [first] = rows.table.files(STREAM, last_ms=3)
    rows.expire(first, before_ms=100)
    add(redis_link, "2-0", "6-1", "7-0")
    assert walked(redis_link, rows, "12-0", epoch=2).agreed is None
    redis_link.call("XDEL", STREAM, "6-1")
    assert walked(redis_link, rows, "12-0", epoch=2).agreed == at("7-0")
    assert [rows.table.expired_ms(STREAM, epoch) for epoch in (1, 2)] == [2, -1]
