"""A history as a DataFrame of Spark.

Spark's own readers read the archive where they can; elsewhere its tasks do (spark_rows.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from rillway.pipeline.archive.files.parquet_files import EPOCH
from rillway.pipeline.archive.files.rows import Segment, StreamRows
from rillway.pipeline.archive.limits import ALL
from rillway.pipeline.query.history import History, open_history
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import MAX_ID, MAX_SEQ, MIN_ID, MS, NONE, NS, US, format_id, ms_of
from rillway.pipeline.wire.urls import DEFAULT_URL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# `ts` in Spark's SQL if IDs are not in milliseconds.
SQL_TIMES = {
    US: "timestamp_micros(ms)",
    NS: "timestamp_micros(ms div 1000)",
    NONE: "cast(NULL AS TIMESTAMP)",
}


def data_frame(history: History, spark: SparkSession) -> DataFrame:
    """Return the history as a Spark DataFrame, in no particular order."""
    if not history.is_plain:
        from rillway.pipeline.query.spark_rows import task_frame

        # What is in memory is typed there, too.
        live = history.live if history.staged is None else None
        parts = [task_frame(spark, replace(history, live=live), _spark_schema(history))]
    else:
        parts = _plain_frames(history, spark)
    if history.staged is not None:
        parts.append(spark.read.schema(_spark_schema(history)).parquet(str(history.staged)))
    if not parts:
        return spark.createDataFrame([], _spark_schema(history))
    return reduce(lambda one, other: one.unionByName(other), parts)


def _plain_frames(history: History, spark: SparkSession) -> list[DataFrame]:
    from pyspark.sql import functions

    parts = []
    if history.archived is not None:
        parts += [
            _archive_frame(history, spark, history.archived, segment)
            for segment in history.archived.segments
            if history.archived.named_files(segment)
        ]
    if history.staged is None and history.live is not None:
        live = _live_frame(history, spark, *history.live)
        if history.unit != MS:
            live = live.withColumn("ts", functions.expr(SQL_TIMES[history.unit]))
        parts.append(live.withColumn(EPOCH, functions.lit(history.epoch)))
    return parts


def _spark_schema(history: History) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import IntegerType

    from rillway.pipeline.arrow.schema import spark_schema

    schema = spark_schema().add(EPOCH, IntegerType())
    for column in history.typed:
        schema.add(column.name, from_arrow_type(column.type))
    return schema


def _archive_frame(
    history: History, spark: SparkSession, rows: StreamRows, segment: Segment
) -> DataFrame:
    from pyspark.sql import functions

    schema = _spark_schema(history)
    root = rows.store.folder
    paths = [f"{root}/{file.path}" for file in rows.named_files(segment)]
    is_wanted = (functions.col("stream") == history.stream) & (
        functions.col(EPOCH) == segment.epoch
    )
    frame = spark.read.schema(schema).parquet(*paths).where(is_wanted)
    return frame.where(sql_between(segment.first, segment.last)).select(*schema.names)


def _live_frame(history: History, spark: SparkSession, first: int, last: int) -> DataFrame:
    # Removed entries are counted from here: those after the archived end were checked before.
    start = Position(first - 1, history.facts.trimmed)
    return (
        spark.read.format("redis-streams")
        .option("url", history.url)
        .option("stream", history.stream)
        .option("schemaMode", "fields")
        .option("startingOffsets", json.dumps({history.stream: start.as_json()}))
        .option("endingOffsets", json.dumps({history.stream: format_id(last)}))
        .load()
    )


def sql_between(first: int, last: int) -> str:
    """Return the SQL condition for IDs between two others, both included.

    The bounds of `ms` are separate terms, by which Parquet skips row groups.
    """
    low, high = ms_of(first), min(ms_of(last), (1 << 63) - 1)
    least, most = first & MAX_SEQ, last & MAX_SEQ if ms_of(last) == high else MAX_SEQ
    return (
        f"ms >= {low} AND ms <= {high}"
        f" AND (ms > {low} OR seq >= {least}BD) AND (ms < {high} OR seq <= {most}BD)"
    )


@contextmanager
def read_history(
    spark: SparkSession,
    *,
    stream: str,
    archive: str | Path | None,
    url: str = DEFAULT_URL,
    first: int = MIN_ID,
    last: int = MAX_ID,
    epochs: str = ALL,
    fail_if_missing: bool = True,
    storage_options: Mapping[str, str] | None = None,
) -> Iterator[DataFrame]:
    """Yield a DataFrame over archive and stream, which is held during the `with` block.

    `first` and `last` are IDs, both included; `make_id(ms)` of rillway.pipeline.wire.ids makes one
    of a time. `epochs`: `all`, or `current` for the history that leads to the stream in memory.
    Columns: stream, id, ms, seq, ts, fields, epoch, and the archive's typed columns for the stream.
    Raises the errors of open_history; errors of tasks are raised by Spark.
    """
    with open_history(
        url,
        stream,
        archive,
        first,
        last,
        epochs=epochs,
        fails_if_missing=fail_if_missing,
        storage_options=storage_options,
    ) as history:
        yield data_frame(history, spark)
