"""Conditions and columns that bound what is read, in Spark itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rillway.pipeline import stream_frame
from rillway.pipeline.spark.options import OptionError
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import add, add_many

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.pipeline]


def frame(spark: SparkSession, link: Connection, **more: Any) -> DataFrame:
    return stream_frame(spark, "s", url=link.url, **more)


@pytest.mark.thorough
def test_halves_make_the_whole_twice_and_together(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 100)
    first = frame(spark, link, where="ms < 30", minPartitions=3)
    second = frame(spark, link, where="ms >= 30")
    for _ in range(2):
        assert (first.count(), second.count(), frame(spark, link).count()) == (29, 71, 100)
        assert first.union(second).select("id").distinct().count() == 100
    assert first.where("ms >= 10").count() + first.where("ms < 10").count() == 29


def test_only_the_range_is_asked_for(spark: SparkSession, link: Connection) -> None:
    """What lies outside of it may be trimmed at any time, and that is no loss."""
    add_many(link, "s", 100)
    part = frame(spark, link, where="ms >= 51 AND ms < 61 AND id = '55-0'")
    assert part.count() == 1
    late = frame(spark, link, where="ts >= '1970-01-01T00:00:00.091Z'")
    link.call("XTRIM", "s", "MAXLEN", 50)
    assert part.count() == 1
    assert late.count() == 10


@pytest.mark.thorough
def test_each_call_reads_again(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 10)
    assert frame(spark, link, where="ms > 5").count() == 5
    add_many(link, "s", 10, first=11)
    assert frame(spark, link, where="ms > 5").count() == 15


@pytest.mark.thorough
def test_only_the_columns_that_are_wanted_are_made(spark: SparkSession, link: Connection) -> None:
    add(link, "s", ["1-0", "2-0"], "item", "lamp", "price", "3")
    assert frame(spark, link, columns=["ms"]).collect() == [(1,), (2,)]
    some = frame(spark, link, columns=["ts", "id"], where="ms > 1")
    assert some.columns == ["ts", "id"]
    assert [row.id for row in some.collect()] == ["2-0"]
    typed = {"schemaMode": "columns", "where": "_ms > 1 AND item = 'lamp'"}
    assert frame(spark, link, columns=["price", "item"], **typed).collect() == [("3", "lamp")]
    ddl = "item STRING, price INT, other INT, _ms BIGINT"
    wanted = frame(spark, link, columns=["price"], schema=ddl, **typed)
    assert wanted.collect() == [(3,)]
    plan = wanted._jdf.queryExecution().toString()
    assert "price" in plan and "other" not in plan
    with pytest.raises(OptionError, match="there is no column prize"):
        frame(spark, link, columns=["prize"], schema=ddl, **typed)


@pytest.mark.thorough
def test_a_field_called_ms_bounds_nothing_in_whatever_case_the_mode_is_written(
    spark: SparkSession, link: Connection
) -> None:
    add(link, "s", ["1-0", "2-0"], "ms", "500")
    typed = {"schemaMode": " Columns", "schema": "ms BIGINT", "where": "ms > 100"}
    assert frame(spark, link, **typed).collect() == [(500,), (500,)]
    assert frame(spark, link, columns=["ms"], **typed).collect() == [(500,), (500,)]


def test_the_option_columns_needs_no_function(spark: SparkSession, link: Connection) -> None:
    add(link, "s", ["1-0"], "item", "lamp")
    reader = spark.read.format("redis-streams").options(url=link.url, columns="id,fields")
    row = reader.load("s").first()
    assert row is not None and row.asDict() == {"id": "1-0", "fields": {"item": "lamp"}}
    with pytest.raises(Exception, match="columns: there is no column item"):
        reader.option("columns", "item").load("s")


def test_a_range_that_the_user_has_set_stays(spark: SparkSession, link: Connection) -> None:
    add_many(link, "s", 10)
    start = '{"s": "4-0"}'
    assert frame(spark, link, where="ms < 9 AND ms > 2", startingOffsets=start).count() == 4


def test_what_is_refused_is_refused_before_spark_is_asked(
    spark: SparkSession, link: Connection
) -> None:
    """In a sentence, where the DataFrame is made."""
    add_many(link, "s", 10)
    for wrong, sentence in (
        ({"where": "ts >= 'yesterdy'"}, "where: ts >= 'yesterdy' is true for no entry"),
        ({"minPartitons": 3}, "there is no option minpartitons: did you mean minPartitions"),
        ({"pageSize": 0}, "option pageSize: expected a number from 1 up"),
        ({"schema": "at INTERVAL DAY", "schemaMode": "columns"}, "cannot be read from text"),
        ({"schema": "item STRING"}, "needs schemaMode"),
        ({"schemaMode": "columns"}, "needs a schema"),
    ):
        with pytest.raises(ValueError, match=sentence) as caught:
            frame(spark, link, **wrong)
        assert str(caught.value).count("\n") == 0
    # Spark's own words are times.
    assert frame(spark, link, where="ts >= 'yesterday'").count() == 0
    assert frame(spark, link, where="ts < 'yesterday' AND ts > '1970'").count() == 10
