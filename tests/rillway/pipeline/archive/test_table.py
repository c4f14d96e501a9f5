"""The table and its log, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict, first_line
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import MAX_SEQ, parse_id
from tests.rillway.pipeline.archive.scene import archived_ids, commit, written
from tests.support.full_disk import files_up_to

STREAM = "a/b c%"


def append(table: ArchiveTable, end: str, n: int | None, *ids: str, stream: str = STREAM) -> None:
    entries = [[entry_id.encode(), [b"n", b"1"]] for entry_id in ids]
    files = written(table, entries, stream) if ids else []
    commit(table, Position(parse_id(end), n), files, stream=stream)


def test_a_commit_names_files_and_end_at_once(table: ArchiveTable) -> None:
    assert table.end(STREAM) is None
    append(table, "5-7", 12, "5-0", "5-7")
    again = ArchiveTable.open(table.root)
    assert again.end(STREAM) == Position(parse_id("5-7"), 12)
    [file] = again.files()
    assert (file.rows, file.first_ms, file.last_ms, file.first_epoch) == (2, 5, 5, 1)
    assert file.first_stream == file.last_stream == STREAM
    assert (again.root / file.path).is_file()
    assert again.streams() == [STREAM]


def test_ends_have_64_bits_and_their_count_may_be_unknown(table: ArchiveTable) -> None:
    end = f"{MAX_SEQ}-{MAX_SEQ}"
    append(table, end, None)
    assert table.end(STREAM) == Position(parse_id(end), None)


@pytest.mark.parametrize("room", [0, 4000])
def test_files_that_no_state_can_name_are_removed(table: ArchiveTable, room: int) -> None:
    append(table, "5-0", 1, "5-0")
    before = sorted(table.root.rglob("*.parquet"))
    files = written(table, [[b"6-0", [b"n", b"1"]]], STREAM)
    record = table.records[STREAM]
    with files_up_to(room), pytest.raises(ArchiveError, match=f"{table.root}: File too large"):
        table.write_state({STREAM: record}, files)
    assert sorted(table.root.rglob("*.parquet")) == before
    append(table, "6-0", 2, "6-0")
    assert archived_ids(table, STREAM) == ["5-0", "6-0"]


def test_an_end_may_move_without_files(table: ArchiveTable) -> None:
    append(table, "5-0", 1, "5-0")
    append(table, "9-0", 4)
    assert table.end(STREAM) == Position(parse_id("9-0"), 4)
    assert len(table.files(STREAM)) == 1


def test_who_commits_second_has_a_conflict(table: ArchiveTable) -> None:
    other = ArchiveTable.open(table.root)
    append(table, "5-0", 1, "5-0")
    with pytest.raises(CommitConflict):
        append(other, "5-0", 1, "5-0")
    other.refresh()
    assert sum(file.rows for file in other.files(STREAM)) == 1


def test_files_that_share_a_millisecond_are_in_order(table: ArchiveTable) -> None:
    runs = [("4-0", "5-1"), ("5-2",), ("5-3", "5-4"), ("5-5", "9-0"), ("9-1", "9-2"), ("9-3",)]
    for run in runs:
        append(table, run[-1], 1, *run)
    assert archived_ids(table, STREAM) == [entry_id for run in runs for entry_id in run]


def test_only_files_of_a_range_are_named(table: ArchiveTable) -> None:
    append(table, "10-0", 2, "5-0", "10-0")
    append(table, "30-0", 4, "20-0", "30-0")
    assert [file.rows for file in table.files(STREAM, 11, 25)] == [2]
    assert table.files(STREAM, 40) == []
    assert table.files("other") == []


def test_long_names_are_cut_in_the_log_and_found(table: ArchiveTable) -> None:
    names = [f"{'long' * 20}{n}" for n in range(3)]
    for name in names:
        append(table, "5-0", 1, "5-0", stream=name)
    again = ArchiveTable.open(table.root)
    assert len(again.files()[0].first_stream) == 32
    for name in names:
        assert len(again.files(name)) == 3 and archived_ids(again, name) == ["5-0"]
    assert again.streams() == names


def test_what_others_know_is_kept_in_each_commit(table: ArchiveTable) -> None:
    append(table, "5-0", 1, "5-0", stream="one")
    append(table, "6-0", 1, "6-0", stream="other")
    again = ArchiveTable.open(table.root)
    assert [again.end(name) for name in ("one", "other")] == [
        Position(parse_id(text), 1) for text in ("5-0", "6-0")
    ]


def test_two_archives_have_groups_of_their_own(tmp_path: Path) -> None:
    groups = {ArchiveTable.open_or_create(tmp_path / name).group for name in "ab"}
    assert len(groups) == 2
    assert all(group.startswith("__archive:") for group in groups)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="there is no archive"):
        ArchiveTable.open(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArchiveError, match="not empty, and no archive"):
        ArchiveTable.open_or_create(tmp_path)
    with pytest.raises(ArchiveError):
        ArchiveTable.open_or_create(tmp_path / "file")


def test_a_file_is_no_place_for_an_archive(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArchiveError, match="a file, and an archive is a folder"):
        ArchiveTable.open_or_create(tmp_path / "file")


def test_an_error_of_an_object_store_is_one_line_with_its_cause() -> None:
    text = (
        "Generic S3 error\n \x1b[31m↳\x1b[0m Error performing GET\n"
        "  \x1b[31m↳\x1b[0m Connection refused (os error 111)\n"
    )
    assert first_line(OSError(text)) == "Generic S3 error: Connection refused (os error 111)"
    assert first_line(OSError("one\ntwo")) == "one"


def test_an_object_stores_reply_is_a_line() -> None:
    """As Azurite and moto send it: several lines of XML, or one, or something else."""
    head = (
        "Generic MicrosoftAzure error\n     \x1b[31m↳\x1b[0m 404 Not Found\n      \x1b[31m↳\x1b[0m "
    )
    xml = (
        '<?xml version="1.0"?>\n<Error>\n<Code>ContainerNotFound</Code>\n<Message>There is none.\n'
    )
    expected = "Generic MicrosoftAzure error: ContainerNotFound: There is none."
    assert first_line(OSError(f"{head}{xml}RequestId:1\nTime:2</Message>\n</Error>\n")) == expected
    xml = "<Error><Code>ContainerNotFound</Code><Message>There is none.</Message></Error>"
    assert first_line(OSError(head + xml)) == expected
    assert (
        first_line(OSError(head + "{\n  no: xml\n}")) == "Generic MicrosoftAzure error: { no: xml }"
    )
    assert first_line(OSError()) == "OSError"
