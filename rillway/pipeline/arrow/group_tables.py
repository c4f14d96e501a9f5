"""Pending entries and groups as columns, for Arrow and for Spark.

As in schema.py, the schemas for Arrow and for Spark are side by side: Spark compares them exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from rillway.pipeline.arrow.decoder import timestamps
from rillway.pipeline.arrow.schema import TIMESTAMP
from rillway.pipeline.wire.ids import MS, age_ms, format_id
from rillway.pipeline.wire.pending import PendingEntry, PendingSlice
from rillway.sampler import ConsumerFigures
from rillway.sampler.trend import GroupSample

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

MAX_INT64 = (1 << 63) - 1

PENDING_SCHEMA = pa.schema(
    {
        "stream": pa.string(),
        "group": pa.string(),
        "consumer": pa.string(),
        "id": pa.string(),
        "idle_ms": pa.int64(),
        "deliveries": pa.int64(),
        "delivered_at": TIMESTAMP,
        "age_ms": pa.int64(),
    }
)
CONSUMER = pa.struct(
    {
        "name": pa.string(),
        "pending": pa.int64(),
        "idle_ms": pa.int64(),
        "inactive_ms": pa.int64(),
    }
)
GROUPS_SCHEMA = pa.schema(
    {
        "stream": pa.string(),
        "group": pa.string(),
        "time": TIMESTAMP,
        "lag": pa.int64(),
        "pending": pa.int64(),
        "entries_read": pa.int64(),
        "last_delivered_id": pa.string(),
        "stream_length": pa.int64(),
        "stream_entries_added": pa.int64(),
        "stream_last_id": pa.string(),
        "consumers": pa.list_(pa.field("element", CONSUMER)),
    }
)


def pending_batch(
    part: PendingSlice, entries: Sequence[PendingEntry], now_ms: int
) -> pa.RecordBatch:
    """Return a batch of pending entries. `now_ms`: the server's time when they were read."""
    columns = {
        "stream": [part.stream] * len(entries),
        "group": [part.group] * len(entries),
        "consumer": [
            entry.consumer.decode(errors="backslashreplace") if entry.has_owner else None
            for entry in entries
        ],
        "id": [format_id(entry.id) for entry in entries],
        "idle_ms": [entry.idle_ms for entry in entries],
        "deliveries": [entry.deliveries for entry in entries],
        "delivered_at": timestamps(
            pa.array([_minus(now_ms, entry.idle_ms) for entry in entries], pa.int64())
        ),
        "age_ms": [age_ms(entry.id, MS, now_ms) for entry in entries],
    }
    return pa.RecordBatch.from_pydict(columns, schema=PENDING_SCHEMA)


def _minus(now_ms: int, idle_ms: int | None) -> int | None:
    return None if idle_ms is None else now_ms - idle_ms


def groups_batch(samples: Sequence[GroupSample]) -> pa.RecordBatch:
    columns = {
        name: [getattr(sample, name) for sample in samples]
        for name in GROUPS_SCHEMA.names
        if name not in ("time", "consumers")
    }
    columns["time"] = timestamps(pa.array([sample.time_ms for sample in samples], pa.int64()))
    columns["consumers"] = [
        [_consumer(member) for member in sample.consumers] for sample in samples
    ]
    return pa.RecordBatch.from_pydict(columns, schema=GROUPS_SCHEMA)


def _consumer(member: ConsumerFigures) -> dict[str, object]:
    row = {name: getattr(member, name) for name in CONSUMER.names}
    return row | {"name": member.name.decode(errors="backslashreplace")}


def pending_spark_schema() -> StructType:
    """PENDING_SCHEMA for Spark."""
    return _to_spark(PENDING_SCHEMA)


def groups_spark_schema() -> StructType:
    """GROUPS_SCHEMA for Spark."""
    return _to_spark(GROUPS_SCHEMA)


def _to_spark(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
