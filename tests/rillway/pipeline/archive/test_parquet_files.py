"""Files of the archive, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rillway.pipeline.archive import parquet_files
from rillway.pipeline.archive.parquet_files import (
    FILE_SCHEMA,
    between,
    by_period,
    folder_of,
    footer_facts,
    read_file,
    write_files,
)
from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.client.ids import MAX_ID, MAX_SEQ, MIN_ID, parse_id

DAY_MS = 86_400_000


def batch_of(*ids: str) -> pa.RecordBatch:
    return fields_decoder("s")([[entry_id.encode(), [b"n", entry_id.encode()]] for entry_id in ids])


def ids_of(batches: Iterator[pa.RecordBatch]) -> list[str]:
    return [entry_id for batch in batches for entry_id in batch.column("id").to_pylist()]


def test_a_batch_is_cut_at_midnight_in_utc() -> None:
    batch = batch_of("1-0", f"{DAY_MS - 1}-9", f"{DAY_MS}-0", f"{3 * DAY_MS}-0", f"{3 * DAY_MS}-1")
    parts = [(day, len(part)) for day, part in by_period(batch, "day")]
    assert parts == [(date(1970, 1, 1), 2), (date(1970, 1, 2), 1), (date(1970, 1, 4), 2)]


def test_ids_beyond_all_dates_go_to_the_last_one() -> None:
    batch = batch_of(f"{2**61}-0", f"{2**62}-0")
    assert [day for day, _ in by_period(batch, "day")] == [date.max]


@pytest.mark.parametrize(
    ("stream", "folder"),
    [("orders", "orders"), ("a/b=c d", "a%2Fb%3Dc%20d"), ("größe", "gr%C3%B6%C3%9Fe")],
)
def test_folders_are_named_as_hive_does_it(stream: str, folder: str) -> None:
    assert folder_of(stream, date(2013, 1, 2)) == f"stream={folder}/date=2013-01-02"


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    batches = [batch_of("1-0", "1-1"), batch_of(f"{DAY_MS}-7"), batch_of(f"{DAY_MS}-{MAX_SEQ}")]
    files = write_files(tmp_path, "a/b", iter(batches))
    assert [(file.rows, file.date.day) for file in files] == [(2, 1), (2, 2)]
    assert (files[1].first_id, files[1].last_id) == (
        parse_id(f"{DAY_MS}-7"),
        parse_id(f"{DAY_MS}-{MAX_SEQ}"),
    )
    read = [batch for file in files for batch in read_file(tmp_path, file, MIN_ID, MAX_ID)]
    assert ids_of(iter(read)) == ["1-0", "1-1", f"{DAY_MS}-7", f"{DAY_MS}-{MAX_SEQ}"]
    assert read[0].column("stream").to_pylist() == ["a/b", "a/b"]
    assert read[0].column("fields").to_pylist()[1] == [{"name": b"n", "value": b"1-1"}]
    assert footer_facts(tmp_path, files[1]) == (2, DAY_MS, DAY_MS)
    assert pq.read_schema(tmp_path / files[0].path).equals(FILE_SCHEMA)


def test_row_groups_and_what_is_read_of_them_are_bounded_by_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "ROW_GROUP_BYTES", 100_000)
    monkeypatch.setattr(parquet_files, "BATCH_BYTES", 30_000)
    decode = fields_decoder("s")
    value = bytes(range(256)) * 40
    written = (decode([[b"%d-0" % n, [b"n", b"%d" % n + value]]]) for n in range(1, 41))
    (file,) = write_files(tmp_path, "s", written)
    assert pq.read_metadata(tmp_path / file.path).num_row_groups == 4
    read = list(read_file(tmp_path, file, MIN_ID, MAX_ID))
    assert ids_of(iter(read)) == [f"{n}-0" for n in range(1, 41)]
    assert max(len(batch) for batch in read) <= 4


def test_a_file_holds_a_month_or_all_there_is(tmp_path: Path) -> None:
    ids = [f"{DAY_MS * day}-0" for day in (0, 30, 31, 364, 365, 20_000)]
    for period, dates in (
        ("month", ["1970-01-01", "1970-02-01", "1970-12-01", "1971-01-01", "2024-10-01"]),
        ("year", ["1970-01-01", "1971-01-01", "2024-01-01"]),
        ("none", ["1970-01-01"]),
    ):
        files = write_files(tmp_path / period, "s", iter([batch_of(*ids)]), period)
        assert [file.date.isoformat() for file in files] == dates
        root = tmp_path / period
        read = (part for file in files for part in read_file(root, file, MIN_ID, MAX_ID))
        assert ids_of(read) == ids


def test_files_that_were_begun_are_removed_when_reading_fails(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield batch_of("1-0", f"{DAY_MS}-0")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        write_files(tmp_path, "s", failing())
    assert not list(tmp_path.rglob("*.parquet"))


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
    assert ids_of(iter([between(batch, parse_id(first), parse_id(last))])) == expected


def test_a_range_may_end_at_the_last_id_there_is() -> None:
    batch = batch_of("1-0", f"{2**63 - 1}-{MAX_SEQ}")
    assert len(between(batch, parse_id("1-0"), MAX_ID)) == 2
