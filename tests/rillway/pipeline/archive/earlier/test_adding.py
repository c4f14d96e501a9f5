"""Entries from before an archive began, out of another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.earlier.adding import (
    Added,
    Origin,
    ServerOrigin,
    TableOrigin,
    add_earlier,
)
from rillway.pipeline.archive.identity.epochs import Epoch, StreamState
from rillway.pipeline.archive.repair.rows import RowsCheck
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, parse_id
from tests.rillway.pipeline.archive.scene import (
    STREAM,
    add_many,
    archive,
    archived_ids,
    commit,
    written,
)


def append(table: ArchiveTable, *ids: str, stream: str = STREAM, value: str = "1.50") -> None:
    entries: list[list[Any]] = [[entry_id.encode(), [b"n", value.encode()]] for entry_id in ids]
    commit(table, Position(parse_id(ids[-1]), None), written(table, entries, stream), stream=stream)


@pytest.fixture
def backup(tmp_path: Path) -> ArchiveTable:
    return ArchiveTable.open_or_create(tmp_path / "backup")


def files_in(table: ArchiveTable) -> int:
    return len(list(table.root.glob("date=*/*.parquet")))


def test_what_is_from_before_is_added_and_the_end_stays(
    table: ArchiveTable, backup: ArchiveTable
) -> None:
    append(table, "5-0", "6-0")
    append(table, "3-1", stream="other")
    append(backup, "1-0", "86400004-0", "4-7", stream="unasked")
    append(backup, "1-0", "4-7")
    append(backup, "3-0", stream="other")
    version = table.version
    done = add_earlier(table, TableOrigin(backup), [STREAM, "other"])
    first, last = parse_id("1-0"), parse_id("4-7")
    assert done[STREAM] == Added(parse_id("5-0"), 2, first, last)
    assert archived_ids(table) == ["1-0", "4-7", "5-0", "6-0"]
    assert archived_ids(table, "other") == ["3-0", "3-1"]
    assert table.end(STREAM) == Position(parse_id("6-0"), None)
    assert table.streams() == [STREAM, "other"] and table.version == version + 1
    check = RowsCheck(table)
    check.run(table.files())
    assert check.findings == []
    again = add_earlier(table, TableOrigin(backup), ["other"], skips_archived=True)
    assert again["other"].rows == 0 and table.version == version + 1


def test_what_both_have_is_left_out_if_that_is_wanted(
    table: ArchiveTable, backup: ArchiveTable
) -> None:
    append(table, "5-0", "6-0")
    append(backup, "4-0", "5-0", "5-1")
    with pytest.raises(ArchiveError, match="has 5-0, and 5-0 is archived: --skip-archived adds"):
        add_earlier(table, TableOrigin(backup), [STREAM])
    add_earlier(table, TableOrigin(backup), [STREAM], skips_archived=True)
    assert archived_ids(table) == ["4-0", "5-0", "6-0"]


@pytest.mark.parametrize(("ids", "value"), [(["4-0", "5-0"], "2"), (["4-0", "5-1"], "1.50")])
def test_another_history_is_refused(
    table: ArchiveTable, backup: ArchiveTable, ids: list[str], value: str
) -> None:
    append(table, "5-0", "6-0")
    append(backup, *ids, value=value)
    with pytest.raises(ArchiveError, match="5-0 is archived, which the backup does not have"):
        add_earlier(table, TableOrigin(backup), [STREAM], skips_archived=True)
    assert archived_ids(table) == ["5-0", "6-0"]


def test_there_has_to_be_a_first_entry(table: ArchiveTable, backup: ArchiveTable) -> None:
    append(backup, "1-0")
    with pytest.raises(ArchiveError, match="has no rows of it: archive it first"):
        add_earlier(table, TableOrigin(backup), [STREAM])
    epochs = Epoch(1, "a" * 16, end=parse_id("5-0")), Epoch(2, "b" * 16, 1, parse_id("5-0"))
    entries: list[list[Any]] = [[b"6-0", [b"n", b"1"]]]
    files = written(table, entries, epoch=2)
    commit(table, Position(parse_id("6-0"), None), files, StreamState(epochs))
    with pytest.raises(ArchiveError, match="all rows before epoch 2 have expired"):
        add_earlier(table, TableOrigin(backup), [STREAM])


def test_rows_have_the_typed_columns_of_the_archive(
    table: ArchiveTable, backup: ArchiveTable
) -> None:
    set_columns(table, from_options([f"{STREAM}=n DECIMAL(4,2)"]))
    append(table, "5-0")
    append(backup, "1-0")
    add_earlier(table, TableOrigin(backup), [STREAM])
    found = [batch for _, batch in table.rows(STREAM).batches()]
    assert found[0].column("fields").to_pylist() == [[{"name": b"n", "value": b"1.50"}]]
    actions = pa.table(table._delta.get_add_actions(flatten=True)).to_pylist()
    [bounds] = [action for action in actions if action["min.ms"] == 1]
    assert str(bounds["min.n"]) == "1.50"


def before_commit(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Do something once, before the next commit."""
    real = ArchiveTable.append

    def after_another(self: ArchiveTable, *words: Any) -> None:
        monkeypatch.setattr(ArchiveTable, "append", real)
        action()
        real(self, *words)

    monkeypatch.setattr(ArchiveTable, "append", after_another)


def test_an_archiver_may_commit_meanwhile(
    table: ArchiveTable, backup: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(table, "5-0")
    append(backup, "1-0")
    other = ArchiveTable.open(table.root)
    before_commit(monkeypatch, lambda: append(other, "6-0"))
    add_earlier(table, TableOrigin(backup), [STREAM])
    assert archived_ids(table) == ["1-0", "5-0", "6-0"]
    assert table.end(STREAM) == Position(parse_id("6-0"), None)


def test_of_two_at_once_one_adds(
    table: ArchiveTable, backup: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(table, "5-0")
    append(backup, "1-0")
    other = ArchiveTable.open(table.root)
    before_commit(monkeypatch, lambda: add_earlier(other, TableOrigin(backup), [STREAM]))
    with pytest.raises(ArchiveError, match="others have changed it meanwhile"):
        add_earlier(table, TableOrigin(backup), [STREAM])
    assert archived_ids(table) == ["1-0", "5-0"]
    assert files_in(table) == 2


def test_a_commit_whose_answer_was_lost_is_found(
    table: ArchiveTable, backup: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(table, "5-0")
    append(backup, "1-0")
    real = ArchiveTable.append

    def unanswered(self: ArchiveTable, *words: Any) -> None:
        real(self, *words)
        raise CommitConflict

    monkeypatch.setattr(ArchiveTable, "append", unanswered)
    add_earlier(table, TableOrigin(backup), [STREAM])
    assert archived_ids(table) == ["1-0", "5-0"] and files_in(table) == 2


@pytest.mark.integration
def test_a_server_and_an_archive_have_the_same(redis_link: Connection, table: ArchiveTable) -> None:
    add_many(redis_link, 100)
    redis_link.call("SET", "a", "b")
    archive(redis_link, table, trims=False)
    origins: list[Origin] = [TableOrigin(table), ServerOrigin(redis_link)]
    for first, last in ((MIN_ID, MAX_ID), (parse_id("7-0"), parse_id("7-5")), (MAX_ID, MAX_ID)):
        one, other = (
            [row for batch in origin.batches(STREAM, first, last) for row in batch.to_pylist()]
            for origin in origins
        )
        assert one == other and len(one) == {MIN_ID: 100, MAX_ID: 0}.get(first, 1)
    assert [origin.streams() for origin in origins] == [[STREAM], [STREAM]]
