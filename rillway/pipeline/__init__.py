"""The data pipeline: streams to Spark and back, the archive, queries over both, replay.

A client like any other: it works with Rillway and with Redis from 7.0 on, and uses what only
Rillway has where the server's COMMAND lists it. Needs the extra `rillway[archive]`; what runs on
Spark needs `rillway[pipeline]` and Java 17.
See docs/reference/spark.md and docs/how-to/archive.md for what it does, and
docs/architecture/pipeline.md for how.

    wire/          one connection to a server, and what the server reports
    arrow/         entries and rows in Arrow columns
    ranges/        which entries to read, split into tasks
    spark/         the formats, their readers and writers, the session
    cli/           what the commands share
    archive/       `rillway archive`: entries that left memory, as a Delta table
    query/         `rillway query`: archive and memory as one
    relations/     `rillway sql`: SQL over both, by DuckDB
    replay/        `rillway replay`: archived entries, added to a stream again
    dead_letters/  `rillway dead-letters`: entries that were delivered too often
    lag/           `rillway lag`: how far consumer groups are behind
    why/           `rillway why`: what holds the entries of a group
    latency/       `rillway latency`: how long entries waited and were processed
    jobs/          entry points for spark-submit

Importing this package imports neither Spark nor Arrow: Spark's planner imports every data source
that it finds, whether it is used or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rillway.lazy import lazy

if TYPE_CHECKING:
    from rillway.pipeline.query.frames import read_history
    from rillway.pipeline.relations.answer import sql
    from rillway.pipeline.spark.frames import stream_frame
    from rillway.pipeline.spark.spark_session import spark_session

__all__ = ["read_history", "spark_session", "sql", "stream_frame"]

HOMES = {
    "read_history": "rillway.pipeline.query.frames",
    "stream_frame": "rillway.pipeline.spark.frames",
    "spark_session": "rillway.pipeline.spark.spark_session",
    "sql": "rillway.pipeline.relations.answer",
}


__getattr__ = lazy(__name__, HOMES)
