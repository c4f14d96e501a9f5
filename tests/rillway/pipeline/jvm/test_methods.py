"""Every method by which Spark reads and writes: what works, and what says why it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rillway.pipeline.spark.spark_session import root_cause
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import add_many

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

pytestmark = [pytest.mark.integration, pytest.mark.pipeline, pytest.mark.thorough]

FORMAT = "redis-streams"


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Spark has a dozen kinds
        action()
    return root_cause(raised.value)


def entries(spark: SparkSession, link: Connection) -> DataFrame:
    add_many(link, "s", 5)
    return spark.read.format(FORMAT).options(url=link.url, stream="s").load()


def test_methods_of_the_reader(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 5)
    add_many(link, "t", 2)

    def reader() -> Any:
        return spark.read.format(FORMAT).option("url", link.url)

    assert reader().option("stream", "s").load().count() == 5
    assert reader().load("s").count() == 5
    assert reader().load(["s", "t"]).count() == 7
    assert spark.read.load("s", format=FORMAT, url=link.url).count() == 5
    columns = reader().schema("n STRING").options(schemaMode="columns")
    assert columns.load("s").first() == ("1-0",)
    assert "schemaMode=columns" in refusal(lambda: reader().schema("n STRING").load("s").count())


def test_a_table_of_the_catalog_is_read_with_options(spark: SparkSession, link: Connection) -> None:
    """Spark does not hand on those that CREATE TABLE gave; a temporary view keeps them."""
    add_many(link, "s", 5)
    given = f"OPTIONS (url '{link.url}', stream 's')"
    spark.sql("DROP TABLE IF EXISTS entries")
    spark.sql(f"CREATE TABLE entries USING `{FORMAT}` {given} TBLPROPERTIES ('a' = 'b')")
    options = f"WITH ('url' = '{link.url}', 'stream' = 's')"
    assert spark.sql(f"SELECT * FROM entries {options}").count() == 5
    assert spark.read.options(url=link.url, stream="s").table("entries").count() == 5
    rows = spark.read.format(FORMAT).options(url=link.url, stream="s").load()
    for action in (
        lambda: spark.table("entries").count(),
        lambda: spark.sql("INSERT INTO entries SELECT * FROM entries " + options),
        lambda: rows.write.insertInto("entries"),
        rows.writeTo("entries").append,
    ):
        assert "CREATE TEMPORARY VIEW" in refusal(action)
    rows.writeTo("entries").options(url=link.url, stream="copy").append()
    assert link.call("XLEN", "copy") == 5
    spark.sql("DROP TABLE entries")


def test_a_temporary_view_is_read_and_written(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 5)
    given = f"OPTIONS (url '{link.url}', stream 's')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW live USING `{FORMAT}` {given}")
    assert spark.table("live").count() == 5
    spark.sql("INSERT INTO live SELECT * FROM live")
    assert link.call("XLEN", "s") == 10


def test_methods_of_the_writer(spark: SparkSession, link: Connection) -> None:
    rows = entries(spark, link)

    def writer() -> Any:
        return rows.write.format(FORMAT).options(url=link.url)

    writer().mode("append").option("stream", "copy").save()
    writer().mode("append").save("copy")
    writer().save("copy", mode="append")
    assert link.call("XLEN", "copy") == 15
    assert "mode('append')" in refusal(lambda: writer().mode("overwrite").save("copy"))
    told = refusal(writer().mode("ignore").option("stream", "copy").save)
    assert "Append" in told
    told = refusal(writer().option("stream", "copy").save)
    assert "Append" in told
    for name in ("partitionBy", "clusterBy"):
        appender = getattr(writer().mode("append").option("stream", "copy"), name)("id")
        assert "do not match the existing table" in refusal(appender.save)
    assert "bucketBy" in refusal(lambda: writer().mode("append").bucketBy(2, "id").save("copy"))
    assert link.call("XLEN", "copy") == 15


def reader_of(spark: SparkSession, link: Connection) -> DataStreamReader:
    options = {"url": link.url, "startingOffsets": "earliest"}
    return spark.readStream.format(FORMAT).options(**options)


def finish(query: StreamingQuery) -> int:
    """How many rows it has read."""
    assert query.awaitTermination(600), "the query did not end"
    return sum(progress["numInputRows"] for progress in query.recentProgress)


@pytest.fixture
def writer_of(spark: SparkSession, link: Connection, tmp_path: Path) -> Any:
    numbers = iter(range(100))

    def make(rows: DataFrame | None = None) -> DataStreamWriter:
        chosen = rows if rows is not None else reader_of(spark, link).load("s")
        checkpoint = str(tmp_path / f"checkpoint-{next(numbers)}")
        writer = chosen.writeStream.format(FORMAT).options(url=link.url, stream="copy")
        return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)

    return make


def test_methods_of_the_streaming_writer(
    spark: SparkSession, link: Connection, writer_of: Any
) -> None:
    add_many(link, "s", 5)
    query = writer_of().queryName("copying").start()
    assert query.name == "copying"
    assert finish(query) == 5
    assert finish(writer_of().outputMode("append").start(queryName="other", path="copy")) == 5
    assert finish(writer_of().partitionBy("stream").start()) == 5
    assert finish(writer_of().trigger(once=True).start()) == 5
    assert link.call("XLEN", "copy") == 20
    told = refusal(lambda: finish(writer_of().outputMode("update").start()))
    assert "does not support Update mode" in told
    told = refusal(lambda: finish(writer_of().trigger(continuous="1 second").start()))
    assert "does not support continuous processing" in told


def test_methods_of_the_streaming_reader(
    spark: SparkSession, link: Connection, writer_of: Any
) -> None:
    add_many(link, "s", 5)
    columns = reader_of(spark, link).schema("n STRING").options(schemaMode="columns")
    assert finish(writer_of(columns.load("s")).start()) == 5
    assert finish(writer_of(reader_of(spark, link).option("stream", "s").load()).start()) == 5
    assert link.call("XLEN", "copy") == 10
    batches: list[int] = []
    keep = writer_of().foreachBatch(lambda rows, number: batches.append(rows.count()))
    finish(keep.start())
    assert batches == [5]


def test_a_query_that_runs_for_ever_is_stopped(
    spark: SparkSession, link: Connection, writer_of: Any
) -> None:
    add_many(link, "s", 5)
    query = writer_of().trigger(processingTime="1 second").start()
    query.processAllAvailable()
    query.stop()
    assert link.call("XLEN", "copy") == 5
