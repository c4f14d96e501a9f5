"""The mirror shows what the archive does, whatever happened to either."""

from __future__ import annotations

import os
import shutil
import threading
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field
from pyiceberg.expressions import AlwaysTrue

from rillway.pipeline.archive.arguments import DEFAULT_ICEBERG_TABLE
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.store import ArchiveError
from rillway.pipeline.archive.iceberg import mirror as module
from rillway.pipeline.archive.iceberg.catalogue import MirrorFailed
from rillway.pipeline.archive.iceberg.mirror import VERSION, Followed, Mirror
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.conftest import GOOGLES_THOROUGH, ObjectStore
from tests.rillway.pipeline.archive.iceberg.conftest import Mirrored, append
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, archived_ids, commit
from tests.support.duckdb_extensions import ICEBERG, connect

LAST_DATE_MS = 253_402_214_400_000


def test_a_snapshot_says_which_version_it_shows(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    for n in range(3):
        append(table, f"{n * DAY_MS}-0", f"{n * DAY_MS}-1")
        assert mirror.follow() == Followed(table.version, added=1)
        assert mirrored.ids() == archived_ids(table)
    append(table, "1-0", stream="a/b c%")
    append(table, "2-0", stream="a/b c%")
    assert mirror.follow() == Followed(table.version, added=2)
    assert mirrored.ids("a/b c%") == ["1-0", "2-0"]
    assert [(s["operation"], s[VERSION]) for s in mirrored.summaries] == [
        ("append", version) for version in ("1", "2", "3", "5")
    ]
    assert mirrored.summaries[-1]["total-records"] == "8"


@pytest.mark.parametrize("name", ["a b", "ü", "a#b?c", "st*r[1]"])
def test_a_folder_may_have_any_name(tmp_path: Path, uri: str, name: str) -> None:
    table = ArchiveTable.open_or_create(tmp_path / name)
    append(table, "1-0", "2-0")
    Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE).follow()
    assert Mirrored(table, uri).ids() == ["1-0", "2-0"]


def test_nothing_is_committed_where_no_file_came(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    assert mirror.follow() == Followed(0)
    assert mirrored.ids() == [] and mirrored.summaries == []
    append(table, "1-0")
    mirror.follow()
    commit(table, Position(parse_id("9-0"), 4))
    assert mirror.follow() == Followed(2)
    assert len(mirrored.summaries) == 1


def test_a_compaction_is_one_snapshot(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    for n in range(4):
        append(table, f"{n * DAY_MS // 2}-0")
        mirror.follow()
    before = mirrored.table.metadata_location
    assert compact(table).files_after == 2
    assert mirror.follow() == Followed(table.version, added=2, removed=4)
    assert mirrored.ids() == archived_ids(table)
    last = mirrored.summaries[-1]
    assert (last["operation"], last["total-data-files"], last["total-records"]) == (
        "overwrite", "2", "4",
    )  # fmt: skip
    # Who has opened it before reads on.
    [(count,)] = (
        connect(ICEBERG).execute(f"SELECT count(*) FROM iceberg_scan('{before}')").fetchall()
    )
    assert count == 4


def test_what_has_expired_is_not_shown(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    for day in range(3):
        append(table, f"{day * DAY_MS}-0")
    append(table, "5-0", stream="other")
    mirror.follow()
    expire(table, [STREAM], date(1970, 1, 3), vacuum_after_hours=0)
    mirror.follow()
    assert mirrored.ids() == archived_ids(table) == [f"{2 * DAY_MS}-0"]
    assert mirrored.ids("other") == ["5-0"]
    expire(table, None, date(1971, 1, 1), vacuum_after_hours=0)
    mirror.follow()
    assert mirrored.ids() == mirrored.ids("other") == []


def test_it_goes_on_where_it_was(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, uri: str
) -> None:
    append(table, "1-0")
    mirror.follow()
    append(table, "2-0")
    compact(table)
    append(table, "3-0")
    Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE).follow()
    assert mirrored.ids() == ["1-0", "2-0", "3-0"]
    assert mirror.follow() == Followed(table.version)


def test_where_the_log_was_cleaned_up_files_are_compared(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    append(table, "1-0")
    append(table, "2-0")
    mirror.follow()
    since = table.version
    append(table, "3-0")
    compact(table)
    append(table, "4-0")
    for version in range(since + 2):
        (table.root / "_delta_log" / f"{version:020d}.json").unlink(missing_ok=True)
    assert mirror.follow() == Followed(table.version, added=2, removed=2)
    assert mirrored.ids() == archived_ids(table)


def test_where_the_log_is_damaged_files_are_compared(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    """A version that was cut off after a line would be one that adds nothing."""
    append(table, "1-0")
    mirror.follow()
    append(table, "2-0")
    table.checkpoint()
    path = table.root / "_delta_log" / f"{table.version:020d}.json"
    path.write_bytes(path.read_bytes().splitlines()[0])
    mirror.follow()
    assert mirrored.ids() == ["1-0", "2-0"]


def test_what_others_made_of_it_is_undone(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    append(table, "1-0", "2-0")
    mirror.follow()
    mirrored.table.delete("id = '1-0'")
    assert mirrored.ids() == ["2-0"]
    mirror.follow()
    assert mirrored.ids() == ["1-0", "2-0"]
    mirrored.table.delete(AlwaysTrue())
    append(table, "3-0")
    mirror.follow()
    assert mirrored.ids() == ["1-0", "2-0", "3-0"]


def test_of_two_at_once_the_second_looks_again(
    table: ArchiveTable,
    mirror: Mirror,
    mirrored: Mirrored,
    uri: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append(table, "1-0")
    mirror.follow()
    append(table, "2-0")
    commit_step = module._Step.commit
    others = [Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE)]

    def commit_second(step: module._Step) -> None:
        if others:
            other = others.pop()
            assert other.follow().added == 1
            append(table, "3-0")
        commit_step(step)

    monkeypatch.setattr(module._Step, "commit", commit_second)
    # The conflict; then what was committed meanwhile.
    assert mirror.follow() == Followed(table.version, added=1)
    assert mirrored.ids() == ["1-0", "2-0", "3-0"]
    assert [summary[VERSION] for summary in mirrored.summaries] == ["1", "2", "3"]


def test_many_at_once_make_one(table: ArchiveTable, mirrored: Mirrored, uri: str) -> None:
    append(table, "1-0")
    Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE).follow()
    failed: list[Exception] = []

    def follow() -> None:
        try:
            Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE).follow()
        except Exception as error:
            failed.append(error)

    for n in range(2, 5):
        append(table, f"{n}-0")
        threads = [threading.Thread(target=follow) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    assert mirrored.ids() == archived_ids(table)
    assert [summary[VERSION] for summary in mirrored.summaries] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("period", ["month", "year", "none"])
def test_files_of_longer_periods_have_no_partition(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, period: str
) -> None:
    table.set_period(period)
    append(table, *(f"{day * DAY_MS}-0" for day in range(0, 400, 40)))
    mirror.follow()
    assert mirrored.table.spec().is_unpartitioned()
    assert mirrored.ids() == archived_ids(table)


def test_days_that_become_months_end_the_partition(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    for day in (1, 2, 3, 33, 70):
        append(table, f"{day * DAY_MS}-0")
    mirror.follow()
    assert [field.name for field in mirrored.table.spec().fields] == ["date"]
    table.set_period("month")
    compact(table)
    append(table, f"{71 * DAY_MS}-0", f"{72 * DAY_MS}-0")
    mirror.follow()
    assert not mirrored.table.spec().fields
    assert mirrored.ids() == archived_ids(table)
    later = "ts >= '1970-02-01T00:00:00+00:00'"
    assert mirrored.table.scan(row_filter=later).to_arrow().num_rows == 4


def test_ids_that_are_no_dates_are_shown(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    append(table, "1-0")
    mirror.follow()
    append(table, f"{LAST_DATE_MS}-0", f"{LAST_DATE_MS + DAY_MS}-0", f"{(1 << 63) - 1}-0")
    mirror.follow()
    assert mirrored.ids() == archived_ids(table)


# Types as Delta and as Arrow have them.
TYPED = {
    "tiny": ('"byte"', pa.array([1, None], pa.int8())),
    "small": ('"short"', pa.array([1, None], pa.int16())),
    "plain": ('"integer"', pa.array([1, None], pa.int32())),
    "big": ('"long"', pa.array([1, None], pa.int64())),
    "single": ('"float"', pa.array([0.5, None], pa.float32())),
    "double": ('"double"', pa.array([0.5, None], pa.float64())),
    "flag": ('"boolean"', pa.array([True, None])),
    "raw": ('"binary"', pa.array([b"\xff", None])),
    "day": ('"date"', pa.array([date(2026, 1, 31), None])),
    "at": ('"timestamp"', pa.array([0, None], pa.timestamp("us", "UTC"))),
    "far": ('"timestamp"', pa.array([1 << 60, None], pa.timestamp("us", "UTC"))),
    "local": ('"timestamp_ntz"', pa.array([0, None], pa.timestamp("us"))),
    "list": (
        '{"type": "array", "elementType": "string", "containsNull": true}',
        pa.array([["x", None], None], pa.list_(pa.field("element", pa.string()))),
    ),
    "struct": (
        '{"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": true, '
        '"metadata": {}}]}',
        pa.array([{"x": 1}, None]),
    ),
    "map": (
        '{"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": true}',
        pa.array([[("x", 1)], None], pa.map_(pa.string(), pa.int64())),
    ),
}


def add_columns(table: ArchiveTable, added: dict[str, tuple[str, pa.Array]]) -> None:
    """A commit whose file has more columns, which the log has as well."""
    fields = [
        Field.from_json(f'{{"name": "{name}", "type": {kind}, "nullable": true, "metadata": {{}}}}')
        for name, (kind, _) in added.items()
    ]
    DeltaTable(table.root).alter.add_columns(fields)
    table.refresh()
    [file] = table.files()
    rows = pq.read_table(table.root / file.path, partitioning=None)
    for name, (_, values) in added.items():
        rows = rows.append_column(name, values)
    path = file.path.replace("part-", "part-with-more-")
    pq.write_table(rows, table.root / path)
    size = (table.root / path).stat().st_size
    new = ArchivedFile(path, file.date, size, file.rows, STREAM, STREAM, 1, 2, 1, 1)
    commit(table, Position(parse_id("3-0"), 3), [new])


def test_new_columns_come_with_the_archives(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    append(table, "1-0", "2-0")
    mirror.follow()
    add_columns(table, TYPED)
    mirror.follow()
    rows = mirrored.table.scan().to_arrow().drop_columns("far")
    for name, (_, values) in TYPED.items():
        if name != "far":
            found = [value for value in rows.column(name).to_pylist() if value is not None]
            assert found == [values[0].as_py()]
    asked = "SELECT count(*), sum(big), count(far) FROM iceberg_scan('{}')"
    found = connect(ICEBERG).execute(asked.format(mirrored.table.metadata_location)).fetchall()
    assert found == [(4, 1, 1)]
    assert (
        mirrored.table.scan(row_filter="tiny = 1 and day = '2026-01-31'").to_arrow().num_rows == 1
    )


def test_an_older_copy_of_the_archive_is_shown(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, uri: str, tmp_path: Path
) -> None:
    append(table, "1-0")
    shutil.copytree(table.root, tmp_path / "backup")
    append(table, "2-0")
    append(table, "3-0")
    mirror.follow()
    shutil.rmtree(table.root / "_delta_log")
    shutil.copytree(tmp_path / "backup", table.root, dirs_exist_ok=True)
    Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE).follow()
    assert mirrored.ids() == ["1-0"]


def test_an_older_copy_that_was_continued_is_shown(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, uri: str, tmp_path: Path
) -> None:
    """Its version is beyond the mirror's by then, and is of another history."""
    append(table, "1-0")
    shutil.copytree(table.root, tmp_path / "backup")
    append(table, "2-0")
    append(table, "3-0")
    mirror.follow()
    shutil.rmtree(table.root / "_delta_log")
    shutil.copytree(tmp_path / "backup", table.root, dirs_exist_ok=True)
    restored = ArchiveTable.open(table.root)
    for n in range(5, 8):
        append(restored, f"{n}-0")
    Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE).follow()
    assert mirrored.ids() == archived_ids(restored) == ["1-0", "5-0", "6-0", "7-0"]


def test_another_archive_needs_another_name(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, uri: str, tmp_path: Path
) -> None:
    append(table, "1-0")
    mirror.follow()
    other = ArchiveTable.open_or_create(tmp_path / "other")
    append(other, "2-0")
    with pytest.raises(MirrorFailed, match=f"is the mirror of {table.root}: --iceberg-table NAME"):
        Mirror(other.store, uri, DEFAULT_ICEBERG_TABLE).follow()
    with pytest.raises(MirrorFailed, match="is the mirror of"):
        Mirror(other.store, uri, DEFAULT_ICEBERG_TABLE).drop()
    Mirror(other.store, uri, "rillway.other").follow()
    assert mirrored.ids() == ["1-0"]


def test_it_is_made_again(table: ArchiveTable, mirror: Mirror, mirrored: Mirrored) -> None:
    append(table, "1-0")
    mirror.drop()
    mirror.follow()
    place = Path(mirrored.table.metadata_location)
    place.unlink()
    append(table, "2-0")
    with pytest.raises(MirrorFailed, match=r"rillway\.archive: .*No such file"):
        mirror.follow()
    mirror.drop()
    mirror.follow()
    assert mirrored.ids() == ["1-0", "2-0"]


def test_it_goes_on_in_a_catalogue_that_was_made_again(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, tmp_path: Path
) -> None:
    append(table, "1-0")
    mirror.follow()
    (tmp_path / "catalogue.db").unlink()
    append(table, "2-0")
    with pytest.raises(MirrorFailed):
        mirror.follow()
    mirror.follow()
    assert mirrored.ids() == ["1-0", "2-0"]


def test_failures_are_one_line(table: ArchiveTable, mirror: Mirror, tmp_path: Path) -> None:
    nowhere = Mirror(table.store, f"sqlite:///{tmp_path}/nowhere/catalogue.db", "a.b")
    with pytest.raises(MirrorFailed, match=r"^a\.b: .*unable to open database file$"):
        nowhere.follow()
    with pytest.raises(MirrorFailed, match=r"^a\.b: .*ftp://x$"):
        Mirror(table.store, "ftp://x", "a.b").follow()
    with pytest.raises(MirrorFailed, match=r"^a\.b: .*mysql://me:\*\*\*@host/x$"):
        Mirror(table.store, "mysql://me:secret@host/x", "a.b").follow()
    shutil.rmtree(table.root)
    with pytest.raises(ArchiveError, match="there is no archive"):
        mirror.follow()


def test_a_vacuum_of_the_archive_leaves_it_alone(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    append(table, "1-0")
    mirror.follow()
    DeltaTable(table.root).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert mirrored.ids() == ["1-0"]


@GOOGLES_THOROUGH
def test_it_is_in_an_object_store(object_store: ObjectStore, uri: str) -> None:
    table = ArchiveTable.open_or_create(object_store.uri, object_store.options)
    mirror = Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE)
    for n in (1, 2):
        append(table, f"{n}-0")
        mirror.follow()
    compact(table)
    mirror.follow()
    assert Mirrored(table, uri).ids() == ["1-0", "2-0"]


def names(table: ArchiveTable) -> set[str]:
    return {path.name for path in (table.root / "_iceberg/metadata").iterdir()}


def test_snapshots_and_files_that_nothing_needs_are_removed(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_SNAPSHOTS", 2)
    monkeypatch.setattr(module, "MAX_SNAPSHOTS", 4)
    for n in range(1, 5):
        append(table, f"{n}-0")
        mirror.follow()
    assert len(mirrored.summaries) == 4
    old = names(table)
    # A day later.
    for path in (table.root / "_iceberg/metadata").iterdir():
        os.utime(path, (0, 0))
    (table.root / "_iceberg/metadata/young.avro").touch()
    append(table, "5-0")
    mirror.follow()
    assert [summary["rillway.delta-version"] for summary in mirrored.summaries] == ["4", "5"]
    assert mirrored.ids() == [f"{n}-0" for n in range(1, 6)]
    assert {name.partition("-")[0] for name in old - names(table)} == {"snap"}
    assert (table.root / "_iceberg/metadata/young.avro").exists()
    earlier = mirrored.table.snapshots()[0]
    assert mirrored.table.scan(snapshot_id=earlier.snapshot_id).to_arrow().num_rows == 4
    assert Path(mirrored.table.metadata_location).exists()
