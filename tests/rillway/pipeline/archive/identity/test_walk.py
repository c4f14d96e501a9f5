"""The walk: what is live and what is archived, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rillway.pipeline.archive.identity.epochs import Epoch, StreamState
from rillway.pipeline.archive.identity.walk import Walk, line_identities, walk
from rillway.pipeline.archive.parquet_files import write_files
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import MAX_ID, parse_id
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.ranges.offsets import Position
from tests.rillway.pipeline.archive.scene import STREAM, add

EPOCHS = (Epoch(1, "a", end=parse_id("10-0")), Epoch(2, "b", parent=1, branch=parse_id("6-0")))


@dataclass
class Rows:
    """Rows, committed file by file; a value is the ID's text unless `value` is given."""

    table: ArchiveTable
    ids: list[str] = field(default_factory=list)

    def add(self, *ids: str, epoch: int = 1, value: bytes | None = None) -> None:
        entries = [[text.encode(), [b"n", value or text.encode()]] for text in ids]
        batches = iter([fields_decoder(STREAM)(entries)])
        files = write_files(self.table.root, STREAM, batches, epoch=epoch)
        end = Position(parse_id(ids[-1]), None)
        self.table.append(STREAM, end, files, StreamState(EPOCHS), {})


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
    rows.table.remove(STREAM, rows.table.files(STREAM)[:1], before_ms=5)
    add(redis_link, *numbers(3, 6))
    assert walked(redis_link, rows).agreed == at("6-0")
    assert walked(redis_link, rows).lacking is None
    redis_link.call("XDEL", STREAM, "5-0", "6-0")
    assert walked(redis_link, rows) == Walk(None, parse_id("3-0"), 6)


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


def test_files_that_share_ids_are_read_as_one(redis_link: Connection, rows: Rows) -> None:
    """As an earlier release left them that archived two streams as one."""
    rows.add("1-0", "5-0", "9-0")
    rows.add("2-0", "6-0", "9-0", value=b"other")
    rows.add("10-0")
    line = [identity[0] for identity in line_identities(rows.table, STREAM, 1, 0, MAX_ID)]
    assert line == [parse_id(t) for t in ("1-0", "2-0", "5-0", "6-0", "9-0", "9-0", "10-0")]
    add(redis_link, "1-0", "5-0", "9-0", "10-0")
    assert walked(redis_link, rows).agreed == at("10-0")


def test_what_another_epoch_had_has_not_expired_from_this_one(
    redis_link: Connection, rows: Rows
) -> None:
    """As for a stream that was renamed, and then restored from before it was trimmed."""
    rows.add("1-0", "2-0")
    rows.add("7-0", "12-0", epoch=2)
    [first] = rows.table.files(STREAM, last=parse_id("3-0"))
    rows.table.remove(STREAM, [first], before_ms=100)
    add(redis_link, "2-0", "6-1", "7-0")
    assert walked(redis_link, rows, "12-0", epoch=2).agreed is None
    redis_link.call("XDEL", STREAM, "6-1")
    assert walked(redis_link, rows, "12-0", epoch=2).agreed == at("7-0")
    rows.table.remove(STREAM, [], before_ms=100)
    assert [rows.table.expired_ms(STREAM, epoch) for epoch in (1, 2)] == [2, -1]
