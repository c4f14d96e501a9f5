"""Files beside the log: written before a commit, named by it, removed once nothing names them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rillway.pipeline.archive.identity import state_files
from rillway.pipeline.archive.identity.epochs import Epoch, Source, StreamRecord, StreamState
from rillway.pipeline.archive.identity.state_files import (
    StateCommit,
    StateUnreadable,
    path_of,
    read_records,
    remove_old,
    write_records,
)
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import MAX_ID
from tests.rillway.pipeline.archive.scene import STATE, commit

ODD = "a/b=c d"
FULL = StreamRecord(
    StreamState(
        (Epoch(1, "one", reason="the first", began_ms=5, end=7), Epoch(2, "two", 1, 6)),
        (Anchor(MAX_ID, "hash"), Anchor(5, "other", 10)),
        Source(3, "run", ("replid", "before"), 9),
    ),
    Position(MAX_ID, None),
    expired_before_ms=4,
    expired={1: 3, 2: -1},
)

WRITTEN = StateCommit("a-table", version=1)


def test_what_is_known_is_read_by_the_number_that_writing_gave(table: ArchiveTable) -> None:
    records = {ODD: FULL, "other": StreamRecord(STATE, Position(0, 0))}
    numbers = [write_records(table.store, some, WRITTEN) for some in (records, {})]
    assert [read_records(table.store, number) for number in numbers] == [records, {}]
    with pytest.raises(StateUnreadable, match="which the log names"):
        read_records(table.store, 5)
    (table.root / path_of(6)).write_text("[]")
    with pytest.raises(StateUnreadable):
        read_records(table.store, 6)


def test_a_commit_names_the_state(table: ArchiveTable) -> None:
    assert table.state(ODD) is None
    commit(table, Position(5, 1), stream=ODD)
    number = table.state_number
    assert number is not None and ArchiveTable.open(table.root).state(ODD) == STATE
    commit(table, Position(6, 2), stream="other")
    assert table.state_number != number
    assert ArchiveTable.open(table.root).end(ODD) == Position(5, 1)
    for path in states(table):
        path.unlink()
    with pytest.raises(ArchiveError, match="which the log names"):
        ArchiveTable.open(table.root).state(ODD)


def states(table: ArchiveTable) -> list[Path]:
    return list((table.root / "_rillway").glob("state-*.parquet"))


def test_the_newest_and_those_of_a_day_stay(
    table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "KEPT_FILES", 2)
    for n in range(5):
        commit(table, Position(n + 1, 1), stream=ODD)
    assert remove_old(table.store, table.state_number) == 0
    tomorrow = datetime.now(UTC) + timedelta(days=1, hours=1)
    assert remove_old(table.store, table.state_number, tomorrow) == 3
    assert len(states(table)) == 2
    assert ArchiveTable.open(table.root).end(ODD) == Position(5, 1)


def test_the_one_that_is_named_stays_however_old_it_is(
    table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(table, Position(1, 1), stream=ODD)
    for _ in range(3):
        write_records(table.store, {}, WRITTEN)
    monkeypatch.setattr(state_files, "KEPT_FILES", 0)
    tomorrow = datetime.now(UTC) + timedelta(days=1, hours=1)
    assert remove_old(table.store, table.state_number, tomorrow) == 3
    assert ArchiveTable.open(table.root).end(ODD) == Position(1, 1)
