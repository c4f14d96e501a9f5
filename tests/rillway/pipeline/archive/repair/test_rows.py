"""The check of rows, and of what is in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rillway.pipeline.archive.files.parquet_files import FILE_SCHEMA
from rillway.pipeline.archive.files.periods import day_of
from rillway.pipeline.archive.identity.epochs import Epoch, StreamState
from rillway.pipeline.archive.repair.findings import ANCHOR, LIVE, ROWS
from rillway.pipeline.archive.repair.rows import RowsCheck, check_live
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.repair.damages import (
    append,
    first_file,
    flip_in_a_page,
)
from tests.rillway.pipeline.archive.scene import (
    DAY_MS,
    STREAM,
    add_many,
    archive,
    commit,
    live_ids,
    written,
)


def checked(table: ArchiveTable) -> list[str]:
    check = RowsCheck(table)
    check.run(table.files())
    return [f"{finding.kind} {finding}" for finding in check.findings]


def test_whole_rows_give_no_findings(whole_archive: Path) -> None:
    assert checked(ArchiveTable.open(whole_archive)) == []


def test_a_duplicate_row_is_found(table: ArchiveTable) -> None:
    append(table, STREAM, "1-0", "2-0", "5-0")
    append(table, STREAM, "2-0", "6-0")
    assert checked(table) == [f"{ROWS} orders: 2-0 of epoch 1 is duplicated"]


def test_rows_that_the_state_does_not_know_are_found(table: ArchiveTable) -> None:
    files = written(table, [[b"9-0", [b"n", b"1"]]], "other")
    files += written(table, [[b"9-0", [b"n", b"1"]]], STREAM, epoch=2)
    append(table, STREAM, "8-0")
    commit(table, Position(parse_id("7-0")), files)
    assert checked(table) == [
        f"{ROWS} orders: has rows of epoch 2, which is not in the state",
        f"{ROWS} orders: has rows up to 8-0, but is archived up to 7-0 in epoch 1",
        f"{ROWS} other: has rows, but is not in the state",
    ]


def test_rows_before_the_branch_of_their_epoch_are_found(table: ArchiveTable) -> None:
    append(table, STREAM, "1-0", "5-0")
    epochs = Epoch(1, "a", end=parse_id("5-0")), Epoch(2, "b", parent=1, branch=parse_id("3-0"))
    files = written(table, [[b"3-0", [b"n", b"1"]], [b"4-0", [b"n", b"1"]]], STREAM, epoch=2)
    commit(table, Position(parse_id("4-0")), files, StreamState(epochs))
    assert checked(table) == [f"{ROWS} orders: has the row 3-0 in epoch 2, which begins after 3-0"]


def test_an_anchor_has_its_row_with_its_bytes(table: ArchiveTable) -> None:
    append(table, STREAM, "1-0", "2-0")
    state = table.state(STREAM)
    assert state is not None
    false = Anchor(parse_id("2-0"), "0" * 40), Anchor(parse_id("1-5"), "0" * 40)
    commit(table, Position(parse_id("2-0")), [], replace(state, anchors=false))
    assert checked(table) == [
        f"{ANCHOR} orders: the row 2-0 is not what was archived",
        f"{ANCHOR} orders: no row has the archived entry 1-5",
    ]


def test_a_flipped_bit_in_a_page_is_found(root: Path) -> None:
    path = first_file(root)
    flip_in_a_page(path)
    [finding] = checked(ArchiveTable.open(root))
    assert finding.startswith(f"{ROWS} date=1970-01-01/{path.name}: ")


def test_an_id_is_the_same_in_all_its_columns(table: ArchiveTable) -> None:
    append(table, STREAM, "1-0", "2-0")
    [file] = table.files()
    rows = pq.read_table(table.root / file.path, partitioning=None).cast(FILE_SCHEMA)
    index = FILE_SCHEMA.get_field_index("id")
    rows = rows.set_column(index, FILE_SCHEMA.field(index), pa.array(["1-0", "2-1"]))
    pq.write_table(rows, table.root / file.path)
    assert (
        checked(table)
        == [
            f"{ANCHOR} orders: no row has the archived entry 2-0",
            f"{ROWS} orders: 2-1: its columns ms, seq, ts do not match",
        ][::-1]
    )


def test_what_is_in_memory_may_have_expired(redis_link: Connection, table: ArchiveTable) -> None:
    add_many(redis_link, 5)
    archive(redis_link, table)
    expire(table, None, day_of(DAY_MS), vacuum_after_hours=None)
    assert live_ids(redis_link) == ["5-0"] and not table.files()
    assert check_live(redis_link, table) == []
    redis_link.call("XADD", STREAM, "6-0", "n", "6")
    assert check_live(redis_link, table) == []
    [record] = table.records.values()
    commit(table, Position(parse_id("6-0"), 6), [], record.state)
    redis_link.call("XGROUP", "SETID", STREAM, table.marker(record.state.present), "6-0")
    [found] = check_live(redis_link, table)
    assert "is in memory, but no row of this history has it" in found.text


def test_an_archiver_may_go_on_meanwhile(redis_link: Connection, table: ArchiveTable) -> None:
    add_many(redis_link, 5)
    archive(redis_link, table)
    before = ArchiveTable.open(table.store)
    add_many(redis_link, 5, 6)
    archive(redis_link, table)
    assert check_live(redis_link, before) == []


def test_what_is_in_memory_is_compared(redis_link: Connection, table: ArchiveTable) -> None:
    add_many(redis_link, 5)
    archive(redis_link, table, trims=False)
    assert check_live(redis_link, table) == []
    content = redis_link.call("DUMP", STREAM)
    redis_link.call("DEL", STREAM)
    redis_link.call("XADD", STREAM, "2-5", "n", "new")
    [found] = check_live(redis_link, table)
    assert found.text == "2-5 is in memory, but no row of this history has it"
    redis_link.call("RESTORE", STREAM, 0, content, "REPLACE")
    state = table.state(STREAM)
    assert state is not None
    commit(table, Position(parse_id("3-0"), 3), [], state)
    [refused] = check_live(redis_link, table)
    assert refused.kind == LIVE and "would be refused: was archived up to 5-0" in refused.text
