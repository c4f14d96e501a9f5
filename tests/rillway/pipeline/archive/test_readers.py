"""What other programs read in an archive, and in its mirror, is what `rillway query` prints."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from rillway.pipeline.archive import command
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.iceberg.catalogue import open_catalogue
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.query.command import main as query
from rillway.pipeline.relations.command import main as ask_sql
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.conftest import GOOGLES_THOROUGH, ObjectStore
from tests.rillway.pipeline.archive.scene import DAY_MS, add_many, archive
from tests.rillway.pipeline.conftest import empty
from tests.support.duckdb_extensions import DELTA, ICEBERG, connect
from tests.support.programs.servers import RunningServer

STREAMS = ["a", "orders:2 of 'us'", "größe"]
HOUR_MS = DAY_MS // 24
COLUMNS = ["id", "ms", "fields"]


@dataclass(frozen=True, slots=True)
class Scene:
    """Three streams with entries of four days, compacted half-way, all archived."""

    url: str
    archive: str
    catalogue: str

    @property
    def metadata(self) -> str:
        store = ArchiveTable.open(self.archive).store
        catalogue = open_catalogue(self.catalogue, store)
        return str(catalogue.load_table("rillway.archive").metadata_location)


@pytest.fixture(scope="module")
def scene(rillway_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("readers")
    found = Scene("", str(folder / "archive"), f"sqlite:///{folder}/catalogue.db")
    link: Connection
    for link in empty(rillway_server):
        found = Scene(link.url, found.archive, found.catalogue)
        for begin in (0, 30, 60):
            for number, stream in enumerate(STREAMS):
                add_many(link, 30, 1 + begin * HOUR_MS + number, HOUR_MS, stream)
            streams = [word for stream in STREAMS for word in ("--stream", stream)]
            place = ["--to", found.archive, "--iceberg", found.catalogue, "--id-unit", "ms"]
            assert command.main([*streams, *place, "--url", link.url, "--keep", "0"]) == 0
            if begin == 30:
                compact(ArchiveTable.open(found.archive))
    return found


Rows = list[dict[str, Any]]


def by_duckdb(scene: Scene, stream: str, first_ms: int) -> Rows:
    return _duckdb(DELTA, f"delta_scan('{scene.archive}')", stream, first_ms)


def by_duckdb_from_iceberg(scene: Scene, stream: str, first_ms: int) -> Rows:
    return _duckdb(ICEBERG, f"iceberg_scan('{scene.metadata}')", stream, first_ms)


def _duckdb(extensions: tuple[str, ...], table: str, stream: str, first_ms: int) -> Rows:
    asked = f"SELECT id, ms, fields FROM {table} WHERE stream = $1 AND ms >= $2"
    found = connect(extensions).execute(asked, [stream, first_ms])
    return [dict(zip(COLUMNS, row, strict=True)) for row in found.fetchall()]


def by_polars(scene: Scene, stream: str, first_ms: int) -> Rows:
    frame = pl.scan_delta(scene.archive)
    chosen = frame.filter(pl.col("stream") == stream, pl.col("ms") >= first_ms)
    return chosen.select(COLUMNS).collect().to_dicts()


def by_deltalake(scene: Scene, stream: str, first_ms: int) -> Rows:
    dataset = ds.dataset(
        DeltaTable(scene.archive).file_uris(), partitioning=ds.partitioning(flavor="hive")
    )
    chosen = (ds.field("stream") == stream) & (ds.field("ms") >= first_ms)
    return _rows(dataset.to_table(COLUMNS, filter=chosen))


def by_pyiceberg(scene: Scene, stream: str, first_ms: int) -> Rows:
    store = ArchiveTable.open(scene.archive).store
    table = open_catalogue(scene.catalogue, store).load_table("rillway.archive")
    quoted = stream.replace("'", "''")
    condition = f"stream = '{quoted}' AND ms >= {first_ms}"
    return _rows(table.scan(row_filter=condition, selected_fields=tuple(COLUMNS)).to_arrow())


def _rows(table: pa.Table) -> Rows:
    rows: Rows = table.to_pylist()
    return rows


READERS = [by_duckdb, by_duckdb_from_iceberg, by_polars, by_deltalake, by_pyiceberg]


def queried(
    scene: Scene, stream: str, first_ms: int, capsys: pytest.CaptureFixture[str]
) -> dict[str, dict[str, str]]:
    place = ["--archive", scene.archive, "--url", scene.url, "--format", "json"]
    assert query(["--stream", stream, *place, "--from", f"{first_ms}-0"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["id"]: row["fields"] for row in rows}


@pytest.mark.parametrize(("first_ms", "count"), [(0, 90), (50 * HOUR_MS, 40)])
@pytest.mark.parametrize("stream", STREAMS)
def test_readers_agree_with_a_query(
    scene: Scene, stream: str, first_ms: int, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = queried(scene, stream, first_ms, capsys)
    assert len(expected) == count
    for read in READERS:
        rows = read(scene, stream, first_ms)
        assert len(rows) == count
        assert {row["id"]: texts_of(row["fields"]) for row in rows} == expected
        assert {f"{row['ms']}-0" for row in rows} == expected.keys()


def texts_of(fields: Rows) -> dict[str, str]:
    return {bytes(pair["name"]).decode(): bytes(pair["value"]).decode() for pair in fields}


def test_sums_by_stream_agree(scene: Scene) -> None:
    asked = "SELECT stream, count(*), sum(ms) FROM {} GROUP BY stream ORDER BY stream"
    of_delta, of_iceberg = (
        connect(extensions).execute(asked.format(place)).fetchall()
        for extensions, place in (
            (DELTA, f"delta_scan('{scene.archive}')"),
            (ICEBERG, f"iceberg_scan('{scene.metadata}')"),
        )
    )
    assert of_delta == of_iceberg
    assert [row[:2] for row in of_delta] == [(stream, 90) for stream in sorted(STREAMS)]


def test_files_of_other_times_are_not_opened(scene: Scene, tmp_path: Path) -> None:
    """By the statistics of `ts`: the others are not even there."""
    place = shutil.copytree(scene.archive, tmp_path / "archive")
    first_ms = max(file.first_ms for file in ArchiveTable.open(place).files())
    earlier = [file for file in ArchiveTable.open(place).files() if file.last_ms < first_ms]
    assert earlier
    for file in earlier:
        (place / file.path).unlink()
    since = datetime.fromtimestamp(first_ms / 1000, UTC)
    found = pl.scan_delta(str(place)).filter(pl.col("ts") >= since).select("ms").collect()
    assert found["ms"].min() == first_ms


@GOOGLES_THOROUGH
def test_sql_reads_an_object_store(
    redis_link: Connection, object_store: ObjectStore, capsys: pytest.CaptureFixture[str]
) -> None:
    table = ArchiveTable.open_or_create(object_store.uri, object_store.options)
    set_columns(table, from_options(["orders=n INT"]))
    add_many(redis_link, 10)
    archive(redis_link, table)
    add_many(redis_link, 5, 11)
    words = ["--archive", object_store.uri, "--url", redis_link.url, "--format", "csv"]
    for name, value in object_store.options.items():
        words += ["--storage-option", f"{name}={value}"]
    text = "SELECT count(*) c, sum(n)::INT, max(fields['n']) FROM orders WHERE n < 8"
    assert ask_sql([text, *words]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "13,38,7"
