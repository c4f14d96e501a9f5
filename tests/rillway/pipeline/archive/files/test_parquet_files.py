"""Files of the archive, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rillway.pipeline.archive.files import parquet_files
from rillway.pipeline.archive.files.parquet_files import (
    FILE_SCHEMA,
    FilesWriter,
    by_period,
    file_batch,
    footer_facts,
    write_files,
)
from rillway.pipeline.archive.files.store import store_of
from rillway.pipeline.arrow.decoder import fields_decoder
from tests.support.full_disk import files_up_to

DAY_MS = 86_400_000


def batch_of(*ids: str, stream: str = "s", epoch: int = 1, value: bytes = b"") -> pa.RecordBatch:
    entries = [[text.encode(), [b"n", value or text.encode()]] for text in ids]
    return file_batch(fields_decoder(stream)(entries), epoch)


def test_a_batch_is_cut_at_midnight_in_utc() -> None:
    batch = batch_of("1-0", f"{DAY_MS - 1}-9", f"{DAY_MS}-0", f"{3 * DAY_MS}-0", f"{3 * DAY_MS}-1")
    parts = [(day, len(part)) for day, part in by_period(batch, "day")]
    assert parts == [(date(1970, 1, 1), 2), (date(1970, 1, 2), 1), (date(1970, 1, 4), 2)]


def test_ids_beyond_all_dates_go_to_the_last_one() -> None:
    batch = batch_of(f"{2**61}-0", f"{2**62}-0")
    assert [day for day, _ in by_period(batch, "day")] == [date.max]
    days = [day for day, _ in by_period(batch_of("1-0", f"{2**62}-0"), "day")]
    assert days == [date(1970, 1, 1), date.max]


def test_streams_share_a_file_and_keep_their_order(tmp_path: Path) -> None:
    ids = ["1-0", "2-0", f"{DAY_MS}-0", f"{DAY_MS}-1"]
    batches = [batch_of(*ids, stream=name, epoch=2) for name in ("a", "b/=")]
    files = write_files(tmp_path, [pa.concat_batches(batches)])
    assert [(file.rows, file.date.day) for file in files] == [(4, 1), (4, 2)]
    assert {(f.first_stream, f.last_stream, f.first_epoch) for f in files} == {("a", "b/=", 2)}
    assert [(file.first_ms, file.last_ms) for file in files] == [(1, 2), (DAY_MS, DAY_MS)]
    assert [file.path.partition("/")[0] for file in files] == ["date=1970-01-01", "date=1970-01-02"]
    rows = pq.ParquetFile(tmp_path / files[0].path).read()
    assert rows.schema.equals(FILE_SCHEMA)
    assert rows.column("stream").to_pylist() == ["a", "a", "b/=", "b/="]
    assert rows.column("id").to_pylist() == ["1-0", "2-0"] * 2
    assert footer_facts(tmp_path, files[1]) == (4, DAY_MS, DAY_MS)


def test_row_groups_are_bounded_by_rows_and_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "ROW_GROUP_ROWS", 30)
    monkeypatch.setattr(parquet_files, "ROW_GROUP_BYTES", 100_000)
    small = [batch_of(*(f"{n}-0" for n in range(first, first + 20))) for first in (1, 21, 41)]
    large = [batch_of(f"{n}-0", value=bytes(range(256)) * 40) for n in range(100, 140)]
    [file] = write_files(tmp_path, [*small, *large])
    metadata = pq.read_metadata(tmp_path / file.path)
    groups = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    assert groups[:2] == [30, 10] and len(groups) > 5 and sum(groups) == 100


def test_a_file_is_limited_and_may_be_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROW_GROUP_ROWS", 1)
    batches = [batch_of(f"{n}-0", value=bytes([n]) * 1000) for n in range(1, 31)]
    files = write_files(tmp_path, batches, max_bytes=5000)
    assert len(files) >= 3 and sum(file.rows for file in files) == 30
    with FilesWriter(store_of(tmp_path), "day") as writer:
        writer.write(batches[0])
        writer.cut()
        writer.write(batches[1])
        assert [file.rows for file in writer.finish()] == [1, 1]


def test_only_so_many_files_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_OPEN_FILES", 3)
    batches = [batch_of(*(f"{day * DAY_MS}-0" for day in range(5)), stream=name) for name in "ab"]
    files = write_files(tmp_path, batches)
    assert sum(file.rows for file in files) == 10 and len(files) == 10
    assert len({file.date for file in files}) == 5


def test_a_file_holds_a_month_or_all_there_is(tmp_path: Path) -> None:
    ids = [f"{DAY_MS * day}-0" for day in (0, 30, 31, 364, 365, 20_000)]
    for period, dates in (
        ("month", ["1970-01-01", "1970-02-01", "1970-12-01", "1971-01-01", "2024-10-01"]),
        ("year", ["1970-01-01", "1971-01-01", "2024-01-01"]),
        ("none", ["1970-01-01"]),
    ):
        files = write_files(tmp_path / period, [batch_of(*ids)], period)
        assert sorted(file.date.isoformat() for file in files) == dates
        assert sum(file.rows for file in files) == len(ids)


def test_files_that_were_begun_are_removed_when_reading_fails(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield batch_of("1-0", f"{DAY_MS}-0")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        write_files(tmp_path, failing())
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("room", [0, 3, 100, 2000])
def test_a_full_disk_is_left_as_it_was(tmp_path: Path, room: int) -> None:
    with files_up_to(room), pytest.raises(OSError, match="File too large"):
        write_files(tmp_path, [batch_of("1-0", f"{DAY_MS}-0", value=bytes(range(256)) * 20)])
    assert not list(tmp_path.rglob("*.parquet"))


def test_texts_that_differ_have_bloom_filters(tmp_path: Path) -> None:
    """By which other engines skip row groups; what repeats has none."""
    rows = 6_000
    entries = [[b"%d-0" % (n + 1), []] for n in range(rows)]
    batch = file_batch(fields_decoder("orders")(entries), 1)
    batch = batch.append_column("customer", pa.array([f"c{n * 7}" for n in range(rows)]))
    batch = batch.append_column("carrier", pa.array(["UA", "AA"] * (rows // 2)))
    [file] = write_files(tmp_path, [batch], schema=batch.schema)

    path = tmp_path / file.path
    found = duckdb.sql(
        f"SELECT path_in_schema, bloom_filter_length FROM parquet_metadata('{path}')"
    ).fetchall()
    assert [name for name, length in found if length] == ["customer"]
    counted = f"SELECT count(*) FROM read_parquet('{path}') WHERE customer = '{{}}'"
    assert [duckdb.sql(counted.format(text)).fetchone() for text in ("c7", "c8")] == [(1,), (0,)]
