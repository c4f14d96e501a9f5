"""The formats and the archive on the oldest Spark that is supported: `make oldest-spark`.

Everything else in this folder runs on the newest one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.engine import SparkEngine
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query.frames import read_history
from rillway.pipeline.spark.frames import stream_frame
from rillway.pipeline.spark.spark_session import root_cause
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.group_scene import pending_stream
from tests.rillway.pipeline.scene import add, add_many, stream_ids
from tests.support.programs.servers import ROOT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.oldest

FORMAT = "redis-streams"


def test_this_is_the_oldest_version_that_pyproject_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (allowed,) = [
        words for words in project["optional-dependencies"]["pipeline"] if "pyspark" in words
    ]
    assert allowed.startswith(f"pyspark>={pyspark.__version__},")


def test_the_format_is_found_without_registration(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 10)
    frame = spark.newSession().read.format(FORMAT).option("url", link.url)
    assert frame.load("s").count() == 10


def test_entries_are_read_with_types_and_written_once(
    spark: SparkSession, link: Connection
) -> None:
    add(link, "s", ["1700000000123-7"], "item", "lamp", "count", "3")
    entries = spark.read.format(FORMAT).options(url=link.url, stream="s").load()
    (row,) = entries.selectExpr("id", "ms", "cast(ts AS STRING) AS ts", "fields.item").collect()
    assert row == ("1700000000123-7", 1_700_000_000_123, "2023-11-14 22:13:20.123", "lamp")
    columns = spark.read.format(FORMAT).schema("item STRING, count INT, _ts TIMESTAMP")
    counted = columns.options(url=link.url, stream="s", schemaMode="columns").load()
    assert counted.select("item", "count").collect() == [("lamp", 3)]
    for _ in range(2):
        writer = entries.write.format(FORMAT).mode("append").option("url", link.url)
        writer.options(stream="copy", delivery="exactly-once", writeId="one").save()
    assert [fields for _, fields in link.call("XRANGE", "copy", "-", "+")] == [
        [b"item", b"lamp", b"count", b"3"]
    ]


@pytest.mark.thorough
def test_halves_of_a_stream_make_the_whole(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 100)
    halves = [
        stream_frame(spark, "s", where=where, columns=["id"], url=link.url)
        for where in ("ms < 30", "ms >= 30")
    ]
    whole = stream_frame(spark, "s", url=link.url)
    for _ in range(2):
        assert [half.count() for half in halves] == [29, 71]
        assert (whole.count(), halves[0].union(halves[1]).distinct().count()) == (100, 100)


def drained(frame: DataFrame, each: Callable[[DataFrame, int], None], checkpoint: Path) -> None:
    writer = frame.writeStream.foreachBatch(each).option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(600)


def stream_of(spark: SparkSession, link: Connection, **options: Any) -> DataFrame:
    reader = spark.readStream.format(FORMAT).options(url=link.url, stream="s", **options)
    return reader.option("startingOffsets", "earliest").load()


@pytest.mark.thorough
def test_a_query_reads_each_entry_once_and_continues_later(
    spark: SparkSession, link: Connection, tmp_path: Path
) -> None:
    found: list[str] = []

    def collect(batch: DataFrame, _: int) -> None:
        found.extend(row.id for row in batch.collect())

    add_many(link, "s", 30)
    drained(stream_of(spark, link, groupName="copy"), collect, tmp_path)
    add_many(link, "s", 5, first=31)
    drained(stream_of(spark, link, groupName="copy"), collect, tmp_path)
    drained(stream_of(spark, link, groupName="copy"), collect, tmp_path)
    assert found == stream_ids(link, "s")
    (group,) = link.call("XINFO", "GROUPS", "s")
    progress = dict(zip(group[::2], group[1::2], strict=True))
    assert (progress[b"name"], progress[b"last-delivered-id"]) == (b"__spark:copy", b"35-0")


def test_what_only_a_newer_spark_can_do_is_refused_by_name(
    spark: SparkSession, link: Connection, tmp_path: Path
) -> None:
    add_many(link, "s", 5)

    def limited() -> None:
        frame = stream_of(spark, link, maxEntriesPerTrigger="2")
        drained(frame, lambda batch, _: None, tmp_path / "limited")

    def written() -> None:
        writer = stream_of(spark, link).writeStream.format(FORMAT).option("url", link.url)
        writer = writer.option("checkpointLocation", str(tmp_path / "sink"))
        writer.option("stream", "copy").trigger(availableNow=True).start().awaitTermination(600)

    limits = f"maxEntriesPerTrigger needs Spark 4.2, and this is {pyspark.__version__}"
    assert refusal_of(limited) == limits
    assert refusal_of(written).startswith("writeStream needs Spark 4.1, and this is 4.0")


def refusal_of(query: Callable[[], None]) -> str:
    """What a query fails with. A Python process has ten seconds to start, on a busy machine too."""
    for _ in range(20):
        with pytest.raises(Exception, match=r"needs Spark|failed to connect back") as raised:
            query()
        if "needs Spark" in str(raised.value):
            break
    return root_cause(raised.value)


def test_groups_and_pending_entries_are_tables(spark: SparkSession, link: Connection) -> None:
    pending_stream(link, "s", 10)
    for name in ("pending", "groups"):
        frame = spark.read.format(f"{FORMAT}-{name}").options(url=link.url, stream="s").load()
        assert frame.count()


def test_spark_archives_a_stream_and_reads_it_again(
    spark: SparkSession, link: Connection, tmp_path: Path
) -> None:
    add_many(link, "s", 30_000)
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    report = Archiver(table, SparkEngine(spark), ArchiverSettings(link.url)).archive("s")
    assert (report.archived, report.trimmed) == (30_000, 29_999)
    add_many(link, "s", 5, first=30_001)
    with read_history(spark, stream="s", archive=table.root, url=link.url) as frame:
        assert frame.select("id").distinct().count() == 30_005
