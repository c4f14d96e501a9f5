"""Streams for tests of the pipeline, and Spark's classes without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.types import StructType

from rillway.pipeline.spark.datasource import RedisStreams
from rillway.pipeline.spark.source import BatchReader, StreamReader
from rillway.pipeline.wire.connection import Connection


def add(link: Connection, stream: str, ids: Iterable[str], *fields: str) -> None:
    """Entries with these IDs; `n` is the ID itself unless `fields` are given."""
    replies = link.call_all(
        [("XADD", stream, entry_id, *(fields or ("n", entry_id))) for entry_id in ids]
    )
    assert not [reply for reply in replies if isinstance(reply, Exception)], replies


def add_many(link: Connection, stream: str, count: int, first: int = 1) -> None:
    """Entries `first-0` and so on."""
    add(link, stream, (f"{number}-0" for number in range(first, first + count)))


def stream_ids(link: Connection, stream: str) -> list[str]:
    return [entry[0].decode() for entry in link.call("XRANGE", stream, "-", "+")]


def datasource(link: Connection, **options: Any) -> RedisStreams:
    texts = {name: str(value) for name, value in options.items()}
    return RedisStreams(CaseInsensitiveDict({"url": link.url} | texts))


def batch_reader(link: Connection, schema: StructType | None = None, **options: Any) -> BatchReader:
    source = datasource(link, **options)
    return source.reader(schema=schema or source.schema())


def stream_reader(link: Connection, **options: Any) -> StreamReader:
    source = datasource(link, **options)
    return source.streamReader(schema=source.schema())


def ids_of(batches: Iterable[pa.RecordBatch]) -> list[str]:
    return [entry_id for batch in batches for entry_id in batch.column("id").to_pylist()]


def read_all(
    reader: BatchReader | StreamReader, partitions: Iterable[InputPartition]
) -> list[list[str]]:
    """The IDs that each partition gives."""
    return [ids_of(reader.read(partition)) for partition in partitions]


def joined(parts: Iterable[list[str]]) -> list[str]:
    return [item for part in parts for item in part]
