"""Counts the entries of a large journal with Spark.

The tasks count, and return a row for each distinct time. journal.py explains the numbers.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rillway.pipeline.latency.distribution import LatencyCounts
from rillway.pipeline.latency.journal import NAMES, NUMBER, TIME_ID

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNT, PENDING, TOTAL, UNREADABLE = "count", "pending", "total", "unreadable"


def count_with_spark(
    entries: DataFrame, stream: str, groups: Collection[str] = ()
) -> LatencyCounts:
    """Count `entries`, with the columns of schema.py; reads them once. Raises Spark's errors."""
    from pyspark.sql import functions as sql

    wanted = sql.col("stream") == stream
    if groups:
        wanted &= sql.col("group").isin(*groups)
    # Several rows for an entry, or none if it is not wanted.
    times = (
        sql.when(~_is_readable(), sql.array(_time(UNREADABLE, _unknown())))
        .when(wanted, sql.array(*_times()))
        .otherwise(sql.array())
    )
    counted = (
        _with_values(entries)
        .select("group", "consumer", sql.explode(times).alias("time"))
        .groupBy("group", "consumer", "time.what", "time.ms")
        .count()
    )
    tally = LatencyCounts()
    for group, consumer, what, ms, number in counted.toLocalIterator():
        if what == UNREADABLE:
            tally.unreadable += number
        elif what == COUNT:
            tally.of(group, consumer).count += number
        elif ms is not None:
            getattr(tally.of(group, consumer), what).add(ms, number)
    return tally


def _with_values(entries: DataFrame) -> DataFrame:
    """Add `names`, the names of an entry's fields, and a column for the value of each."""
    from pyspark.sql import functions as sql

    fields = sql.col("fields")
    return entries.select(
        sql.transform(fields, lambda pair: pair["name"].cast("string")).alias("names"),
        *(
            sql.get(fields, sql.lit(place))["value"].cast("string").alias(name)
            for place, name in enumerate(NAMES)
        ),
    )


def _is_readable() -> Column:
    from pyspark.sql import functions as sql

    is_readable = sql.col("names") == sql.array(*map(sql.lit, NAMES))
    for name in ("delivered", "acked", "deliveries"):
        is_readable &= sql.col(name).rlike(NUMBER)
    return sql.coalesce(is_readable, sql.lit(False))


def _times() -> list[Column]:
    """Return the values to count of one entry: structs of a measure and its ms."""
    from pyspark.sql import functions as sql

    delivered, acked = (sql.col(name).try_cast("bigint") for name in ("delivered", "acked"))
    id_ms = sql.split(sql.col("id"), "-")[0].try_cast("bigint")
    return [
        _time(COUNT, _unknown()),
        _time(PENDING, _between(sql.when(delivered != 0, delivered), acked)),
        _time(TOTAL, _between(sql.when(sql.col("id").rlike(TIME_ID), id_ms), acked)),
    ]


def _time(what: str, ms: Column) -> Column:
    from pyspark.sql import functions as sql

    return sql.struct(sql.lit(what).alias("what"), ms.alias("ms"))


def _unknown() -> Column:
    from pyspark.sql import functions as sql

    return sql.lit(None).cast("bigint")


def _between(start: Column, end: Column) -> Column:
    from pyspark.sql import functions as sql

    # greatest() would return 0 for an unknown start.
    return sql.when(start.isNotNull(), sql.greatest(end - start, sql.lit(0)))
