"""What is known of streams, made again after the state was lost."""

from __future__ import annotations

from pathlib import Path

from rillway.pipeline.archive.identity.epochs import Epoch, StreamState
from rillway.pipeline.archive.repair.rebuilding import REASON, latest_state, rebuilt
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import format_id, parse_id
from tests.rillway.pipeline.archive.repair.damages import OTHER, append, state_file
from tests.rillway.pipeline.archive.scene import STREAM, commit, written


def test_an_older_state_goes_on_to_the_last_rows(root: Path) -> None:
    state_file(root).unlink()
    table = ArchiveTable.open(root)
    records, version = rebuilt(table)
    assert version == 5 and records.keys() == {STREAM, OTHER}
    for record in records.values():
        assert format_id(record.end.id) == "172800003-0" and record.end.n is None
        [epoch] = record.state.epochs
        assert (epoch.number, epoch.token, record.state.anchors) == (1, "", ())


def test_states_of_commits_that_were_never_made_count_for_nothing(root: Path) -> None:
    table = ArchiveTable.open(root)
    table.write_state({})
    assert latest_state(table)[1] == 6


def test_without_any_state_the_rows_are_what_is_known(table: ArchiveTable) -> None:
    append(table, STREAM, "1-0", "2-0", "5-0")
    epochs = Epoch(1, "a", end=parse_id("5-0")), Epoch(2, "b", parent=1, branch=parse_id("2-0"))
    files = written(table, [[b"4-0", [b"n", b"1"]], [b"9-0", [b"n", b"1"]]], STREAM, epoch=2)
    commit(table, Position(parse_id("9-0")), files, StreamState(epochs))
    for path in (table.root / "_rillway").iterdir():
        path.unlink()
    records, version = rebuilt(ArchiveTable.open(table.root))
    assert version is None
    assert records[STREAM].end == Position(parse_id("9-0"), None)
    assert records[STREAM].state.epochs == (
        Epoch(1, "", 0, 0, REASON, 0, parse_id("5-0")),
        Epoch(2, "", 1, parse_id("4-0") - 1, REASON),
    )


def test_an_end_after_the_last_row_is_kept(table: ArchiveTable) -> None:
    """The last entries were deleted before they could be archived."""
    files = written(table, [[b"1-0", [b"n", b"1"]]])
    commit(table, Position(parse_id("7-0"), 3), files)
    commit(table, Position(parse_id("7-0"), 3))
    state_file(table.root).unlink()
    records, version = rebuilt(ArchiveTable.open(table.root))
    assert version == 1 and format_id(records[STREAM].end.id) == "7-0"
