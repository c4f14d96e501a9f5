"""The archive and a query as Spark runs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rillway.client.partitions import Partitions
from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.engine import EngineFailed, SparkEngine
from rillway.pipeline.archive.files.store import store_of
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.tasks import Part, PartLost, WriteTask
from rillway.pipeline.query.command import AS_TEXT, QueryFailed, select
from rillway.pipeline.query.frames import data_frame, read_history
from rillway.pipeline.query.history import open_history
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from rillway.testing.processes import RillwayCluster
from tests.rillway.pipeline.ranges.test_filters import CONDITIONS, ENTRIES
from tests.rillway.pipeline.scene import add_many, ids_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.pipeline

STREAM = "orders"


@pytest.fixture
def table(link: Connection, spark: SparkSession, tmp_path: Path) -> ArchiveTable:
    """30,000 entries, archived by two tasks and trimmed, and 5,000 more in the stream."""
    add_many(link, STREAM, 30_000)
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    report = Archiver(table, SparkEngine(spark), ArchiverSettings(link.url)).archive(STREAM)
    assert (report.archived, report.trimmed) == (30_000, 29_999)
    assert len(table.files(STREAM)) == 2
    add_many(link, STREAM, 5_000, 30_001)
    return table


@pytest.mark.thorough
def test_a_data_frame_spans_archive_and_stream(
    link: Connection, spark: SparkSession, table: ArchiveTable, tmp_path: Path
) -> None:
    with read_history(spark, stream=STREAM, archive=table.root, url=link.url) as frame:
        assert frame.count() == 35_000
        assert frame.select("id").distinct().count() == 35_000
    bounds: dict[str, Any] = {"first": parse_id("29999-0"), "last": parse_id("30002-0")}
    with read_history(spark, stream=STREAM, archive=table.root, url=link.url, **bounds) as frame:
        found = {row.id: bytes(row.fields[0].value).decode() for row in frame.collect()}
    assert found == {f"{n}-0": f"{n}-0" for n in range(29_999, 30_003)}

    where = "fields['n'] LIKE '%999-0' AND ms > 28000"
    with open_history(link.url, STREAM, table.root) as history:
        batches = list(select(data_frame(history, spark), where, None))
        in_python = [
            entry_id
            for entry_id in ids_of(history.batches())
            if entry_id.endswith("999-0") and int(entry_id.split("-")[0]) > 28_000
        ]
        assert ids_of(batches) == in_python
        assert ids_of(select(data_frame(history, spark), where, 2)) == in_python[:2]
        # A copy of what is in memory gives the same.
        history.stage(tmp_path)
        assert list(select(data_frame(history, spark), where, None)) == batches
        with pytest.raises(QueryFailed, match="nonsense"):
            list(select(data_frame(history, spark), "nonsense = 1", None))


@pytest.mark.thorough
def test_conditions_mean_without_spark_what_they_mean_with_it(
    link: Connection, spark: SparkSession
) -> None:
    for entry_id, words in ENTRIES:
        link.call("XADD", "s", entry_id, *(words or [b"x", b""]))
    spark.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
    with open_history(link.url, "s", None) as history:
        history.unit = "ms"  # of made-up IDs as well
        frame = data_frame(history, spark).selectExpr("*", f"{AS_TEXT} AS texts")
        columns = [
            "id",
            *(
                re.sub(r"fields(?=[.[])", "texts", condition, flags=re.IGNORECASE)
                for condition in CONDITIONS
            ),
        ]
        rows = sorted(frame.selectExpr(*columns).collect(), key=lambda row: parse_id(row[0]))
    for number, (condition, ids) in enumerate(CONDITIONS.items(), 1):
        assert [row[0] for row in rows if row[number]] == ids.split(), condition


def test_errors_of_tasks_are_one_line(
    link: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    add_many(link, STREAM, 10)
    engine = SparkEngine(spark)
    parts = (Part(STREAM, 0, parse_id("10-0"), parse_id("1-0"), 10),)
    link.call("XTRIM", STREAM, "MAXLEN", 4)
    with pytest.raises(PartLost, match="were trimmed before they were read"):
        engine.write([WriteTask(link.url, store_of(tmp_path), parts)])
    with pytest.raises(EngineFailed) as failed:
        engine.write([WriteTask("redis://127.0.0.1:1", store_of(tmp_path), parts)])
    assert "\n" not in str(failed.value)


@pytest.mark.thorough
def test_tasks_read_the_nodes_of_a_cluster(
    rillway_cluster: RillwayCluster, spark: SparkSession, tmp_path: Path
) -> None:
    streams = Partitions("orders", 6).streams
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    with connect(rillway_cluster.url) as link:
        for stream in streams:
            add_many(link, stream, 500)
        archiver = Archiver(table, SparkEngine(spark), ArchiverSettings(link.url))
        outcome = archiver.round(streams)
        assert (outcome.archived, outcome.failures) == (3_000, {})
        # A task has the streams of one node, and writes a file.
        assert outcome.files == len({link.place(stream) for stream in streams}) > 1
        assert [link.call("XLEN", stream) for stream in streams] == [1] * 6
