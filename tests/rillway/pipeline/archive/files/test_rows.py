"""Rows of one stream out of files of many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rillway.pipeline.archive.files import parquet_files, rows
from rillway.pipeline.archive.files.parquet_files import ArchivedFile, file_batch, write_files
from rillway.pipeline.archive.files.rows import (
    Segment,
    StreamRows,
    between,
    bounded_batches,
    open_file,
)
from rillway.pipeline.archive.files.store import ArchiveError, store_of
from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.wire.ids import MAX_ID, MAX_SEQ, parse_id
from tests.rillway.pipeline.archive.files.test_parquet_files import batch_of

ALL_OF_IT = Segment(1)


def ids_of(found: StreamRows) -> list[str]:
    return [entry for _, batch in found.batches() for entry in batch.column("id").to_pylist()]


def rows_of(
    folder: Path, files: list[ArchivedFile], *segments: Segment, stream: str = "s"
) -> StreamRows:
    return StreamRows(store_of(folder), stream, files, segments or [ALL_OF_IT])


def test_one_stream_and_epoch_is_read_of_many(tmp_path: Path) -> None:
    batches = [
        batch_of("1-0", "2-0", stream="a"),
        batch_of("1-1", "5-0"),
        batch_of("2-0", "2-1", epoch=2),
        batch_of("3-0", stream="t"),
    ]
    files = write_files(tmp_path, batches)
    assert len(files) == 1
    assert ids_of(rows_of(tmp_path, files)) == ["1-1", "5-0"]
    both = rows_of(tmp_path, files, Segment(1, last=parse_id("4-0")), Segment(2))
    assert [(e, b.column("id").to_pylist()) for e, b in both.batches()] == [
        (1, ["1-1"]),
        (2, ["2-0", "2-1"]),
    ]
    assert {b.column("stream")[0].as_py() for _, b in both.batches()} == {"s"}
    assert ids_of(rows_of(tmp_path, files, stream="none")) == []
    assert rows_of(tmp_path, files).estimate() >= 2


def test_row_groups_of_others_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROW_GROUP_ROWS", 10)
    names = [f"s{n}" for n in range(10)]
    batches = [batch_of(*(f"{n}-0" for n in range(1, 11)), stream=name) for name in names]
    files = write_files(tmp_path, batches)
    assert rows_of(tmp_path, files, stream="s5").estimate() == 10
    assert rows_of(tmp_path, files, Segment(1, last=0), stream="s5").estimate() == 0


def test_what_is_read_at_once_is_bounded_by_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of entries with the same thousand fields, a file has hardly any bytes."""
    monkeypatch.setattr(rows, "READ_FIELDS", 10_000)
    entries = [
        [b"%d-0" % n, [word for k in range(1000) for word in (b"f%d" % k, b"")]] for n in range(50)
    ]
    files = write_files(tmp_path, [file_batch(fields_decoder("s")(entries), 1)])
    assert files[0].size_bytes < 50_000
    found = [len(batch) for _, batch in rows_of(tmp_path, files).batches()]
    assert found == [10] * 5
    with open_file(store_of(tmp_path), files[0]) as parquet:
        assert [len(batch) for batch in bounded_batches(parquet, [0], share=4)] == [2] * 25


def test_what_is_read_at_once_is_bounded_by_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "BATCH_BYTES", 30_000)
    values = [b"%d" % n + bytes(range(256)) * 40 for n in range(1, 41)]
    batches = [batch_of(f"{n}-0", value=value) for n, value in enumerate(values, start=1)]
    files = write_files(tmp_path, batches)
    read = [batch for _, batch in rows_of(tmp_path, files).batches()]
    assert sum(map(len, read)) == 40 and max(map(len, read)) <= 4


def test_overlapping_files_are_ordered_by_the_streams_own_rows(tmp_path: Path) -> None:
    def file_of(*ids: str, other: str) -> ArchivedFile:
        [file] = write_files(tmp_path, [batch_of(other, stream="a"), batch_of(*ids)])
        return file

    files = [file_of("7-0", "9-0", other="1-0"), file_of("1-0", "6-0", other="90-0")]
    assert ids_of(rows_of(tmp_path, files)) == ["1-0", "6-0", "7-0", "9-0"]


def test_rows_of_one_file_may_come_between_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a compaction leaves them that does not write a large file again."""
    monkeypatch.setattr(rows, "READ_ROWS", 2)
    orders = [[1, 2, 3, 9, 10, 11, 12, 20], [4, 5, 6, 7, 8], [13, 14, 15], [16], [30, 31]]
    files = [
        file
        for numbers in orders
        for file in write_files(tmp_path, [batch_of(*(f"{n}-0" for n in numbers))])
    ]
    expected = [f"{n}-0" for n in sorted(n for numbers in orders for n in numbers)]
    assert ids_of(rows_of(tmp_path, files)) == expected
    middle = Segment(1, parse_id("3-0"), parse_id("15-0"))
    assert ids_of(rows_of(tmp_path, files, middle)) == expected[2:15]


def foreign(folder: Path, file: ArchivedFile, **options: Any) -> ArchivedFile:
    """The rows of a file as another program writes them: in another order, with other types."""
    table = pq.ParquetFile(folder / file.path).read()
    order = [row for start in (1, 0) for row in range(start, len(table), 2)]
    found = table.take(order).select(sorted(table.column_names))
    types = {"id": pa.string_view(), "stream": pa.dictionary(pa.int32(), pa.string())}
    for name, kind in types.items():
        place = found.schema.get_field_index(name)
        found = found.set_column(place, name, found.column(name).cast(kind))
    path = file.path.replace(".parquet", "-c000.snappy.parquet")
    pq.write_table(found, folder / path, row_group_size=2, **options)
    return replace(file, path=path)


@pytest.mark.parametrize("options", [{}, {"use_deprecated_int96_timestamps": True}])
def test_rows_of_another_program_are_sorted_and_have_the_archives_types(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    ids = [f"{n}-0" for n in range(1, 8)]
    one, other = write_files(tmp_path, [batch_of(*ids)]), write_files(tmp_path, [batch_of("3-5")])
    expected = rows_of(tmp_path, [*one, *other])
    files = [foreign(tmp_path, one[0], **options), *other]
    assert not files[0].is_own and files[1].is_own
    found = rows_of(tmp_path, files)
    assert ids_of(found) == [*ids[:3], "3-5", *ids[3:]]
    tables = [pa.Table.from_batches([b for _, b in each.batches()]) for each in (found, expected)]
    assert tables[0].equals(tables[1])
    assert ids_of(rows_of(tmp_path, [*files, *one])) == ids_of(expected)


def test_rows_after_the_archived_end_are_an_error_in_files_of_others(tmp_path: Path) -> None:
    [file] = write_files(tmp_path, [batch_of("1-0", "2-0", "3-0")])
    found = replace(rows_of(tmp_path, [file]), ends={1: parse_id("2-0")})
    assert ids_of(found) == ["1-0", "2-0", "3-0"]
    with pytest.raises(ArchiveError, match="it has 3-0 of s, after the archived end"):
        ids_of(replace(found, files=[foreign(tmp_path, file)]))


def test_a_file_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    files = write_files(tmp_path, [batch_of("1-0")])
    path = tmp_path / files[0].path
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ArchiveError, match=f"{files[0].path}, which the log names"):
        ids_of(rows_of(tmp_path, files))
    path.unlink()
    with pytest.raises(ArchiveError, match=f"{files[0].path}, which the log names"):
        ids_of(rows_of(tmp_path, files))


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("0-0", "9-0", ["1-0", "2-0", "2-5", "2-9", "3-0"]),
        ("2-0", "2-8", ["2-0", "2-5"]),
        ("2-5", "2-5", ["2-5"]),
        ("2-6", "3-0", ["2-9", "3-0"]),
        ("1-1", "2-4", ["2-0"]),
        ("4-0", "9-0", []),
    ],
)
def test_a_range_ends_between_entries_of_one_millisecond(
    first: str, last: str, expected: list[str]
) -> None:
    batch = batch_of("1-0", "2-0", "2-5", "2-9", "3-0")
    assert between(batch, parse_id(first), parse_id(last)).column("id").to_pylist() == expected


def test_a_range_may_end_at_the_last_id_there_is() -> None:
    batch: pa.RecordBatch = batch_of("1-0", f"{2**63 - 1}-{MAX_SEQ}")
    assert len(between(batch, parse_id("1-0"), MAX_ID)) == 2
