"""The formats by their names, in Spark itself: what can be seen from outside of the classes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rillway.pipeline.arrow.group_tables import GROUPS_SCHEMA, PENDING_SCHEMA
from rillway.pipeline.spark.spark_session import root_cause, spark_session
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.group_scene import deliver_again, pending_stream
from tests.rillway.pipeline.scene import add, add_many, stream_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.pipeline]


def test_a_session_runs_in_utc_and_knows_the_format(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark_session("another") is spark
    assert os.environ["PYSPARK_PYTHON"]


def read(spark: SparkSession, link: Connection, **options: Any) -> DataFrame:
    return spark.read.format("redis-streams").options(url=link.url, **options).load()


def test_the_format_is_found_without_registration(spark: SparkSession, link: Connection) -> None:
    """In a session that knows nothing of this package: what others register is not copied."""
    add_many(link, "s", 10)
    fresh = spark.newSession()
    assert read(fresh, link, stream="s").count() == 10


def test_entries_come_as_rows_with_types(spark: SparkSession, link: Connection) -> None:
    add(link, "s", ["1700000000123-7"], "item", "lamp")
    (row,) = (
        read(spark, link, stream="s", schemaMode="fields")
        .selectExpr(
            "stream", "id", "ms", "cast(seq AS INT) AS seq", "cast(ts AS STRING) AS ts", "fields"
        )
        .collect()
    )
    assert row.asDict(recursive=True) == {
        "stream": "s",
        "id": "1700000000123-7",
        "ms": 1_700_000_000_123,
        "seq": 7,
        "ts": "2023-11-14 22:13:20.123",
        "fields": [{"name": bytearray(b"item"), "value": bytearray(b"lamp")}],
    }


@pytest.mark.thorough
def test_what_is_shown_is_text(spark: SparkSession, link: Connection) -> None:
    add(link, "s", ["1700000000123-7"], "item", "lamp", "price", "3")
    shown = read(spark, link, stream="s")._jdf.showString(20, 0, False)
    assert "{item -> lamp, price -> 3}" in shown


@pytest.mark.thorough
def test_columns_can_be_asked_for_by_name(spark: SparkSession, link: Connection) -> None:
    add(link, "s", ["1-0", "2-0"], "item", "lamp", "count", "3")
    reader = spark.read.format("redis-streams").schema("item STRING, count INT, _ms BIGINT")
    rows = reader.options(url=link.url, stream="s", schemaMode="columns").load()
    assert rows.where("_ms > 1").collect() == [("lamp", 3, 2)]


@pytest.mark.thorough
def test_a_filter_does_not_leak_into_the_next_query(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 100)
    rows = read(spark, link, stream="s", minPartitions=3)
    assert rows.where("ms < 30").count() == 29
    assert rows.count() == 100
    assert rows.where("ms < 30").union(rows.where("ms >= 30")).count() == 100


def test_an_unknown_option_is_told_to_the_user(spark: SparkSession, link: Connection) -> None:
    with pytest.raises(Exception, match="startingOffset") as raised:
        read(spark, link, stream="s", startingOffset="earliest").count()
    # Spark hands the names of options over in lower case.
    hint = "there is no option startingoffset: did you mean startingOffsets?"
    assert root_cause(raised.value) == hint


def drain(query: Any) -> None:
    assert query.awaitTermination(600), "the query did not end"


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoint")


def copy(spark: SparkSession, link: Connection, checkpoint: str, **options: str) -> Any:
    """A query that copies `s` to `copied`, exactly once, and ends when it has come to the end."""
    source = {"url": link.url, "stream": "s", "startingOffsets": "earliest", "groupName": "copy"}
    entries = spark.readStream.format("redis-streams").options(**source | options).load()
    sink = {"url": link.url, "stream": "copied", "delivery": "exactly-once"}
    writer = entries.writeStream.format("redis-streams").options(**sink)
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()


def offset(progress: Any, name: str) -> Any:
    """The position of `s` in an offset of a query's progress."""
    found = progress["sources"][0][name]
    return (json.loads(found) if isinstance(found, str) else found)["s"]


def values(link: Connection, stream: str) -> Iterator[bytes]:
    return (entry[1][1] for entry in link.call("XRANGE", stream, "-", "+"))


def test_a_query_copies_a_stream_batch_by_batch_and_goes_on_later(
    spark: SparkSession, link: Connection, checkpoint: str
) -> None:
    add_many(link, "s", 50)
    query = copy(spark, link, checkpoint, maxEntriesPerTrigger="20")
    drain(query)
    progress = [each for each in query.recentProgress if each["numInputRows"]]
    assert [each["numInputRows"] for each in progress] == [20, 20, 10]
    behind = [
        offset(each, "latestOffset")["n"] - offset(each, "endOffset")["n"] for each in progress
    ]
    assert behind == [30, 10, 0]
    position = offset(progress[-1], "endOffset")
    assert (position["id"], position["n"]) == ("50-0", 50)
    anchors = [each.partition(" ")[0] for each in position["h"].split(",")]
    assert anchors[:10] == [f"{n}-0" for n in range(50, 40, -1)]
    add_many(link, "s", 5, first=51)
    drain(copy(spark, link, checkpoint))
    # As bytes: `copied` has IDs of its own.
    assert [int(value.partition(b"-")[0]) for value in values(link, "copied")] == list(range(1, 56))


@pytest.mark.thorough
def test_a_batch_that_is_run_again_is_not_written_again(
    spark: SparkSession, link: Connection, checkpoint: str
) -> None:
    add_many(link, "s", 30)
    drain(copy(spark, link, checkpoint))
    # As if the driver had died before it noted that the batch is done.
    commits = Path(checkpoint) / "commits"
    for name in ("0", ".0.crc"):
        (commits / name).unlink(missing_ok=True)
    add_many(link, "s", 5, first=31)
    drain(copy(spark, link, checkpoint))
    assert len(stream_ids(link, "copied")) == 35


@pytest.mark.thorough
def test_a_history_that_diverged_ends_a_query_or_is_read_again(
    spark: SparkSession, link: Connection, checkpoint: str
) -> None:
    """A failover that loses ten entries; the clock of the new primary is behind."""
    add_many(link, "s", 40)
    replica = link.call("DUMP", "s")
    add_many(link, "s", 10, first=41)
    drain(copy(spark, link, checkpoint))
    link.call("RESTORE", "s", 0, replica, "REPLACE")
    new = [f"40-{n}" for n in range(1, 6)] + [f"{n}-0" for n in range(51, 76)]
    add(link, "s", new)
    before = list(values(link, "copied"))
    with pytest.raises(Exception, match="history diverged") as raised:
        copy(spark, link, checkpoint).awaitTermination(600)
    assert "s: had been read up to 50-0, 50 entries, but the history" in root_cause(raised.value)
    assert list(values(link, "copied")) == before
    drain(copy(spark, link, checkpoint, failOnDataLoss="false"))
    copied = [value.decode() for value in values(link, "copied")]
    assert copied[-30:] == new
    assert set(stream_ids(link, "s")) <= set(copied)
    # From there on as always.
    add_many(link, "s", 5, first=100)
    drain(copy(spark, link, checkpoint))
    assert [value.decode() for value in values(link, "copied")] == [
        *copied,
        *(f"{n}-0" for n in range(100, 105)),
    ]


@pytest.mark.thorough
def test_entries_deleted_before_a_batch_is_run_again_shift_nothing(
    spark: SparkSession, link: Connection, checkpoint: str
) -> None:
    """A task fails in the third slice, and the query with it; then copied entries are deleted."""
    add_many(link, "s", 10_000)
    source = {"url": link.url, "stream": "s", "startingOffsets": "earliest"}
    entries = (
        spark.readStream.format("redis-streams").options(**source, entriesPerPartition=2500).load()
    )

    def start(rows: DataFrame) -> Any:
        sink = {"url": link.url, "stream": "copied", "delivery": "exactly-once"}
        writer = rows.writeStream.format("redis-streams").options(**sink)
        return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()

    bad = "ms = 6000 AND raise_error('a task fails') IS NOT NULL"
    with pytest.raises(Exception, match="a task fails"):
        start(entries.where(f"NOT ({bad})")).awaitTermination(600)
    before = link.call("XLEN", "copied")
    assert 0 < before < 10_000
    link.call("XDEL", "s", "3-0", "2600-0", "5001-0", "5500-0")
    drain(start(entries))
    found = [int(value.partition(b"-")[0]) for value in values(link, "copied")]
    assert len(found) == len(set(found))
    assert set(range(1, 10_001)) - set(found) <= {3, 2600, 5001, 5500}


@pytest.mark.thorough
def test_a_task_that_fails_is_tried_again_and_writes_each_row_once(
    spark: SparkSession, link: Connection
) -> None:
    from pyspark import TaskContext

    def fail_at_first(rows: Iterable[int]) -> Iterable[tuple[str]]:
        task = TaskContext.get()
        for number, row in enumerate(rows):
            if task is not None and task.attemptNumber() == 0 and number == 12_000:
                raise RuntimeError("the first attempt of each task fails in the middle")
            yield (str(row),)

    numbers = spark.sparkContext.range(0, 30_000, 1, 2).mapPartitions(fail_at_first)
    rows = spark.createDataFrame(numbers, "n STRING")
    options = {"url": link.url, "stream": "s", "delivery": "exactly-once", "writeId": "w"}
    rows.write.format("redis-streams").options(**options).mode("append").save()
    found = [int(value) for value in values(link, "s")]
    assert len(found) == 30_000
    assert sorted(found) == list(range(30_000))


@pytest.mark.thorough
def test_spark_finds_the_formats_by_their_names(spark: SparkSession, link: Connection) -> None:
    pending_stream(link, "s", 9)
    deliver_again(link, ["1-0", "5-0"], 8)
    options = {"url": link.url, "stream": "s"}
    pending = spark.read.format("redis-streams-pending").options(**options, minPartitions=3).load()
    assert pending.rdd.getNumPartitions() == 3
    often = pending.where("deliveries > 3").orderBy("id").collect()
    assert [row.id for row in often] == ["1-0", "5-0"]
    groups = spark.read.format("redis-streams-groups").options(**options).load()
    [row] = groups.selectExpr("group", "pending", "consumers[0].name AS who").collect()
    assert (row.group, row.pending, row.who) == ("g", 9, "c")
    assert [field.name for field in groups.schema] == GROUPS_SCHEMA.names
    assert [field.name for field in pending.schema] == PENDING_SCHEMA.names
